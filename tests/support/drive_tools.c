/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Test tool: a tool_pool driven by lines of JSON. In come
 *   {"id":N,"package":TEXT,"tool":TEXT?,"list":FLAG?,"arguments":OBJECT?}
 *   {"close":CODE}
 * out go {"id","code","detail","result"} per call and {"closed":true}.
 * Options: {"lockfile","packages","calls","sessions","timeout_s","bytes"} as
 * the first word. Used by tests/scenario/tool_sessions.py; never installed.
 */
#include <event2/buffer.h>
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/event_loop.h"
#include "common/fd.h"
#include "common/json_field.h"
#include "common/log.h"
#include "supervisor/agent/tool_pool.h"
#include "supervisor/policy/config.h"

#define DRIVE_TOOLS_LINE_MAX (4U << 20)

struct drive_tools {
	struct event_base *base;
	struct audit *audit;
	struct tool_pool_spec spec;
	struct tool_pool *pool;
	struct event *input;
	struct evbuffer *lines;
	bool closing;
	int code;
};

static _Noreturn void
drive_tools_die(const char *what)
{
	(void)fprintf(stderr, "drive_tools: %s\n", what);
	exit(70);
}

static void
drive_tools_say(json_t *object)
{
	char *text = json_dumps(object, JSON_COMPACT | JSON_ENCODE_ANY);

	if (text == NULL || puts(text) < 0 || fflush(stdout) != 0)
		drive_tools_die("cannot write");
	free(text);
	json_decref(object);
}

static void
drive_tools_on_answer(
    uint64_t id, const char *code, const char *detail, int fd, void *context)
{
	struct drive_tools *drive = context;
	json_t *result = NULL;
	char *bytes = NULL;
	size_t len = 0;

	if (fd >= 0) {
		if (!fd_is_sealed(fd) ||
		    fd_read_all(fd, (size_t)drive->spec.result_max, &bytes,
			&len) != RESULT_OK)
			drive_tools_die("a result that is no sealed memfd");
		result = json_loadb(bytes, len, JSON_DECODE_ANY, NULL);
	}
	free(bytes);
	fd_close(&fd);
	drive_tools_say(json_pack("{s:I, s:s, s:s, s:o?}", "id", (json_int_t)id,
	    "code", code, "detail", detail, "result", result));
}

static void
drive_tools_on_closed(void *context)
{
	struct drive_tools *drive = context;

	drive_tools_say(json_pack("{s:b}", "closed", 1));
	event_loop_stop(drive->base);
}

static void
drive_tools_close(struct drive_tools *drive, const char *code)
{
	if (!drive->closing)
		tool_pool_close(drive->pool, code);
	drive->closing = true;
}

static void
drive_tools_call(struct drive_tools *drive, const json_t *line)
{
	const json_t *arguments = json_object_get(line, "arguments");
	struct tool_pool_call call = {
	    .id = (uint64_t)json_integer_value(json_object_get(line, "id")),
	    .package = json_string_value(json_object_get(line, "package")),
	    .tool = json_string_value(json_object_get(line, "tool")),
	    .list = json_is_true(json_object_get(line, "list")),
	    .args_fd = -1};
	char *text;

	if (call.package == NULL)
		drive_tools_die("a line without a package");
	if (!call.list) {
		text = arguments == NULL ? strdup("{}")
					 : json_dumps(arguments, JSON_COMPACT);
		if (text == NULL ||
		    fd_sealed_memfd("arguments", text, strlen(text),
			&call.args_fd) != RESULT_OK)
			drive_tools_die("no memfd");
		free(text);
	}
	tool_pool_call(drive->pool, &call);
}

static void
drive_tools_line(struct drive_tools *drive, const char *text)
{
	json_t *line = json_loads(text, 0, NULL);
	const char *code = json_string_value(json_object_get(line, "close"));

	if (line == NULL)
		drive_tools_die("a line that is no JSON");
	if (code != NULL)
		drive_tools_close(drive, code);
	else if (json_object_get(line, "cancel") != NULL)
		tool_pool_cancel(
		    drive->pool, (uint64_t)json_integer_value(
				     json_object_get(line, "cancel")));
	else
		drive_tools_call(drive, line);
	json_decref(line);
}

static void
drive_tools_on_input(evutil_socket_t fd, short what, void *context)
{
	struct drive_tools *drive = context;
	int got = evbuffer_read(drive->lines, fd, DRIVE_TOOLS_LINE_MAX);
	char *text;

	(void)what;
	if (got <= 0) {
		(void)event_del(drive->input);
		drive_tools_close(drive, "");
		return;
	}
	while ((text = evbuffer_readln(drive->lines, NULL, EVBUFFER_EOL_LF)) !=
	       NULL) {
		drive_tools_line(drive, text);
		free(text);
	}
}

static void
drive_tools_on_ledger(enum result result, const char *detail, void *context)
{
	struct drive_tools *drive = context;
	static const struct tool_pool_handlers handlers = {
	    drive_tools_on_answer, drive_tools_on_closed};

	if (result != RESULT_OK)
		drive_tools_die(detail);
	if (tool_pool_new(drive->base, drive->audit, &drive->spec, &handlers,
		drive, &drive->pool) != RESULT_OK ||
	    event_add(drive->input, NULL) != 0)
		drive_tools_die("no pool");
}

static uint64_t
drive_tools_number(const json_t *options, const char *key, uint64_t initial)
{
	const json_t *value = json_object_get(options, key);

	return value == NULL ? initial : (uint64_t)json_integer_value(value);
}

int
main(int argc, char **argv)
{
	struct drive_tools drive = {.code = 0};
	json_t *options = argc == 2 ? json_loads(argv[1], 0, NULL) : NULL;
	struct json_fault fault = {""};
	char home[4096];

	if (options == NULL)
		drive_tools_die("usage: drive_tools OPTIONS");
	log_open(STDERR_FILENO, "drive_tools", LOG_INFO_LEVEL);
	drive.spec = (struct tool_pool_spec){
	    .lockfile = json_string_value(json_object_get(options, "lockfile")),
	    .packages = json_object_get(options, "packages"),
	    .calls_max = drive_tools_number(options, "calls", 100),
	    .sessions = (unsigned)drive_tools_number(options, "sessions", 2),
	    .call_timeout_s =
		(unsigned)drive_tools_number(options, "timeout_s", 60),
	    .arguments_max = drive_tools_number(options, "bytes", 1 << 20),
	    .result_max = drive_tools_number(options, "bytes", 1 << 20),
	    .verbose = json_is_true(json_object_get(options, "verbose"))};
	drive.lines = evbuffer_new();
	if (drive.lines == NULL ||
	    config_home(home, sizeof(home), &fault) != RESULT_OK ||
	    event_loop_new(&drive.base) != RESULT_OK ||
	    (drive.input = event_new(drive.base, STDIN_FILENO,
		 EV_READ | EV_PERSIST, drive_tools_on_input, &drive)) == NULL ||
	    audit_start(drive.base, home, drive_tools_on_ledger, &drive,
		&drive.audit, &fault) != RESULT_OK)
		drive_tools_die("cannot start");
	if (event_loop_run(drive.base) != RESULT_OK)
		drive.code = 70;
	tool_pool_free(&drive.pool);
	audit_free(&drive.audit);
	event_free(drive.input);
	evbuffer_free(drive.lines);
	event_base_free(drive.base);
	json_decref(options);
	return drive.code;
}
