/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One sandbox on a loop of its own, its output read as fixed-size records.
 * Called by the commands; must never call a missing record a success.
 */
#include "supervisor/engine/selftest.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/buffer.h"
#include "common/event_loop.h"
#include "common/fd.h"
#include "common/log.h"
#include "supervisor/child.h"
#include "supervisor/engine/engine.h"
#include "supervisor/engine/selftest_guest.h"
#include "supervisor/init/tree_stream.h"
#include "supervisor/native/native_view.h"
#include "supervisor/policy/audit.h"
#include "supervisor/policy/config.h"
#include "supervisor/probe/probe_record.h"
#include "supervisor/sandbox.h"

#define SELFTEST_DIR "/selftest"
#define SELFTEST_SCRATCH "/sandbox-home"
#define SELFTEST_NAME "agentnode-probe"
#define SELFTEST_PROGRAM_MAX (16U << 20)
#define SELFTEST_OUTPUT_MAX (1U << 20)
#define SELFTEST_MEMORY (256ULL << 20)
#define SELFTEST_WALL_S 120U

struct selftest {
	struct event_base *base;
	const struct config *config;
	struct audit *audit;
	struct sandbox *sandbox;
	struct sandbox_spec spec;
	struct sandbox_outcome outcome;
	enum selftest_boundary boundary;
	struct native_view *view; /* of a native one; owned */
	bool probe, ended;
	int tree_fd; /* the probe as a tree stream */
	int out[2];  /* its standard output */
	struct event *out_event;
	struct buffer output;
	char *detail;
	size_t detail_size;
};

static enum result
selftest_put(struct buffer *stream, uint32_t type, const char *path,
    const void *content, size_t size)
{
	struct tree_stream_header header = {.magic = TREE_STREAM_MAGIC,
	    .type = type,
	    .mode = 0755,
	    .path_len = (uint32_t)strlen(path),
	    .size = size};
	enum result result = buffer_append(stream, &header, sizeof(header));

	if (result == RESULT_OK)
		result = buffer_append_text(stream, path);
	if (result == RESULT_OK && size > 0)
		result = buffer_append(stream, content, size);
	return result;
}

/* The probe's program as a tree of one file, in a memfd. */
static enum result
selftest_tree(struct selftest *test)
{
	char path[PATH_MAX], *program = NULL;
	struct buffer stream;
	size_t len = 0;
	int fd FD_CLEANUP = -1;
	enum result result =
	    child_program_path(SELFTEST_NAME, path, sizeof(path));

	if (result == RESULT_OK)
		fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		(void)snprintf(test->detail, test->detail_size,
		    SELFTEST_NAME " is not installed beside agentnode");
		return RESULT_NOT_FOUND;
	}
	buffer_init(&stream, SELFTEST_PROGRAM_MAX + 4096);
	result = fd_read_all(fd, SELFTEST_PROGRAM_MAX, &program, &len);
	if (result == RESULT_OK)
		result = selftest_put(
		    &stream, TREE_STREAM_FILE, SELFTEST_NAME, program, len);
	if (result == RESULT_OK)
		result = selftest_put(&stream, TREE_STREAM_END, "", NULL, 0);
	if (result == RESULT_OK)
		result = fd_sealed_memfd("selftest",
		    buffer_bytes_borrow(&stream), stream.len, &test->tree_fd);
	buffer_free(&stream);
	free(program);
	return result;
}

static void
selftest_on_output(evutil_socket_t fd, short what, void *context)
{
	struct selftest *test = context;
	uint8_t *space;
	size_t room;
	ssize_t got = 0;

	(void)what;
	if (buffer_reserve(&test->output, 65536, &space, &room) == RESULT_OK)
		got = read(fd, space, room);
	if (got > 0)
		buffer_commit(&test->output, (size_t)got);
	else if (got == 0 || (errno != EAGAIN && errno != EINTR))
		(void)event_del(test->out_event); /* its end, or too much */
}

static void
selftest_on_end(struct sandbox *sandbox, const struct sandbox_outcome *outcome,
    void *context)
{
	struct selftest *test = context;

	(void)sandbox;
	test->outcome = *outcome;
	test->ended = true;
	event_loop_stop(test->base);
}

