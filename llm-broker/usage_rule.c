/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of usage_rule.h. Called by usage_scan.c for every value of a
 * response, so rows are short and looked at once per value.
 */
#include "llm-broker/usage_rule.h"

#include <string.h>

#include "llm-broker/json_walk.h"

/* Every key that stands in a row below. */
enum usage_rule_step {
	KEY_OTHER = JSON_WALK_OTHER,
	KEY_ARGUMENTS,
	KEY_CACHE_CREATION,
	KEY_CACHE_READ,
	KEY_CACHED_CONTENT,
	KEY_CACHED_TOKENS,
	KEY_CANDIDATES,
	KEY_CANDIDATES_COUNT,
	KEY_CALL_ID,
	KEY_CHOICES,
	KEY_COMPLETION_TOKENS,
	KEY_CONTENT,
	KEY_CONTENT_BLOCK,
	KEY_DELTA,
	KEY_FINISH_REASON,
	KEY_ID,
	KEY_INPUT_DETAILS,
	KEY_INPUT_TOKENS,
	KEY_ITEM_ID,
	KEY_MESSAGE,
	KEY_OUTPUT,
	KEY_OUTPUT_TOKENS,
	KEY_PROMPT_COUNT,
	KEY_PROMPT_DETAILS,
	KEY_PROMPT_TOKENS,
	KEY_RESPONSE,
	KEY_ROLE,
	KEY_SIGNATURE,
	KEY_STATUS,
	KEY_STOP_REASON,
	KEY_TEXT,
	KEY_THOUGHT_SIGNATURE,
	KEY_THOUGHTS_COUNT,
	KEY_TOOL_PROMPT_COUNT,
	KEY_TYPE,
	KEY_USAGE,
	KEY_USAGE_METADATA,
	KEY_COUNT,
	KEY_ITEM = JSON_WALK_ITEM
};

static const char *const usage_rule_keys[KEY_COUNT] = {
    [KEY_OTHER] = "",
    [KEY_ARGUMENTS] = "arguments",
    [KEY_CACHE_CREATION] = "cache_creation_input_tokens",
    [KEY_CACHE_READ] = "cache_read_input_tokens",
    [KEY_CACHED_CONTENT] = "cachedContentTokenCount",
    [KEY_CACHED_TOKENS] = "cached_tokens",
    [KEY_CANDIDATES] = "candidates",
    [KEY_CANDIDATES_COUNT] = "candidatesTokenCount",
    [KEY_CALL_ID] = "call_id",
    [KEY_CHOICES] = "choices",
    [KEY_COMPLETION_TOKENS] = "completion_tokens",
    [KEY_CONTENT] = "content",
    [KEY_CONTENT_BLOCK] = "content_block",
    [KEY_DELTA] = "delta",
    [KEY_FINISH_REASON] = "finishReason",
    [KEY_ID] = "id",
    [KEY_INPUT_DETAILS] = "input_tokens_details",
    [KEY_INPUT_TOKENS] = "input_tokens",
    [KEY_ITEM_ID] = "item_id",
    [KEY_MESSAGE] = "message",
    [KEY_OUTPUT] = "output",
    [KEY_OUTPUT_TOKENS] = "output_tokens",
    [KEY_PROMPT_COUNT] = "promptTokenCount",
    [KEY_PROMPT_DETAILS] = "prompt_tokens_details",
    [KEY_PROMPT_TOKENS] = "prompt_tokens",
    [KEY_RESPONSE] = "response",
    [KEY_ROLE] = "role",
    [KEY_SIGNATURE] = "signature",
    [KEY_STATUS] = "status",
    [KEY_STOP_REASON] = "stop_reason",
    [KEY_TEXT] = "text",
    [KEY_THOUGHT_SIGNATURE] = "thoughtSignature",
    [KEY_THOUGHTS_COUNT] = "thoughtsTokenCount",
    [KEY_TOOL_PROMPT_COUNT] = "toolUsePromptTokenCount",
    [KEY_TYPE] = "type",
    [KEY_USAGE] = "usage",
    [KEY_USAGE_METADATA] = "usageMetadata",
};

