/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Try each runtime with the real command line until init speaks. Called on
 * the cold path, when nothing else runs; must never leave a container
 * behind or call a runtime good that did not start init.
 */
#include "supervisor/engine/runtime_probe.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <linux/magic.h>

#include "common/event_loop.h"
#include "common/log.h"
#include "supervisor/child.h"
#include "supervisor/engine/cgroup.h"
#include "supervisor/engine/engine_call.h"
#include "supervisor/engine/run_argv.h"
#include "supervisor/engine/run_lock.h"
#include "supervisor/engine/sandbox_uid.h"
#include "supervisor/engine/wiring.h"

#define RUNTIME_PROBE_TIMEOUT_MS 30000U
#define RUNTIME_PROBE_KILLS 1000
#define RUNTIME_PROBE_MEMORY (256ULL << 20)
#define RUNTIME_PROBE_PIDS 64U
#define RUNTIME_PROBE_CPU_MILLI 1000U
#define RUNTIME_PROBE_FILES 1024U
#define RUNTIME_PROBE_UNIFIED "/sys/fs/cgroup/unified"

struct runtime_probe_try {
	struct event_base *base;
	struct engine_call *call;
	struct wiring *wiring;
	bool started; /* init spoke */
	bool limits;
	struct cgroup cgroup;
	char *detail;
	size_t detail_size;
};

static void
runtime_probe_on_hello(pid_t pid, void *context)
{
	const struct cgroup_limits limits = {
	    RUNTIME_PROBE_MEMORY, RUNTIME_PROBE_PIDS, RUNTIME_PROBE_CPU_MILLI};
	struct runtime_probe_try *try = context;

	if (cgroup_find(pid, &try->cgroup, try->detail, try->detail_size) ==
	    RESULT_OK) {
		try->started = true;
		try->limits = cgroup_check_limits(&try->cgroup, &limits,
				  try->detail, try->detail_size) == RESULT_OK;
	}
	event_loop_stop(try->base);
}

static void
runtime_probe_on_wiring_end(enum result why, const char *detail, void *context)
{
	struct runtime_probe_try *try = context;

	/* The client's own words come when it ends. */
	if (why == RESULT_EOF)
		return;
	(void)snprintf(try->detail, try->detail_size, "%s", detail);
	event_loop_stop(try->base);
}

static void
runtime_probe_on_listener(uint32_t index, int fd, void *context)
{
	(void)index;
	(void)context;
	(void)close(fd);
}

static void
runtime_probe_on_report(int fd, void *context)
{
	runtime_probe_on_listener(0, fd, context);
}

static void
runtime_probe_on_tree(bool is_export, int error, void *context)
{
	(void)is_export;
	(void)error;
	(void)context;
}

static void
runtime_probe_on_status(const struct init_status *status, void *context)
{
	(void)status;
	(void)context;
}

static void
runtime_probe_on_client(const struct engine_call_end *end, void *context)
{
	struct runtime_probe_try *try = context;

	if (!try->started)
		(void)snprintf(try->detail, try->detail_size, "%s",
		    end->error[0] != '\0' ? end->error
					  : "the engine ended silently");
	event_loop_stop(try->base);
}

static enum result
runtime_probe_argv(const struct engine_files *files, const char *image,
    const struct engine_memory *memory, const char *id, uint32_t uid,
    struct run_argv *argv_r, char *detail_r, size_t size)
{
	char seccomp[PATH_MAX], id_file[RUN_LOCK_ID_FILE_MAX];
	struct run_argv_input input = {.podman = memory->podman,
	    .runtime = memory->runtime,
	    .cgroup_manager = memory->cgroup_manager,
	    .hooks = files->hooks,
	    .mounts_conf = files->mounts,
	    .seccomp = seccomp,
	    .id_file = id_file,
	    .kind = "probe",
	    .package = "runtime",
	    .id = id,
	    .image = image,
	    .uid = uid,
	    .gid = uid,
	    .memory = RUNTIME_PROBE_MEMORY,
	    .pids = RUNTIME_PROBE_PIDS,
	    .cpu_milli = RUNTIME_PROBE_CPU_MILLI,
	    .files = RUNTIME_PROBE_FILES,
	    .fd_count = INIT_FD_COUNT,
	    .entrypoint = "/proc/self/fd/4"};

	run_lock_id_file(files, id, id_file, sizeof(id_file));
	(void)unlink(id_file); /* of the candidate before */
	if (child_shared_path("seccomp/agentnode.json", seccomp,
		sizeof(seccomp)) != RESULT_OK) {
		(void)snprintf(detail_r, size,
		    "%s is not installed beside agentnode", seccomp);
		return RESULT_NOT_FOUND;
	}
	return run_argv_build(&input, argv_r, detail_r, size);
}

