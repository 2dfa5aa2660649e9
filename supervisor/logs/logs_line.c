/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines of logs (see the header). Called by logs_view for each line of each
 * file; must never let a byte out that steers a terminal, nor trust a line
 * to be one of ours.
 */
#include "supervisor/logs/logs_line.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "common/json_field.h"
#include "common/log.h"

static const char logs_line_head[] = "{\"ts\":\"";

bool
logs_line_time(const char *bytes, size_t len, char ts_r[LOGS_LINE_TIME])
{
	static const char form[] = "0000-00-00T00:00:00.000Z";
	size_t head = sizeof(logs_line_head) - 1;

	if (len < head + LOGS_LINE_TIME || /* and the quote behind it */
	    memcmp(bytes, logs_line_head, head) != 0 ||
	    bytes[head + LOGS_LINE_TIME - 1] != '"')
		return false;
	bytes += head;
	for (size_t i = 0; i < LOGS_LINE_TIME - 1; i++)
		if (form[i] == '0' ? bytes[i] < '0' || bytes[i] > '9'
				   : bytes[i] != form[i])
			return false;
	memcpy(ts_r, bytes, LOGS_LINE_TIME - 1);
	ts_r[LOGS_LINE_TIME - 1] = '\0';
	return true;
}

/* The object of a whole line, or NULL. */
static json_t *
logs_line_parse(const struct logs_line *line)
{
	struct json_fault fault = {""};
	json_t *value = NULL;

	if (line->cut || json_field_parse(line->bytes, line->len, &value,
			     &fault) != RESULT_OK)
		return NULL;
	if (!json_is_object(value)) {
		json_decref(value);
		return NULL;
	}
	return value;
}

static bool
logs_line_has(const struct logs_line *line, const char *id)
{
	return memmem(line->bytes, line->len, id, strlen(id)) != NULL;
}

static bool
logs_line_is(const json_t *object, const char *key, const char *id)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text != NULL && strcmp(text, id) == 0;
}

static bool
logs_line_of_run(const json_t *object, const char *run)
{
	const char *request =
	    json_string_value(json_object_get(object, "request"));
	size_t len = strlen(run);

	return logs_line_is(object, "sandbox", run) ||
	       logs_line_is(object, "run", run) ||
	       (request != NULL && strncmp(request, run, len) == 0 &&
		   request[len] == '.');
}

bool
logs_line_takes(const struct logs_filter *filter, const struct logs_line *line)
{
	const char *run = filter->run, *request = filter->request;
	bool takes;
	json_t *object;

	if (filter->since != NULL && strcmp(line->ts, filter->since) < 0)
		return false;
	if ((run != NULL && !logs_line_has(line, run)) ||
	    (request != NULL && !logs_line_has(line, request)))
		return false;
	if (run == NULL && request == NULL)
		return true;
	object = logs_line_parse(line);
	takes =
	    object == NULL ||
	    ((run == NULL || logs_line_of_run(object, run)) &&
		(request == NULL || logs_line_is(object, "request", request)));
	json_decref(object);
	return takes;
}

/* --- shown -------------------------------------------------------------- */

/* Whatever it is, without a byte that steers a terminal. */
static enum result
logs_line_clean(struct buffer *out, const char *bytes, size_t len)
{
	size_t size = 12 * len + 1; /* the longest escape of one byte */
	char *text = malloc(size);
	enum result result;

	if (text == NULL)
		return RESULT_NO_MEMORY;
	log_clean(bytes, len, text, size);
	result = buffer_append_text(out, text);
	free(text);
	return result;
}

static enum result
logs_line_value(struct buffer *out, const json_t *value)
{
	char *dumped = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
	enum result result;

	if (dumped == NULL)
		return RESULT_NO_MEMORY;
	result = logs_line_clean(out, dumped, strlen(dumped));
	free(dumped);
	return result;
}

