/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of usage_rule.h. Called by usage_scan.c for every value of a
 * response, so rows are short and looked at once per value.
 */
#include "llm-broker/usage_rule.h"

#include <string.h>

#include "llm-broker/json_walk.h"

/* Every key that stands in a row below, by its length. */
enum usage_rule_step {
	KEY_OTHER = JSON_WALK_OTHER,
	KEY_ID,
	KEY_ARGS,
	KEY_ITEM_OF,
	KEY_ROLE,
	KEY_TEXT,
	KEY_TYPE,
	KEY_DELTA,
	KEY_INPUT,
	KEY_USAGE,
	KEY_ACTION,
	KEY_OUTPUT,
	KEY_STATUS,
	KEY_ACTIONS,
	KEY_CALL_ID,
	KEY_CHOICES,
	KEY_CONTENT,
	KEY_ITEM_ID,
	KEY_MESSAGE,
	KEY_LOGPROBS,
	KEY_RESPONSE,
	KEY_ARGUMENTS,
	KEY_OPERATION,
	KEY_SIGNATURE,
	KEY_CANDIDATES,
	KEY_PARTIAL_ARGS,
	KEY_STOP_REASON,
	KEY_FINISH_REASON,
	KEY_INPUT_TOKENS,
	KEY_CACHED_TOKENS,
	KEY_CONTENT_BLOCK,
	KEY_OUTPUT_TOKENS,
	KEY_PROMPT_TOKENS,
	KEY_USAGE_METADATA,
	KEY_LOGPROBS_RESULT,
	KEY_PROMPT_COUNT,
	KEY_THOUGHT_SIGNATURE,
	KEY_COMPLETION_TOKENS,
	KEY_ENCRYPTED,
	KEY_THOUGHTS_COUNT,
	KEY_CANDIDATES_COUNT,
	KEY_INPUT_DETAILS,
	KEY_PROMPT_DETAILS,
	KEY_CACHE_READ,
	KEY_CACHED_CONTENT,
	KEY_TOOL_PROMPT_COUNT,
	KEY_CACHE_CREATION,
	KEY_COUNT,
	KEY_ITEM = JSON_WALK_ITEM
};

#define KEY(step, text) [step] = {text, sizeof(text) - 1}

static const struct usage_rule_name {
	const char *text;
	size_t len;
} usage_rule_names[KEY_COUNT] = {
    KEY(KEY_OTHER, ""),
    KEY(KEY_ID, "id"),
    KEY(KEY_ARGS, "args"),
    KEY(KEY_ITEM_OF, "item"),
    KEY(KEY_ROLE, "role"),
    KEY(KEY_TEXT, "text"),
    KEY(KEY_TYPE, "type"),
    KEY(KEY_DELTA, "delta"),
    KEY(KEY_INPUT, "input"),
    KEY(KEY_USAGE, "usage"),
    KEY(KEY_ACTION, "action"),
    KEY(KEY_OUTPUT, "output"),
    KEY(KEY_STATUS, "status"),
    KEY(KEY_ACTIONS, "actions"),
    KEY(KEY_CALL_ID, "call_id"),
    KEY(KEY_CHOICES, "choices"),
    KEY(KEY_CONTENT, "content"),
    KEY(KEY_ITEM_ID, "item_id"),
    KEY(KEY_MESSAGE, "message"),
    KEY(KEY_LOGPROBS, "logprobs"),
    KEY(KEY_RESPONSE, "response"),
    KEY(KEY_ARGUMENTS, "arguments"),
    KEY(KEY_OPERATION, "operation"),
    KEY(KEY_SIGNATURE, "signature"),
    KEY(KEY_CANDIDATES, "candidates"),
    KEY(KEY_PARTIAL_ARGS, "partialArgs"),
    KEY(KEY_STOP_REASON, "stop_reason"),
    KEY(KEY_FINISH_REASON, "finishReason"),
    KEY(KEY_INPUT_TOKENS, "input_tokens"),
    KEY(KEY_CACHED_TOKENS, "cached_tokens"),
    KEY(KEY_CONTENT_BLOCK, "content_block"),
    KEY(KEY_OUTPUT_TOKENS, "output_tokens"),
    KEY(KEY_PROMPT_TOKENS, "prompt_tokens"),
    KEY(KEY_USAGE_METADATA, "usageMetadata"),
    KEY(KEY_LOGPROBS_RESULT, "logprobsResult"),
    KEY(KEY_PROMPT_COUNT, "promptTokenCount"),
    KEY(KEY_THOUGHT_SIGNATURE, "thoughtSignature"),
    KEY(KEY_COMPLETION_TOKENS, "completion_tokens"),
    KEY(KEY_ENCRYPTED, "encrypted_content"),
    KEY(KEY_THOUGHTS_COUNT, "thoughtsTokenCount"),
    KEY(KEY_CANDIDATES_COUNT, "candidatesTokenCount"),
    KEY(KEY_INPUT_DETAILS, "input_tokens_details"),
    KEY(KEY_PROMPT_DETAILS, "prompt_tokens_details"),
    KEY(KEY_CACHE_READ, "cache_read_input_tokens"),
    KEY(KEY_CACHED_CONTENT, "cachedContentTokenCount"),
    KEY(KEY_TOOL_PROMPT_COUNT, "toolUsePromptTokenCount"),
    KEY(KEY_CACHE_CREATION, "cache_creation_input_tokens"),
};

