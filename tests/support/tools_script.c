/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Playing a script against the tools port. Used by its machine tests.
 */
#include "tests/support/tools_script.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct mcp_hash_key tools_script_key = {3, 4};

static bool
tools_script_on_call(const struct tools_port_call *call, const char *package,
    struct mcp_span arguments, void *context)
{
	struct tools_script *test = context;

	if (test->refuse_calls)
		return false;
	test->call = call->id;
	test->calls += !call->list;
	test->lists += call->list;
	(void)snprintf(test->package, sizeof(test->package), "%s", package);
	(void)snprintf(test->tool, sizeof(test->tool), "%s", call->tool);
	(void)snprintf(test->arguments, sizeof(test->arguments), "%.*s",
	    (int)arguments.len, arguments.bytes == NULL ? "" : arguments.bytes);
	return true;
}

static void
tools_script_on_cancel(
    const struct tools_port_call *call, const char *package, void *context)
{
	struct tools_script *test = context;

	assert_string_equal(package, test->grant.packages[call->package].slug);
	test->cancelled = call->id;
	test->cancels++;
}

static void
tools_script_on_result(const struct tools_body *body, void *context)
{
	struct tools_script *test = context;

	test->results++;
	(void)snprintf(test->result, sizeof(test->result), "%.*s",
	    (int)body->value.len, body->value.bytes);
}

static void
tools_script_on_refused(const struct tools_tally_row *row, void *context)
{
	struct tools_script *test = context;

	test->told++;
	test->told_count += row->count;
}

struct tools_script *
tools_script_open(void)
{
	static const struct tools_port_hooks hooks = {tools_script_on_call,
	    tools_script_on_cancel, tools_script_on_result,
	    tools_script_on_refused};
	static const struct tools_port_options options = {.port = 4101,
	    .calls_at_once = 2,
	    .arguments_max = 1024,
	    .result_max = 1024,
	    .answer_max = 4096};
	struct tools_script *test = calloc(1, sizeof(*test));

	assert_non_null(test);
	test->now = 10000;
	test->grant.packages[0].slug = "alpha";
	test->grant.packages[1].slug = "beta";
	test->grant.packages[1].has_tools = true;
	test->grant.packages[1].tools = calloc(1, sizeof(char *));
	assert_non_null(test->grant.packages[1].tools);
	test->grant.packages[1].tools[0] = "get";
	test->grant.packages[1].tool_count = 1;
	test->grant.count = 2;
	test->grant.calls_max = 3;
	tools_port_init(&test->port, &options, &test->grant, &tools_script_key,
	    &hooks, test);
	return test;
}

void
tools_script_close(struct tools_script *test)
{
	tools_port_free(&test->port);
	tools_grant_free(&test->grant);
	free(test);
}

size_t
tools_script_client(struct tools_script *test)
{
	size_t evicted;

	return tools_port_accept(&test->port, &evicted, test->now);
}

void
tools_script_bytes(struct tools_script *test, size_t client, const char *text)
{
	assert_true(tools_port_wants(&test->port, client));
	tools_port_bytes(&test->port, client, text, strlen(text), test->now);
}

/* One request with a body. */
void
tools_script_post(struct tools_script *test, size_t client, const char *path,
    const char *body)
{
	char text[4096];

	(void)snprintf(text, sizeof(text),
	    "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
	    "application/json\r\nContent-Length: %zu\r\n\r\n%s",
	    path, strlen(body), body);
	tools_script_bytes(test, client, text);
}

void
tools_script_run(struct tools_script *test, size_t client, const char *params)
{
	char body[3000];

	(void)snprintf(body, sizeof(body),
	    V "\"id\":\"r\",\"method\":\"run_tool\",\"params\":%s}", params);
	tools_script_post(test, client, "/agentnode/rpc", body);
}

/* The answer has this in it; it is taken. */
void
tools_script_expect(struct tools_script *test, size_t client, const char *part)
{
	struct buffer *out = tools_port_output(&test->port, client);

	if (out->len == 0 || memmem(buffer_bytes_borrow(out), out->len, part,
				 strlen(part)) == NULL)
		fail_msg("no '%s' in '%.*s'", part, (int)out->len,
		    (const char *)buffer_bytes_borrow(out));
	buffer_consume(out, out->len);
	tools_port_wrote(&test->port, client, test->now);
}

void
tools_script_silent(struct tools_script *test, size_t client)
{
	assert_int_equal(tools_port_output(&test->port, client)->len, 0);
}

void
tools_script_answer(struct tools_script *test, uint64_t id, const char *text)
{
	tools_port_answer(
	    &test->port, id, "", "", text, strlen(text), test->now);
}
