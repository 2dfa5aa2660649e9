/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which heads the tools port serves, as a table: the three paths, and no
 * request that a web page of another origin could make (bypass 107).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "supervisor/gate/tools_request.h"

#define PORT 4101
#define HOST "Host: 127.0.0.1:4101\r\n"
#define JSON "Content-Type: application/json\r\n"
#define LENGTH "Content-Length: 2\r\n"
#define RPC "POST /agentnode/rpc HTTP/1.1\r\n"
#define MCP "POST /mcp HTTP/1.1\r\n"

struct test_tools_request_row {
	const char *head; /* without the empty line */
	enum tools_fault fault;
};

static enum tools_fault
test_tools_request_judge(const char *text, struct tools_request *request)
{
	char bytes[2048];
	struct http_head head;
	enum http_head_status status;

	(void)snprintf(bytes, sizeof(bytes), "%s\r\n", text);
	status = http_head_parse_request(bytes, strlen(bytes), &head);
	if (status != HTTP_HEAD_OK)
		return tools_request_head_fault(status);
	return tools_request_judge(&head, PORT, request);
}

static void
test_tools_request_run(const struct test_tools_request_row *rows, size_t count)
{
	struct tools_request request;

	for (size_t i = 0; i < count; i++) {
		enum tools_fault got =
		    test_tools_request_judge(rows[i].head, &request);

		if (got != rows[i].fault)
			fail_msg("%s: expected %d, got %d", rows[i].head,
			    (int)rows[i].fault, (int)got);
	}
}

#define RUN(rows) \
	test_tools_request_run((rows), sizeof(rows) / sizeof((rows)[0]))

static void
test_tools_request_paths(void **state)
{
	static const struct test_tools_request_row rows[] = {
	    {RPC HOST JSON LENGTH, TOOLS_FAULT_NONE},
	    {MCP HOST JSON LENGTH, TOOLS_FAULT_NONE},
	    {"POST /agentnode/result HTTP/1.1\r\n" HOST JSON LENGTH,
		TOOLS_FAULT_NONE},
	    {RPC HOST JSON "Transfer-Encoding: chunked\r\n", TOOLS_FAULT_NONE},
	    {"POST / HTTP/1.1\r\n" HOST JSON LENGTH, TOOLS_FAULT_PATH},
	    {"POST /mcp/ HTTP/1.1\r\n" HOST JSON LENGTH, TOOLS_FAULT_PATH},
	    {"POST /mcp?x=1 HTTP/1.1\r\n" HOST JSON LENGTH, TOOLS_FAULT_PATH},
	    {"POST /%6dcp HTTP/1.1\r\n" HOST JSON LENGTH, TOOLS_FAULT_PATH},
	    {"POST /agentnode/RPC HTTP/1.1\r\n" HOST JSON LENGTH,
		TOOLS_FAULT_PATH},
	    {"POST http://127.0.0.1:4101/mcp HTTP/1.1\r\n" HOST JSON LENGTH,
		TOOLS_FAULT_PATH},
	    {"GET /mcp HTTP/1.1\r\n" HOST, TOOLS_FAULT_METHOD},
	    {"DELETE /mcp HTTP/1.1\r\n" HOST, TOOLS_FAULT_METHOD},
	    {"OPTIONS /mcp HTTP/1.1\r\n" HOST, TOOLS_FAULT_METHOD},
	    {"post /mcp HTTP/1.1\r\n" HOST JSON LENGTH, TOOLS_FAULT_METHOD},
	    {"CONNECT example.com:443 HTTP/1.1\r\n"
	     "Host: example.com:443\r\n",
		TOOLS_FAULT_PATH},
	    {"POST /mcp HTTP/1.0\r\n" HOST JSON LENGTH, TOOLS_FAULT_VERSION},
	    {RPC HOST JSON, TOOLS_FAULT_BODY},
	};

	(void)state;
	RUN(rows);
}