#define CHAT PROVIDER_USAGE_OPENAI_CHAT
#define RESPONSES PROVIDER_USAGE_OPENAI_RESPONSES
#define EMBEDDINGS PROVIDER_USAGE_OPENAI_EMBEDDINGS
#define ANTHROPIC PROVIDER_USAGE_ANTHROPIC
#define GEMINI PROVIDER_USAGE_GEMINI
#define STEPS_MAX 4U

struct usage_rule_row {
	enum provider_usage format;
	enum usage_rule_kind kind;
	bool below; /* everything under that path */
	uint8_t count, steps[STEPS_MAX];
};

#define AT(...)                                  \
	false, sizeof((uint8_t[]){__VA_ARGS__}), \
	{                                        \
		__VA_ARGS__                      \
	}
#define BELOW(...)                              \
	true, sizeof((uint8_t[]){__VA_ARGS__}), \
	{                                       \
		__VA_ARGS__                     \
	}

static const struct usage_rule_row usage_rule_rows[] = {
    {CHAT, USAGE_RULE_CHOICE, AT(KEY_CHOICES, KEY_ITEM)},
    {CHAT, USAGE_RULE_TEXT, BELOW(KEY_CHOICES, KEY_ITEM, KEY_DELTA)},
    {CHAT, USAGE_RULE_TEXT, BELOW(KEY_CHOICES, KEY_ITEM, KEY_MESSAGE)},
    {CHAT, USAGE_RULE_TEXT, AT(KEY_CHOICES, KEY_ITEM, KEY_TEXT)},
    {CHAT, USAGE_RULE_INPUT, AT(KEY_USAGE, KEY_PROMPT_TOKENS)},
    {CHAT, USAGE_RULE_OUTPUT, AT(KEY_USAGE, KEY_COMPLETION_TOKENS)},
    {CHAT, USAGE_RULE_CACHED,
	AT(KEY_USAGE, KEY_PROMPT_DETAILS, KEY_CACHED_TOKENS)},

    {RESPONSES, USAGE_RULE_TYPE, AT(KEY_TYPE)},
    {RESPONSES, USAGE_RULE_TEXT, BELOW(KEY_DELTA)},
    {RESPONSES, USAGE_RULE_WHOLE, BELOW(KEY_RESPONSE, KEY_OUTPUT)},
    {RESPONSES, USAGE_RULE_WHOLE, BELOW(KEY_OUTPUT)},
    {RESPONSES, USAGE_RULE_INPUT,
	AT(KEY_RESPONSE, KEY_USAGE, KEY_INPUT_TOKENS)},
    {RESPONSES, USAGE_RULE_OUTPUT,
	AT(KEY_RESPONSE, KEY_USAGE, KEY_OUTPUT_TOKENS)},
    {RESPONSES, USAGE_RULE_CACHED,
	AT(KEY_RESPONSE, KEY_USAGE, KEY_INPUT_DETAILS, KEY_CACHED_TOKENS)},
    {RESPONSES, USAGE_RULE_INPUT, AT(KEY_USAGE, KEY_INPUT_TOKENS)},
    {RESPONSES, USAGE_RULE_OUTPUT, AT(KEY_USAGE, KEY_OUTPUT_TOKENS)},
    {RESPONSES, USAGE_RULE_CACHED,
	AT(KEY_USAGE, KEY_INPUT_DETAILS, KEY_CACHED_TOKENS)},

    {EMBEDDINGS, USAGE_RULE_INPUT, AT(KEY_USAGE, KEY_PROMPT_TOKENS)},

    {ANTHROPIC, USAGE_RULE_TYPE, AT(KEY_TYPE)},
    {ANTHROPIC, USAGE_RULE_TEXT, BELOW(KEY_DELTA)},
    {ANTHROPIC, USAGE_RULE_TEXT, BELOW(KEY_CONTENT_BLOCK)},
    {ANTHROPIC, USAGE_RULE_TEXT, BELOW(KEY_CONTENT)},
    {ANTHROPIC, USAGE_RULE_INPUT, AT(KEY_MESSAGE, KEY_USAGE, KEY_INPUT_TOKENS)},
    {ANTHROPIC, USAGE_RULE_INPUT_MORE,
	AT(KEY_MESSAGE, KEY_USAGE, KEY_CACHE_CREATION)},
    {ANTHROPIC, USAGE_RULE_INPUT_CACHE,
	AT(KEY_MESSAGE, KEY_USAGE, KEY_CACHE_READ)},
    {ANTHROPIC, USAGE_RULE_INPUT, AT(KEY_USAGE, KEY_INPUT_TOKENS)},
    {ANTHROPIC, USAGE_RULE_INPUT_MORE, AT(KEY_USAGE, KEY_CACHE_CREATION)},
    {ANTHROPIC, USAGE_RULE_INPUT_CACHE, AT(KEY_USAGE, KEY_CACHE_READ)},
    {ANTHROPIC, USAGE_RULE_OUTPUT, AT(KEY_USAGE, KEY_OUTPUT_TOKENS)},

    {GEMINI, USAGE_RULE_TEXT, BELOW(KEY_CANDIDATES, KEY_ITEM, KEY_CONTENT)},
    {GEMINI, USAGE_RULE_FINISH,
	AT(KEY_CANDIDATES, KEY_ITEM, KEY_FINISH_REASON)},
    {GEMINI, USAGE_RULE_INPUT, AT(KEY_USAGE_METADATA, KEY_PROMPT_COUNT)},
    {GEMINI, USAGE_RULE_INPUT_MORE,
	AT(KEY_USAGE_METADATA, KEY_TOOL_PROMPT_COUNT)},
    {GEMINI, USAGE_RULE_CACHED, AT(KEY_USAGE_METADATA, KEY_CACHED_CONTENT)},
    {GEMINI, USAGE_RULE_OUTPUT, AT(KEY_USAGE_METADATA, KEY_CANDIDATES_COUNT)},
    {GEMINI, USAGE_RULE_OUTPUT_MORE,
	AT(KEY_USAGE_METADATA, KEY_THOUGHTS_COUNT)},
};

