/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trees in and out of a run. Called by mcp_run; it must never replace a
 * kept state by one that is cut or was not checked.
 */
#include "supervisor/mcp/mcp_trees.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "supervisor/package/unpack_call.h"
#include "supervisor/policy/state_dir.h"

#define MCP_TREES_TIMEOUT_S 300U
#define MCP_TREES_NAME_MAX 96U

struct mcp_trees {
	struct event_base *base;
	const struct config *config;
	mcp_trees_changed *changed;
	void *context;
	/* files */
	struct unpack_call *files_call;
	int files_dir, files_out; /* -1 once the call has them */
	/* state */
	struct state_dir dir;
	int lock, kept, new_file;
	int export_in, export_out;      /* pipe: what the sandbox writes */
	struct event *export_ready;     /* its first byte, or its end */
	struct unpack_call *state_call; /* the check of what comes out */
	uint64_t state_size;
	bool state_checked, sandbox_ended, in_order, finished;
	char kept_name[MCP_TREES_NAME_MAX], new_name[MCP_TREES_NAME_MAX];
	/* descriptors that the sandbox takes over */
	int handed[2];
	char fault[JSON_FIELD_FAULT_MAX + 128];
};

static void
mcp_trees_note(struct mcp_trees *trees, const char *what, const char *detail)
{
	if (trees->fault[0] == '\0')
		snprintf(trees->fault, sizeof(trees->fault), "%s: %.180s", what,
		    detail);
}

/* --- files -------------------------------------------------------------- */

static void
mcp_trees_on_files(
    const json_t *result, const char *code, const char *detail, void *context)
{
	struct mcp_trees *trees = context;

	/* A sandbox that ended for a reason of its own reads no more. */
	if (result == NULL && strcmp(code, UNPACK_OUTPUT) != 0)
		mcp_trees_note(trees,
		    geteuid() == 0 ? "files cannot be copied in (they are "
				     "read as the folder's owner, never as "
				     "root)"
				   : "files cannot be copied in",
		    detail);
	unpack_call_free(&trees->files_call);
	trees->changed(trees->context);
}

static void
mcp_trees_add(struct sandbox_spec *spec, const char *path, int fd,
    bool is_export, uint64_t bytes)
{
	for (size_t i = 0; i < SANDBOX_TREES_MAX; i++) {
		if (spec->trees[i].path != NULL)
			continue;
		spec->trees[i] = (struct sandbox_tree){.path = path,
		    .fd = fd,
		    .is_export = is_export,
		    .max_bytes = bytes,
		    .max_files = MCP_TREES_FILES_MAX};
		return;
	}
}

static void
mcp_trees_place(struct sandbox_spec *spec, const char *path, uint64_t size)
{
	for (size_t i = 0; i < SANDBOX_TMPFS_MAX; i++) {
		if (spec->tmpfs[i].target != NULL)
			continue;
		spec->tmpfs[i] =
		    (struct sandbox_tmpfs){.target = path, .size = size};
		return;
	}
}

static enum result
mcp_trees_files_call(struct mcp_trees *trees)
{
	struct unpack_call_spec call = {.job = UNPACK_JOB_SEND_TREE,
	    .options = json_pack("{s:i, s:I, s:i}", "root", 0, "max_bytes",
		(json_int_t)MCP_TREES_FILES_SIZE, "max_files",
		(int)MCP_TREES_FILES_MAX),
	    .roots = &trees->files_dir,
	    .root_count = 1,
	    .fds = &trees->files_out,
	    .fd_count = 1,
	    .timeout_s = MCP_TREES_TIMEOUT_S,
	    .keep_uid = true};

	return unpack_call_start(trees->base, trees->config, &call,
	    mcp_trees_on_files, trees, &trees->files_call);
}

static enum result
mcp_trees_open_files(struct mcp_trees *trees, const struct mcp_package *package,
    struct sandbox_spec *spec, struct json_fault *fault)
{
	int pair[2];
	enum result result;

