/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Providers are data: one JSON file each (config/providers, and the host's
 * own). The supervisor loads and checks the files, hands the same objects to
 * llm-broker (paths, fields, usage) and to llm-key (hosts, the header of the
 * key); each takes its part and refuses what it does not know. An
 * OpenAI-compatible provider is a new file, not code.
 *
 * {"name":"openai","upstream":{"host":"api.openai.com","port":443,
 *    "prefix":""},
 *  "key":{"header":"Authorization","format":"Bearer {key}"},   or null: none
 *  "environment":{"base_url":["OPENAI_BASE_URL"],"suffix":"/v1",
 *    "key":["OPENAI_API_KEY"],"placeholder":"sk-agentnode-no-key-here"},
 *  "errors":"openai",                           openai | anthropic | gemini
 *  "set_headers":{"anthropic-version":"2023-06-01"},   when the client has none
 *  "pass_headers":[{"name":"anthropic-version","values":["2023-06-01"]},
 *    {"name":"anthropic-beta","values":[...],"list":true}],
 *  "drop_query":["key"],
 *  "paths":[{"method":"POST","path":"/v1/chat/completions",
 *    "model":"body:model",      or "path:model" for .../{model}:generateContent
 *    "stream":"body:stream",    or "always", "never", "query:alt=sse"
 *    "query":{"alt":["sse"]},
 *    "body":RULE,               field_rule.h; null: no body is allowed
 *    "force":{"store":false},   put in when absent; another value is refused
 *    "usage":{"format":"openai_chat"}, openai_responses, anthropic, gemini,
 *                                      openai_embeddings, none
 *    "include_usage":"stream_options.include_usage",
 *    "output_limit":["max_completion_tokens","max_tokens"],
 *    "output_default":4096,     tokens reserved when the client sets none
 *    "choices":"n",             multiplies it
 *    "chat":true,               call_llm may use it
 *    "content_types":["application/json","text/event-stream"]}]}
 */
#ifndef LLM_BROKER_PROVIDER_H
#define LLM_BROKER_PROVIDER_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/http_head.h"
#include "common/json_field.h"
#include "common/result.h"

#define PROVIDER_NAME_MAX 31U
#define PROVIDER_FILE_MAX (256U * 1024U)

enum provider_errors {
	PROVIDER_ERRORS_OPENAI,
	PROVIDER_ERRORS_ANTHROPIC,
	PROVIDER_ERRORS_GEMINI
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
	PROVIDER_STREAM_QUERY
};

struct field_rule; /* field_rule.h */
struct provider;   /* opaque; immutable once loaded */

struct provider_path {
	const char *method, *path; /* path may hold one {model} */
	bool model_in_path;
	const char *model_field; /* NULL: no model on this path */
	enum provider_stream stream;
	const char *stream_field;
	const struct field_rule *body; /* NULL: no body */
	const json_t *force;           /* object or NULL */
	const json_t *query;           /* object or NULL */
	enum provider_usage usage;
	const char *include_usage;  /* dotted path or NULL */
	const json_t *output_limit; /* list of field names or NULL */
	const char *choices;        /* field name or NULL */
	uint64_t output_default;
	bool chat;
	const json_t *content_types;
};

/* Strict: unknown keys refused with their place. object is kept (incref). */
enum result provider_load(const json_t *object, const char *path,
    struct provider **provider_r, struct json_fault *fault);
void provider_free(struct provider **provider);

const char *provider_name(const struct provider *provider);
const char *provider_host(const struct provider *provider);
uint16_t provider_port(const struct provider *provider);
const char *provider_prefix(const struct provider *provider);
enum provider_errors provider_error_shape(const struct provider *provider);
/* "pass_headers", "set_headers", "drop_query", "environment": as in the file;
 * checked, never NULL (empty when absent). */
const json_t *provider_part(const struct provider *provider, const char *name);

/* The row for a method and a path (no query, no prefix), or NULL; model_r is
 * the part of the path that stands for {model}, when there is one. */
const struct provider_path *provider_route(const struct provider *provider,
    struct http_text method, struct http_text path, struct http_text *model_r);
/* The row that call_llm uses; NULL: none. */
const struct provider_path *provider_chat_path(const struct provider *provider);

#endif
