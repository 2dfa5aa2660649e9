/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What of the host every view shows (see the header). Called by native_view;
 * must never show a file that holds a secret, a name of the host or a way
 * to one of its services.
 */
#include "supervisor/native/native_system.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"

/* Programs and libraries; world-readable and made by the packager. /opt is
 * not among them: what lies there keeps its configuration beside it. */
static const char *const native_system_trees[] = {
    "/usr", "/nix/store", "/gnu/store"};

/* Links into /usr where the trees are merged, else directories. */
static const char *const native_system_merged[] = {
    "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"};

/* Never: shadow, ssh, machine-id, hostname, hosts, resolv.conf, fstab,
 * ssl/private, anything with a credential for a registry or a service. */
static const char *const native_system_etc[] = {
    /* the loader */
    "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d",
    /* certificate authorities, and what OpenSSL starts with */
    "/etc/ssl/certs", "/etc/ssl/openssl.cnf", "/etc/pki/tls/certs",
    "/etc/pki/tls/cert.pem", "/etc/pki/tls/openssl.cnf",
    "/etc/pki/ca-trust/extracted", "/etc/ca-certificates/extracted",
    "/etc/crypto-policies",
    /* which program a name means */
    "/etc/alternatives",
    /* time, names of protocols and kinds of files, terminal keys */
    "/etc/localtime", "/etc/timezone", "/etc/protocols", "/etc/services",
    "/etc/mime.types", "/etc/magic", "/etc/locale.alias", "/etc/inputrc",
    "/etc/terminfo", "/etc/fonts",
    /* which system this is: build scripts ask */
    "/etc/os-release", "/etc/debian_version", "/etc/lsb-release",
    /* interpreters whose packages link from /usr into /etc */
    "/etc/perl", "/etc/java-8-openjdk", "/etc/java-11-openjdk",
    "/etc/java-17-openjdk", "/etc/java-21-openjdk", "/etc/java-25-openjdk"};

/* Programs and their libraries are there: not one of them can be left out. */
static const char *const native_system_needed[] = {"/bin", "/lib", "/lib32",
    "/lib64", "/libx32", "/sbin", "/usr", "/usr/bin", "/usr/lib", "/usr/lib32",
    "/usr/lib64", "/usr/libexec", "/usr/libx32", "/usr/sbin", "/usr/share"};

/* No workspace below, nor the directory itself. */
static const char *const native_system_whole[] = {"/bin", "/boot", "/dev",
    "/etc", "/gnu", "/lib", "/lib32", "/lib64", "/libx32", "/nix", "/proc",
    "/sbin", "/snap", "/sys", "/usr", "/lost+found", "/run/user",
    "/run/systemd", "/var/lib/docker", "/var/lib/containers"};
/* Below yes, but not the directory itself: others live there too. */
static const char *const native_system_shared[] = {"/", "/home", "/media",
    "/mnt", "/opt", "/root", "/run", "/srv", "/tmp", "/var", "/var/cache",
    "/var/lib", "/var/log", "/var/mail", "/var/run", "/var/spool", "/var/tmp"};

#define NATIVE_SYSTEM_COUNT(list) (sizeof(list) / sizeof((list)[0]))
#define NATIVE_SYSTEM_TMP_SIZE (256ULL << 20)

bool
native_system_owns(const char *path)
{
	for (size_t i = 0; i < NATIVE_SYSTEM_COUNT(native_system_whole); i++) {
		if (native_step_below(path, native_system_whole[i]))
			return true;
	}
	for (size_t i = 0; i < NATIVE_SYSTEM_COUNT(native_system_shared); i++) {
		if (strcmp(path, native_system_shared[i]) == 0)
			return true;
	}
	/* /home/NAME is somebody's home. */
	return strncmp(path, "/home/", 6) == 0 && strchr(path + 6, '/') == NULL;
}

bool
native_system_needs(const char *path)
{
	for (size_t i = 0; i < NATIVE_SYSTEM_COUNT(native_system_needed); i++) {
		if (strcmp(path, native_system_needed[i]) == 0)
			return true;
	}
	return false;
}

/* Where a link in /etc or / leads, without a look: "..", then names. */
static bool
native_system_leads(
    const char *link, const char *text, char path_r[NATIVE_VIEW_PATH_MAX])
{
	const char *end = strrchr(link, '/');
	size_t len = text[0] == '/' ? 0 : (size_t)(end - link);

	if (text[0] != '/') {
		memcpy(path_r, link, len);
		while (strncmp(text, "../", 3) == 0) {
			text += 3;
			while (len > 0 && path_r[--len] != '/')
				continue;
		}
	} else {
		text++;
	}
	if (strstr(text, "..") != NULL ||
	    len + strlen(text) + 2 > NATIVE_VIEW_PATH_MAX)
		return false;
	path_r[len] = '/';
	memcpy(path_r + len + 1, text, strlen(text) + 1);
	return true;
}

/* A link may be shown as one when it leads to what is shown. */
static bool
native_system_shown(const char *path)
{
	for (size_t i = 0; i < NATIVE_SYSTEM_COUNT(native_system_trees); i++) {
		if (native_step_below(path, native_system_trees[i]))
			return true;
	}
	for (size_t i = 0; i < NATIVE_SYSTEM_COUNT(native_system_etc); i++) {
		if (native_step_below(path, native_system_etc[i]))
			return true;
	}
	return false;
}

