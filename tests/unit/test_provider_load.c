/* SPDX-License-Identifier: Apache-2.0 */
/*
 * llm-broker/provider_load and provider_row: what a file must not say, and
 * the router on one that is good.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "llm-broker/field_rule.h"
#include "llm-broker/grant.h"
#include "llm-broker/provider.h"

#define TEST_PROVIDER_LOAD_GOOD                                                \
	"{\"name\":\"acme\",\"upstream\":{\"host\":\"api.acme.example\","      \
	"\"port\":8443,\"prefix\":\"/"                                         \
	"v9\"},\"key\":{\"header\":\"X-Acme-Key\","                            \
	"\"format\":\"Key "                                                    \
	"{key}\"},\"environment\":{\"base_url\":[\"ACME_URL\"],"               \
	"\"suffix\":\"/v1\",\"key\":[\"ACME_KEY\"],\"placeholder\":"           \
	"\"no-key-here\"},\"errors\":\"openai\",\"set_headers\":{\"acme-"      \
	"version\":"                                                           \
	"\"1\"},\"pass_headers\":[{\"name\":\"acme-version\",\"values\":["     \
	"\"1\"]}],"                                                            \
	"\"drop_query\":[\"key\"],\"rules\":{\"chat\":{\"kind\":\"object\","   \
	"\"fields\":{\"model\":\"model\",\"stream\":\"boolean\"}}},\"paths\":" \
	"["                                                                    \
	"{\"method\":\"POST\",\"path\":\"/v1/chat\",\"model\":\"body:model\"," \
	"\"stream\":\"body:stream\",\"body\":\"#chat\",\"force\":{\"store\":"  \
	"false}"                                                               \
	",\"force_unless\":\"stored\",\"usage\":\"openai_chat\",\"include_"    \
	"usage\":"                                                             \
	"\"stream_options.include_usage\",\"output_limit\":[\"max_tokens\"],"  \
	"\"output_default\":64,\"choices\":\"n\",\"chat\":true,\"content_"     \
	"types\":"                                                             \
	"[\"application/json\"]},"                                             \
	"{\"method\":\"POST\",\"path\":\"/v1/models/{model}:run\",\"model\":"  \
	"\"path:model\",\"stream\":\"query:alt=sse\",\"query\":{\"alt\":["     \
	"\"sse\"]}"                                                            \
	",\"query_required\":[\"alt\"],\"body\":\"#chat\",\"usage\":\"none\"," \
	"\"content_types\":[\"application/json\"]},"                           \
	"{\"method\":\"GET\",\"path\":\"/v1/models/{model}\",\"model\":"       \
	"\"path:model\",\"usage\":\"none\",\"content_types\":[\"application/"  \
	"json\"]"                                                              \
	"}]}"

static json_t *
test_provider_load_json(const char *text)
{
	json_error_t error;
	json_t *json = json_loads(text, JSON_DECODE_ANY, &error);

	if (json == NULL)
		fail_msg("%s: %s", text, error.text);
	return json;
}

/* The good file with one value put in at a path ("paths.0.usage"); text
 * NULL: taken away. */
static json_t *
test_provider_load_changed(const char *path, const char *text)
{
	json_t *top = test_provider_load_json(TEST_PROVIDER_LOAD_GOOD);
	json_t *at = top;
	const char *dot;
	char name[64];

	while ((dot = strchr(path, '.')) != NULL) {
		memcpy(name, path, (size_t)(dot - path));
		name[dot - path] = '\0';
		at = json_is_array(at)
			 ? json_array_get(at, (size_t)(name[0] - '0'))
			 : json_object_get(at, name);
		assert_non_null(at);
		path = dot + 1;
	}
	if (text == NULL)
		assert_int_equal(json_object_del(at, path), 0);
	else
		json_object_set_new(at, path, test_provider_load_json(text));
	return top;
}

