/* SPDX-License-Identifier: Apache-2.0 */
/*
 * YAML to JSON by libyaml's events; see yaml_json.h. Every container that is
 * open stands in a stack, so that depth and nodes are bounded before
 * anything grows. Called by describe.c inside of agentnode-unpack only: the
 * supervisor never reads a manifest itself.
 */
#include "supervisor/unpack/yaml_json.h"

#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#define YAML_JSON_INTEGER_MAX 15U /* digits */

struct yaml_json {
	json_t *stack[JSON_FIELD_DEPTH_MAX]; /* borrowed from each other */
	char *keys[JSON_FIELD_DEPTH_MAX];    /* owned; read, value to come */
	size_t depth, nodes;
	json_t *root; /* owned */
	struct json_fault *fault;
};

static enum result
yaml_json_bad(
    struct yaml_json *read, const yaml_mark_t *mark, const char *sentence)
{
	json_field_fault(read->fault, "line %zu, column %zu: %s",
	    mark->line + 1, mark->column + 1, sentence);
	return RESULT_BAD;
}

/* value is taken: into the innermost container, or as the root. */
static enum result
yaml_json_put(struct yaml_json *read, const yaml_mark_t *mark, json_t *value)
{
	json_t *parent = read->depth > 0 ? read->stack[read->depth - 1] : NULL;
	char **key = read->depth > 0 ? &read->keys[read->depth - 1] : NULL;
	int failed;

	if (value == NULL)
		return RESULT_NO_MEMORY;
	if (++read->nodes > YAML_JSON_NODES_MAX) {
		json_decref(value);
		return yaml_json_bad(read, mark, "there are too many values");
	}
	if (parent == NULL) {
		read->root = value;
		return RESULT_OK;
	}
	if (json_is_array(parent))
		return json_array_append_new(parent, value) == 0
			   ? RESULT_OK
			   : RESULT_NO_MEMORY;
	failed = json_object_set_new(parent, *key, value);
	free(*key);
	*key = NULL;
	return failed == 0 ? RESULT_OK : RESULT_NO_MEMORY;
}

static bool
yaml_json_wants_key(const struct yaml_json *read)
{
	return read->depth > 0 &&
	       json_is_object(read->stack[read->depth - 1]) &&
	       read->keys[read->depth - 1] == NULL;
}

static enum result
yaml_json_key(struct yaml_json *read, const yaml_event_t *event)
{
	const char *text = (const char *)event->data.scalar.value;
	size_t len = event->data.scalar.length;

	if (len == 0 || strlen(text) != len)
		return yaml_json_bad(
		    read, &event->start_mark, "a key must be a plain text");
	if (strcmp(text, "<<") == 0)
		return yaml_json_bad(
		    read, &event->start_mark, "merge keys are not allowed");
	if (json_object_get(read->stack[read->depth - 1], text) != NULL)
		return yaml_json_bad(
		    read, &event->start_mark, "the key is there already");
	read->keys[read->depth - 1] = strdup(text);
	return read->keys[read->depth - 1] != NULL ? RESULT_OK
						   : RESULT_NO_MEMORY;
}

static json_t *
yaml_json_plain(const char *text, size_t len)
{
	size_t digits = text[0] == '-' ? 1 : 0;
	size_t first = digits;

	if (len == 0 || strcmp(text, "null") == 0 || strcmp(text, "~") == 0)
		return json_null();
	if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0)
		return json_boolean(text[0] == 't');
	while (digits < len && text[digits] >= '0' && text[digits] <= '9')
		digits++;
	if (digits == len && digits > first &&
	    digits - first <= YAML_JSON_INTEGER_MAX &&
	    (text[first] != '0' || digits - first == 1))
		return json_integer(strtoll(text, NULL, 10));
	return json_stringn(text, len);
}