/* Start the client and wait for init's first word. */
static enum result
runtime_probe_start(struct runtime_probe_try *try,
    const struct engine_files *files, const struct engine_memory *memory,
    const struct run_argv *argv)
{
	static const struct wiring_handlers handlers = {runtime_probe_on_hello,
	    runtime_probe_on_listener, runtime_probe_on_report,
	    runtime_probe_on_tree, runtime_probe_on_status,
	    runtime_probe_on_wiring_end, NULL};
	static const struct init_setup setup = {
	    .record = {.magic = INIT_MAGIC,
		.version = INIT_PROTOCOL_VERSION,
		.type = INIT_SETUP}};
	static const int streams[3] = {-1, -1, -1};
	struct wiring_pass pass;
	struct engine_call_spec call = {.files = files,
	    .argv = argv->words,
	    .stdin_fd = -1,
	    .stdout_fd = -1,
	    .pass = pass.fds,
	    .pass_count = INIT_FD_COUNT,
	    .output_max = 65536,
	    .timeout_ms = RUNTIME_PROBE_TIMEOUT_MS,
	    .hide_unified = memory->hide_unified};
	enum result result = wiring_new(try->base, WIRING_FD, &setup, &handlers,
	    try, &try->wiring, try->detail, try->detail_size);

	if (result == RESULT_OK)
		result = wiring_pass(try->wiring, streams, &pass);
	if (result == RESULT_OK)
		result = engine_call_start(
		    try->base, &call, runtime_probe_on_client, try, &try->call);
	if (result != RESULT_OK)
		return result;
	wiring_passed(try->wiring);
	return event_loop_run(try->base);
}

/* Everything of it ends, and the engine forgets it. */
static void
runtime_probe_end(struct runtime_probe_try *try,
    const struct engine_files *files, const struct engine_memory *memory,
    const char *name)
{
	const char *argv[] = {memory->podman, "rm", "--force", "--ignore",
	    "--time=0", "--", name, NULL};
	struct engine_call_spec call = {.files = files,
	    .argv = argv,
	    .stdin_fd = -1,
	    .stdout_fd = -1,
	    .output_max = 65536,
	    .timeout_ms = RUNTIME_PROBE_TIMEOUT_MS};
	char detail[ENGINE_CALL_ERROR_MAX];

	wiring_free(&try->wiring);
	for (int i = 0;
	     i < RUNTIME_PROBE_KILLS && cgroup_kill(&try->cgroup) > 0; i++)
		(void)usleep(1000);
	engine_call_free(&try->call);
	if (engine_call_wait(&call, NULL, NULL, NULL, detail, sizeof(detail)) !=
	    RESULT_OK)
		log_event(LOG_WARN_LEVEL, "probe_left", LOG_TEXT("name", name),
		    LOG_TEXT("detail", detail));
}

static enum result
runtime_probe_one(const struct engine_files *files, const char *image,
    uint32_t uid, struct run_lock *lock, struct engine_memory *memory,
    char *detail_r, size_t size)
{
	struct runtime_probe_try try = {
	    .detail = detail_r, .detail_size = size};
	struct run_argv *argv = calloc(1, sizeof(*argv));
	struct run_lock_facts facts = {.name = ""};
	enum result result = argv == NULL ? RESULT_NO_MEMORY : RESULT_OK;

	if (result == RESULT_OK)
		result = runtime_probe_argv(
		    files, image, memory, lock->id, uid, argv, detail_r, size);
	if (result == RESULT_OK) {
		memcpy(facts.name, argv->name, sizeof(facts.name));
		result = run_lock_note(lock, &facts);
	}
	if (result == RESULT_OK)
		result = event_loop_new(&try.base);
	if (result == RESULT_OK) {
		result = runtime_probe_start(&try, files, memory, argv);
		runtime_probe_end(&try, files, memory, argv->name);
		event_base_free(try.base);
	}
	if (result == RESULT_OK && !try.started)
		result = RESULT_UNSUPPORTED;
	memory->limits = try.limits;
	free(argv);
	return result;
}

/* True when v1 and v2 are mounted side by side and we may look away. */
static bool
runtime_probe_can_hide(void)
{
	struct statfs info;

	return geteuid() == 0 && statfs(RUNTIME_PROBE_UNIFIED, &info) == 0 &&
	       info.f_type == CGROUP2_SUPER_MAGIC;
}

enum result
runtime_probe(const struct engine_files *files, const char *image,
    uint32_t uid_base, struct engine_memory *memory, char *detail_r,
    size_t detail_size)
{
	static const struct {
		const char *name;
		bool hide;
	} candidates[] = {{"crun", false}, {"crun", true}, {"runc", false}};
	enum result result = RESULT_UNSUPPORTED;
	struct sandbox_uid uid;
	struct run_lock lock;

	(void)snprintf(detail_r, detail_size, "neither crun nor runc is here");
	if (sandbox_uid_take(files, uid_base, memory->rootless, &uid) !=
		RESULT_OK ||
	    run_lock_new(files, &lock) != RESULT_OK)
		return RESULT_SYSTEM;
	for (size_t i = 0; i < sizeof(candidates) / sizeof(candidates[0]) &&
			   result != RESULT_OK;
	     i++) {
		if (candidates[i].hide && !runtime_probe_can_hide())
			continue;
		if (engine_call_find(candidates[i].name, memory->runtime,
			sizeof(memory->runtime)) != RESULT_OK)
			continue;
		memory->hide_unified = candidates[i].hide;
		result = runtime_probe_one(files, image, uid.uid, &lock, memory,
		    detail_r, detail_size);
		log_event(LOG_INFO_LEVEL, "runtime_probe",
		    LOG_TEXT("runtime", memory->runtime),
		    LOG_BOOL("hide_unified", memory->hide_unified),
		    LOG_BOOL("works", result == RESULT_OK),
		    LOG_BOOL("limits", memory->limits),
		    LOG_TEXT("detail", detail_r));
	}
	run_lock_end(files, &lock);
	sandbox_uid_end(&uid);
	return result;
}
