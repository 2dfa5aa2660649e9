/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Providers are data: one JSON file each (config/providers, and the host's
 * own). The supervisor loads and checks the files, hands the same objects to
 * llm-broker and their upstream and key parts to llm-key. A provider like
 * OpenAI is a new file, not code. The format (docs/llm.md) in short:
 *
 * {"name":"openai",
 *  "upstream":{"host":"api.openai.com","port":443,"prefix":"",
 *    "cidrs":[..]?,"tls":false?,"ca_file":"/..."?},
 *  "key":{"header":"Authorization","format":"Bearer {key}"},   or null: none
 *  "environment":{"base_url":["OPENAI_BASE_URL"],"suffix":"/v1",
 *    "key":["OPENAI_API_KEY"],"placeholder":"sk-agentnode-no-key-here"},
 *  "errors":"openai",                           openai | anthropic | gemini
 *  "set_headers":{"anthropic-version":"2023-06-01"},   when the client has none
 *  "pass_headers":[{"name":"anthropic-beta","values":[...],"list":true}],
 *  "drop_query":["key"],
 *  "rules":{NAME:RULE},            field_rule.h; for "#NAME"
 *  "paths":[{"method":"POST","path":"/v1/chat/completions",
 *    "model":"body:model",      or "path:model" for .../{model}:generateContent
 *    "stream":"body:stream",    or "always", "never", "query:alt=sse"
 *    "query":{"alt":["sse"]},"query_required":["alt"],   RULEs for its texts
 *    "body":RULE,               of an object; null: no body is allowed
 *    "force":{"store":false},"force_unless":"stored",    put in when absent
 *    "usage":"openai_chat",     openai_responses, anthropic, gemini,
 *                               openai_embeddings, none
 *    "include_usage":"stream_options.include_usage",
 *    "output_limit":["max_completion_tokens","max_tokens"],    dotted paths
 *    "output_default":4096,     put in and reserved when it sets none
 *    "choices":"n",             multiplies it; dotted path
 *    "chat":true,               call_llm may use it
 *    "content_types":["application/json","text/event-stream"]}]}
 */
#ifndef LLM_BROKER_PROVIDER_H
#define LLM_BROKER_PROVIDER_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/http_head.h"
#include "common/json_field.h"
#include "common/result.h"

#define PROVIDER_NAME_MAX 31U
#define PROVIDER_FILE_MAX (256U * 1024U)
#define PROVIDER_PATHS_MAX 64U

enum provider_errors {
	PROVIDER_ERRORS_OPENAI,
	PROVIDER_ERRORS_ANTHROPIC,
	PROVIDER_ERRORS_GEMINI,
	PROVIDER_ERRORS_CALL_LLM /* of /agentnode/call_llm; in no file */
};
enum provider_usage {
	PROVIDER_USAGE_NONE,
	PROVIDER_USAGE_OPENAI_CHAT,
	PROVIDER_USAGE_OPENAI_RESPONSES,
	PROVIDER_USAGE_OPENAI_EMBEDDINGS,
	PROVIDER_USAGE_ANTHROPIC,
	PROVIDER_USAGE_GEMINI
};
enum provider_stream {
	PROVIDER_STREAM_NEVER,
	PROVIDER_STREAM_ALWAYS,
	PROVIDER_STREAM_BODY, /* the boolean stream_field of the body */
	PROVIDER_STREAM_QUERY /* stream_field ("alt=sse") is in the query */
};

struct field_rule;
struct provider; /* opaque; immutable once loaded */

struct provider_query {
	const char *name;
	struct field_rule *rule;
	bool required;
};

struct provider_path {
	const char *method, *path; /* path may hold one {model} */
	bool model_in_path;
	const char *model_field; /* NULL: no model in the body */
	enum provider_stream stream;
	const char *stream_field;
	struct field_rule *body; /* NULL: no body */
	const json_t *force;     /* object or NULL */
	unsigned force_unless;   /* an enum grant_opt_in, or 0 */
	struct provider_query *query;
	size_t query_count;
	enum provider_usage usage;
	const char *include_usage;  /* dotted path or NULL */
	const json_t *output_limit; /* list of dotted paths or NULL */
	const char *choices;        /* dotted path or NULL */
	uint64_t output_default;
	bool chat;
	const json_t *content_types; /* list, never NULL */
};

/* Strict: unknown keys refused with their place. object is kept (incref) and
 * must not be changed afterwards. */
enum result provider_load(const json_t *object, const char *path,
    struct provider **provider_r, struct json_fault *fault);
void provider_free(struct provider **provider);

const char *provider_name(const struct provider *provider);
const char *provider_host(const struct provider *provider);
uint16_t provider_port(const struct provider *provider);
const char *provider_prefix(const struct provider *provider);
enum provider_errors provider_error_shape(const struct provider *provider);
/* A part as in the file ("upstream", "key", ...): checked; NULL: absent. */
const json_t *provider_part(const struct provider *provider, const char *name);

/* The row for a method and a path (no query, no prefix), or NULL; model_r is
 * the part of the path that stands for {model}, when there is one. */
const struct provider_path *provider_route(const struct provider *provider,
    struct http_text method, struct http_text path, struct http_text *model_r);
/* The row that call_llm uses; NULL: none. */
const struct provider_path *provider_chat_path(const struct provider *provider);

#endif
