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
#include "supervisor/engine/control_slot.h"
#include "supervisor/engine/docker_program.h"
#include "supervisor/engine/engine_call.h"
#include "supervisor/engine/engine_locate.h"
#include "supervisor/engine/engine_words.h"
#include "supervisor/engine/run_argv.h"
#include "supervisor/engine/run_lock.h"
#include "supervisor/engine/sandbox_uid.h"
#include "supervisor/engine/wiring.h"
#include "supervisor/init/init_connect.h"
#include "supervisor/init/init_mux.h"

#define RUNTIME_PROBE_TIMEOUT_MS 30000U
#define RUNTIME_PROBE_KILLS 1000
#define RUNTIME_PROBE_PATIENCE_S 10
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
	const struct engine_host *docker; /* else NULL */
	bool by_group;                    /* docker's, by mux */
	const char *run;                  /* id */
	struct control_slot slot;         /* docker's */
	uint32_t uid;
	char *detail;
	size_t detail_size;
};

/* The groups of what spoke, and that it is the container that was made. */
static enum result
runtime_probe_find(struct runtime_probe_try *try, pid_t pid)
{
	char id[RUN_LOCK_CONTAINER_MAX];
	enum result result;

	if (try->docker == NULL)
		return cgroup_find(
		    pid, &try->cgroup, try->detail, try->detail_size);
	run_lock_container(&try->docker->files, try->run, id);
	result = cgroup_find_of(
	    pid, id, &try->cgroup, try->detail, try->detail_size);
	if (result == RESULT_OK && try->cgroup.count == 0)
		result = RESULT_MISMATCH;
	return result;
}

