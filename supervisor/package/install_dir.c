/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A local folder as it is: one agentnode-unpack reads it, a second one
 * judges the stream and writes the tar. Called by install.c. Links that
 * leave the folder, devices and sockets are refused by name.
 */
#include <fcntl.h>
#include <unistd.h>

#include "common/event_loop.h"
#include "common/fd.h"
#include "supervisor/package/install_build.h"
#include "supervisor/package/unpack_call.h"

#define INSTALL_DIR_TIMEOUT_S 1800U
#define INSTALL_DIR_FILES_MAX 500000U

struct install_dir {
	struct install *install;
	struct install_tree *tree;
	struct unpack_call *reader, *writer;
	int root_fd, tar_fd; /* owned */
	bool reader_ended, writer_ended;
};

static void
install_dir_settle(struct install_dir *dir)
{
	if (dir->reader_ended && dir->writer_ended)
		event_loop_stop(dir->install->base);
}

static void
install_dir_on_read(
    const json_t *result, const char *code, const char *detail, void *context)
{
	struct install_dir *dir = context;

	dir->reader_ended = true;
	if (result == NULL)
		(void)install_fault_unpack(&dir->install->fault, code, detail);
	/* Its end of the pipe closes with it. */
	unpack_call_free(&dir->reader);
	install_dir_settle(dir);
}

static void
install_dir_on_written(
    const json_t *result, const char *code, const char *detail, void *context)
{
	struct install_dir *dir = context;

	dir->writer_ended = true;
	if (result == NULL) {
		(void)install_fault_unpack(&dir->install->fault, code, detail);
	} else if (install_build_take(dir->install, result, dir->tar_fd,
		       dir->tree) == RESULT_OK)
		dir->tar_fd = -1;
	unpack_call_free(&dir->writer);
	install_dir_settle(dir);
}

static enum result
install_dir_open(struct install_dir *dir)
{
	const char *path = dir->install->request->pin.path;

	dir->root_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir->root_fd < 0)
		return install_fault_set(&dir->install->fault, RESULT_BAD,
		    "folder_unusable", "%s: %m", path);
	return install_build_spool(dir->install, &dir->tar_fd);
}

static json_t *
install_dir_options(struct install_dir *dir)
{
	return json_pack("{s:I,s:I}", "max_bytes",
	    (json_int_t)config_int(dir->install->config, "build.size"),
	    "max_files", (json_int_t)INSTALL_DIR_FILES_MAX);
}

static enum result
install_dir_start(struct install_dir *dir)
{
	struct install *install = dir->install;
	int out FD_CLEANUP = -1, in FD_CLEANUP = -1;
	int ends[2], fds[2];
	struct unpack_call_spec read_spec = {.job = UNPACK_JOB_SEND_TREE,
	    .options = install_dir_options(dir),
	    .roots = &dir->root_fd,
	    .root_count = 1,
	    .fds = &out,
	    .fd_count = 1,
	    .timeout_s = INSTALL_DIR_TIMEOUT_S,
	    .keep_uid = true};
	struct unpack_call_spec write_spec = {.job = UNPACK_JOB_TREE_TO_TAR,
	    .options = install_dir_options(dir),
	    .fds = fds,
	    .fd_count = 2,
	    .timeout_s = INSTALL_DIR_TIMEOUT_S};
	enum result result;

	if (pipe2(ends, O_CLOEXEC) != 0) {
		json_decref(read_spec.options);
		json_decref(write_spec.options);
		return RESULT_SYSTEM;
	}
	in = ends[0];
	fds[0] = in;
	out = ends[1];
	fds[1] = dir->tar_fd;
	(void)json_object_set_new(read_spec.options, "root", json_integer(0));
	result = unpack_call_start(install->base, install->config, &write_spec,
	    install_dir_on_written, dir, &dir->writer);
	if (result != RESULT_OK) {
		json_decref(read_spec.options);
		return result;
	}
	return unpack_call_start(install->base, install->config, &read_spec,
	    install_dir_on_read, dir, &dir->reader);
}

enum result
install_dir_read(struct install *install, struct install_tree *tree_r)
{
	struct install_dir dir = {
	    .install = install, .tree = tree_r, .root_fd = -1, .tar_fd = -1};
	enum result result;

	tree_r->tar_fd = -1;
	result = install_dir_open(&dir);
	if (result == RESULT_OK)
		result = install_dir_start(&dir);
	if (result == RESULT_OK)
		result = event_loop_run(install->base);
	unpack_call_free(&dir.reader);
	unpack_call_free(&dir.writer);
	fd_close(&dir.root_fd);
	fd_close(&dir.tar_fd);
	if (install->fault.code[0] != '\0') {
		fd_close(&tree_r->tar_fd);
		return install->fault.result;
	}
	if (result != RESULT_OK || tree_r->tar_fd < 0)
		return install_fault_set(&install->fault, RESULT_INTERNAL,
		    "unpack_failed", "the folder could not be read");
	return RESULT_OK;
}
