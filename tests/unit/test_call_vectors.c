/* SPDX-License-Identifier: Apache-2.0 */
/*
 * llm-broker/call_request against known bypasses, one test per row, named
 * after the item of the list that the project keeps of them. Coded bodies
 * are in test_call_coding.c, malformed heads in test_call_malformed.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "tests/support/call_case.h"

#define CHAT "POST /openai/v1/chat/completions"
#define CLAUDE "POST /anthropic/v1/messages"
#define GEMINI "POST /gemini/v1beta/models/gemini-2.5-flash:generateContent"
#define JSON "Content-Type: application/json\r\n"
#define HI "\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]"
#define MINI "\"model\":\"gpt-4o-mini\","
#define ASK "{" MINI HI "}"
#define PARTS "\"contents\":[{\"parts\":[{\"text\":\"hi\"}]}]"

static const struct call_case_row test_call_vectors_rows[] = {
    {"b47_host_is_another", CHAT, JSON "Host: api.openai.com\r\n", ASK,
	CALL_MISDIRECTED, 0, "Host must be", NULL},
    {"b47_host_of_another_port", CHAT, JSON "Host: 127.0.0.1:4101\r\n", ASK,
	CALL_MISDIRECTED, 0, NULL, NULL},
    {"b47_host_of_the_socket", CHAT, JSON "Host: localhost\r\n", ASK, CALL_OK,
	0, "\r\nHost: api.openai.com\r\n", "localhost"},
    {"b47_target_is_absolute",
	"POST http://127.0.0.1:4100/openai/v1/chat/completions", JSON, ASK,
	CALL_MISDIRECTED, 0, "no proxy", NULL},
    {"b49_target_with_fragment", CHAT "#x", JSON, ASK, CALL_BAD_REQUEST, 0,
	"fragment", NULL},
    {"b53_line_end_in_model",
	"POST /gemini/v1beta/models/a%0d%0aX:generateContent", JSON,
	"{" PARTS "}", CALL_PATH_NOT_ALLOWED, 0, NULL, NULL},
    {"b53_line_end_in_query", CHAT "?a=b%0d%0ac", JSON, ASK, CALL_BAD_REQUEST,
	0, NULL, NULL},
    {"b54_connection_names_a_header", CHAT, JSON "Connection: x-api-key\r\n",
	ASK, CALL_BAD_REQUEST, 0, "Connection", NULL},
    {"b54_underscore", CHAT, JSON "x_api_key: abc\r\n", ASK, CALL_BAD_REQUEST,
	0, NULL, NULL},
    {"b54_empty_name", CHAT, JSON ": abc\r\n", ASK, CALL_BAD_REQUEST, 0, NULL,
	NULL},
    {"b59_trace", "TRACE /openai/v1/models", "", NULL, CALL_METHOD_REFUSED, 405,
	NULL, NULL},
    {"b59_track", "TRACK /openai/v1/models", "", NULL, CALL_METHOD_REFUSED, 0,
	NULL, NULL},
    {"b59_connect", "CONNECT api.openai.com:443", "", NULL, CALL_METHOD_REFUSED,
	0, NULL, NULL},
    {"b59_delete", "DELETE /openai/v1/models/gpt-4o-mini", "", NULL,
	CALL_METHOD_REFUSED, 0, NULL, NULL},
    {"b59_get_of_a_post_path", "GET /openai/v1/chat/completions", "", NULL,
	CALL_METHOD_REFUSED, 0, "another method", NULL},
    {"b68_upgrade_websocket", "GET /openai/v1/realtime",
	"Connection: Upgrade\r\nUpgrade: websocket\r\n", NULL,
	CALL_UPGRADE_REFUSED, 400, NULL, NULL},
    {"b68_upgrade_of_a_known_path", CHAT,
	JSON "Connection: Upgrade\r\nUpgrade: websocket\r\n", ASK,
	CALL_UPGRADE_REFUSED, 0, NULL, NULL},
    {"b68_upgrade_h2c_is_ignored", CHAT,
	JSON "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
	     "HTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA\r\n",
	ASK, CALL_OK, 0, NULL, "h2c"},
    {"b71_escape_in_a_field", CHAT, JSON, "{" MINI "\"\\u001b[31mx\":1," HI "}",
	CALL_FIELD_NOT_ALLOWED, 0, "[31mx is not allowed", NULL},
    {"b72_detail_has_no_value", CHAT, JSON,
	"{" MINI "\"temperature\":\"sk-secret-value\"," HI "}",
	CALL_FIELD_NOT_ALLOWED, 0, "temperature must be a number", NULL},

    {"b75_base_url_in_body", CHAT, JSON,
	"{" MINI "\"base_url\":\"http://evil.example\"," HI "}",
	CALL_FIELD_NOT_ALLOWED, 0, "base_url is not allowed", NULL},
    {"b75_api_base_in_body", CHAT, JSON,
	"{" MINI "\"api_base\":\"http://evil.example\"," HI "}",
	CALL_FIELD_NOT_ALLOWED, 0, "api_base", NULL},
    {"b75_api_key_in_body", CLAUDE, JSON,
	"{\"model\":\"claude-sonnet-4-5\",\"max_tokens\":1,\"api_key\":"
	"\"x\"," HI "}",
	CALL_FIELD_NOT_ALLOWED, 0, "api_key", NULL},
    {"b75_extra_headers_in_body", CHAT, JSON,
	"{" MINI "\"extra_headers\":{\"Authorization\":\"x\"}," HI "}",
	CALL_FIELD_NOT_ALLOWED, 0, "extra_headers", NULL},
    {"b75_base_url_in_query", CHAT "?base_url=evil.example", JSON, ASK,
	CALL_FIELD_NOT_ALLOWED, 0, "base_url", NULL},
    {"b75_forwarded_host", CHAT,
	JSON "X-Forwarded-Host: evil.example\r\nForwarded: host=evil.example"
	     "\r\n",
	ASK, CALL_OK, 0, "\r\nHost: api.openai.com\r\n", "evil"},
    {"b75_portkey_style_header", CHAT,
	JSON "x-portkey-custom-host: evil.example\r\n", ASK, CALL_OK, 0, NULL,
	"evil"},
    {"b75_method_override", CHAT, JSON "X-HTTP-Method-Override: DELETE\r\n",
	ASK, CALL_OK, 0, "POST /v1/chat/completions HTTP/1.1\r\n", "DELETE"},

    {"b76_legacy_completions", "POST /openai/v1/completions", JSON, ASK,
	CALL_PATH_NOT_ALLOWED, 404, NULL, NULL},
    {"b76_files", "GET /openai/v1/files", "", NULL, CALL_PATH_NOT_ALLOWED, 0,
	NULL, NULL},
    {"b76_batches", "POST /anthropic/v1/messages/batches", JSON, ASK,
	CALL_PATH_NOT_ALLOWED, 0, NULL, NULL},
    {"b76_claude_complete", "POST /anthropic/v1/complete", JSON, ASK,
	CALL_PATH_NOT_ALLOWED, 0, NULL, NULL},
    {"b76_gemini_upload", "POST /gemini/upload/v1beta/files", JSON, ASK,
	CALL_PATH_NOT_ALLOWED, 0, NULL, NULL},
    {"b76_gemini_interactions", "POST /gemini/v1beta/interactions", JSON, ASK,
	CALL_PATH_NOT_ALLOWED, 0, NULL, NULL},
    {"b76_slash_at_the_end", CHAT "/", JSON, ASK, CALL_PATH_NOT_ALLOWED, 0,
	NULL, NULL},
    {"b76_two_slashes", "POST /openai//v1/chat/completions", JSON, ASK,
	CALL_PATH_NOT_ALLOWED, 0, NULL, NULL},
    {"b76_dot_segments", "POST /openai/v1/../v1/chat/completions", JSON, ASK,
	CALL_PATH_NOT_ALLOWED, 0, NULL, NULL},
    {"b76_encoded_slash", "POST /openai/v1%2Fchat/completions", JSON, ASK,
	CALL_PATH_NOT_ALLOWED, 0, NULL, NULL},
    {"b76_other_case", "POST /openai/v1/Chat/completions", JSON, ASK,
	CALL_PATH_NOT_ALLOWED, 0, NULL, NULL},
    {"b76_provider_in_other_case", "POST /OpenAI/v1/chat/completions", JSON,
	ASK, CALL_PATH_NOT_ALLOWED, 0, NULL, NULL},
    {"b76_unknown_provider", "POST /mistral/v1/chat/completions", JSON, ASK,
	CALL_PATH_NOT_ALLOWED, 0, "no provider", NULL},
    {"b76_no_provider", "POST /v1/chat/completions", JSON, ASK,
	CALL_PATH_NOT_ALLOWED, 0, NULL, NULL},
    {"b76_root", "GET /", "", NULL, CALL_PATH_NOT_ALLOWED, 0, NULL, NULL},
    {"b76_health", "GET /healthz", "", NULL, CALL_PATH_NOT_ALLOWED, 0, NULL,
	NULL},

    {"b79_key_in_query_is_dropped", GEMINI "?key=AIzaSyPlaceholder", JSON,
	"{" PARTS "}", CALL_OK, 0,
	"POST /v1beta/models/gemini-2.5-flash:generateContent HTTP/1.1\r\n",
	"AIza"},
    {"b79_key_in_query_in_other_case", GEMINI "?KEY=AIzaSyPlaceholder", JSON,
	"{" PARTS "}", CALL_OK, 0, NULL, "AIza"},
    {"b79_key_in_query_encoded", GEMINI "?%6bey=AIzaSyPlaceholder", JSON,
	"{" PARTS "}", CALL_BAD_REQUEST, 0, NULL, NULL},

    {"b83_authorization", CHAT, JSON "Authorization: Bearer sk-mine\r\n", ASK,
	CALL_OK, 0, NULL, "sk-mine"},
    {"b83_authorization_twice", CHAT,
	JSON "authorization: sk-mine\r\nAUTHORIZATION: sk-mine\r\n", ASK,
	CALL_OK, 0, NULL, "authorization"},
    {"b83_x_api_key", CLAUDE, JSON "X-Api-Key: sk-mine\r\n",
	"{\"model\":\"claude-sonnet-4-5\",\"max_tokens\":1," HI "}", CALL_OK, 0,
	NULL, "sk-mine"},
    {"b83_api_key", CHAT, JSON "api-key: sk-mine\r\n", ASK, CALL_OK, 0, NULL,
	"api-key"},
    {"b83_x_goog_api_key", GEMINI, JSON "x-goog-api-key: sk-mine\r\n",
	"{" PARTS "}", CALL_OK, 0, NULL, "x-goog"},
    {"b83_cookie", CHAT, JSON "Cookie: session=sk-mine\r\n", ASK, CALL_OK, 0,
	NULL, "cookie"},
    {"b83_proxy_authorization", CHAT,
	JSON "Proxy-Authorization: Basic sk-mine\r\n", ASK, CALL_OK, 0, NULL,
	"proxy-"},
    {"b83_organization", CHAT,
	JSON "OpenAI-Organization: org-1\r\nOpenAI-Project: proj-1\r\n", ASK,
	CALL_OK, 0, NULL, "openai-"},

    {"b87_model_of_a_snapshot", CHAT, JSON,
	"{\"model\":\"gpt-4o-mini-2024-07-18\"," HI "}", CALL_MODEL_NOT_ALLOWED,
	403, NULL, NULL},
    {"b87_model_in_other_case", CHAT, JSON,
	"{\"model\":\"GPT-4o-mini\"," HI "}", CALL_MODEL_NOT_ALLOWED, 0, NULL,
	NULL},
    {"b87_model_with_prefix", CHAT, JSON,
	"{\"model\":\"openai/gpt-4o-mini\"," HI "}", CALL_MODEL_NOT_ALLOWED, 0,
	NULL, NULL},
    {"b87_model_with_suffix", CHAT, JSON,
	"{\"model\":\"gpt-4o-mini:online\"," HI "}", CALL_MODEL_NOT_ALLOWED, 0,
	NULL, NULL},
    {"b87_model_with_space", CHAT, JSON, "{\"model\":\"gpt-4o-mini \"," HI "}",
	CALL_MODEL_NOT_ALLOWED, 0, NULL, NULL},
    {"b87_model_missing", CHAT, JSON, "{" HI "}", CALL_MODEL_NOT_ALLOWED, 0,
	"must name its model", NULL},
    {"b87_model_of_another_kind", CHAT, JSON,
	"{\"model\":[\"gpt-4o-mini\"]," HI "}", CALL_MODEL_NOT_ALLOWED, 0, NULL,
	NULL},
    {"b87_model_twice", CHAT, JSON, "{\"model\":\"gpt-4o\"," MINI HI "}",
	CALL_BAD_REQUEST, 400, "twice", NULL},
    {"b87_model_twice_escaped", CHAT, JSON,
	"{\"mod\\u0065l\":\"gpt-4o\"," MINI HI "}", CALL_BAD_REQUEST, 0,
	"twice", NULL},
    {"b87_model_differs_in_case", CHAT, JSON,
	"{\"Model\":\"gpt-4o\"," MINI HI "}", CALL_FIELD_NOT_ALLOWED, 0,
	"differs from model only in case", NULL},
    {"b87_model_escaped_is_the_same", CHAT, JSON,
	"{\"model\":\"gpt\\u002d4o-mini\"," HI "}", CALL_OK, 0, "gpt\\u002d4o",
	NULL},
    {"b87_fallback_models", CHAT, JSON,
	"{" MINI "\"models\":[\"gpt-4o\"]," HI "}", CALL_FIELD_NOT_ALLOWED, 0,
	"models is not allowed", NULL},
    {"b87_model_of_a_moderation", CHAT, JSON,
	"{" MINI "\"moderation\":{\"model\":\"x\"}," HI "}",
	CALL_FIELD_NOT_ALLOWED, 0, NULL, NULL},
    {"b87_model_in_path_is_another", "GET /openai/v1/models/gpt-4o", "", NULL,
	CALL_MODEL_NOT_ALLOWED, 0, NULL, NULL},
    {"b87_model_in_path_encoded", "GET /openai/v1/models/gpt-4o%2Dmini", "",
	NULL, CALL_PATH_NOT_ALLOWED, 0, NULL, NULL},
    {"b87_model_in_path_climbs", "GET /openai/v1/models/a%2F..%2Fb", "", NULL,
	CALL_PATH_NOT_ALLOWED, 0, "the model in the path", NULL},
    {"b87_model_in_path_stays", "GET /openai/v1/models/a%2F.", "", NULL,
	CALL_PATH_NOT_ALLOWED, 0, "the model in the path", NULL},
    {"b87_model_in_path_ends", "GET /openai/v1/models/a%2F", "", NULL,
	CALL_PATH_NOT_ALLOWED, 0, "the model in the path", NULL},
    {"b87_model_in_path_skips", "GET /openai/v1/models/a%2F%2Fb", "", NULL,
	CALL_PATH_NOT_ALLOWED, 0, "the model in the path", NULL},
    {"b87_gemini_body_names_another", GEMINI, JSON,
	"{\"model\":\"models/gemini-2.5-pro\"," PARTS "}",
	CALL_FIELD_NOT_ALLOWED, 0, "model must be the model of the call", NULL},
    {"b87_gemini_batch_names_another",
	"POST /gemini/v1beta/models/gemini-embedding-001:batchEmbedContents",
	JSON,
	"{\"requests\":[{\"model\":\"models/other\",\"content\":{\"parts\":[{"
	"\"text\":\"a\"}]}}]}",
	CALL_FIELD_NOT_ALLOWED, 0, "requests[0].model", NULL},
    {"b87_provider_not_granted", "GET /openai/v1/models/", "", NULL,
	CALL_PATH_NOT_ALLOWED, 0, NULL, NULL},

    {"b88_identity_is_asked_for", CHAT,
	JSON "Accept-Encoding: gzip, deflate, br\r\n", ASK, CALL_OK, 0,
	"\r\nAccept-Encoding: identity\r\n", "deflate"},
    {"b89_usage_is_asked_for", CHAT, JSON, "{" MINI "\"stream\":true," HI "}",
	CALL_OK, 0,
	"{\"store\":false,\"max_completion_tokens\":4096,"
	"\"stream_options\":{\"include_usage\":true}," MINI,
	NULL},
    {"b89_usage_was_declined", CHAT, JSON,
	"{" MINI "\"stream\":true,\"stream_options\":{\"include_usage\":false,"
	"\"include_obfuscation\":false}," HI "}",
	CALL_OK, 0,
	"\"stream_options\":{\"include_usage\":true,"
	"\"include_obfuscation\":false}",
	"usage\":false"},
    {"b89_usage_options_are_null", CHAT, JSON,
	"{" MINI "\"stream\":true,\"stream_options\":null," HI "}", CALL_OK, 0,
	"\"include_usage\":true", NULL},
    {"b89_no_usage_without_a_stream", CHAT, JSON, ASK, CALL_OK, 0,
	"{\"store\":false,\"max_completion_tokens\":4096," MINI HI "}",
	"include_usage"},
    {"b89_limit_that_is_reserved", "POST /openai/v1/responses", JSON,
	"{" MINI "\"input\":\"a\"}", CALL_OK, 0,
	"{\"store\":false,\"max_output_tokens\":4096," MINI, NULL},
    {"b89_limit_is_named", CHAT, JSON, "{" MINI "\"max_tokens\":9," HI "}",
	CALL_OK, 0, "\"max_tokens\":9", "4096"},
    {"b89_limit_is_null", CHAT, JSON,
	"{" MINI "\"max_completion_tokens\":null," HI "}", CALL_OK, 0,
	"\"max_completion_tokens\":4096", "null"},
    {"b89_limit_in_an_object", GEMINI, JSON, "{" PARTS "}", CALL_OK, 0,
	"{\"generationConfig\":{\"maxOutputTokens\":8192}," PARTS "}", NULL},
    {"b89_limit_beside_others", GEMINI, JSON,
	"{" PARTS ",\"generationConfig\":{\"topK\":2}}", CALL_OK, 0,
	"\"generationConfig\":{\"topK\":2,\"maxOutputTokens\":8192}}", NULL},
    {"b89_limit_in_an_object_is_named", GEMINI, JSON,
	"{" PARTS ",\"generationConfig\":{\"maxOutputTokens\":2}}", CALL_OK, 0,
	"\"generationConfig\":{\"maxOutputTokens\":2}}", "8192"},
    {"b95_oauth_beta", CLAUDE, JSON "anthropic-beta: oauth-2025-04-20\r\n",
	"{\"model\":\"claude-sonnet-4-5\",\"max_tokens\":1," HI "}",
	CALL_HEADER_NOT_ALLOWED, 400, "anthropic-beta", NULL},
    {"b95_beta_hidden_in_a_list", CLAUDE,
	JSON "anthropic-beta: pdfs-2024-09-25, mcp-client-2025-04-04\r\n",
	"{\"model\":\"claude-sonnet-4-5\",\"max_tokens\":1," HI "}",
	CALL_HEADER_NOT_ALLOWED, 0, "anthropic-beta", NULL},
    {"b95_betas_that_are_known", CLAUDE,
	JSON "anthropic-beta: pdfs-2024-09-25,prompt-caching-2024-07-31\r\n",
	"{\"model\":\"claude-sonnet-4-5\",\"max_tokens\":1," HI "}", CALL_OK, 0,
	"anthropic-beta: pdfs-2024-09-25,prompt-caching-2024-07-31\r\n"
	"anthropic-version: 2023-06-01\r\n",
	NULL},
    {"b95_openai_beta", CHAT, JSON "OpenAI-Beta: assistants=v2\r\n", ASK,
	CALL_HEADER_NOT_ALLOWED, 0, "openai-beta", NULL},
    {"b95_version_twice", CLAUDE,
	JSON "anthropic-version: 2023-06-01\r\nanthropic-version: 2023-06-01"
	     "\r\n",
	"{\"model\":\"claude-sonnet-4-5\",\"max_tokens\":1," HI "}",
	CALL_BAD_REQUEST, 0, "repeated", NULL},
};

#define TEST_CALL_VECTORS_ROWS \
	(sizeof(test_call_vectors_rows) / sizeof(test_call_vectors_rows[0]))

static struct call_case test_call_vectors_case;

static void
test_call_vectors_row(void **state)
{
	call_case_check(&test_call_vectors_case, *state);
}

int
main(void)
{
	static struct CMUnitTest tests[TEST_CALL_VECTORS_ROWS];
	size_t i;
	int failed;

	call_case_open(&test_call_vectors_case,
	    AGENTNODE_SOURCE_DIR "/config/providers", CALL_CASE_GRANT);
	for (i = 0; i < TEST_CALL_VECTORS_ROWS; i++) {
		tests[i].name = test_call_vectors_rows[i].name;
		tests[i].test_func = test_call_vectors_row;
		tests[i].initial_state =
		    (void *)(uintptr_t)&test_call_vectors_rows[i];
	}
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	call_case_close(&test_call_vectors_case);
	return failed;
}