/* Strings that are no text for the agent, wherever they stand. */
static const uint8_t usage_rule_labels[] = {KEY_TYPE, KEY_ROLE, KEY_ID,
    KEY_CALL_ID, KEY_ITEM_ID, KEY_STATUS, KEY_SIGNATURE, KEY_THOUGHT_SIGNATURE,
    KEY_STOP_REASON};

uint8_t
usage_rule_key(const char *key, size_t len)
{
	for (unsigned i = 1; i < KEY_COUNT; i++)
		if (usage_rule_keys[i][0] == key[0] &&
		    strlen(usage_rule_keys[i]) == len &&
		    memcmp(usage_rule_keys[i], key, len) == 0)
			return (uint8_t)i;
	return KEY_OTHER;
}

static bool
usage_rule_is_label(uint8_t step)
{
	return memchr(usage_rule_labels, step, sizeof(usage_rule_labels)) !=
	       NULL;
}

static bool
usage_rule_fits(
    const struct usage_rule_row *row, const uint8_t *path, size_t depth)
{
	if (row->below ? depth < row->count : depth != row->count)
		return false;
	return memcmp(row->steps, path, row->count) == 0;
}

enum usage_rule_kind
usage_rule_find(enum provider_usage format, const uint8_t *path, size_t depth)
{
	size_t rows = sizeof(usage_rule_rows) / sizeof(usage_rule_rows[0]);

	/* Gemini's stream may be one list of what are events elsewhere. */
	if (format == PROVIDER_USAGE_GEMINI && depth > 0 &&
	    path[0] == JSON_WALK_ITEM) {
		path++;
		depth--;
	}
	if (depth == 0)
		return USAGE_RULE_NONE;
	for (size_t i = 0; i < rows; i++) {
		const struct usage_rule_row *row = &usage_rule_rows[i];

		if (row->format != format || !usage_rule_fits(row, path, depth))
			continue;
		return row->below && usage_rule_is_label(path[depth - 1])
			   ? USAGE_RULE_NONE
			   : row->kind;
	}
	return USAGE_RULE_NONE;
}

static bool
usage_rule_says(const char *text, size_t len, const char *word)
{
	return strlen(word) == len && memcmp(text, word, len) == 0;
}

bool
usage_rule_is_last(enum provider_usage format, const char *type, size_t len)
{
	if (format == PROVIDER_USAGE_ANTHROPIC)
		return usage_rule_says(type, len, "message_stop");
	return format == PROVIDER_USAGE_OPENAI_RESPONSES &&
	       (usage_rule_says(type, len, "response.completed") ||
		   usage_rule_says(type, len, "response.incomplete") ||
		   usage_rule_says(type, len, "response.failed"));
}
