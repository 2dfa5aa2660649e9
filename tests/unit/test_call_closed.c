/* SPDX-License-Identifier: Apache-2.0 */
/*
 * llm-broker/call_request with the shipped files: what lets a provider act,
 * fetch or keep for the agent is closed, and open only with its opt-in.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "tests/support/call_case.h"

#define CHAT "POST /openai/v1/chat/completions"
#define RESPONSES "POST /openai/v1/responses"
#define CLAUDE "POST /anthropic/v1/messages"
#define GEMINI "POST /gemini/v1beta/models/gemini-2.5-flash:generateContent"
#define JSON "Content-Type: application/json\r\n"
/* A body is a line's start and one field. */
#define CHAT_IS "{\"model\":\"gpt-4o-mini\",\"messages\":[],"
#define RESPONSES_IS "{\"model\":\"gpt-4o-mini\","
#define CLAUDE_IS "{\"model\":\"claude-sonnet-4-5\",\"max_tokens\":1,"
#define CLAUDE_SAYS CLAUDE_IS "\"messages\":[{\"role\":\"user\",\"content\":["
#define GEMINI_IS "{\"contents\":[{\"parts\":[{\"text\":\"x\"}]}],"
#define ASSISTANT "\"messages\":[{\"role\":\"user\",\"content\":\"x\"}],"

struct test_call_closed_row {
	const char *name, *line, *body;
	const char *opt_in; /* opens it; NULL: nothing does */
	const char *has;    /* in the detail */
};

