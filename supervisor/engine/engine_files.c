/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Make the runtime directory and the engine's configuration. Called before
 * the first engine call of a run; must never follow a link or use a
 * directory that somebody else can write.
 */
#include "supervisor/engine/engine_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "supervisor/policy/config.h"
#include "supervisor/policy/state_dir.h"

/* Everything a containers.conf could bring into a container is said here,
 * because a key that is absent would fall back to a default. */
static const char engine_files_conf[] =
    "# Written by agentnode; changes are overwritten.\n"
    "[containers]\n"
    "annotations = []\n"
    "base_hosts_file = \"none\"\n"
    "cgroups = \"enabled\"\n"
    "default_capabilities = []\n"
    "default_sysctls = []\n"
    "default_ulimits = []\n"
    "devices = []\n"
    "env = []\n"
    "env_host = false\n"
    "host_containers_internal_ip = \"none\"\n"
    "http_proxy = false\n"
    "init = false\n"
    "log_driver = \"none\"\n"
    "prepare_volume_on_create = false\n"
    "volumes = []\n"
    "[engine]\n"
    "events_logger = \"none\"\n"
    "hooks_dir = []\n"
    "image_copy_tmp_dir = \"/var/tmp\"\n"
    "remote = false\n";

static enum result engine_files_fault(char *detail_r, size_t size,
    const char *format, ...) __attribute__((format(printf, 3, 4)));

static enum result
engine_files_fault(char *detail_r, size_t size, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	(void)vsnprintf(detail_r, size, format, list);
	va_end(list);
	return RESULT_REFUSED;
}

static enum result
engine_files_dir(const char *path, char *detail_r, size_t size)
{
	struct stat info;

	if (mkdir(path, 0700) != 0 && errno != EEXIST)
		return engine_files_fault(detail_r, size, "cannot make %s: %s",
		    path, strerror(errno));
	if (lstat(path, &info) != 0)
		return engine_files_fault(detail_r, size,
		    "cannot look at %s: %s", path, strerror(errno));
	if (!S_ISDIR(info.st_mode) || info.st_uid != geteuid() ||
	    (info.st_mode & 077U) != 0)
		return engine_files_fault(detail_r, size,
		    "%s must be a directory of your own with mode 0700", path);
	return RESULT_OK;
}

/* Hooks are programs that the runtime would run as us. */
static enum result
engine_files_empty(const char *path, char *detail_r, size_t size)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	enum result result = RESULT_OK;

	if (dir == NULL)
		return engine_files_fault(detail_r, size,
		    "cannot look into %s: %s", path, strerror(errno));
	errno = 0;
	while (result == RESULT_OK && (entry = readdir(dir)) != NULL) {
		if (strcmp(entry->d_name, ".") != 0 &&
		    strcmp(entry->d_name, "..") != 0)
			result = engine_files_fault(detail_r, size,
			    "%s must be empty: remove what is in it", path);
	}
	if (result == RESULT_OK && errno != 0)
		result = engine_files_fault(detail_r, size,
		    "cannot look into %s: %s", path, strerror(errno));
	(void)closedir(dir);
	return result;
}

/* True when the file holds exactly text. */
static bool
engine_files_holds(const char *path, const char *text)
{
	int fd FD_CLEANUP = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	char *bytes = NULL;
	size_t len = 0;
	bool same;

	if (fd < 0 || fd_read_all(fd, 65536, &bytes, &len) != RESULT_OK)
		return false;
	same = len == strlen(text) && memcmp(bytes, text, len) == 0;
	free(bytes);
	return same;
}

/* Written aside and renamed, so that an engine call that runs meanwhile
 * sees one or the other. */
static enum result
engine_files_write(
    const char *path, const char *text, char *detail_r, size_t size)
{
	char aside[ENGINE_FILES_PATH_MAX + 64];
	enum result result;
	int fd FD_CLEANUP = -1;

	if (engine_files_holds(path, text))
		return RESULT_OK;
	(void)snprintf(aside, sizeof(aside), "%s.%ld", path, (long)getpid());
	fd = open(aside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return engine_files_fault(detail_r, size, "cannot write %s: %s",
		    aside, strerror(errno));
	result = fd_write_all(fd, text, strlen(text));
	if (result == RESULT_OK && rename(aside, path) == 0)
		return RESULT_OK;
	(void)unlink(aside);
	return engine_files_fault(
	    detail_r, size, "cannot write %s: %s", path, strerror(errno));
}

/* Where the runtime directory goes: its parent. */
static enum result
engine_files_parent(char *path_r, size_t size, char *detail_r, size_t max)
{
	const char *given = getenv("XDG_RUNTIME_DIR");

	if (geteuid() == 0)
		(void)snprintf(path_r, size, "/run");
	else if (given != NULL && given[0] == '/' && strlen(given) < size)
		(void)snprintf(path_r, size, "%s", given);
	else
		(void)snprintf(
		    path_r, size, "/run/user/%lu", (unsigned long)geteuid());
	if (access(path_r, W_OK) == 0)
		return RESULT_OK;
	return engine_files_fault(detail_r, max,
	    "%s cannot be written: set XDG_RUNTIME_DIR to your runtime "
	    "directory (log in through a session that makes one)",
	    path_r);
}

static const char *
engine_files_home(void)
{
	const char *home = getenv("HOME");
	const struct passwd *entry;

	if (home != NULL && home[0] == '/')
		return home;
	entry = getpwuid(geteuid());
	return entry != NULL ? entry->pw_dir : "/";
}

static enum result
engine_files_environment(struct engine_files *files)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	size_t count = 0, size = sizeof(files->storage[0]);
	int len;

	files->envp[count++] =
	    "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
	len = snprintf(
	    files->storage[0], size, "CONTAINERS_CONF=%s", files->conf);
	if (len < 0 || (size_t)len >= size)
		return RESULT_TOO_LONG;
	files->envp[count++] = files->storage[0];
	len = snprintf(files->storage[1], size, "HOME=%s", engine_files_home());
	if (len < 0 || (size_t)len >= size)
		return RESULT_TOO_LONG;
	files->envp[count++] = files->storage[1];
	if (geteuid() != 0 && runtime != NULL) {
		len = snprintf(
		    files->storage[2], size, "XDG_RUNTIME_DIR=%s", runtime);
		if (len < 0 || (size_t)len >= size)
			return RESULT_TOO_LONG;
		files->envp[count++] = files->storage[2];
	}
	files->envp[count] = NULL;
	return RESULT_OK;
}

