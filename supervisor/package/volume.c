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
	const char *argv[] = {host->memory.podman, "volume", "create",
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
	const char *argv[] = {
	    host->memory.podman, "volume", "import", volume->name, "-", NULL};
	struct install_fault unused = {.code = ""};
	char detail[512] = "";
	enum result result = volume_create(
	    host, volume, slug, version, hash, run, detail, sizeof(detail));

	if (result == RESULT_REFUSED && strstr(detail, "already exists"))
		return RESULT_EXISTS;
	if (result != RESULT_OK)
		return install_fault_set(fault, RESULT_UNSUPPORTED,
		    "volume_failed", "the volume %s could not be made: %s",
		    volume->name, detail);
	result = volume_call(
	    host, argv, tar_fd, VOLUME_FILL_MS, detail, sizeof(detail));
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
	    host->memory.podman, "volume", "rm", "--", name, NULL};
	char detail[512] = "";
	enum result result =
	    volume_call(host, argv, -1, VOLUME_CALL_MS, detail, sizeof(detail));

	if (result == RESULT_OK)
		return RESULT_OK;
	if (strstr(detail, "no such volume") != NULL)
		return RESULT_NOT_FOUND;
	return install_fault_set(fault, RESULT_REFUSED, "volume_failed",
	    "the volume %s could not be removed: %s", name, detail);
}