static const struct test_call_closed_row test_call_closed_rows[] = {
    {"chat_web_search", CHAT, CHAT_IS "\"web_search_options\":{}}",
	"provider_tools", "web_search_options is closed"},
    {"chat_unknown_tool", CHAT,
	CHAT_IS "\"tools\":[{\"type\":\"web_search\"}]}", NULL,
	"tools[0].type must be one of custom, function"},
    {"chat_store", CHAT, CHAT_IS "\"store\":true}", "stored",
	"store must be one of false"},
    {"chat_store_null", CHAT, CHAT_IS "\"store\":null}", "stored",
	"store must be one of false"},
    {"chat_image_by_url", CHAT,
	"{\"model\":\"gpt-4o-mini\",\"messages\":[{\"role\":\"user\","
	"\"content\":["
	"{\"type\":\"image_url\",\"image_url\":{\"url\":\"https://x.example/"
	"?leak\"}}]}]}",
	"remote_urls", "image_url.url must begin with data:image/"},
    {"chat_file_by_id", CHAT,
	"{\"model\":\"gpt-4o-mini\",\"messages\":[{\"role\":\"user\","
	"\"content\":["
	"{\"type\":\"file\",\"file\":{\"file_id\":\"file-1\"}}]}]}",
	"stored", "file.file_id must be null"},
    {"chat_tier", CHAT, CHAT_IS "\"service_tier\":\"priority\"}", NULL,
	"service_tier must be one of auto, default, flex, null"},
    {"chat_retention", CHAT, CHAT_IS "\"prompt_cache_retention\":\"24h\"}",
	"stored", "prompt_cache_retention"},
    {"chat_metadata_long", CHAT, CHAT_IS "\"metadata\":{\"a\":{\"b\":\"c\"}}}",
	NULL, "metadata.a must be a text"},
    {"responses_web_search", RESPONSES,
	RESPONSES_IS "\"tools\":[{\"type\":\"web_search\"}]}", "provider_tools",
	"tools[0] is closed: the host has not opted in to provider_tools"},
    {"responses_file_search", RESPONSES,
	RESPONSES_IS
	"\"tools\":[{\"type\":\"file_search\",\"vector_store_ids\":"
	"[\"v\"]}]}",
	"provider_tools", "tools[0]"},
    {"responses_code", RESPONSES,
	RESPONSES_IS "\"tools\":[{\"type\":\"code_interpreter\",\"container\":{"
		     "\"type\":\"auto\"}}]}",
	"provider_tools", "tools[0]"},
    {"responses_mcp", RESPONSES,
	RESPONSES_IS "\"tools\":[{\"type\":\"mcp\",\"server_label\":\"x\","
		     "\"server_url\":\"https://x.example\"}]}",
	"provider_tools", "tools[0]"},
    {"responses_computer", RESPONSES,
	RESPONSES_IS "\"tools\":[{\"type\":\"computer_use_preview\"}]}",
	"provider_tools", "tools[0]"},
    {"responses_image", RESPONSES,
	RESPONSES_IS "\"tools\":[{\"type\":\"image_generation\"}]}",
	"provider_tools", "tools[0]"},
    /* Even then it does not choose a model that no list names, nor a URL. */
    {"responses_image_model", RESPONSES,
	RESPONSES_IS "\"tools\":[{\"type\":\"image_generation\",\"model\":"
		     "\"gpt-image-2\"}]}",
	NULL, "tools[0] is closed"},
    {"responses_image_mask", RESPONSES,
	RESPONSES_IS "\"tools\":[{\"type\":\"image_generation\","
		     "\"input_image_mask\":{\"image_url\":"
		     "\"https://x.example\"}}]}",
	NULL, "tools[0] is closed"},
    {"responses_tool_of_tomorrow", RESPONSES,
	RESPONSES_IS "\"tools\":[{\"type\":\"teleport_2027\"}]}", NULL,
	"tools[0].type must be one of"},
    {"responses_shell", RESPONSES,
	RESPONSES_IS "\"tools\":[{\"type\":\"shell\",\"environment\":{\"type\":"
		     "\"container_auto\"}}]}",
	NULL, "tools[0].type"},
    {"responses_background", RESPONSES, RESPONSES_IS "\"background\":true}",
	"stored", "background must be one of false, null"},
    {"responses_previous", RESPONSES,
	RESPONSES_IS "\"previous_response_id\":\"resp_1\"}", "stored",
	"previous_response_id must be null"},
    {"responses_conversation", RESPONSES,
	RESPONSES_IS "\"conversation\":\"conv_1\"}", "stored", "conversation"},
    {"responses_prompt", RESPONSES,
	RESPONSES_IS "\"prompt\":{\"id\":\"pmpt_1\"}}", "stored", "prompt"},
    {"responses_reference", RESPONSES,
	RESPONSES_IS "\"input\":[{\"type\":\"item_reference\",\"id\":\"m\"}]}",
	"stored", "input[0] is closed"},
    {"responses_file_by_url", RESPONSES,
	RESPONSES_IS "\"input\":[{\"role\":\"user\",\"content\":[{\"type\":"
		     "\"input_file\",\"file_url\":\"https://x.example\"}]}]}",
	"remote_urls", "input[0].content[0].file_url must be null"},
    {"responses_image_by_url", RESPONSES,
	RESPONSES_IS "\"input\":[{\"role\":\"user\",\"content\":[{\"type\":"
		     "\"input_image\",\"image_url\":\"http://x.example\"}]}]}",
	"remote_urls", "image_url must begin with"},
    {"responses_image_in_an_output", RESPONSES,
	RESPONSES_IS
	"\"input\":[{\"type\":\"function_call_output\",\"call_id\":"
	"\"c\",\"output\":[{\"type\":\"input_image\","
	"\"image_url\":\"http://x.example\"}]}]}",
	"remote_urls", "input[0].output[0].image_url"},
    {"responses_include_sources", RESPONSES,
	RESPONSES_IS "\"include\":[\"web_search_call.action.sources\"]}",
	"provider_tools", "include[0]"},
    {"responses_pro_mode", RESPONSES,
	RESPONSES_IS "\"reasoning\":{\"mode\":\"pro\"}}", NULL,
	"reasoning.mode"},
    {"claude_web_search", CLAUDE,
	CLAUDE_IS ASSISTANT "\"tools\":[{\"type\":\"web_search_20250305\","
			    "\"name\":\"web_search\"}]}",
	"provider_tools", "tools[0] is closed"},
    {"claude_code", CLAUDE,
	CLAUDE_IS ASSISTANT "\"tools\":[{\"type\":\"code_execution_20250825\","
			    "\"name\":\"code_execution\"}]}",
	"provider_tools", "tools[0] is closed"},
    {"claude_computer", CLAUDE,
	CLAUDE_IS ASSISTANT "\"tools\":[{\"type\":\"computer_20250124\","
			    "\"name\":\"computer\",\"display_width_px\":1,"
			    "\"display_height_px\":1}]}",
	"provider_tools", "tools[0] is closed"},
    {"claude_tool_of_tomorrow", CLAUDE,
	CLAUDE_IS ASSISTANT "\"tools\":[{\"type\":\"advisor_20260301\","
			    "\"name\":\"advisor\",\"model\":\"other\"}]}",
	NULL, "tools[0].type must be one of"},
    {"claude_mcp", CLAUDE,
	CLAUDE_IS ASSISTANT "\"mcp_servers\":[{\"type\":\"url\",\"url\":"
			    "\"https://x.example\",\"name\":\"x\"}]}",
	"provider_tools", "mcp_servers is closed"},
    {"claude_container", CLAUDE, CLAUDE_IS ASSISTANT "\"container\":\"c_1\"}",
	"stored", "container must be null"},
    {"claude_image_by_url", CLAUDE,
	CLAUDE_SAYS "{\"type\":\"image\",\"source\":{\"type\":\"url\",\"url\":"
		    "\"https://x.example\"}}]}]}",
	"remote_urls", "messages[0].content[0].source is closed"},
    {"claude_document_by_url", CLAUDE,
	CLAUDE_SAYS "{\"type\":\"document\",\"source\":{\"type\":\"url\","
		    "\"url\":\"https://x.example\"}}]}]}",
	"remote_urls", "source is closed"},
    {"claude_document_in_a_result", CLAUDE,
	CLAUDE_SAYS "{\"type\":\"tool_result\",\"tool_use_id\":\"t\","
		    "\"content\":[{\"type\":\"document\",\"source\":{\"type\":"
		    "\"url\",\"url\":\"https://x.example\"}}]}]}]}",
	"remote_urls", "content[0].content[0].source is closed"},
    {"claude_file_by_id", CLAUDE,
	CLAUDE_SAYS "{\"type\":\"document\",\"source\":{\"type\":\"file\","
		    "\"file_id\":\"f\"}}]}]}",
	"stored", "source is closed"},
    {"claude_upload", CLAUDE,
	CLAUDE_SAYS "{\"type\":\"container_upload\",\"file_id\":\"f\"}]}]}",
	"stored", "content[0] is closed"},
    {"claude_server_tool_use", CLAUDE,
	CLAUDE_SAYS "{\"type\":\"server_tool_use\",\"id\":\"a\",\"name\":"
		    "\"web_search\",\"input\":{}}]}]}",
	"provider_tools", "content[0] is closed"},
    {"claude_fast", CLAUDE, CLAUDE_IS ASSISTANT "\"speed\":\"fast\"}", NULL,
	"speed must be one of standard, null"},
    {"claude_geo", CLAUDE, CLAUDE_IS ASSISTANT "\"inference_geo\":\"us\"}",
	NULL, "inference_geo is not allowed"},
    {"gemini_google_search", GEMINI,
	GEMINI_IS "\"tools\":[{\"googleSearch\":{}}]}", "provider_tools",
	"tools[0].googleSearch is closed"},
    {"gemini_url_context", GEMINI, GEMINI_IS "\"tools\":[{\"urlContext\":{}}]}",
	"provider_tools", "tools[0].urlContext"},
    {"gemini_code", GEMINI, GEMINI_IS "\"tools\":[{\"codeExecution\":{}}]}",
	"provider_tools", "tools[0].codeExecution"},
    {"gemini_mcp", GEMINI,
	GEMINI_IS "\"tools\":[{\"mcpServers\":[{\"name\":\"x\"}]}]}",
	"provider_tools", "tools[0].mcpServers"},
    {"gemini_other_spelling", GEMINI,
	GEMINI_IS "\"tools\":[{\"google_search\":{}}]}", NULL,
	"tools[0].google_search is not allowed"},
    {"gemini_file", GEMINI,
	"{\"contents\":[{\"parts\":[{\"fileData\":{\"fileUri\":"
	"\"https://x.example\"}}]}]}",
	"remote_urls", "contents[0].parts[0].fileData is closed"},
    {"gemini_cached", GEMINI,
	GEMINI_IS "\"cachedContent\":\"cachedContents/1\"}", "stored",
	"cachedContent is closed"},
    {"gemini_store", GEMINI, GEMINI_IS "\"store\":true}", "stored",
	"store must be one of false"},
    {"gemini_tier", GEMINI, GEMINI_IS "\"serviceTier\":\"priority\"}", NULL,
	"serviceTier"},
};