static void
runtime_probe_on_hello(pid_t pid, void *context)
{
	const struct cgroup_limits limits = {
	    RUNTIME_PROBE_MEMORY, RUNTIME_PROBE_PIDS, RUNTIME_PROBE_CPU_MILLI};
	struct runtime_probe_try *try = context;
	enum result result = RESULT_OK;

	if (pid == 0)
		result = engine_locate(&try->docker->files, try->run, &pid,
		    try->detail, try->detail_size);
	if (result == RESULT_OK && runtime_probe_find(try, pid) == RESULT_OK) {
		try->started = true;
		try->detail[0] = '\0';
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

static const char *
runtime_probe_sandbox(void *context)
{
	const struct runtime_probe_try *try = context;

	return try->run;
}

static void
runtime_probe_on_client(const struct engine_call_end *end, void *context)
{
	static const struct timeval patience = {RUNTIME_PROBE_PATIENCE_S, 0};
	struct runtime_probe_try *try = context;

	/* init's word is still to come. */
	if (try->docker != NULL && !try->by_group && end->exit_code == 0) {
		(void)snprintf(try->detail, try->detail_size,
		    "the container started, but its init did not connect");
		(void)event_base_loopexit(try->base, &patience);
		return;
	}
	if (!try->started)
		(void)snprintf(try->detail, try->detail_size, "%s",
		    end->error[0] != '\0' ? end->error
					  : "the engine ended silently");
	event_loop_stop(try->base);
}

/* What differs for docker. */
static void
runtime_probe_dialect(
    const struct runtime_probe_try *try, struct run_argv_input *input)
{
	if (try->docker == NULL)
		return;
	input->dialect = RUN_ARGV_DOCKER;
	input->entrypoint = INIT_WIRING_PROGRAM;
	input->owner = try->docker->files.owner;
	input->interactive = try->by_group;
	input->init_word =
	    try->by_group ? INIT_MUX_WORD_PASSED : INIT_WORD_VOLUME;
	input->mounts[input->mount_count++] =
	    (struct run_argv_mount){try->slot.volume, INIT_WIRING_DIR};
}

static enum result
runtime_probe_argv(const struct runtime_probe_try *try,
    const struct engine_host *host, const char *image, struct run_argv *argv_r)
{
	char seccomp[PATH_MAX], id_file[RUN_LOCK_ID_FILE_MAX];
	const struct engine_memory *memory = &host->memory;
	struct run_argv_input input = {.client = memory->client,
	    .runtime = memory->runtime,
	    .cgroup_manager = memory->cgroup_manager,
	    .hooks = host->files.hooks,
	    .mounts_conf = host->files.mounts,
	    .seccomp = seccomp,
	    .id_file = id_file,
	    .kind = "probe",
	    .package = "runtime",
	    .id = try->run,
	    .image = image,
	    .uid = try->uid,
	    .gid = try->uid,
	    .memory = RUNTIME_PROBE_MEMORY,
	    .pids = RUNTIME_PROBE_PIDS,
	    .cpu_milli = RUNTIME_PROBE_CPU_MILLI,
	    .files = RUNTIME_PROBE_FILES,
	    .fd_count = INIT_FD_COUNT,
	    .entrypoint = "/proc/self/fd/4"};

	run_lock_id_file(&host->files, try->run, id_file, sizeof(id_file));
	(void)unlink(id_file); /* of the candidate before */
	if (child_shared_path("seccomp/agentnode.json", seccomp,
		sizeof(seccomp)) != RESULT_OK) {
		(void)snprintf(try->detail, try->detail_size,
		    "%s is not installed beside agentnode", seccomp);
		return RESULT_NOT_FOUND;
	}
	runtime_probe_dialect(try, &input);
	return run_argv_build(&input, argv_r, try->detail, try->detail_size);
}

/* Start the client and wait for init's first word. */
static enum result
runtime_probe_start(struct runtime_probe_try *try,
    const struct engine_host *host, const struct run_argv *argv)
{
	static const struct wiring_handlers handlers = {runtime_probe_on_hello,
	    runtime_probe_on_listener, runtime_probe_on_report,
	    runtime_probe_on_tree, runtime_probe_on_status,
	    runtime_probe_on_wiring_end, runtime_probe_sandbox, NULL};
	static const struct init_setup setup = {
	    .record = {.magic = INIT_MAGIC,
		.version = INIT_PROTOCOL_VERSION,
		.type = INIT_SETUP}};
	static const int streams[3] = {-1, -1, -1};
	const struct wiring_place there = {.program_is_there = true};
	const struct wiring_place place = {
	    .dir = try->slot.dir, .uid = try->uid};
	struct wiring_pass pass;
	struct engine_call_spec call = {.files = &host->files,
	    .argv = argv->words,
	    .stdin_fd = -1,
	    .stdout_fd = -1,
	    .pass = pass.fds,
	    .output_max = 65536,
	    .timeout_ms = RUNTIME_PROBE_TIMEOUT_MS,
	    .hide_unified = host->memory.hide_unified};
	enum wiring_kind kind = try->docker != NULL ? WIRING_VOLUME : WIRING_FD;
	enum result result =
	    wiring_new(try->base, try->by_group ? WIRING_MUX : kind,
		try->by_group ? &there : &place, &setup, &handlers, try,
		&try->wiring, try->detail, try->detail_size);

	if (result == RESULT_OK)
		result = wiring_pass(try->wiring, streams, &pass);
	if (result != RESULT_OK)
		return result;
	call.pass_count = pass.count;
	call.stdin_fd = pass.stdin_fd;
	call.stdout_fd = pass.stdout_fd;
	result = engine_call_start(
	    try->base, &call, runtime_probe_on_client, try, &try->call);
	if (result != RESULT_OK)
		return result;
	wiring_passed(try->wiring);
	return event_loop_run(try->base);
}

/* Everything of it ends, and the engine forgets it. */
static void
runtime_probe_end(struct runtime_probe_try *try, const struct engine_host *host,
    const char *name)
{
	struct engine_words words;
	struct engine_call_spec call = {.files = &host->files,
	    .argv = words.argv,
	    .stdin_fd = -1,
	    .stdout_fd = -1,
	    .output_max = 65536,
	    .timeout_ms = RUNTIME_PROBE_TIMEOUT_MS};
	char detail[ENGINE_CALL_ERROR_MAX];

	engine_words_remove(&host->memory, name, &words);
	wiring_free(&try->wiring);
	for (int i = 0;
	     i < RUNTIME_PROBE_KILLS && cgroup_kill(&try->cgroup) > 0; i++)
		(void)usleep(1000);
	engine_call_free(&try->call);
	/* Docker complains of what it has removed by itself meanwhile. */
	if (engine_call_wait(&call, NULL, NULL, NULL, detail, sizeof(detail)) !=
		RESULT_OK &&
	    try->docker == NULL)
		log_event(LOG_WARN_LEVEL, "probe_left", LOG_TEXT("name", name),
		    LOG_TEXT("detail", detail));
}

/* The loop, once everything of a try is there. */
static enum result
runtime_probe_run(struct runtime_probe_try *try, const struct engine_host *host,
    const struct run_argv *argv)
{
	enum result result = event_loop_new(&try->base);

	if (result != RESULT_OK)
		return result;
	result = runtime_probe_start(try, host, argv);
	runtime_probe_end(try, host, argv->name);
	event_base_free(try->base);
	if (result == RESULT_OK && !try->started)
		result = RESULT_UNSUPPORTED;
	return result;
}

static enum result
runtime_probe_one(const char *image, uint32_t uid, struct run_lock *lock,
    struct engine_host *host, char *detail_r, size_t size)
{
	bool docker = host->memory.kind == ENGINE_MEMORY_DOCKER;
	struct runtime_probe_try try = {.docker = docker ? host : NULL,
	    .by_group = engine_memory_by_group(&host->memory),
	    .run = lock->id,
	    .slot = {.fd = -1},
	    .uid = uid,
	    .detail = detail_r,
	    .detail_size = size};
	struct run_argv *argv = calloc(1, sizeof(*argv));
	struct run_lock_facts facts = {.name = "", .docker = docker};
	struct volume_check_one unused;
	enum result result = argv == NULL ? RESULT_NO_MEMORY : RESULT_OK;

	if (result == RESULT_OK && docker)
		result =
		    try.by_group
			? docker_program_take(host, image, lock->id, &try.slot,
			      &unused, detail_r, size)
			: control_slot_take(host, &try.slot, detail_r, size);
	if (result == RESULT_OK)
		result = runtime_probe_argv(&try, host, image, argv);
	if (result == RESULT_OK) {
		memcpy(facts.name, argv->name, sizeof(facts.name));
		result = run_lock_note(lock, &facts);
	}
	if (result == RESULT_OK)
		result = runtime_probe_run(&try, host, argv);
	host->memory.limits = try.limits;
	control_slot_end(&try.slot);
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

static void
runtime_probe_log(
    const struct engine_memory *memory, enum result result, const char *detail)
{
	log_event(LOG_INFO_LEVEL, "runtime_probe",
	    LOG_TEXT("client", memory->client),
	    LOG_TEXT("runtime", memory->runtime),
	    LOG_BOOL("hide_unified", memory->hide_unified),
	    LOG_BOOL("works", result == RESULT_OK),
	    LOG_BOOL("limits", memory->limits), LOG_TEXT("detail", detail));
}

/* Each runtime that podman can be told to use. */
static enum result
runtime_probe_each(const char *image, uint32_t uid, struct run_lock *lock,
    struct engine_host *host, char *detail_r, size_t size)
{
	static const struct {
		const char *name;
		bool hide;
	} candidates[] = {{"crun", false}, {"crun", true}, {"runc", false}};
	struct engine_memory *memory = &host->memory;
	enum result result = RESULT_UNSUPPORTED;

	(void)snprintf(detail_r, size, "neither crun nor runc is here");
	for (size_t i = 0; i < sizeof(candidates) / sizeof(candidates[0]) &&
			   result != RESULT_OK;
	     i++) {
		if (candidates[i].hide && !runtime_probe_can_hide())
			continue;
		if (engine_call_find(candidates[i].name, memory->runtime,
			sizeof(memory->runtime)) != RESULT_OK)
			continue;
		memory->hide_unified = candidates[i].hide;
		result =
		    runtime_probe_one(image, uid, lock, host, detail_r, size);
		runtime_probe_log(memory, result, detail_r);
	}
	return result;
}

enum result
runtime_probe(struct engine_host *host, const char *image, uint32_t uid_base,
    char *detail_r, size_t detail_size)
{
	enum result result;
	struct sandbox_uid uid;
	struct run_lock lock;

	detail_r[0] = '\0';
	if (sandbox_uid_take(&host->files, uid_base, host->memory.rootless,
		&uid) != RESULT_OK ||
	    run_lock_new(&host->files, &lock) != RESULT_OK)
		return RESULT_SYSTEM;
	if (host->memory.kind == ENGINE_MEMORY_DOCKER) {
		host->memory.hide_unified = false;
		result = runtime_probe_one(
		    image, uid.uid, &lock, host, detail_r, detail_size);
		runtime_probe_log(&host->memory, result, detail_r);
	} else {
		result = runtime_probe_each(
		    image, uid.uid, &lock, host, detail_r, detail_size);
	}
	run_lock_end(&host->files, &lock);
	sandbox_uid_end(&uid);
	return result;
}
