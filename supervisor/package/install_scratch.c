/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See install_scratch.h. Called with a tar that agentnode-unpack wrote and
 * whose tree hash the volume was found to have; must never leave its folder.
 */
#include "supervisor/package/install_scratch.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "supervisor/engine/oci_apply.h"
#include "supervisor/package/unpack_call.h"
#include "supervisor/policy/state_dir.h"

#define INSTALL_SCRATCH_NAME "tree"
#define INSTALL_SCRATCH_TIMEOUT_S 1800U

/* The tar as a stream that can be put on a disk. */
static enum result
install_scratch_stream(struct install *install, int tar_fd, int stream_fd,
    char *detail_r, size_t size)
{
	const int fds[] = {tar_fd, stream_fd};
	struct unpack_call_spec spec = {.job = UNPACK_JOB_LAYER,
	    .fds = fds,
	    .fd_count = 2,
	    .timeout_s = INSTALL_SCRATCH_TIMEOUT_S};
	json_t *unused = NULL;
	enum result result;

	if (lseek(tar_fd, 0, SEEK_SET) != 0)
		return RESULT_SYSTEM;
	spec.options =
	    json_pack("{s:I, s:I}", "max_bytes", (json_int_t)UNPACK_BYTES_MAX,
		"max_files", (json_int_t)UNPACK_FILES_MAX);
	if (spec.options == NULL)
		return RESULT_NO_MEMORY;
	result =
	    unpack_call_wait(install->config, &spec, &unused, detail_r, size);
	json_decref(unused);
	return result;
}

static enum result
install_scratch_fill(struct install *install, const struct install_tree *tree,
    const struct state_dir *dir, int *root_r, char *detail_r, size_t size)
{
	int stream FD_CLEANUP =
	    openat(dir->fd, ".", O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
	enum result result;

	if (stream < 0 || mkdirat(dir->fd, INSTALL_SCRATCH_NAME, 0700) != 0)
		return RESULT_SYSTEM;
	*root_r = openat(dir->fd, INSTALL_SCRATCH_NAME,
	    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (*root_r < 0)
		return RESULT_SYSTEM;
	result = install_scratch_stream(
	    install, tree->tar_fd, stream, detail_r, size);
	return result == RESULT_OK ? oci_apply(*root_r, stream, detail_r, size)
				   : result;
}

enum result
install_scratch_make(struct install *install, const struct install_tree *tree,
    const struct volume *volume, int *root_r)
{
	struct json_fault fault = {""};
	struct state_dir dir = {.fd = -1};
	char detail[400] = "it cannot be written";
	enum result result =
	    state_dir_open(volume->users, STATE_DIR_OURS, &dir, &fault);

	*root_r = -1;
	if (result == RESULT_OK) {
		/* Of an installation that was killed. */
		(void)oci_apply_remove(dir.fd, INSTALL_SCRATCH_NAME);
		result = install_scratch_fill(
		    install, tree, &dir, root_r, detail, sizeof(detail));
	}
	state_dir_close(&dir);
	if (result == RESULT_OK)
		return RESULT_OK;
	return install_fault_set(&install->fault, result, "home_unusable",
	    "the tree cannot be looked at in %s: %s",
	    state_dir_shown(volume->users),
	    fault.text[0] != '\0' ? fault.text : detail);
}

void
install_scratch_remove(const struct volume *volume)
{
	struct json_fault unused = {""};
	struct state_dir dir = {.fd = -1};

	if (state_dir_open(volume->users, STATE_DIR_OURS, &dir, &unused) ==
	    RESULT_OK)
		(void)oci_apply_remove(dir.fd, INSTALL_SCRATCH_NAME);
	state_dir_close(&dir);
}