#define STEPS_MAX 4U

struct usage_rule_row {
	enum usage_rule_kind kind;
	bool below;     /* everything under that path */
	uint8_t labels; /* so many steps below, labels are none of its text */
	uint8_t count, steps[STEPS_MAX];
};

#define AT(...)                                     \
	false, 0, sizeof((uint8_t[]){__VA_ARGS__}), \
	{                                           \
		__VA_ARGS__                         \
	}
#define BELOW(labels, ...)                              \
	true, labels, sizeof((uint8_t[]){__VA_ARGS__}), \
	{                                               \
		__VA_ARGS__                             \
	}

static const struct usage_rule_row usage_rule_chat[] = {
    {USAGE_RULE_CHOICE, AT(KEY_CHOICES, KEY_ITEM)},
    {USAGE_RULE_TEXT, BELOW(3, KEY_CHOICES, KEY_ITEM, KEY_DELTA)},
    {USAGE_RULE_TEXT, BELOW(3, KEY_CHOICES, KEY_ITEM, KEY_MESSAGE)},
    {USAGE_RULE_TEXT, AT(KEY_CHOICES, KEY_ITEM, KEY_TEXT)},
    {USAGE_RULE_TEXT, BELOW(0, KEY_CHOICES, KEY_ITEM, KEY_LOGPROBS)},
    {USAGE_RULE_INPUT, AT(KEY_USAGE, KEY_PROMPT_TOKENS)},
    {USAGE_RULE_OUTPUT, AT(KEY_USAGE, KEY_COMPLETION_TOKENS)},
    {USAGE_RULE_CACHED, AT(KEY_USAGE, KEY_PROMPT_DETAILS, KEY_CACHED_TOKENS)},
};

static const struct usage_rule_row usage_rule_responses[] = {
    {USAGE_RULE_TYPE, AT(KEY_TYPE)},
    {USAGE_RULE_TEXT, BELOW(1, KEY_DELTA)},
    {USAGE_RULE_WHOLE, BELOW(4, KEY_RESPONSE, KEY_OUTPUT)},
    {USAGE_RULE_PART, BELOW(3, KEY_ITEM_OF)},
    {USAGE_RULE_TEXT, BELOW(0, KEY_LOGPROBS)},
    {USAGE_RULE_WHOLE, BELOW(4, KEY_OUTPUT)},
    {USAGE_RULE_INPUT, AT(KEY_RESPONSE, KEY_USAGE, KEY_INPUT_TOKENS)},
    {USAGE_RULE_OUTPUT, AT(KEY_RESPONSE, KEY_USAGE, KEY_OUTPUT_TOKENS)},
    {USAGE_RULE_CACHED,
	AT(KEY_RESPONSE, KEY_USAGE, KEY_INPUT_DETAILS, KEY_CACHED_TOKENS)},
    {USAGE_RULE_INPUT, AT(KEY_USAGE, KEY_INPUT_TOKENS)},
    {USAGE_RULE_OUTPUT, AT(KEY_USAGE, KEY_OUTPUT_TOKENS)},
    {USAGE_RULE_CACHED, AT(KEY_USAGE, KEY_INPUT_DETAILS, KEY_CACHED_TOKENS)},
};

static const struct usage_rule_row usage_rule_embeddings[] = {
    {USAGE_RULE_INPUT, AT(KEY_USAGE, KEY_PROMPT_TOKENS)},
};

static const struct usage_rule_row usage_rule_anthropic[] = {
    {USAGE_RULE_TYPE, AT(KEY_TYPE)},
    {USAGE_RULE_TEXT, BELOW(1, KEY_DELTA)},
    {USAGE_RULE_TEXT, BELOW(1, KEY_CONTENT_BLOCK)},
    {USAGE_RULE_TEXT, BELOW(2, KEY_CONTENT)},
    {USAGE_RULE_TEXT, BELOW(2, KEY_MESSAGE, KEY_CONTENT)},
    {USAGE_RULE_INPUT, AT(KEY_MESSAGE, KEY_USAGE, KEY_INPUT_TOKENS)},
    {USAGE_RULE_INPUT_MORE, AT(KEY_MESSAGE, KEY_USAGE, KEY_CACHE_CREATION)},
    {USAGE_RULE_INPUT_CACHE, AT(KEY_MESSAGE, KEY_USAGE, KEY_CACHE_READ)},
    {USAGE_RULE_INPUT, AT(KEY_USAGE, KEY_INPUT_TOKENS)},
    {USAGE_RULE_INPUT_MORE, AT(KEY_USAGE, KEY_CACHE_CREATION)},
    {USAGE_RULE_INPUT_CACHE, AT(KEY_USAGE, KEY_CACHE_READ)},
    {USAGE_RULE_OUTPUT, AT(KEY_USAGE, KEY_OUTPUT_TOKENS)},
};

