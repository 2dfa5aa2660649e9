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
#include <sys/stat.h>
#include <unistd.h>

#include "supervisor/engine/docker_volume.h"
#include "supervisor/engine/engine_call.h"
#include "supervisor/engine/engine_gc.h"
#include "supervisor/engine/oci_apply.h"
#include "supervisor/policy/config.h"
#include "supervisor/policy/state_dir.h"

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

static enum result
volume_place_users(const struct engine_host *host, struct volume *volume)
{
	struct json_fault unused = {""};
	char home[STATE_DIR_PATH_MAX];
	int len;

	if (!engine_memory_by_group(&host->memory))
		len = snprintf(volume->users, sizeof(volume->users), "%s/%s",
		    host->memory.volume_path, volume->name);
	else if (config_home(home, sizeof(home), &unused) != RESULT_OK)
		return RESULT_TOO_LONG;
	else
		len = snprintf(volume->users, sizeof(volume->users),
		    "%s/" ENGINE_GC_USERS_DIR "/%s", home, volume->name);
	return len < 0 || (size_t)len >= sizeof(volume->users) ? RESULT_TOO_LONG
							       : RESULT_OK;
}

enum result
volume_place(
    const struct engine_host *host, const char *name, struct volume *volume_r)
{
	int len = snprintf(volume_r->name, sizeof(volume_r->name), "%s", name);

	if (len < 0 || (size_t)len >= sizeof(volume_r->name))
		return RESULT_TOO_LONG;
	len = snprintf(volume_r->path, sizeof(volume_r->path), "%s/%s/_data",
	    host->memory.volume_path, name);
	if (len < 0 || (size_t)len >= sizeof(volume_r->path))
		return RESULT_TOO_LONG;
	return volume_place_users(host, volume_r);
}

bool
volume_is_ours(const struct engine_host *host, const char *name)
{
	char end[ENGINE_FILES_OWNER_MAX + 2];
	const char *hash = strrchr(name, '-');
	size_t before = hash == NULL ? 0 : (size_t)(hash - name), len;

	if (!engine_memory_by_group(&host->memory))
		return true;
	len = (size_t)snprintf(end, sizeof(end), "-%s", host->files.owner);
	return hash != NULL && before > len &&
	       strncmp(hash - len, end, len) == 0;
}

enum result
volume_find(const struct engine_host *host, const struct volume *volume)
{
	char unused[512];
	struct stat info;

	if (engine_memory_by_group(&host->memory))
		return docker_volume_find(
		    host, volume->name, unused, sizeof(unused));
	if (stat(volume->path, &info) == 0)
		return RESULT_OK;
	return errno == ENOENT ? RESULT_NOT_FOUND : RESULT_SYSTEM;
}

enum result
volume_plan(const struct engine_host *host, const char *slug,
    const char *version, const char *hash, struct volume *volume_r,
    struct install_fault *fault)
{
	/* A daemon has volumes of all its users: theirs say whose. */
	bool by_group = engine_memory_by_group(&host->memory);
	char name[VOLUME_NAME_MAX];
	int len =
	    snprintf(name, sizeof(name), "agentnode-pack-%s-%.40s%s%s-%.8s",
		slug, version[0] == '\0' ? "0" : version, by_group ? "-" : "",
		by_group ? host->files.owner : "", hash + strlen("sha256:"));

	if (len < 0 || (size_t)len >= sizeof(name))
		return install_fault_set(fault, RESULT_TOO_LONG,
		    "volume_failed", "the name of the volume is too long");
	volume_clean(name);
	if (volume_place(host, name, volume_r) != RESULT_OK)
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
	char owner[64];
	const char *argv[] = {host->memory.client, "volume", "create",
	    "--label=agentnode=pack", package, release, content, filling, owner,
	    "--", volume->name, NULL};

	(void)snprintf(owner, sizeof(owner),
	    "--label=" ENGINE_FILES_OWNER "=%s", host->files.owner);

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

/* The folder of the list is there before the volume is. */
static enum result
volume_make_users(const struct volume *volume)
{
	struct json_fault unused = {""};
	struct state_dir home = {.fd = -1}, all = {.fd = -1}, own = {.fd = -1};
	enum result result = state_dir_home(true, &home, &unused);

	if (result == RESULT_OK)
		result =
		    state_dir_sub(&home, ENGINE_GC_USERS_DIR, &all, &unused);
	if (result == RESULT_OK)
		result = state_dir_sub(&all, volume->name, &own, &unused);
	state_dir_close(&own);
	state_dir_close(&all);
	state_dir_close(&home);
	return result;
}

void
volume_forget_users(const struct engine_host *host, const struct volume *volume)
{
	struct json_fault unused = {""};
	struct state_dir home = {.fd = -1}, all = {.fd = -1};

	if (!engine_memory_by_group(&host->memory))
		return;
	if (state_dir_home(false, &home, &unused) == RESULT_OK &&
	    state_dir_sub(&home, ENGINE_GC_USERS_DIR, &all, &unused) ==
		RESULT_OK)
		(void)oci_apply_remove(all.fd, volume->name);
	state_dir_close(&all);
	state_dir_close(&home);
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

	if (engine_memory_by_group(&host->memory) &&
	    volume_make_users(volume) != RESULT_OK)
		return install_fault_set(fault, RESULT_SYSTEM, "home_unusable",
		    "%s cannot be made", state_dir_shown(volume->users));
	/* Docker calls it made, whoever made it before. */
	result = docker ? volume_find(host, volume) : RESULT_NOT_FOUND;
	if (result == RESULT_OK)
		return RESULT_EXISTS;
	if (result != RESULT_NOT_FOUND)
		return install_fault_set(fault, RESULT_UNSUPPORTED,
		    "volume_failed",
		    "docker does not say whether there is a "
		    "volume %s",
		    volume->name);
	result = volume_create(
	    host, volume, slug, version, hash, run, detail, sizeof(detail));
	if (result == RESULT_REFUSED && strstr(detail, "already exists"))
		return RESULT_EXISTS;
	if (result != RESULT_OK)
		return install_fault_set(fault, RESULT_UNSUPPORTED,
		    "volume_failed", "the volume %s could not be made: %s",
		    volume->name, detail);
	/* Docker has no such verb; its container's image puts nothing there. */
	result = docker ? docker_volume_fill(host, volume->name, host->image,
			      run, tar_fd, detail, sizeof(detail))
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