	trees->files_dir =
	    open(package->files_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (trees->files_dir < 0) {
		json_field_fault(fault, "the folder of --files, %.150s: %s",
		    package->files_dir, strerror(errno));
		return RESULT_NOT_FOUND;
	}
	if (pipe2(pair, O_CLOEXEC) != 0) {
		json_field_fault(fault, "no pipe: %s", strerror(errno));
		return RESULT_SYSTEM;
	}
	trees->handed[0] = pair[0];
	trees->files_out = pair[1];
	result = mcp_trees_files_call(trees);
	fd_close(&trees->files_out);
	fd_close(&trees->files_dir);
	if (result != RESULT_OK)
		json_field_fault(fault, "agentnode-unpack does not start: %s",
		    result_text(result));
	/* Half as much again: every file takes whole pages. */
	mcp_trees_place(spec, package->files_target,
	    MCP_TREES_FILES_SIZE + MCP_TREES_FILES_SIZE / 2);
	mcp_trees_add(spec, package->files_target, trees->handed[0], false,
	    MCP_TREES_FILES_SIZE);
	return result;
}

/* --- state -------------------------------------------------------------- */

/* The new copy is whole and clean, and the run ended in order: keep it. */
static void
mcp_trees_keep(struct mcp_trees *trees)
{
	if (fsync(trees->new_file) != 0 ||
	    renameat(trees->dir.fd, trees->new_name, trees->dir.fd,
		trees->kept_name) != 0 ||
	    fsync(trees->dir.fd) != 0)
		mcp_trees_note(
		    trees, "the state cannot be kept", strerror(errno));
	else
		trees->new_name[0] = '\0';
}

static void
mcp_trees_finish(struct mcp_trees *trees)
{
	if (trees->finished || !trees->sandbox_ended ||
	    trees->state_call != NULL)
		return;
	/* In order, but what came out has not been picked up yet. */
	if (trees->in_order && trees->export_in >= 0)
		return;
	trees->finished = true;
	if (trees->in_order && trees->state_checked)
		mcp_trees_keep(trees);
	else if (trees->state_size > 0)
		mcp_trees_note(trees, "the state before this run is kept",
		    "this one did not end in order");
}

static void
mcp_trees_on_state(
    const json_t *result, const char *code, const char *detail, void *context)
{
	struct mcp_trees *trees = context;

	(void)code;
	trees->state_checked = result != NULL;
	if (result == NULL)
		mcp_trees_note(trees,
		    "the state before this run is kept, the new one is bad",
		    detail);
	unpack_call_free(&trees->state_call);
	mcp_trees_finish(trees);
	trees->changed(trees->context);
}

/* Something comes out of the sandbox: have it checked and written. */
static void
mcp_trees_on_export(evutil_socket_t fd, short what, void *context)
{
	struct mcp_trees *trees = context;
	int fds[2] = {trees->export_in, trees->new_file};
	struct unpack_call_spec call = {.job = UNPACK_JOB_CHECK_TREE,
	    .options = json_pack("{s:I, s:i}", "max_bytes",
		(json_int_t)trees->state_size, "max_files",
		(int)MCP_TREES_FILES_MAX),
	    .fds = fds,
	    .fd_count = 2,
	    .timeout_s = MCP_TREES_TIMEOUT_S};

	(void)fd;
	(void)what;
	if (trees->sandbox_ended && !trees->in_order) {
		json_decref(call.options);
		return;
	}
	if (unpack_call_start(trees->base, trees->config, &call,
		mcp_trees_on_state, trees, &trees->state_call) != RESULT_OK)
		mcp_trees_note(trees, "the state cannot be kept",
		    "agentnode-unpack does not start");
	fd_close(&trees->export_in);
	mcp_trees_finish(trees);
	trees->changed(trees->context);
}

static enum result
mcp_trees_lock_state(
    struct mcp_trees *trees, const char *slug, struct json_fault *fault)
{
	char name[MCP_TREES_NAME_MAX];

	snprintf(name, sizeof(name), "%s.lock", slug);
	trees->lock = openat(trees->dir.fd, name,
	    O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (trees->lock < 0) {
		json_field_fault(
		    fault, "the state of %s: %s", slug, strerror(errno));
		return RESULT_SYSTEM;
	}
	if (flock(trees->lock, LOCK_EX | LOCK_NB) != 0) {
		json_field_fault(fault,
		    "another run of %s has its state: end that one first",
		    slug);
		return RESULT_EXISTS;
	}
	return RESULT_OK;
}

static enum result
mcp_trees_state_files(
    struct mcp_trees *trees, const char *slug, struct json_fault *fault)
{
	int pair[2] = {-1, -1};

