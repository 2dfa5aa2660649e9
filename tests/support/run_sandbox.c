/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Test tool: run one command in a sandbox through sandbox_start, with the
 * tool's own standard streams as the workload's, and write the outcome as
 * one JSON line to a file. Used by tests/scenario/engine_*.py and kill_*.py
 * and by the bench of start-up; never installed.
 */
#include <event2/event.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/event_loop.h"
#include "common/fd.h"
#include "common/log.h"
#include "supervisor/native/native_place.h"
#include "supervisor/native/native_view.h"
#include "supervisor/policy/audit.h"
#include "supervisor/policy/config.h"
#include "supervisor/sandbox.h"

#define RUN_SANDBOX_ENV_MAX 32

struct run_sandbox {
	struct event_base *base;
	struct config *config;
	struct audit *audit;
	struct sandbox *sandbox;
	struct sandbox_spec spec;
	json_t *allow, *configured;
	const char *env[RUN_SANDBOX_ENV_MAX + 1];
	size_t env_count, mount_count, tmpfs_count, tree_count;
	const char *outcome_path;
	struct native_view_choice choice; /* of a native one */
	struct native_view *view;         /* NULL: a container */
	struct native_place *place;
	uint64_t start_ms, go_ms;
	unsigned stop_ms; /* 0: never */
	int port_to;      /* who gets the listener of port 4100; -1 */
	int code;
};

static _Noreturn void
run_sandbox_die(const char *what, const char *detail)
{
	(void)fprintf(stderr, "run_sandbox: %s: %s\n", what, detail);
	exit(70);
}

static void
run_sandbox_write(
    const struct run_sandbox *run, const struct sandbox_outcome *outcome)
{
	json_t *json = json_pack(
	    "{s:b, s:i, s:i, s:s, s:s, s:I, s:i, s:b, s:s, s:I, s:I}",
	    "started", outcome->started, "exit_code", outcome->exit_code,
	    "signal", outcome->signal, "code", outcome->code, "detail",
	    outcome->detail, "peak_memory", (json_int_t)outcome->peak_memory,
	    "oom_kills", (int)outcome->oom_kills, "removed", outcome->removed,
	    "id", sandbox_id(run->sandbox), "go_ms",
	    (json_int_t)(run->go_ms > 0 ? run->go_ms - run->start_ms : 0),
	    "end_ms", (json_int_t)(event_loop_now_ms() - run->start_ms));

	if (run->outcome_path == NULL ||
	    json_dump_file(json, run->outcome_path, 0) != 0)
		(void)json_dumpfd(json, STDERR_FILENO, 0);
	json_decref(json);
}

static void
run_sandbox_on_go(struct sandbox *sandbox, void *context)
{
	struct run_sandbox *run = context;

	(void)sandbox;
	run->go_ms = event_loop_now_ms();
}

/* It is the test that serves it. */
static void
run_sandbox_on_port(
    struct sandbox *sandbox, size_t index, int fd, void *context)
{
	const struct run_sandbox *run = context;

	if (fd_send(run->port_to, "p", 1, &fd, 1) != RESULT_OK)
		run_sandbox_die("port", "cannot be passed on");
	fd_close(&fd);
	sandbox_port_ready(sandbox, index);
}

static void
run_sandbox_on_end(struct sandbox *sandbox,
    const struct sandbox_outcome *outcome, void *context)
{
	struct run_sandbox *run = context;

	(void)sandbox;
	run_sandbox_write(run, outcome);
	if (outcome->code[0] != '\0')
		run->code = 125;
	else
		run->code = outcome->signal != 0 ? 128 + outcome->signal
						 : outcome->exit_code;
	event_loop_stop(run->base);
}

static void
run_sandbox_on_stop(evutil_socket_t fd, short what, void *context)
{
	struct run_sandbox *run = context;

	(void)fd;
	(void)what;
	sandbox_stop(run->sandbox, "", "");
}