static const struct {
	const char *name, *path, *text, *fault;
} test_provider_load_rows[] = {
    {"unknown_key", "extra", "1", "provider.extra is not known"},
    {"no_name", "name", NULL, "provider.name is missing"},
    {"name_in_capitals", "name", "\"Acme\"", "lower case"},
    {"name_with_slash", "name", "\"a/b\"", "lower case"},
    {"name_of_ours", "name", "\"agentnode\"", "not agentnode"},
    {"name_too_long", "name", "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"",
	"provider.name has 36 bytes"},
    {"host_address", "upstream.host", "\"10.0.0.1\"", "upstream.host"},
    {"host_label", "upstream.host", "\"intranet\"", "upstream.host"},
    {"host_localhost", "upstream.host", "\"localhost\"", "upstream.host"},
    {"host_capitals", "upstream.host", "\"API.acme.example\"", "upstream.host"},
    {"host_with_port", "upstream.host", "\"api.acme.example:443\"",
	"upstream.host"},
    {"host_with_scheme", "upstream.host", "\"https://api.acme.example\"",
	"upstream.host"},
    {"host_with_line_end", "upstream.host", "\"a.example\\r\\nX: y\"",
	"upstream.host"},
    {"port_0", "upstream.port", "0", "upstream.port is 0"},
    {"prefix_without_slash", "upstream.prefix", "\"v1\"", "upstream.prefix"},
    {"prefix_with_slash_behind", "upstream.prefix", "\"/v1/\"",
	"upstream.prefix"},
    {"prefix_up", "upstream.prefix", "\"/v1/../x\"", "upstream.prefix"},
    {"prefix_with_space", "upstream.prefix", "\"/v 1\"", "upstream.prefix"},
    {"b84_plain_with_a_key", "upstream.tls", "false", "upstream.tls"},
    {"ca_file_relative", "upstream.ca_file", "\"ca.pem\"", "upstream.ca_file"},
    {"no_key", "key", NULL, "provider.key is missing"},
    {"key_header_malformed", "key.header", "\"X Key\"", "key needs"},
    {"key_header_line_end", "key.header", "\"X\\r\\nY\"", "key needs"},
    {"b118_format_without_key", "key.format", "\"Bearer\"", "key needs"},
    {"format_with_two_keys", "key.format", "\"{key}{key}\"", "key needs"},
    {"format_line_end", "key.format", "\"{key}\\r\\nX: y\"", "key needs"},
    {"b116_placeholder_short", "environment.placeholder", "\"x\"",
	"placeholder needs 8"},
    {"b116_placeholder_empty", "environment.placeholder", "\"\"",
	"placeholder needs 8"},
    {"variable_in_small", "environment.key", "[\"acme_key\"]",
	"environment.key[0]"},
    {"variable_with_equals", "environment.base_url", "[\"A=B\"]",
	"environment.base_url[0]"},
    {"suffix", "environment.suffix", "\"v1\"", "environment.suffix"},
    {"errors", "errors", "\"mistral\"", "provider.errors must be"},
    {"errors_of_ours", "errors", "\"call_llm\"", "provider.errors must be"},
    {"b83_set_authorization", "set_headers.authorization", "\"x\"",
	"set_headers may not name authorization"},
    {"b83_set_the_keys_header", "set_headers.x-acme-key", "\"x\"",
	"set_headers may not name x-acme-key"},
    {"set_host", "set_headers.host", "\"x\"", "may not name host"},
    {"set_in_capitals", "set_headers.Acme", "\"x\"", "lower case"},
    {"set_line_end", "set_headers.acme", "\"x\\ny\"", "must be a text"},
    {"b83_pass_cookie", "pass_headers.0.name", "\"cookie\"",
	"may not name cookie"},
    {"b83_pass_x_api_key", "pass_headers.0.name", "\"x-api-key\"",
	"may not name x-api-key"},
    {"b54_pass_underscore", "pass_headers.0.name", "\"a_b\"", "header name"},
    {"pass_without_values", "pass_headers.0.values", NULL,
	"pass_headers[].values is missing"},
    {"drop_query", "drop_query", "[\"a=b\"]", "provider.drop_query[0]"},
    {"rules_malformed", "rules.x", "\"nothing\"", "x is no rule"},
    {"no_paths", "paths", "[]", "provider.paths is empty"},
    {"row_unknown_key", "paths.0.extra", "1", "paths[0].extra is not known"},
    {"row_method", "paths.0.method", "\"PUT\"", "must be GET or POST"},
    {"row_path_relative", "paths.0.path", "\"v1\"", "must be a plain path"},
    {"row_path_up", "paths.0.path", "\"/../v1\"", "must be a plain path"},
    {"row_path_query", "paths.0.path", "\"/v1?a=b\"", "must be a plain path"},
    {"row_path_percent", "paths.0.path", "\"/v%31\"", "must be a plain path"},
    {"row_two_models", "paths.1.path", "\"/{model}/{model}\"",
	"must be a plain path"},
    {"row_other_mark", "paths.1.path", "\"/{name}\"", "must be a plain path"},
    {"row_model_not_in_path", "paths.0.model", "\"path:model\"",
	"belong together"},
    {"row_model_in_body_too", "paths.1.model", "\"body:model\"",
	"belong together"},
    {"row_model", "paths.0.model", "\"model\"", "must be body:FIELD"},
    {"row_stream", "paths.0.stream", "\"maybe\"", "stream must be"},
    {"row_query_required", "paths.1.query_required", "[\"other\"]",
	"query_required[0] is not in query"},
    {"row_query_rule", "paths.1.query", "{\"alt\":\"x\"}",
	"paths[1].query.alt is no rule"},
    {"row_post_without_body", "paths.0.body", "null", "body must be there"},
    {"row_get_with_body", "paths.2.body", "\"#chat\"", "body must be there"},
    {"row_force_unless", "paths.0.force_unless", "\"always\"",
	"force_unless is no opt-in"},
    {"row_usage", "paths.0.usage", "\"mistral\"", "usage is not known"},
    {"row_include_usage", "paths.0.include_usage", "\"usage\"",
	"include_usage must be"},
    {"row_include_usage_deep", "paths.0.include_usage", "\"a.b.c\"",
	"include_usage must be"},
    {"row_output_limit_deep", "paths.0.output_limit", "[\"a.b.c\"]",
	"output_limit[0] must be FIELD"},
    {"row_output_limit", "paths.0.output_limit", "[1]", "output_limit[0]"},
    {"row_content_types", "paths.0.content_types", "[]",
	"content_types is empty"},
    {"row_chat_without_usage", "paths.1.chat", "true", "chat needs a usage"},
    {"row_model_without_body", "paths.2.model", "\"body:model\"",
	"belong together"},
};
#define TEST_PROVIDER_LOAD_ROWS \
	(sizeof(test_provider_load_rows) / sizeof(test_provider_load_rows[0]))