static const struct usage_rule_row usage_rule_gemini[] = {
    {USAGE_RULE_TEXT, BELOW(4, KEY_CANDIDATES, KEY_ITEM, KEY_CONTENT)},
    {USAGE_RULE_TEXT, BELOW(0, KEY_CANDIDATES, KEY_ITEM, KEY_LOGPROBS_RESULT)},
    {USAGE_RULE_FINISH, AT(KEY_CANDIDATES, KEY_ITEM, KEY_FINISH_REASON)},
    {USAGE_RULE_INPUT, AT(KEY_USAGE_METADATA, KEY_PROMPT_COUNT)},
    {USAGE_RULE_INPUT_MORE, AT(KEY_USAGE_METADATA, KEY_TOOL_PROMPT_COUNT)},
    {USAGE_RULE_CACHED, AT(KEY_USAGE_METADATA, KEY_CACHED_CONTENT)},
    {USAGE_RULE_OUTPUT, AT(KEY_USAGE_METADATA, KEY_CANDIDATES_COUNT)},
    {USAGE_RULE_OUTPUT_MORE, AT(KEY_USAGE_METADATA, KEY_THOUGHTS_COUNT)},
};

#define ROWS(list)                                       \
	{                                                \
		(list), sizeof(list) / sizeof((list)[0]) \
	}

static const struct usage_rule_list {
	const struct usage_rule_row *rows;
	size_t count;
} usage_rule_lists[] = {
    [PROVIDER_USAGE_NONE] = {NULL, 0},
    [PROVIDER_USAGE_OPENAI_CHAT] = ROWS(usage_rule_chat),
    [PROVIDER_USAGE_OPENAI_RESPONSES] = ROWS(usage_rule_responses),
    [PROVIDER_USAGE_OPENAI_EMBEDDINGS] = ROWS(usage_rule_embeddings),
    [PROVIDER_USAGE_ANTHROPIC] = ROWS(usage_rule_anthropic),
    [PROVIDER_USAGE_GEMINI] = ROWS(usage_rule_gemini),
};

/* Strings that are no text for the agent where a provider's format has them;
 * below, in a tool's arguments, they are. */
static const uint8_t usage_rule_labels[] = {KEY_TYPE, KEY_ROLE, KEY_ID,
    KEY_CALL_ID, KEY_ITEM_ID, KEY_STATUS, KEY_SIGNATURE, KEY_THOUGHT_SIGNATURE,
    KEY_STOP_REASON, KEY_ENCRYPTED};

/* Below these keys a model writes whole JSON: names, numbers, all of it. */
static const uint8_t usage_rule_own_keys[] = {KEY_ARGS, KEY_INPUT, KEY_ACTION,
    KEY_ACTIONS, KEY_ARGUMENTS, KEY_OPERATION, KEY_PARTIAL_ARGS};

uint8_t
usage_rule_key(const char *key, size_t len)
{
	unsigned low = 1, high = KEY_COUNT;

	while (low < high) {
		unsigned middle = (low + high) / 2;
		const struct usage_rule_name *name = &usage_rule_names[middle];
		int order = len != name->len ? (len < name->len ? -1 : 1)
					     : memcmp(key, name->text, len);

		if (order == 0)
			return (uint8_t)middle;
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
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

/* Is the end of a path that fits row the model's own JSON? */
static enum usage_rule_own
usage_rule_owner(
    const struct usage_rule_row *row, const uint8_t *path, size_t depth)
{
	for (size_t i = row->count; i < depth && row->below; i++) {
		if (memchr(usage_rule_own_keys, path[i],
			sizeof(usage_rule_own_keys)) != NULL)
			return i + 1 < depth ? USAGE_RULE_INSIDE
					     : USAGE_RULE_ROOT;
	}
	return USAGE_RULE_THEIRS;
}

static bool
usage_rule_is_hidden(
    const struct usage_rule_row *row, const uint8_t *path, size_t depth)
{
	return row->below && depth <= row->count + row->labels &&
	       usage_rule_is_label(path[depth - 1]);
}

enum usage_rule_kind
usage_rule_find(enum provider_usage format, const uint8_t *path, size_t depth,
    enum usage_rule_own *own_r)
{
	*own_r = USAGE_RULE_THEIRS;
	/* Gemini's stream may be one list of what are events elsewhere. */
	if (format == PROVIDER_USAGE_GEMINI && depth > 0 &&
	    path[0] == JSON_WALK_ITEM) {
		path++;
		depth--;
	}
	if (depth == 0)
		return USAGE_RULE_NONE;
	for (size_t i = 0; i < usage_rule_lists[format].count; i++) {
		const struct usage_rule_row *row =
		    &usage_rule_lists[format].rows[i];

		if (!usage_rule_fits(row, path, depth))
			continue;
		*own_r = usage_rule_owner(row, path, depth);
		return *own_r == USAGE_RULE_THEIRS &&
			       usage_rule_is_hidden(row, path, depth)
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
usage_rule_is_copy(enum provider_usage format, const char *type, size_t len)
{
	return format == PROVIDER_USAGE_OPENAI_RESPONSES &&
	       usage_rule_says(type, len, "response.output_item.done");
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