static enum result
yaml_json_scalar(struct yaml_json *read, const yaml_event_t *event)
{
	const char *text = (const char *)event->data.scalar.value;
	size_t len = event->data.scalar.length;
	json_t *value;

	if (event->data.scalar.anchor != NULL || event->data.scalar.tag != NULL)
		return yaml_json_bad(read, &event->start_mark,
		    "anchors and tags are not allowed");
	if (yaml_json_wants_key(read))
		return yaml_json_key(read, event);
	if (strlen(text) != len)
		return yaml_json_bad(
		    read, &event->start_mark, "a text holds a NUL");
	if (event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE)
		value = yaml_json_plain(text, len);
	else
		value = json_stringn(text, len);
	return yaml_json_put(read, &event->start_mark, value);
}

static enum result
yaml_json_open(struct yaml_json *read, const yaml_event_t *event, json_t *value,
    const yaml_char_t *anchor, const yaml_char_t *tag)
{
	enum result result;

	if (anchor != NULL || tag != NULL || yaml_json_wants_key(read) ||
	    read->depth == JSON_FIELD_DEPTH_MAX) {
		json_decref(value);
		return yaml_json_bad(read, &event->start_mark,
		    read->depth == JSON_FIELD_DEPTH_MAX
			? "this is nested too deeply"
			: "anchors, tags and keys that are no text are not "
			  "allowed");
	}
	result = yaml_json_put(read, &event->start_mark, value);
	if (result == RESULT_OK)
		read->stack[read->depth++] = value;
	return result;
}

static enum result
yaml_json_event(struct yaml_json *read, const yaml_event_t *event)
{
	switch (event->type) {
	case YAML_SCALAR_EVENT:
		return yaml_json_scalar(read, event);
	case YAML_SEQUENCE_START_EVENT:
		return yaml_json_open(read, event, json_array(),
		    event->data.sequence_start.anchor,
		    event->data.sequence_start.tag);
	case YAML_MAPPING_START_EVENT:
		return yaml_json_open(read, event, json_object(),
		    event->data.mapping_start.anchor,
		    event->data.mapping_start.tag);
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT:
		read->depth--;
		return RESULT_OK;
	case YAML_DOCUMENT_START_EVENT:
		if (read->root != NULL)
			return yaml_json_bad(read, &event->start_mark,
			    "there is a second document");
		return RESULT_OK;
	case YAML_ALIAS_EVENT:
		return yaml_json_bad(
		    read, &event->start_mark, "aliases are not allowed");
	case YAML_NO_EVENT:
	case YAML_STREAM_START_EVENT:
	case YAML_STREAM_END_EVENT:
	case YAML_DOCUMENT_END_EVENT:
		break;
	}
	return RESULT_OK;
}

static enum result
yaml_json_read(struct yaml_json *read, yaml_parser_t *parser)
{
	enum result result = RESULT_OK;
	yaml_event_t event;
	bool end = false;

	while (result == RESULT_OK && !end) {
		if (yaml_parser_parse(parser, &event) == 0)
			return yaml_json_bad(read, &parser->problem_mark,
			    parser->problem != NULL ? parser->problem
						    : "this is no YAML");
		end = event.type == YAML_STREAM_END_EVENT;
		result = yaml_json_event(read, &event);
		yaml_event_delete(&event);
	}
	if (result == RESULT_OK && read->root == NULL) {
		json_field_fault(read->fault, "there is no document");
		result = RESULT_BAD;
	}
	return result;
}

enum result
yaml_json_parse(
    const char *bytes, size_t len, json_t **value_r, struct json_fault *fault)
{
	struct yaml_json read = {.fault = fault};
	yaml_parser_t parser;
	enum result result;

	*value_r = NULL;
	if (len > YAML_JSON_BYTES_MAX) {
		json_field_fault(
		    fault, "the file is over %u bytes", YAML_JSON_BYTES_MAX);
		return RESULT_BAD;
	}
	if (yaml_parser_initialize(&parser) == 0)
		return RESULT_NO_MEMORY;
	yaml_parser_set_input_string(
	    &parser, (const unsigned char *)bytes, len);
	yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
	result = yaml_json_read(&read, &parser);
	yaml_parser_delete(&parser);
	for (size_t i = 0; i < JSON_FIELD_DEPTH_MAX; i++)
		free(read.keys[i]);
	if (result == RESULT_OK)
		*value_r = read.root;
	else
		json_decref(read.root);
	return result;
}