static void
test_provider_load_row(void **state)
{
	size_t i = (size_t)(uintptr_t)*state - 1;
	struct json_fault fault = {""};
	struct provider *provider;
	json_t *object = test_provider_load_changed(
	    test_provider_load_rows[i].path, test_provider_load_rows[i].text);

	assert_int_equal(
	    provider_load(object, "provider", &provider, &fault), RESULT_BAD);
	assert_null(provider);
	if (strstr(fault.text, test_provider_load_rows[i].fault) == NULL)
		fail_msg("%s", fault.text);
	json_decref(object);
}

static struct http_text
test_provider_load_text(const char *text)
{
	struct http_text result = {text, strlen(text)};

	return result;
}

static void
test_provider_load_router(void **state)
{
	static const struct {
		const char *method, *path;
		int row; /* -1: none */
		const char *model;
	} rows[] = {
	    {"POST", "/v1/chat", 0, ""},
	    {"GET", "/v1/chat", -1, ""},
	    {"post", "/v1/chat", -1, ""},
	    {"POST", "/v1/chat/", -1, ""},
	    {"POST", "/v1/chatx", -1, ""},
	    {"POST", "/v1/cha", -1, ""},
	    {"POST", "", -1, ""},
	    {"POST", "/v1/models/a:run", 1, "a"},
	    {"POST", "/v1/models/a:run:run", 1, "a:run"},
	    {"POST", "/v1/models/:run", -1, ""},
	    {"POST", "/v1/models/a/b:run", -1, ""},
	    {"POST", "/v1/models/a", -1, ""},
	    {"GET", "/v1/models/a", 2, "a"},
	    {"GET", "/v1/models/", -1, ""},
	    {"GET", "/v1/models", -1, ""},
	};
	json_t *object = test_provider_load_json(TEST_PROVIDER_LOAD_GOOD);
	const struct provider_path *path, *first;
	struct json_fault fault = {""};
	struct provider *provider;
	struct http_text model;
	size_t i;

	(void)state;
	assert_int_equal(
	    provider_load(object, "provider", &provider, &fault), RESULT_OK);
	json_decref(object);
	first = provider_chat_path(provider);
	assert_string_equal(first->path, "/v1/chat");
	assert_int_equal(first->output_default, 64);
	assert_int_equal(first->force_unless, GRANT_STORED);
	assert_true(first[1].query[0].required);
	assert_int_equal(first[1].stream, PROVIDER_STREAM_QUERY);
	assert_string_equal(first[1].stream_field, "alt=sse");
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		path = provider_route(provider,
		    test_provider_load_text(rows[i].method),
		    test_provider_load_text(rows[i].path), &model);
		if (path != (rows[i].row < 0 ? NULL : first + rows[i].row))
			fail_msg("%s %s", rows[i].method, rows[i].path);
		if (path != NULL && path->model_in_path)
			assert_true(http_head_text_is(model, rows[i].model));
	}
	assert_int_equal(provider_port(provider), 8443);
	assert_string_equal(provider_prefix(provider), "/v9");
	assert_string_equal(provider_host(provider), "api.acme.example");
	assert_non_null(provider_part(provider, "key"));
	assert_null(provider_part(provider, "nothing"));
	provider_free(&provider);
	provider_free(&provider);
}