static void
selftest_on_ready(enum result result, const char *detail, void *context)
{
	static const struct sandbox_handlers handlers = {
	    .on_end = selftest_on_end};
	struct selftest *test = context;

	if (result == RESULT_OK &&
	    sandbox_start(test->base, test->config, test->audit, &test->spec,
		&handlers, test, &test->sandbox) == RESULT_OK)
		return;
	(void)snprintf(test->detail, test->detail_size,
	    "the audit chain is not ready: %s", detail);
	event_loop_stop(test->base);
}

/* What a read-only command without a workspace would see. */
static enum result
selftest_view(struct selftest *test)
{
	struct json_fault fault = {""};
	const char *home = getenv("HOME");
	char own[PATH_MAX];
	struct native_view_choice choice = {.mode = NATIVE_READ_ONLY,
	    .home = home != NULL && home[0] == '/' ? home : "/root",
	    .agentnode = own,
	    .scratch = SELFTEST_SCRATCH,
	    .scratch_size = SELFTEST_PROGRAM_MAX};

	if (config_home(own, sizeof(own), &fault) != RESULT_OK) {
		(void)snprintf(
		    test->detail, test->detail_size, "%s", fault.text);
		return RESULT_BAD;
	}
	test->view = calloc(1, sizeof(*test->view));
	if (test->view == NULL)
		return RESULT_NO_MEMORY;
	if (native_view_make(&choice, test->view, test->detail,
		test->detail_size) != RESULT_OK)
		return RESULT_REFUSED;
	/* As strict as a container, so that every probe is one question. */
	for (size_t i = 0; i < test->view->count; i++)
		test->view->steps[i].exec = false;
	return RESULT_OK;
}

static enum result
selftest_prepare(struct selftest *test)
{
	struct sandbox_spec *spec = &test->spec;

	if (test->boundary == SELFTEST_NATIVE &&
	    selftest_view(test) != RESULT_OK)
		return RESULT_REFUSED;
	spec->kind = "selftest";
	spec->package = "selftest";
	spec->version = "";
	if (test->boundary == SELFTEST_NATIVE)
		spec->view = test->view;
	else
		spec->image = config_text(test->config, "sandbox.image");
	spec->limits.memory = SELFTEST_MEMORY;
	spec->limits.wall_s = SELFTEST_WALL_S;
	spec->stdin_fd = -1;
	spec->stderr_fd = -1;
	spec->stdout_fd = -1;
	if (pipe2(test->out, O_CLOEXEC) != 0)
		return RESULT_SYSTEM;
	spec->stdout_fd = test->out[1];
	if (!test->probe)
		return RESULT_OK;
	spec->tmpfs[0] =
	    (struct sandbox_tmpfs){SELFTEST_DIR, SELFTEST_PROGRAM_MAX, true};
	spec->trees[0] = (struct sandbox_tree){.path = SELFTEST_DIR,
	    .max_bytes = SELFTEST_PROGRAM_MAX,
	    .max_files = 1};
	if (selftest_tree(test) != RESULT_OK)
		return RESULT_NOT_FOUND;
	spec->trees[0].fd = test->tree_fd;
	return RESULT_OK;
}

static enum result
selftest_loop(struct selftest *test)
{
	struct json_fault fault = {""};
	char home[PATH_MAX];
	enum result result = config_home(home, sizeof(home), &fault);

	if (result != RESULT_OK)
		(void)snprintf(
		    test->detail, test->detail_size, "%s", fault.text);
	if (result == RESULT_OK)
		result = fd_set_nonblocking(test->out[0], true);
	if (result == RESULT_OK) {
		test->out_event = event_new(test->base, test->out[0],
		    EV_READ | EV_PERSIST, selftest_on_output, test);
		if (test->out_event == NULL ||
		    event_add(test->out_event, NULL) != 0)
			result = RESULT_NO_MEMORY;
	}
	if (result == RESULT_OK) {
		result = audit_start(test->base, home, selftest_on_ready, test,
		    &test->audit, &fault);
		if (result != RESULT_OK)
			(void)snprintf(
			    test->detail, test->detail_size, "%s", fault.text);
	}
	if (result == RESULT_OK)
		result = event_loop_run(test->base);
	return result == RESULT_OK && !test->ended ? RESULT_UNSUPPORTED
						   : result;
}