static void
test_tools_request_i107_rebinding(void **state)
{
	static const struct test_tools_request_row rows[] = {
	    {MCP "Host: localhost\r\n" JSON LENGTH, TOOLS_FAULT_NONE},
	    {MCP "Host: LOCALHOST:4101\r\n" JSON LENGTH, TOOLS_FAULT_NONE},
	    {MCP "Host: 127.0.0.1\r\n" JSON LENGTH, TOOLS_FAULT_NONE},
	    {MCP "Host: evil.example\r\n" JSON LENGTH, TOOLS_FAULT_HOST},
	    {MCP "Host: evil.example:4101\r\n" JSON LENGTH, TOOLS_FAULT_HOST},
	    {MCP "Host: 127.0.0.1.evil.example:4101\r\n" JSON LENGTH,
		TOOLS_FAULT_HOST},
	    {MCP "Host: 127.0.0.1:4100\r\n" JSON LENGTH, TOOLS_FAULT_HOST},
	    {MCP "Host: 127.0.0.1:04101\r\n" JSON LENGTH, TOOLS_FAULT_HOST},
	    {MCP "Host: 127.1:4101\r\n" JSON LENGTH, TOOLS_FAULT_HOST},
	    {MCP "Host: [::1]:4101\r\n" JSON LENGTH, TOOLS_FAULT_HOST},
	    {MCP "Host: localhost.:4101\r\n" JSON LENGTH, TOOLS_FAULT_HOST},
	    {MCP "Host: \r\n" JSON LENGTH, TOOLS_FAULT_HOST},
	    {MCP "Host: user@127.0.0.1:4101\r\n" JSON LENGTH, TOOLS_FAULT_HOST},
	    {MCP JSON LENGTH, TOOLS_FAULT_HEAD},
	    {MCP HOST HOST JSON LENGTH, TOOLS_FAULT_HEAD},
	    {MCP HOST "Origin: http://127.0.0.1:4101\r\n" JSON LENGTH,
		TOOLS_FAULT_NONE},
	    {MCP HOST "Origin: http://localhost\r\n" JSON LENGTH,
		TOOLS_FAULT_NONE},
	    {MCP HOST "Origin: http://evil.example\r\n" JSON LENGTH,
		TOOLS_FAULT_ORIGIN},
	    {MCP HOST "Origin: https://127.0.0.1:4101\r\n" JSON LENGTH,
		TOOLS_FAULT_ORIGIN},
	    {MCP HOST "Origin: http://127.0.0.1:8080\r\n" JSON LENGTH,
		TOOLS_FAULT_ORIGIN},
	    {MCP HOST "Origin: null\r\n" JSON LENGTH, TOOLS_FAULT_ORIGIN},
	    {MCP HOST "Origin: \r\n" JSON LENGTH, TOOLS_FAULT_ORIGIN},
	    {MCP HOST "Origin: http://127.0.0.1:4101\r\n"
		      "Origin: http://evil.example\r\n" JSON LENGTH,
		TOOLS_FAULT_REPEATED},
	    /* What a page may send without asking first. */
	    {MCP HOST "Content-Type: text/plain\r\n" LENGTH, TOOLS_FAULT_MEDIA},
	    {MCP HOST "Content-Type: text/plain; application/json\r\n" LENGTH,
		TOOLS_FAULT_MEDIA},
	    {MCP HOST "Content-Type: "
		      "application/x-www-form-urlencoded\r\n" LENGTH,
		TOOLS_FAULT_MEDIA},
	    {MCP HOST LENGTH, TOOLS_FAULT_MEDIA},
	};

	(void)state;
	RUN(rows);
}

static void
test_tools_request_fields(void **state)
{
	static const struct test_tools_request_row rows[] = {
	    {MCP HOST
		"Content-Type: application/json; charset=utf-8\r\n" LENGTH,
		TOOLS_FAULT_NONE},
	    {MCP HOST "Content-Type: Application/JSON\r\n" LENGTH,
		TOOLS_FAULT_NONE},
	    {MCP HOST JSON "Content-Encoding: gzip\r\n" LENGTH,
		TOOLS_FAULT_MEDIA},
	    {MCP HOST JSON
		"Accept: application/json, text/event-stream\r\n" LENGTH,
		TOOLS_FAULT_NONE},
	    {MCP HOST JSON "Accept: text/event-stream,*/*;q=0.1\r\n" LENGTH,
		TOOLS_FAULT_NONE},
	    {MCP HOST JSON "Accept: text/event-stream\r\n" LENGTH,
		TOOLS_FAULT_ACCEPT},
	    {MCP HOST JSON "MCP-Protocol-Version: 2025-06-18\r\n" LENGTH,
		TOOLS_FAULT_NONE},
	    {MCP HOST JSON "MCP-Protocol-Version: 2024-11-05\r\n" LENGTH,
		TOOLS_FAULT_PROTOCOL},
	    {MCP HOST JSON "MCP-Protocol-Version: 2025-06-18\r\n"
			   "mcp-protocol-version: 2025-11-25\r\n" LENGTH,
		TOOLS_FAULT_REPEATED},
	    {RPC HOST JSON "Content-Length: 2\r\nContent-Length: 2\r\n",
		TOOLS_FAULT_HEAD},
	    {RPC HOST JSON LENGTH "Transfer-Encoding: chunked\r\n",
		TOOLS_FAULT_HEAD},
	    {RPC HOST JSON "Transfer-Encoding: gzip, chunked\r\n",
		TOOLS_FAULT_HEAD},
	    {RPC HOST JSON "Content-Length: +2\r\n", TOOLS_FAULT_HEAD},
	    {RPC HOST JSON "Content-Length: 0x2\r\n", TOOLS_FAULT_HEAD},
	    {RPC HOST JSON LENGTH "X-A : b\r\n", TOOLS_FAULT_HEAD},
	    {RPC HOST JSON LENGTH "X-A: b\r\n c\r\n", TOOLS_FAULT_HEAD},
	    {RPC HOST JSON LENGTH "X_A: b\r\n", TOOLS_FAULT_HEAD},
	    {RPC HOST JSON "Content-Length: 2\n", TOOLS_FAULT_HEAD},
	};

	(void)state;
	RUN(rows);
}

static void
test_tools_request_keeps(void **state)
{
	struct tools_request request;

	(void)state;
	test_tools_request_judge(RPC HOST JSON LENGTH, &request);
	assert_true(request.keep);
	assert_false(request.expects);
	test_tools_request_judge(RPC HOST JSON LENGTH
	    "Connection: keep-alive, Close\r\n"
	    "Expect: 100-continue\r\n",
	    &request);
	assert_false(request.keep);
	assert_true(request.expects);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_tools_request_paths),
	    cmocka_unit_test(test_tools_request_i107_rebinding),
	    cmocka_unit_test(test_tools_request_fields),
	    cmocka_unit_test(test_tools_request_keeps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