#define TEST_CALL_CLOSED_ROWS \
	(sizeof(test_call_closed_rows) / sizeof(test_call_closed_rows[0]))

/* Opt-ins as indices: none, one each. */
static const char *const test_call_closed_opt_ins[] = {
    "", "remote_urls", "provider_tools", "stored"};
static struct call_case test_call_closed_cases[4];

static void
test_call_closed_row(void **state)
{
	const struct test_call_closed_row *row = *state;
	struct call_case_row check = {row->name, row->line, JSON, row->body,
	    CALL_FIELD_NOT_ALLOWED, 400, NULL, NULL};
	size_t i;

	for (i = 0; i < 4; i++) {
		bool open =
		    row->opt_in != NULL &&
		    strcmp(row->opt_in, test_call_closed_opt_ins[i]) == 0;

		check.code = open ? CALL_OK : CALL_FIELD_NOT_ALLOWED;
		check.status = open ? 0 : 400;
		check.has = open ? NULL : i == 0 ? row->has : NULL;
		call_case_check(&test_call_closed_cases[i], &check);
	}
}

/* With the opt-in nothing is forced, or else it could not be used. */
static void
test_call_closed_force(void **state)
{
	struct call_case_row row = {"force", CHAT, JSON,
	    "{\"model\":\"gpt-4o-mini\",\"messages\":[]}", CALL_OK, 0,
	    "{\"store\":false,\"max_completion_tokens\":4096,\"model\"", NULL};

	(void)state;
	call_case_check(&test_call_closed_cases[0], &row);
	row.has = "{\"max_completion_tokens\":4096,\"model\"";
	row.lacks = "store";
	call_case_check(&test_call_closed_cases[3], &row);
}

int
main(void)
{
	static struct CMUnitTest tests[TEST_CALL_CLOSED_ROWS + 1] = {
	    cmocka_unit_test(test_call_closed_force)};
	char grant[512];
	size_t i;
	int failed;

	for (i = 0; i < 4; i++) {
		(void)snprintf(grant, sizeof(grant),
		    "{\"providers\":[{\"name\":\"openai\"},{\"name\":"
		    "\"anthropic\"},{\"name\":\"gemini\"}],\"ledger\":true,"
		    "\"opt_in\":[%s%s%s]}",
		    i == 0 ? "" : "\"", test_call_closed_opt_ins[i],
		    i == 0 ? "" : "\"");
		call_case_open(&test_call_closed_cases[i],
		    AGENTNODE_SOURCE_DIR "/config/providers", grant);
	}
	for (i = 0; i < TEST_CALL_CLOSED_ROWS; i++) {
		tests[i + 1].name = test_call_closed_rows[i].name;
		tests[i + 1].test_func = test_call_closed_row;
		tests[i + 1].initial_state =
		    (void *)(uintptr_t)&test_call_closed_rows[i];
	}
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	for (i = 0; i < 4; i++)
		call_case_close(&test_call_closed_cases[i]);
	return failed;
}
