/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From findings to what is printed. Called by audit-argv; must never print
 * a byte that moves a terminal's cursor, nor the value of a key.
 */
#include "supervisor/command/argv_report.h"

#include <string.h>

#include "common/buffer.h"
#include "common/log.h"
#include "supervisor/argv/argv_quote.h"

#define ARGV_REPORT_TEXT_MAX 8192U
#define ARGV_REPORT_LINE_MAX (1U << 20)

json_t *
argv_report_text(const char *text)
{
	char clean[ARGV_REPORT_TEXT_MAX];
	json_t *value = json_string(text);

	if (value != NULL)
		return value;
	log_clean(text, strlen(text), clean, sizeof(clean));
	return json_string(clean);
}

/* A word of a place; behind "NAME=" of a key nothing but dots. */
static json_t *
argv_report_word(
    enum argv_code code, const struct argv_item *item, const char *word)
{
	size_t len = strlen(word), value = strlen(item->value), keep;
	char masked[ARGV_REPORT_TEXT_MAX];

	if (code != ARGV_CODE_ENV_KEY || value > len ||
	    strcmp(word + len - value, item->value) != 0)
		return argv_report_text(word);
	keep = len - value + strcspn(item->value, "=") + 1;
	if (keep > sizeof(masked) - 4)
		return argv_report_text("...");
	(void)snprintf(masked, sizeof(masked), "%.*s...", (int)keep, word);
	return argv_report_text(masked);
}

static json_t *
argv_report_place(enum argv_code code, const struct argv_item *item)
{
	json_t *words = json_array();
	json_t *place = json_object();

	for (size_t i = 0; i < 2 && item->words[i] != NULL; i++)
		(void)json_array_append_new(
		    words, argv_report_word(code, item, item->words[i]));
	(void)json_object_set_new(place, "position",
	    item->position > 0 ? json_integer((json_int_t)item->position)
			       : json_null());
	(void)json_object_set_new(place, "path",
	    item->path != NULL ? argv_report_text(item->path) : json_null());
	(void)json_object_set_new(place, "words", words);
	return place;
}

static json_t *
argv_report_finding(const struct argv_finding *finding, const char *container)
{
	const struct argv_code_row *row = argv_code_row(finding->code);
	char says[ARGV_SUBJECT_MAX + 128];
	json_t *places = json_array();
	json_t *value;

	argv_finding_says(finding, says, sizeof(says));
	for (size_t i = 0; i < finding->place_count && i < ARGV_PLACES_MAX; i++)
		(void)json_array_append_new(places,
		    argv_report_place(finding->code, finding->places[i]));
	value = json_pack("{s:s, s:s, s:o, s:o, s:o, s:I, s:s, s:s}", "code",
	    row->code, "group", row->group == ARGV_LEAK ? "leaks" : "hardening",
	    "container",
	    container != NULL ? argv_report_text(container) : json_null(),
	    "says", argv_report_text(says), "places", places, "place_count",
	    (json_int_t)finding->place_count, "why", row->why, "use", row->use);
	return value;
}

enum result
argv_report_add(json_t *leaks, json_t *hardening,
    const struct argv_findings *findings, const char *container)
{
	for (size_t i = 0; i < findings->count; i++) {
		const struct argv_finding *one = &findings->list[i];
		bool leak = argv_code_row(one->code)->group == ARGV_LEAK;

		if (json_array_append_new(leak ? leaks : hardening,
			argv_report_finding(one, container)) != 0)
			return RESULT_NO_MEMORY;
	}
	return RESULT_OK;
}

static const char *
argv_report_member(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text != NULL ? text : "";
}

/* The words as a shell takes them, and where they stand. */
static void
argv_report_print_place(FILE *out, const json_t *place)
{
	const json_t *words = json_object_get(place, "words");
	const json_t *position = json_object_get(place, "position");
	struct buffer line;
	char clean[ARGV_REPORT_TEXT_MAX];

	buffer_init(&line, ARGV_REPORT_LINE_MAX);
	for (size_t i = 0; i < json_array_size(words); i++) {
		const char *word = json_string_value(json_array_get(words, i));

		if (i > 0)
			(void)buffer_append_text(&line, " ");
		(void)argv_quote_word(&line, word != NULL ? word : "");
	}
	log_clean((const char *)buffer_bytes_borrow(&line), line.len, clean,
	    sizeof(clean));
	buffer_free(&line);
	if (json_is_integer(position))
		(void)fprintf(out, "      word %lld: %s\n",
		    (long long)json_integer_value(position), clean);
	else
		(void)fprintf(out, "      %s: %s\n",
		    argv_report_member(place, "path"), clean);
}

void
argv_report_print(FILE *out, const json_t *list)
{
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *finding = json_array_get(list, i);
		const json_t *places = json_object_get(finding, "places");
		const char *container =
		    argv_report_member(finding, "container");
		const char *says = argv_report_member(finding, "says");
		char clean[ARGV_REPORT_TEXT_MAX];

		log_clean(says, strlen(says), clean, sizeof(clean));
		(void)fprintf(out, "  %s\n", clean);
		log_clean(container, strlen(container), clean, sizeof(clean));
		if (container[0] != '\0')
			(void)fprintf(out, "      container: %s\n", clean);
		for (size_t k = 0; k < json_array_size(places); k++)
			argv_report_print_place(out, json_array_get(places, k));
		(void)fprintf(out,
		    "      code: %s\n      why: %s\n"
		    "      use: %s\n",
		    argv_report_member(finding, "code"),
		    argv_report_member(finding, "why"),
		    argv_report_member(finding, "use"));
	}
}
