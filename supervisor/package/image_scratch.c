/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The folder of mmdebstrap; see image_scratch.h. Called with the lock of
 * builds held; must never remove what its note does not name, nor follow a
 * link or a mount out of it.
 */
#include "supervisor/package/image_scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "supervisor/package/tool_run.h"

#define IMAGE_SCRATCH_PREFIX "/var/tmp/agentnode-image-"
#define IMAGE_SCRATCH_DIGITS 16U
#define IMAGE_SCRATCH_NOTE "scratch"
#define IMAGE_SCRATCH_RM_TIMEOUT_S 300U

/* Exactly a name that we make. */
static bool
image_scratch_is_name(const char *path, size_t len)
{
	size_t prefix = strlen(IMAGE_SCRATCH_PREFIX);

	return len == prefix + IMAGE_SCRATCH_DIGITS &&
	       memcmp(path, IMAGE_SCRATCH_PREFIX, prefix) == 0 &&
	       strspn(path + prefix, "0123456789abcdef") ==
		   IMAGE_SCRATCH_DIGITS;
}

enum result
image_scratch_make(const struct state_dir *dir,
    char path_r[IMAGE_SCRATCH_PATH_MAX], struct json_fault *fault)
{
	uint64_t number;
	enum result result;

	if (getrandom(&number, sizeof(number), 0) != (ssize_t)sizeof(number)) {
		json_field_fault(
		    fault, "no random number: %s", strerror(errno));
		return RESULT_SYSTEM;
	}
	(void)snprintf(path_r, IMAGE_SCRATCH_PATH_MAX,
	    IMAGE_SCRATCH_PREFIX "%016llx", (unsigned long long)number);
	result = state_dir_write(
	    dir, IMAGE_SCRATCH_NOTE, 0600, path_r, strlen(path_r), fault);
	if (result != RESULT_OK)
		return result;
	/* 0711: apt's own user, and the first of a user's subordinate ids,
	 * pass through it and cannot list it. */
	if (mkdir(path_r, 0700) == 0 && chmod(path_r, 0711) == 0)
		return RESULT_OK;
	json_field_fault(fault, "%s: %s", path_r, strerror(errno));
	return RESULT_SYSTEM;
}

/* A user's files belong to subordinate ids: what mmdebstrap made there is
 * removed as it was made, then the rest as ourselves. */
static void
image_scratch_remove(const char *path, char detail_r[TOOL_RUN_LINE_MAX + 128])
{
	static const char *const envp[] = {
	    "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
	    "LC_ALL=C", NULL};
	const char *const argv[] = {"mmdebstrap", "--unshare-helper", "rm",
	    "-rf", "--one-file-system", "--", path, NULL};
	struct tool_run_spec spec = {.name = "mmdebstrap",
	    .argv = argv,
	    .envp = envp,
	    .stdin_fd = -1,
	    .stdout_fd = -1,
	    .timeout_s = IMAGE_SCRATCH_RM_TIMEOUT_S};
	size_t size = TOOL_RUN_LINE_MAX + 128;

	/* They list the folder, and cannot remove it: its owner has no place
	 * among them. */
	if (geteuid() != 0 && chmod(path, 0755) == 0)
		(void)tool_run(&spec, detail_r, size);
	detail_r[0] = '\0';
	spec.name = "rm";
	spec.argv = argv + 2;
	(void)tool_run(&spec, detail_r, size);
}

enum result
image_scratch_sweep(const struct state_dir *dir,
    char path_r[IMAGE_SCRATCH_PATH_MAX], struct json_fault *fault)
{
	char detail[TOOL_RUN_LINE_MAX + 128] = "";
	struct stat status;
	char *note = NULL;
	size_t len = 0;
	enum result result = state_dir_read(dir, IMAGE_SCRATCH_NOTE,
	    STATE_DIR_OURS, IMAGE_SCRATCH_PATH_MAX - 1, &note, &len, fault);

	path_r[0] = '\0';
	if (result != RESULT_OK)
		return result;
	if (!image_scratch_is_name(note, len)) {
		json_field_fault(fault,
		    "%s/" IMAGE_SCRATCH_NOTE " names no folder of a build",
		    state_dir_shown(dir->path));
		free(note);
		return RESULT_BAD;
	}
	(void)snprintf(path_r, IMAGE_SCRATCH_PATH_MAX, "%.*s", (int)len, note);
	free(note);
	/* Nobody else's, should there be one of that name. */
	if (lstat(path_r, &status) == 0 && S_ISDIR(status.st_mode) &&
	    status.st_uid == geteuid())
		image_scratch_remove(path_r, detail);
	else
		path_r[0] = '\0';
	if (path_r[0] != '\0' && lstat(path_r, &status) == 0) {
		json_field_fault(fault, "%s",
		    detail[0] != '\0' ? detail : "it is still there");
		return RESULT_SYSTEM;
	}
	if (unlinkat(dir->fd, IMAGE_SCRATCH_NOTE, 0) != 0 && errno != ENOENT) {
		json_field_fault(fault, "%s/" IMAGE_SCRATCH_NOTE ": %s",
		    state_dir_shown(dir->path), strerror(errno));
		return RESULT_SYSTEM;
	}
	return path_r[0] != '\0' ? RESULT_OK : RESULT_NOT_FOUND;
}

enum result
image_scratch_gc(char path_r[IMAGE_SCRATCH_PATH_MAX], struct json_fault *fault)
{
	char place[STATE_DIR_PATH_MAX + 8];
	struct state_dir home = {.fd = -1}, dir = {.fd = -1};
	int lock FD_CLEANUP = -1;
	enum result result = state_dir_home(false, &home, fault);

	path_r[0] = '\0';
	if (result == RESULT_OK) {
		(void)snprintf(place, sizeof(place), "%s/image", home.path);
		result = state_dir_open(place, STATE_DIR_OURS, &dir, fault);
	}
	if (result == RESULT_OK) {
		lock = openat(dir.fd, "lock", O_RDWR | O_CLOEXEC | O_NOFOLLOW);
		result = lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) == 0
			     ? image_scratch_sweep(&dir, path_r, fault)
			     : RESULT_NOT_FOUND;
	}
	state_dir_close(&dir);
	state_dir_close(&home);
	return result;
}