static bool
logs_line_is_leading(const char *key)
{
	static const char *const leading[] = {
	    "ts", "level", "process", "event"};

	for (size_t i = 0; i < sizeof(leading) / sizeof(leading[0]); i++)
		if (strcmp(key, leading[i]) == 0)
			return true;
	return false;
}

/* A leading member is one word; anything else stands there as JSON. */
static enum result
logs_line_word(struct buffer *out, const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));
	enum result result = RESULT_OK;

	if (text != NULL && text[0] != '\0') {
		result = logs_line_clean(out, text, strlen(text));
		if (result == RESULT_OK)
			result = buffer_append_text(out, " ");
	}
	return result;
}

static enum result
logs_line_words(struct buffer *out, json_t *object, const char *process)
{
	enum result result = logs_line_word(out, object, "ts");
	const char *key;
	json_t *value;

	if (result == RESULT_OK)
		result = logs_line_word(out, object, "level");
	if (result == RESULT_OK)
		result = buffer_printf(out, "%s ", process);
	if (result == RESULT_OK)
		result = logs_line_word(out, object, "event");
	json_object_foreach(object, key, value)
	{
		if (logs_line_is_leading(key) || result != RESULT_OK)
			continue;
		result = logs_line_clean(out, key, strlen(key));
		if (result == RESULT_OK)
			result = buffer_append_text(out, "=");
		if (result == RESULT_OK)
			result = logs_line_value(out, value);
		if (result == RESULT_OK)
			result = buffer_append_text(out, " ");
	}
	return result;
}

static enum result
logs_line_text(
    struct buffer *out, const struct logs_line *line, const char *process)
{
	enum result result = buffer_printf(
	    out, "%s %s ", line->ts[0] != '\0' ? line->ts : "-", process);

	if (result == RESULT_OK)
		result = logs_line_clean(out, line->bytes, line->len);
	if (result == RESULT_OK && line->cut)
		result = buffer_append_text(out, " (cut)");
	if (result == RESULT_OK && line->torn)
		result = buffer_append_text(out, " (torn)");
	return result;
}

/* The object that stands for a line which is none. */
static json_t *
logs_line_wrap(const struct logs_line *line, const char *process)
{
	char *text = malloc(12 * line->len + 1);
	json_t *object = NULL;

	if (text == NULL)
		return NULL;
	log_clean(line->bytes, line->len, text, 12 * line->len + 1);
	object = json_pack("{s:s*, s:s, s:s}", "ts",
	    line->ts[0] != '\0' ? line->ts : NULL, "process", process, "text",
	    text);
	free(text);
	if (line->cut)
		(void)json_object_set_new(object, "cut", json_true());
	if (line->torn)
		(void)json_object_set_new(object, "torn", json_true());
	return object;
}

static enum result
logs_line_json(struct buffer *out, json_t *object, const char *process)
{
	char *dumped;
	enum result result;

	/* A forged one cannot say that another process wrote it. */
	(void)json_object_set_new(object, "process", json_string(process));
	dumped = json_dumps(object, JSON_COMPACT | JSON_ENSURE_ASCII);
	if (dumped == NULL)
		return RESULT_NO_MEMORY;
	result = buffer_append_text(out, dumped);
	free(dumped);
	return result;
}

enum result
logs_line_show(const struct logs_line *line, const char *process, bool json,
    struct buffer *out)
{
	json_t *object = logs_line_parse(line);
	enum result result;

	if (json && object == NULL)
		object = logs_line_wrap(line, process);
	if (json)
		result = object == NULL ? RESULT_NO_MEMORY
					: logs_line_json(out, object, process);
	else if (object != NULL)
		result = logs_line_words(out, object, process);
	else
		result = logs_line_text(out, line, process);
	json_decref(object);
	while (result == RESULT_OK && out->len > 0 &&
	       buffer_bytes_borrow(out)[out->len - 1] == ' ')
		out->len--;
	return result == RESULT_OK ? buffer_append_text(out, "\n") : result;
}