/* What is still in the pipe: every writer is dead. */
static void
selftest_drain(struct selftest *test)
{
	size_t before;

	fd_close(&test->out[1]);
	do {
		before = test->output.len;
		selftest_on_output(test->out[0], EV_READ, test);
	} while (test->output.len > before);
}

/* A row that cannot be written is a row that failed, never one less. */
void
selftest_row(json_t *probes, const char *name, bool ok, const char *detail)
{
	json_t *row = json_pack(
	    "{s:s, s:b, s:s}", "name", name, "ok", ok, "detail", detail);

	if (row == NULL)
		row = json_pack("{s:s, s:b, s:s}", "name", "row", "ok", 0,
		    "detail", "a result is no text that can be shown");
	if (json_array_append_new(probes, row) != 0)
		(void)json_array_clear(probes); /* nothing is not success */
}

bool
selftest_take(const void *bytes, size_t len, json_t *probes)
{
	size_t count = len / sizeof(struct probe_record);
	bool whole = count > 0 && len % sizeof(struct probe_record) == 0;

	for (size_t i = 0; i < count && whole; i++) {
		struct probe_record record;
		char name[4 * PROBE_RECORD_NAME_MAX];
		char detail[4 * PROBE_RECORD_DETAIL_MAX];

		memcpy(&record, (const char *)bytes + i * sizeof(record),
		    sizeof(record));
		whole = record.magic == PROBE_RECORD_MAGIC &&
			record.version == PROBE_RECORD_VERSION &&
			record.index == i && record.count == count &&
			record.ok <= 1;
		if (!whole)
			break;
		log_escape(record.name,
		    strnlen(record.name, sizeof(record.name)), name,
		    sizeof(name));
		log_escape(record.detail,
		    strnlen(record.detail, sizeof(record.detail)), detail,
		    sizeof(detail));
		selftest_row(probes, name, record.ok == 1, detail);
	}
	return whole;
}

static bool
selftest_all_ok(const json_t *probes)
{
	for (size_t i = 0; i < json_array_size(probes); i++) {
		if (!json_is_true(
			json_object_get(json_array_get(probes, i), "ok")))
			return false;
	}
	return json_array_size(probes) > 0;
}

static enum result
selftest_report(struct selftest *test, json_t **report_r)
{
	const struct sandbox_outcome *outcome = &test->outcome;
	json_t *probes = json_array();
	char detail[640];
	bool started = outcome->code[0] == '\0';

	/* Without a probe the command is one that no image has. */
	if (!test->probe && strcmp(outcome->code, "exec_failed") == 0)
		started = true;
	(void)snprintf(detail, sizeof(detail), "%s%s%s", outcome->code,
	    outcome->code[0] != '\0' ? ": " : "", outcome->detail);
	selftest_row(probes, "start", started,
	    started ? "init's report fits the expected walls and limits"
		    : detail);
	if (test->probe && started) {
		bool whole = selftest_take(buffer_bytes_borrow(&test->output),
		    test->output.len, probes);

		selftest_row(probes, "records", whole && !test->outcome.signal,
		    whole ? "every probe answered"
			  : "the probe's records are not complete");
	}
	selftest_row(probes, "removed", outcome->removed,
	    outcome->removed ? "nothing of it is left"
			     : "the engine still knows the container");
	*report_r = json_pack(
	    "{s:b, s:o}", "ok", selftest_all_ok(probes), "probes", probes);
	return *report_r == NULL ? RESULT_NO_MEMORY : RESULT_OK;
}

static void
selftest_clear(struct selftest *test)
{
	sandbox_free(&test->sandbox);
	audit_free(&test->audit);
	if (test->out_event != NULL)
		event_free(test->out_event);
	if (test->base != NULL)
		event_base_free(test->base);
	buffer_free(&test->output);
	fd_close(&test->out[0]);
	fd_close(&test->out[1]);
	fd_close(&test->tree_fd);
	free(test->view);
}

/* From the plan to the last byte of its output. */
static enum result
selftest_play(struct selftest *test)
{
	enum result result;

	test->tree_fd = test->out[0] = test->out[1] = -1;
	test->detail[0] = '\0';
	buffer_init(&test->output, SELFTEST_OUTPUT_MAX);
	result = selftest_prepare(test);
	if (result == RESULT_OK)
		result = event_loop_new(&test->base);
	if (result == RESULT_OK)
		result = selftest_loop(test);
	if (result == RESULT_OK)
		selftest_drain(test);
	return result;
}

