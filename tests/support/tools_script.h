/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scripts for the machine tests of the tools port. Every function fails the
 * test that calls it when the port does not do as expected.
 */
#ifndef TESTS_SUPPORT_TOOLS_SCRIPT_H
#define TESTS_SUPPORT_TOOLS_SCRIPT_H

#include "supervisor/gate/tools_port.h"

#define V "{\"jsonrpc\":\"2.0\","
#define OK_TEXT "{\"content\":[{\"type\":\"text\",\"text\":\"done\"}]}"

struct tools_script {
	struct tools_port port;
	struct tools_grant grant;
	uint64_t now;
	/* what the hooks heard last */
	uint64_t call;
	uint64_t cancelled;
	unsigned calls, lists, results, told, cancels;
	uint64_t told_count;
	char package[64], tool[160], arguments[256], result[256];
	bool refuse_calls;
};

/* A port with the packages alpha (all tools) and beta (get), three calls in
 * all, two at a time, 1024 bytes of arguments. */
struct tools_script *tools_script_open(void);
void tools_script_close(struct tools_script *test);
/* A client comes: its connection. */
size_t tools_script_client(struct tools_script *test);
/* It sends these bytes; one request; run_tool with these params. */
void tools_script_bytes(
    struct tools_script *test, size_t client, const char *text);
void tools_script_post(struct tools_script *test, size_t client,
    const char *path, const char *body);
void tools_script_run(
    struct tools_script *test, size_t client, const char *params);
/* It gets something with part in it; nothing. */
void tools_script_expect(
    struct tools_script *test, size_t client, const char *part);
void tools_script_silent(struct tools_script *test, size_t client);
/* The supervisor answers a call. */
void tools_script_answer(
    struct tools_script *test, uint64_t id, const char *text);

#endif
