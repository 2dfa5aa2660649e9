/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Volumes in the engine's store; see volume.h. Must never leave a half
 * filled one, and never fill one that exists.
 */
#include "supervisor/package/volume.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "supervisor/engine/engine_call.h"
#include "supervisor/engine/engine_gc.h"

#define VOLUME_CALL_MS 60000U
#define VOLUME_FILL_MS (1800U * 1000U)
#define VOLUME_OUTPUT_MAX 65536U

/* Engine names are letters, digits, '_', '.' and '-'. */
static void
volume_clean(char *name)
{
	for (; *name != '\0'; name++)
		if (strchr("abcdefghijklmnopqrstuvwxyz0123456789"
			   "ABCDEFGHIJKLMNOPQRSTUVWXYZ_.-",
			*name) == NULL)
			*name = '-';
}

enum result
volume_plan(const struct engine_host *host, const char *slug,
    const char *version, const char *hash, struct volume *volume_r,
    struct install_fault *fault)
{
	int len = snprintf(volume_r->name, sizeof(volume_r->name),
	    "agentnode-pack-%s-%.40s-%.8s", slug,
	    version[0] == '\0' ? "0" : version, hash + strlen("sha256:"));

	if (len < 0 || (size_t)len >= sizeof(volume_r->name))
		return install_fault_set(fault, RESULT_TOO_LONG,
		    "volume_failed", "the name of the volume is too long");
	volume_clean(volume_r->name);
	len = snprintf(volume_r->path, sizeof(volume_r->path), "%s/%s/_data",
	    host->memory.volume_path, volume_r->name);
	if (len < 0 || (size_t)len >= sizeof(volume_r->path))
		return install_fault_set(fault, RESULT_TOO_LONG,
		    "volume_failed", "the path of the volume is too long");
	return RESULT_OK;
}