static enum result
native_system_link(struct native_step_plan *plan, const char *path, int fd)
{
	char text[NATIVE_VIEW_PATH_MAX], leads[NATIVE_VIEW_PATH_MAX];
	ssize_t len = readlinkat(fd, "", text, sizeof(text) - 1);
	struct native_step *step;
	enum result result;

	if (len <= 0)
		return native_step_fault(
		    plan, RESULT_SYSTEM, "%s: the link cannot be read", path);
	text[len] = '\0';
	if (!native_system_leads(path, text, leads) ||
	    !native_system_shown(leads))
		return RESULT_OK; /* to something hidden: not shown */
	result = native_step_add(plan, NATIVE_STEP_LINK, path, &step);
	if (result == RESULT_OK)
		memcpy(step->source, text, (size_t)len + 1);
	return result;
}

/* As it is on the host, read-only; nothing when it is not there. */
static enum result
native_system_one(struct native_step_plan *plan, const char *path)
{
	struct stat info;
	int fd FD_CLEANUP = -1;
	enum result result = native_step_look(path, &info, &fd);

	if (result == RESULT_NOT_FOUND || result == RESULT_REFUSED)
		return RESULT_OK;
	if (result != RESULT_OK)
		return native_step_fault(
		    plan, result, "%s: cannot be looked at", path);
	if (S_ISLNK(info.st_mode))
		return native_system_link(plan, path, fd);
	if (!S_ISDIR(info.st_mode) && !S_ISREG(info.st_mode))
		return RESULT_OK;
	return native_step_bind(plan, false, path, path, &info);
}

static enum result
native_system_tmpfs(
    struct native_step_plan *plan, const char *target, uint64_t size)
{
	struct native_step *step;
	enum result result =
	    native_step_add(plan, NATIVE_STEP_TMPFS, target, &step);

	if (result != RESULT_OK)
		return result;
	step->size = size;
	step->exec = true;
	step->owned = true;
	return RESULT_OK;
}

/* /tmp, and the scratch where it is another place. */
static enum result
native_system_scratch(
    struct native_step_plan *plan, const char *scratch, uint64_t size)
{
	struct native_step *step;
	enum result result = RESULT_OK;

	if (strcmp(scratch, "/tmp") != 0) {
		uint64_t small = NATIVE_SYSTEM_TMP_SIZE;

		result = native_system_tmpfs(
		    plan, "/tmp", size < small ? size : small);
	}
	if (result == RESULT_OK)
		result = native_system_tmpfs(plan, scratch, size);
	if (result == RESULT_OK)
		result =
		    native_step_add(plan, NATIVE_STEP_LINK, "/var/tmp", &step);
	if (result == RESULT_OK)
		memcpy(step->source, "/tmp", sizeof("/tmp"));
	return result;
}

static enum result
native_system_list(
    struct native_step_plan *plan, const char *const *paths, size_t count)
{
	enum result result = RESULT_OK;

	for (size_t i = 0; i < count && result == RESULT_OK; i++)
		result = native_system_one(plan, paths[i]);
	return result;
}

enum result
native_system_add(
    struct native_step_plan *plan, const char *scratch, uint64_t scratch_size)
{
	enum result result = native_system_list(plan, native_system_trees,
	    NATIVE_SYSTEM_COUNT(native_system_trees));

	if (result == RESULT_OK)
		result = native_system_list(plan, native_system_merged,
		    NATIVE_SYSTEM_COUNT(native_system_merged));
	if (result == RESULT_OK)
		result = native_step_add(plan, NATIVE_STEP_DIR, "/etc", NULL);
	if (result == RESULT_OK)
		result = native_system_list(plan, native_system_etc,
		    NATIVE_SYSTEM_COUNT(native_system_etc));
	if (result == RESULT_OK)
		result = native_step_add(plan, NATIVE_STEP_DIR, "/run", NULL);
	if (result == RESULT_OK)
		result = native_step_add(plan, NATIVE_STEP_PROC, "/proc", NULL);
	if (result == RESULT_OK)
		result = native_step_add(plan, NATIVE_STEP_DEV, "/dev", NULL);
	if (result == RESULT_OK)
		result = native_system_scratch(plan, scratch, scratch_size);
	return result;
}

enum result
native_system_add_all(
    struct native_step_plan *plan, const char *scratch, uint64_t scratch_size)
{
	struct stat info;
	enum result result = native_step_look("/", &info, NULL);

	if (result != RESULT_OK)
		return native_step_fault(
		    plan, result, "/: cannot be looked at");
	result = native_step_bind(plan, true, "/", "/", &info);
	if (result == RESULT_OK)
		result = native_step_add(plan, NATIVE_STEP_PROC, "/proc", NULL);
	if (result == RESULT_OK)
		result = native_step_add(plan, NATIVE_STEP_DEV, "/dev", NULL);
	if (result == RESULT_OK &&
	    native_step_look(scratch, &info, NULL) == RESULT_OK)
		result = native_system_tmpfs(plan, scratch, scratch_size);
	else if (result == RESULT_OK)
		result = native_step_fault(plan, RESULT_NOT_FOUND,
		    "%s: with danger-full-access the scratch lies on a "
		    "directory that is there",
		    scratch);
	return result;
}