	snprintf(trees->kept_name, sizeof(trees->kept_name), "%s.tree", slug);
	snprintf(trees->new_name, sizeof(trees->new_name), "%s.tree.new", slug);
	trees->kept = openat(
	    trees->dir.fd, trees->kept_name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	(void)unlinkat(trees->dir.fd, trees->new_name, 0);
	trees->new_file = openat(trees->dir.fd, trees->new_name,
	    O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (trees->new_file < 0 || pipe2(pair, O_CLOEXEC) != 0) {
		json_field_fault(
		    fault, "the state of %s: %s", slug, strerror(errno));
		return RESULT_SYSTEM;
	}
	trees->export_in = pair[0];
	trees->handed[1] = pair[1];
	trees->export_ready = event_new(
	    trees->base, trees->export_in, EV_READ, mcp_trees_on_export, trees);
	return trees->export_ready == NULL ? RESULT_NO_MEMORY : RESULT_OK;
}

static enum result
mcp_trees_open_state(struct mcp_trees *trees, const struct mcp_package *package,
    struct sandbox_spec *spec, struct json_fault *fault)
{
	struct state_dir home = {.fd = -1};
	enum result result = state_dir_home(true, &home, fault);

	if (result == RESULT_OK)
		result = state_dir_sub(&home, "state", &trees->dir, fault);
	state_dir_close(&home);
	if (result == RESULT_OK)
		result = mcp_trees_lock_state(trees, package->slug, fault);
	if (result == RESULT_OK)
		result = mcp_trees_state_files(trees, package->slug, fault);
	if (result != RESULT_OK)
		return result;
	trees->state_size = package->state_size;
	mcp_trees_place(spec, MCP_PACKAGE_STATE,
	    package->state_size + package->state_size / 2);
	if (trees->kept >= 0)
		mcp_trees_add(spec, MCP_PACKAGE_STATE, trees->kept, false,
		    package->state_size);
	mcp_trees_add(spec, MCP_PACKAGE_STATE, trees->handed[1], true,
	    package->state_size);
	return RESULT_OK;
}

/* --- all of it ---------------------------------------------------------- */

enum result
mcp_trees_open(struct event_base *base, const struct config *config,
    const struct mcp_package *package, struct sandbox_spec *spec,
    mcp_trees_changed *changed, void *context, struct mcp_trees **trees_r,
    struct json_fault *fault)
{
	struct mcp_trees *trees = calloc(1, sizeof(*trees));
	enum result result = RESULT_OK;

	*trees_r = trees;
	if (trees == NULL)
		return RESULT_NO_MEMORY;
	trees->base = base;
	trees->config = config;
	trees->changed = changed;
	trees->context = context;
	trees->dir.fd = trees->files_dir = trees->files_out = -1;
	trees->lock = trees->kept = trees->new_file = -1;
	trees->export_in = trees->handed[0] = trees->handed[1] = -1;
	if (package->files_dir != NULL)
		result = mcp_trees_open_files(trees, package, spec, fault);
	if (result == RESULT_OK && package->state_size > 0)
		result = mcp_trees_open_state(trees, package, spec, fault);
	return result;
}

void
mcp_trees_handed_over(struct mcp_trees *trees)
{
	fd_close(&trees->handed[0]);
	fd_close(&trees->handed[1]);
	fd_close(&trees->kept);
	if (trees->export_ready != NULL)
		(void)event_add(trees->export_ready, NULL);
}

void
mcp_trees_sandbox_ended(struct mcp_trees *trees, bool in_order)
{
	trees->sandbox_ended = true;
	trees->in_order = in_order;
	/* Nothing came, so nothing will. */
	if (trees->export_ready != NULL &&
	    event_pending(trees->export_ready, EV_READ, NULL) != 0 && !in_order)
		(void)event_del(trees->export_ready);
	mcp_trees_finish(trees);
}

bool
mcp_trees_is_idle(const struct mcp_trees *trees)
{
	return trees->finished && trees->state_call == NULL &&
	       trees->files_call == NULL;
}

const char *
mcp_trees_fault(const struct mcp_trees *trees)
{
	return trees->fault;
}

void
mcp_trees_free(struct mcp_trees **trees)
{
	struct mcp_trees *gone = *trees;

	if (gone == NULL)
		return;
	*trees = NULL;
	unpack_call_free(&gone->files_call);
	unpack_call_free(&gone->state_call);
	if (gone->export_ready != NULL)
		event_free(gone->export_ready);
	if (gone->new_file >= 0 && gone->new_name[0] != '\0')
		(void)unlinkat(gone->dir.fd, gone->new_name, 0);
	fd_close(&gone->files_dir);
	fd_close(&gone->files_out);
	fd_close(&gone->kept);
	fd_close(&gone->new_file);
	fd_close(&gone->export_in);
	fd_close(&gone->handed[0]);
	fd_close(&gone->handed[1]);
	fd_close(&gone->lock);
	state_dir_close(&gone->dir);
	free(gone);
}