enum result
volume_open(const struct volume *volume, int *fd_r)
{
	*fd_r =
	    open(volume->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (*fd_r >= 0)
		return RESULT_OK;
	return errno == ENOENT ? RESULT_NOT_FOUND : RESULT_SYSTEM;
}

static enum result
volume_call(const struct engine_host *host, const char *const *argv,
    int stdin_fd, unsigned timeout_ms, char *detail_r, size_t detail_size)
{
	struct engine_call_spec call = {.files = &host->files,
	    .argv = argv,
	    .stdin_fd = stdin_fd,
	    .stdout_fd = -1,
	    .output_max = VOLUME_OUTPUT_MAX,
	    .timeout_ms = timeout_ms};
	char *output = NULL;
	size_t len;
	enum result result =
	    engine_call_wait(&call, &output, &len, NULL, detail_r, detail_size);

	free(output);
	return result;
}

static enum result
volume_create(const struct engine_host *host, const struct volume *volume,
    const char *slug, const char *version, const char *hash, const char *run,
    char *detail_r, size_t detail_size)
{
	char package[128], release[192], content[128], filling[64];
	const char *argv[] = {host->memory.client, "volume", "create",
	    "--label=agentnode=pack", package, release, content, filling, "--",
	    volume->name, NULL};

	(void)snprintf(
	    package, sizeof(package), "--label=agentnode.package=%s", slug);
	(void)snprintf(
	    release, sizeof(release), "--label=agentnode.version=%s", version);
	(void)snprintf(
	    content, sizeof(content), "--label=agentnode.hash=%s", hash);
	(void)snprintf(
	    filling, sizeof(filling), "--label=" ENGINE_GC_FILLING "=%s", run);
	return volume_call(
	    host, argv, -1, VOLUME_CALL_MS, detail_r, detail_size);
}

/* podman's own way to put a tar into a volume. */
static enum result
volume_import(const struct engine_host *host, const struct volume *volume,
    int tar_fd, char *detail_r, size_t detail_size)
{
	const char *argv[] = {
	    host->memory.client, "volume", "import", volume->name, "-", NULL};

	return volume_call(
	    host, argv, tar_fd, VOLUME_FILL_MS, detail_r, detail_size);
}

/* Docker has none: a container that is never started has the volume, and
 * is copied into. Its image puts nothing there. */
static enum result
volume_copy_in(const struct engine_host *host, const struct volume *volume,
    const char *run, int tar_fd, char *detail_r, size_t detail_size)
{
	char name[64], label[64], named[80], mount[VOLUME_NAME_MAX + 80];
	char place[96], unused[512];
	const char *client = host->memory.client;
	const char *create[] = {client, "create", named, label, "--pull=never",
	    "--network=none", "--read-only", "--cap-drop=ALL",
	    "--log-driver=none", mount, "--entrypoint=/none", "--", host->image,
	    NULL};
	const char *copy[] = {client, "cp", "--archive", "-", place, NULL};
	const char *remove[] = {client, "rm", "--force", "--", name, NULL};
	enum result result;

	(void)snprintf(name, sizeof(name), "agentnode-fill-%.16s", run);
	(void)snprintf(named, sizeof(named), "--name=%s", name);
	(void)snprintf(label, sizeof(label), "--label=agentnode.tmp=%s", run);
	(void)snprintf(place, sizeof(place), "%s:/pack", name);
	(void)snprintf(mount, sizeof(mount),
	    "--mount=type=volume,src=%s,dst=/pack,volume-nocopy", volume->name);
	result = volume_call(
	    host, create, -1, VOLUME_CALL_MS, detail_r, detail_size);
	if (result != RESULT_OK)
		return result;
	result = volume_call(
	    host, copy, tar_fd, VOLUME_FILL_MS, detail_r, detail_size);
	(void)volume_call(
	    host, remove, -1, VOLUME_CALL_MS, unused, sizeof(unused));
	return result;
}

/* The engine's words for a disk that is full. */
static bool
volume_is_full(const char *detail)
{
	return strstr(detail, "no space left") != NULL ||
	       strstr(detail, "No space left") != NULL ||
	       strstr(detail, "disk quota exceeded") != NULL;
}

enum result
volume_fill(const struct engine_host *host, const struct volume *volume,
    const char *slug, const char *version, const char *hash, const char *run,
    int tar_fd, struct install_fault *fault)
{
	struct install_fault unused = {.code = ""};
	bool docker = host->memory.kind == ENGINE_MEMORY_DOCKER;
	char detail[512] = "";
	enum result result;

	/* Docker calls it made, whoever made it before. */
	if (docker && access(volume->path, F_OK) == 0)
		return RESULT_EXISTS;
	result = volume_create(
	    host, volume, slug, version, hash, run, detail, sizeof(detail));
	if (result == RESULT_REFUSED && strstr(detail, "already exists"))
		return RESULT_EXISTS;
	if (result != RESULT_OK)
		return install_fault_set(fault, RESULT_UNSUPPORTED,
		    "volume_failed", "the volume %s could not be made: %s",
		    volume->name, detail);
	result = docker ? volume_copy_in(
			      host, volume, run, tar_fd, detail, sizeof(detail))
			: volume_import(
			      host, volume, tar_fd, detail, sizeof(detail));
	if (result == RESULT_OK)
		return RESULT_OK;
	(void)volume_remove(host, volume->name, &unused);
	if (volume_is_full(detail))
		return install_fault_set(fault, RESULT_SYSTEM, "disk_full",
		    "the disk of the container engine (%s) is full: nothing "
		    "was installed",
		    host->memory.volume_path);
	return install_fault_set(fault, RESULT_UNSUPPORTED, "volume_failed",
	    "the volume %s could not be filled: %s", volume->name, detail);
}

enum result
volume_remove(const struct engine_host *host, const char *name,
    struct install_fault *fault)
{
	const char *argv[] = {
	    host->memory.client, "volume", "rm", "--", name, NULL};
	char detail[512] = "";
	enum result result =
	    volume_call(host, argv, -1, VOLUME_CALL_MS, detail, sizeof(detail));

	if (result == RESULT_OK)
		return RESULT_OK;
	if (strstr(detail, "no such volume") != NULL ||
	    strstr(detail, "No such volume") != NULL)
		return RESULT_NOT_FOUND;
	return install_fault_set(fault, RESULT_REFUSED, "volume_failed",
	    "the volume %s could not be removed: %s", name, detail);
}