/* Plain HTTP and odd hosts need ranges, and no key. */
static void
test_provider_load_private(void **state)
{
	static const char *const hosts[] = {
	    "\"127.0.0.1\"", "\"::1\"", "\"ollama\"", "\"localhost\""};
	struct json_fault fault = {""};
	struct provider *provider;
	json_t *object;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++) {
		object = test_provider_load_changed("upstream.host", hosts[i]);
		json_object_set_new(json_object_get(object, "upstream"),
		    "cidrs", test_provider_load_json("[\"127.0.0.0/8\"]"));
		json_object_set_new(object, "key", json_null());
		json_object_set_new(
		    json_object_get(object, "upstream"), "tls", json_false());
		if (provider_load(object, "provider", &provider, &fault) !=
		    RESULT_OK)
			fail_msg("%s: %s", hosts[i], fault.text);
		provider_free(&provider);
		json_decref(object);
	}
}

int
main(void)
{
	static struct CMUnitTest tests[TEST_PROVIDER_LOAD_ROWS + 2] = {
	    cmocka_unit_test(test_provider_load_router),
	    cmocka_unit_test(test_provider_load_private)};
	size_t i;

	for (i = 0; i < TEST_PROVIDER_LOAD_ROWS; i++) {
		tests[i + 2].name = test_provider_load_rows[i].name;
		tests[i + 2].test_func = test_provider_load_row;
		tests[i + 2].initial_state = (void *)(uintptr_t)(i + 1);
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