static void
run_sandbox_on_ready(enum result result, const char *detail, void *context)
{
	static const struct sandbox_handlers handlers = {
	    .on_go = run_sandbox_on_go,
	    .on_port = run_sandbox_on_port,
	    .on_end = run_sandbox_on_end};
	struct run_sandbox *run = context;

	if (result != RESULT_OK)
		run_sandbox_die("ledger", detail);
	if (sandbox_start(run->base, run->config, run->audit, &run->spec,
		&handlers, run, &run->sandbox) != RESULT_OK)
		run_sandbox_die("sandbox_start", "failed");
	if (run->stop_ms > 0) {
		struct timeval time = event_loop_timeval(run->stop_ms);

		(void)event_base_once(
		    run->base, -1, EV_TIMEOUT, run_sandbox_on_stop, run, &time);
	}
}

/* "volume:target:hash" (hash may be missing). */
static void
run_sandbox_mount(struct run_sandbox *run, char *text)
{
	struct sandbox_mount *mount = &run->spec.mounts[run->mount_count++];

	mount->volume = strsep(&text, ":");
	mount->target = strsep(&text, ":");
	mount->content_hash = text;
}

/* "path:bytes[:exec]" */
static void
run_sandbox_tmpfs(struct run_sandbox *run, char *text)
{
	struct sandbox_tmpfs *tmpfs = &run->spec.tmpfs[run->tmpfs_count++];

	tmpfs->target = strsep(&text, ":");
	tmpfs->size = strtoull(strsep(&text, ":"), NULL, 10);
	tmpfs->exec = text != NULL;
}

/* "path:file" */
static void
run_sandbox_tree(struct run_sandbox *run, char *text, bool is_export)
{
	struct sandbox_tree *tree = &run->spec.trees[run->tree_count++];

	tree->path = strsep(&text, ":");
	tree->fd = is_export ? open(text, O_WRONLY | O_CREAT | O_TRUNC, 0600)
			     : open(text, O_RDONLY);
	tree->is_export = is_export;
	tree->max_bytes = 1U << 30;
	tree->max_files = 100000;
}

/* "read-only", "workspace-write" or "danger"; and its workspace. */
static void
run_sandbox_native(struct run_sandbox *run, int option, const char *value)
{
	if (option == 'W') {
		run->choice.workspace = value;
		return;
	}
	run->view = calloc(1, sizeof(*run->view));
	run->choice.mode = value[0] == 'r'   ? NATIVE_READ_ONLY
			   : value[0] == 'w' ? NATIVE_WORKSPACE_WRITE
					     : NATIVE_DANGER;
}

static void
run_sandbox_view(struct run_sandbox *run, const char *home)
{
	char fault[512] = "";

	if (run->view == NULL)
		return;
	run->choice.home = getenv("HOME");
	run->choice.agentnode = home;
	run->choice.scratch =
	    run->choice.mode == NATIVE_DANGER ? "/tmp" : "/sandbox-home";
	run->choice.scratch_size = 64U << 20;
	if (native_place_begin(&run->choice, run->view, &run->place, fault,
		sizeof(fault)) != RESULT_OK)
		run_sandbox_die("view", fault);
	run->spec.view = run->view;
}