enum result
engine_files_docker(struct engine_files *files, const char *host)
{
	size_t count = 0, size = sizeof(files->storage[0]);
	int config, daemon;

	while (files->envp[count] != NULL &&
	       files->envp[count] != files->storage[3])
		count++; /* told before, they are told anew */
	config = snprintf(
	    files->storage[3], size, "DOCKER_CONFIG=%s", files->docker);
	daemon = snprintf(files->storage[4], size, "DOCKER_HOST=%s", host);
	if (config < 0 || daemon < 0 || (size_t)config >= size ||
	    (size_t)daemon >= size || count + 2 >= ENGINE_FILES_ENV_MAX)
		return RESULT_TOO_LONG;
	files->envp[count++] = files->storage[3];
	files->envp[count++] = files->storage[4];
	files->envp[count] = NULL;
	return RESULT_OK;
}

const char *
engine_files_daemon(const struct engine_files *files)
{
	static const char before[] = "DOCKER_HOST=unix://";
	const char *word = files->storage[4];

	return strncmp(word, before, sizeof(before) - 1) == 0
		   ? word + sizeof(before) - 1
		   : NULL;
}

static enum result
engine_files_make(const struct engine_files *files, char *detail_r, size_t size)
{
	const char *const dirs[] = {files->dir, files->hooks, files->runs,
	    files->uids, files->slots, files->docker};
	enum result result = RESULT_OK;

	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++) {
		if (result == RESULT_OK)
			result = engine_files_dir(dirs[i], detail_r, size);
	}
	if (result == RESULT_OK)
		result = engine_files_empty(files->hooks, detail_r, size);
	if (result == RESULT_OK)
		result = engine_files_empty(files->docker, detail_r, size);
	if (result == RESULT_OK)
		result = engine_files_write(
		    files->conf, engine_files_conf, detail_r, size);
	if (result == RESULT_OK)
		result = engine_files_write(files->mounts, "", detail_r, size);
	return result;
}

/* FNV-1a. Apart are one user's own places, not what an attacker names. */
static uint64_t
engine_files_mix(uint64_t sum, const char *text)
{
	for (size_t i = 0; i <= strlen(text); i++)
		sum = (sum ^ (uint8_t)text[i]) * 0x100000001b3ULL;
	return sum;
}

static enum result
engine_files_own(struct engine_files *files)
{
	uint64_t sum = engine_files_mix(0xcbf29ce484222325ULL, files->dir);
	struct json_fault unused = {""};
	char home[STATE_DIR_PATH_MAX];

	if (geteuid() != 0) {
		if (config_home(home, sizeof(home), &unused) != RESULT_OK)
			return RESULT_TOO_LONG;
		sum = engine_files_mix(sum, home);
	}
	(void)snprintf(files->owner, sizeof(files->owner), "%lu-%016" PRIx64,
	    (unsigned long)geteuid(), sum);
	return RESULT_OK;
}

enum result
engine_files_prepare(
    struct engine_files *files, char *detail_r, size_t detail_size)
{
	char parent[ENGINE_FILES_PATH_MAX - 16];
	enum result result =
	    engine_files_parent(parent, sizeof(parent), detail_r, detail_size);

	if (result != RESULT_OK)
		return result;
	(void)snprintf(files->dir, sizeof(files->dir), "%s/agentnode", parent);
	(void)snprintf(
	    files->conf, sizeof(files->conf), "%s/containers.conf", files->dir);
	(void)snprintf(
	    files->hooks, sizeof(files->hooks), "%s/hooks", files->dir);
	(void)snprintf(
	    files->mounts, sizeof(files->mounts), "%s/mounts.conf", files->dir);
	(void)snprintf(files->runs, sizeof(files->runs), "%s/runs", files->dir);
	(void)snprintf(files->uids, sizeof(files->uids), "%s/uids", files->dir);
	(void)snprintf(
	    files->slots, sizeof(files->slots), "%s/slots", files->dir);
	(void)snprintf(
	    files->docker, sizeof(files->docker), "%s/docker", files->dir);
	result = engine_files_make(files, detail_r, detail_size);
	if (result != RESULT_OK)
		return result;
	if (engine_files_environment(files) != RESULT_OK ||
	    engine_files_own(files) != RESULT_OK)
		return engine_files_fault(
		    detail_r, detail_size, "HOME is too long a path");
	return RESULT_OK;
}
