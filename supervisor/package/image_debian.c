/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs mmdebstrap for the image; see image_debian.h. Which archive the
 * packages come from is the host's own setting; their signatures are
 * checked by apt with the host's keyring. Must never name a mirror.
 */
#include "supervisor/package/image_debian.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "supervisor/child.h"
#include "supervisor/package/image_recipe.h"
#include "supervisor/package/image_scratch.h"
#include "supervisor/package/tool_run.h"

#define IMAGE_DEBIAN_TIMEOUT_S 3600U
#define IMAGE_DEBIAN_HOOKS "/usr/share/mmdebstrap/hooks/merged-usr"

/* VERSION_CODENAME of os-release. */
static enum result
image_debian_suite(struct image_work *work, char *suite_r, size_t size)
{
	FILE *file = fopen("/etc/os-release", "re");
	char line[512], word[32] = "";

	if (file == NULL)
		return image_work_fail(work, RESULT_UNSUPPORTED,
		    "/etc/os-release cannot be read: which Debian is this?");
	while (fgets(line, sizeof(line), file) != NULL)
		if (sscanf(line, "VERSION_CODENAME=%31[a-z]", word) == 1)
			break;
	(void)fclose(file);
	if (word[0] == '\0')
		return image_work_fail(work, RESULT_UNSUPPORTED,
		    "/etc/os-release has no VERSION_CODENAME: images are "
		    "built on Debian");
	(void)snprintf(suite_r, size, "%s", word);
	return RESULT_OK;
}

static enum result
image_debian_sources(
    struct image_work *work, const char *option, char *path_r, size_t size)
{
	static const char *const known[] = {
	    "/etc/apt/sources.list.d/debian.sources", "/etc/apt/sources.list",
	    NULL};

	if (option != NULL) {
		if (access(option, R_OK) != 0)
			return image_work_fail(work, RESULT_NOT_FOUND,
			    "%s cannot be read: --sources takes a file with "
			    "apt sources",
			    option);
		(void)snprintf(path_r, size, "%s", option);
		return RESULT_OK;
	}
	for (size_t i = 0; known[i] != NULL; i++) {
		if (access(known[i], R_OK) != 0)
			continue;
		(void)snprintf(path_r, size, "%s", known[i]);
		return RESULT_OK;
	}
	return image_work_fail(work, RESULT_UNSUPPORTED,
	    "this host has neither %s nor %s: name its apt sources with "
	    "--sources FILE",
	    known[0], known[1]);
}

/* Debian's own rule for package names. */
static bool
image_debian_is_package(const char *name)
{
	size_t len = strlen(name);

	return len >= 2 && len <= 64 && name[0] != '+' && name[0] != '-' &&
	       name[0] != '.' &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789+-.") == len;
}

enum result
image_debian_plan(struct image_work *work, const char *sources,
    const char *const *extra, size_t extra_count, struct image_debian *debian_r)
{
	size_t size = sizeof(debian_r->packages), used;
	enum result result =
	    image_debian_suite(work, debian_r->suite, sizeof(debian_r->suite));

	if (result == RESULT_OK)
		result = image_debian_sources(work, sources, debian_r->sources,
		    sizeof(debian_r->sources));
	if (result != RESULT_OK)
		return result;
	used = (size_t)snprintf(
	    debian_r->packages, size, "%s", image_recipe_debian);
	for (size_t i = 0; i < extra_count; i++) {
		if (!image_debian_is_package(extra[i]))
			return image_work_fail(work, RESULT_BAD,
			    "'%s' is no Debian package name", extra[i]);
		if (used + 1 + strlen(extra[i]) >= size)
			return image_work_fail(
			    work, RESULT_TOO_LONG, "too many packages");
		used += (size_t)snprintf(
		    debian_r->packages + used, size - used, ",%s", extra[i]);
	}
	return RESULT_OK;
}

static void
image_debian_on_line(const char *line, void *context)
{
	if (strncmp(line, "I: ", 3) == 0)
		image_work_say(context, "debian: %s", line + 3);
}

static enum result
image_debian_run(struct image_work *work, const struct image_debian *debian,
    const char *clean, const char *scratch, int fd)
{
	char include[1100], hook[4200], tmp[128];
	const char *argv[] = {"mmdebstrap", "--variant=essential",
	    "--format=tar", include, "--hook-dir=" IMAGE_DEBIAN_HOOKS,
	    "--aptopt=APT::Install-Recommends \"false\"",
	    "--dpkgopt=path-exclude=/usr/share/man/*",
	    "--dpkgopt=path-exclude=/usr/share/locale/*",
	    "--dpkgopt=path-exclude=/usr/share/doc/*",
	    "--dpkgopt=path-include=/usr/share/doc/*/copyright",
	    "--skip=output/dev", hook, "--", debian->suite, "-",
	    debian->sources, NULL};
	const char *const envp[] = {
	    "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
	    "LC_ALL=C", "SOURCE_DATE_EPOCH=" IMAGE_RECIPE_EPOCH, tmp, NULL};
	struct tool_run_spec spec = {.name = "mmdebstrap",
	    .argv = argv,
	    .envp = envp,
	    .stdin_fd = -1,
	    .stdout_fd = fd,
	    .timeout_s = IMAGE_DEBIAN_TIMEOUT_S,
	    .on_line = image_debian_on_line,
	    .context = work};
	enum result result;

	(void)snprintf(
	    include, sizeof(include), "--include=%s", debian->packages);
	(void)snprintf(hook, sizeof(hook), "--customize-hook=%s", clean);
	(void)snprintf(tmp, sizeof(tmp), "TMPDIR=%s", scratch);
	result = tool_run(&spec, work->detail, sizeof(work->detail));
	return result == RESULT_REFUSED ? RESULT_UNSUPPORTED : result;
}

/* mmdebstrap removes what it made; the folder goes all the same. */
static enum result
image_debian_in_scratch(struct image_work *work,
    const struct image_debian *debian, const char *clean, int fd)
{
	char path[IMAGE_SCRATCH_PATH_MAX];
	struct json_fault fault = {""};
	enum result result, swept;

	result = image_scratch_make(&work->dir, path, &fault);
	if (result == RESULT_OK)
		result = image_debian_run(work, debian, clean, path, fd);
	else
		(void)image_work_fail(work, result, "%s", fault.text);
	fault.text[0] = '\0';
	swept = image_scratch_sweep(&work->dir, path, &fault);
	if (swept != RESULT_OK && swept != RESULT_NOT_FOUND)
		image_work_say(work,
		    "%s: %s; 'agentnode sandbox gc' tries again", path,
		    fault.text);
	return result;
}

enum result
image_debian_make(struct image_work *work, const struct image_debian *debian)
{
	int fd FD_CLEANUP = -1;
	char clean[4096];
	enum result result;

	result = child_shared_path("image/clean_rootfs", clean, sizeof(clean));
	if (result != RESULT_OK)
		return image_work_fail(work, RESULT_UNSUPPORTED,
		    "share/agentnode/image/clean_rootfs is missing: install "
		    "agentnode completely");
	result = image_work_create(work, "debian.tar", &fd);
	if (result == RESULT_OK)
		result = image_debian_in_scratch(work, debian, clean, fd);
	if (result == RESULT_OK)
		result = image_work_add_layer(work, "debian.tar", true);
	return result;
}