/* In a guest kernel processes and memory are those of the whole sandbox,
 * which ends at the limit: a sandbox of its own for each. */
static void
selftest_limit(const struct selftest *first, const char *name, json_t *probes)
{
	const char *const argv[] = {
	    SELFTEST_DIR "/" SELFTEST_NAME, "--records", "--only", name, NULL};
	char detail[400] = "", shown[640];
	struct selftest test = {.config = first->config,
	    .boundary = first->boundary,
	    .probe = true,
	    .spec = {.argv = argv},
	    .detail = detail,
	    .detail_size = sizeof(detail)};
	enum result result = selftest_play(&test);
	const struct sandbox_outcome *outcome = &test.outcome;
	/* Of that limit, and of no other. */
	bool memory = strcmp(name, "limit_memory") == 0;
	bool ended = result == RESULT_OK && outcome->started &&
		     outcome->removed &&
		     strcmp(outcome->code, "init_died") == 0 &&
		     memory == (outcome->oom_kills > 0);

	(void)snprintf(shown, sizeof(shown), "%s (gVisor: %s%s)",
	    result != RESULT_OK ? detail : outcome->code,
	    ended ? "the whole sandbox ended at its limit"
		  : "it should have ended at its limit",
	    outcome->oom_kills > 0 ? ", out of memory" : "");
	selftest_row(probes, name, ended, shown);
	selftest_clear(&test);
}

static void
selftest_guest(const struct selftest *test, json_t *report)
{
	json_t *probes = json_object_get(report, "probes");

	selftest_guest_judge(probes);
	if (test->probe && test->outcome.code[0] == '\0') {
		selftest_limit(test, "limit_processes", probes);
		selftest_limit(test, "limit_memory", probes);
	}
	(void)json_object_set_new(
	    report, "ok", json_boolean(selftest_all_ok(probes)));
}

enum result
selftest_run(const struct config *config, enum selftest_boundary boundary,
    bool probe, json_t **report_r, char *detail_r, size_t detail_size)
{
	static const char *const argv[] = {
	    SELFTEST_DIR "/" SELFTEST_NAME, "--records", NULL};
	static const char *const guest_argv[] = {SELFTEST_DIR "/" SELFTEST_NAME,
	    "--records", "--without", "limit_processes", "--without",
	    "limit_memory", NULL};
	bool guest = boundary == SELFTEST_CONTAINER && engine_is_guest(config);
	struct selftest test = {.config = config,
	    .boundary = boundary,
	    .probe = probe,
	    .spec = {.argv = guest ? guest_argv : argv},
	    .detail = detail_r,
	    .detail_size = detail_size};
	enum result result = selftest_play(&test);

	*report_r = NULL;
	if (result == RESULT_OK)
		result = selftest_report(&test, report_r);
	if (result == RESULT_OK && guest)
		selftest_guest(&test, *report_r);
	selftest_clear(&test);
	return result;
}

enum result
selftest_facts(const struct config *config, enum selftest_boundary boundary,
    const char **argv, const json_t *egress, json_t **rows_r, char *detail_r,
    size_t detail_size)
{
	struct selftest test = {.config = config,
	    .boundary = boundary,
	    .probe = true,
	    .spec = {.argv = argv, .egress = egress, .cwd = "/tmp"},
	    .detail = detail_r,
	    .detail_size = detail_size};
	enum result result;

	argv[0] = SELFTEST_DIR "/" SELFTEST_NAME;
	*rows_r = json_array();
	if (*rows_r == NULL)
		return RESULT_NO_MEMORY;
	result = selftest_play(&test);
	if (result == RESULT_OK && test.outcome.code[0] != '\0') {
		(void)snprintf(detail_r, detail_size, "%s (%s)",
		    test.outcome.detail, test.outcome.code);
		result = RESULT_REFUSED;
	} else if (result == RESULT_OK &&
		   !selftest_take(buffer_bytes_borrow(&test.output),
		       test.output.len, *rows_r)) {
		(void)snprintf(detail_r, detail_size,
		    "the probe's records are not complete");
		result = RESULT_BAD;
	}
	selftest_clear(&test);
	return result;
}