static void
run_sandbox_option(struct run_sandbox *run, int option, char *value)
{
	switch (option) {
	case 'i':
		run->spec.image = value;
		break;
	case 'k':
		run->spec.kind = value;
		break;
	case 'a':
		if (run->allow == NULL)
			run->allow = json_array();
		if (value[0] != '\0')
			(void)json_array_append_new(
			    run->allow, json_string(value));
		break;
	case 'c':
		if (run->configured == NULL)
			run->configured = json_array();
		(void)json_array_append_new(
		    run->configured, json_string(value));
		break;
	case 'm':
		run_sandbox_mount(run, value);
		break;
	case 't':
		run_sandbox_tmpfs(run, value);
		break;
	case 'I':
	case 'X':
		run_sandbox_tree(run, value, option == 'X');
		break;
	case 'e':
		run->env[run->env_count++ % RUN_SANDBOX_ENV_MAX] = value;
		break;
	case 'w':
		run->spec.limits.wall_s = (unsigned)atoi(value);
		break;
	case 'M':
		run->spec.limits.memory = strtoull(value, NULL, 10);
		break;
	case 'n':
	case 'W':
		run_sandbox_native(run, option, value);
		break;
	case 's':
		run->stop_ms = (unsigned)atoi(value);
		break;
	case 'p':
		run->port_to = atoi(value);
		run->spec.ports[0] = (struct sandbox_port){"llm", 4100};
		break;
	case 'o':
		run->outcome_path = value;
		break;
	default:
		run_sandbox_die("usage", "see the source");
	}
}

static void
run_sandbox_options(struct run_sandbox *run, int argc, char **argv)
{
	static const struct option options[] = {
	    {"image", required_argument, NULL, 'i'},
	    {"kind", required_argument, NULL, 'k'},
	    {"allow", required_argument, NULL, 'a'},
	    {"configured", required_argument, NULL, 'c'},
	    {"mount", required_argument, NULL, 'm'},
	    {"tmpfs", required_argument, NULL, 't'},
	    {"import", required_argument, NULL, 'I'},
	    {"export", required_argument, NULL, 'X'},
	    {"env", required_argument, NULL, 'e'},
	    {"wall", required_argument, NULL, 'w'},
	    {"memory", required_argument, NULL, 'M'},
	    {"stop", required_argument, NULL, 's'},
	    {"port-to", required_argument, NULL, 'p'},
	    {"native", required_argument, NULL, 'n'},
	    {"workspace", required_argument, NULL, 'W'},
	    {"outcome", required_argument, NULL, 'o'}, {NULL, 0, NULL, 0}};
	int option;

	while ((option = getopt_long(argc, argv, "+", options, NULL)) != -1)
		run_sandbox_option(run, option, optarg);
	run->spec.argv = (const char *const *)(argv + optind);
}

int
main(int argc, char **argv)
{
	struct run_sandbox run = {.code = 70,
	    .spec = {.kind = "exec",
		.package = "test",
		.version = "1",
		.stdin_fd = 0,
		.stdout_fd = 1,
		.stderr_fd = 2}};
	struct json_fault fault = {""};
	char home[4096];

	(void)signal(SIGPIPE, SIG_IGN);
	log_open(getenv("RUN_SANDBOX_LOG") != NULL ? 2 : -1, "run_sandbox",
	    LOG_DEBUG_LEVEL);
	run_sandbox_options(&run, argc, argv);
	run.spec.env = run.env;
	if (config_load(&run.config, &fault) != RESULT_OK ||
	    config_home(home, sizeof(home), &fault) != RESULT_OK)
		run_sandbox_die("config", fault.text);
	run_sandbox_view(&run, home);
	if (run.spec.image == NULL && run.view == NULL)
		run.spec.image = config_text(run.config, "sandbox.image");
	if (run.allow != NULL)
		run.spec.egress = json_pack("{s:o, s:[], s:o*}", "allow",
		    run.allow, "deny", "configured", run.configured);
	if (event_loop_new(&run.base) != RESULT_OK)
		run_sandbox_die("loop", "failed");
	run.start_ms = event_loop_now_ms();
	if (audit_start(run.base, home, run_sandbox_on_ready, &run, &run.audit,
		&fault) != RESULT_OK)
		run_sandbox_die("ledger", fault.text);
	(void)event_loop_run(run.base);
	sandbox_free(&run.sandbox);
	audit_free(&run.audit);
	json_decref((json_t *)run.spec.egress);
	config_free(&run.config);
	native_place_free(&run.place);
	free(run.view);
	event_base_free(run.base);
	return run.code;
}
