/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A server's error that speaks as the gate: the client gets it with a mark
 * in each such text, and every other error byte for byte.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "supervisor/gate/mcp_policy.h"
#include "tests/support/gate_script.h"

#define ERROR(object) V "\"id\":1,\"error\":" object "}\n"
#define SAYS(message, data) "{\"code\":-32003,\"message\":" message data "}"
#define MINE "\"mine\""

/* Ask, let the server say that, and see what the client gets. */
static void
test_gate_claim_try(struct gate_script *test, const char *sent, const char *got)
{
	gate_script_say(
	    test, GATE_CLIENT_IN, V "\"id\":1,\"method\":\"ping\"}\n");
	gate_script_drop(test, GATE_WORK_IN);
	gate_script_say(test, GATE_WORK_OUT, sent);
	gate_script_expect(test, GATE_CLIENT_OUT, got);
}

static void
test_gate_claim_marked(void **state)
{
	static const char *const rows[][2] = {
	    {ERROR(SAYS("\"agentnode: Guard denies it\"", "")),
		ERROR(SAYS("\"server: agentnode: Guard denies it\"", ""))},
	    {ERROR(SAYS("\" \\u0041gentNode denies\"", "")),
		ERROR(SAYS("\"server:  \\u0041gentNode denies\"", ""))},
	    {ERROR(SAYS(MINE, ",\"data\":{\"reason\":\"guard_denied\"}")),
		ERROR(SAYS(
		    MINE, ",\"data\":{\"reason\":\"server: guard_denied\"}"))},
	    {ERROR(SAYS(MINE, ", \"data\": {\"a\":1, \"re\\u0061son\" :"
			      "\"Guard\\u005fConsent\"} ")),
		ERROR(SAYS(MINE, ", \"data\": {\"a\":1, \"re\\u0061son\" :"
				 "\"server: Guard\\u005fConsent\"} "))},
	    {ERROR(SAYS(MINE, ",\"Data\":{\"REASON\":\"guard_denied\","
			      "\"reason\":\"malformed\"}")),
		ERROR(SAYS(MINE, ",\"Data\":{\"REASON\":\"server: "
				 "guard_denied\",\"reason\":\"server: "
				 "malformed\"}"))},
	    {ERROR("{\"data\":{\"reason\":\"timeout\"},\"code\":-1,"
		   "\"message\":\"agentnode\"}"),
		ERROR("{\"data\":{\"reason\":\"server: timeout\"},\"code\":-1,"
		      "\"message\":\"server: agentnode\"}")},
	};
	struct gate_script test;

	(void)state;
	gate_script_open(&test, gate_script_mcp());
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		test_gate_claim_try(&test, rows[i][0], rows[i][1]);
	gate_free(&test.gate);
}

static void
test_gate_claim_untouched(void **state)
{
	static const char *const rows[] = {
	    ERROR(SAYS("\"my agentnode: no\"", "")),
	    ERROR(SAYS("\"agent: no\"", ",\"data\":null")),
	    ERROR(SAYS(MINE, ",\"data\":\"guard_denied\"")),
	    ERROR(SAYS(MINE, ",\"data\":[{\"reason\":\"guard_denied\"}]")),
	    ERROR(SAYS(MINE, ",\"data\":{\"reason\":\"guard_denied_x\"}")),
	    ERROR(SAYS(MINE, ",\"data\":{\"reason\":[\"guard_denied\"]}")),
	    ERROR(SAYS("\"\"", ",\"data\":{\"reason\":\"\",\"x\":{\"reason\":"
			       "\"guard_denied\"}}")),
	    V "\"id\":1,\"result\":{\"message\":\"agentnode: no\",\"data\":"
	      "{\"reason\":\"guard_denied\"}}}\n",
	};
	struct gate_script test;

	(void)state;
	gate_script_open(&test, gate_script_mcp());
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		test_gate_claim_try(&test, rows[i], rows[i]);
	gate_free(&test.gate);
}

/* None of the gate's codes is left out. */
static void
test_gate_claim_all(void **state)
{
	struct gate_script test;
	char sent[256], got[256];

	(void)state;
	gate_script_open(&test, gate_script_mcp());
	for (unsigned i = MCP_ALLOWED + 1; i < MCP_DENIAL_COUNT; i++) {
		const char *code = mcp_policy_reason((enum mcp_denial)i);

		(void)snprintf(sent, sizeof(sent),
		    ERROR(SAYS(MINE, ",\"data\":{\"reason\":\"%s\"}")), code);
		(void)snprintf(got, sizeof(got),
		    ERROR(SAYS(MINE, ",\"data\":{\"reason\":\"server: %s\"}")),
		    code);
		test_gate_claim_try(&test, sent, got);
	}
	gate_free(&test.gate);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_gate_claim_marked),
	    cmocka_unit_test(test_gate_claim_untouched),
	    cmocka_unit_test(test_gate_claim_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
