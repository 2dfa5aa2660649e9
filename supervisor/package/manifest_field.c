/* SPDX-License-Identifier: Apache-2.0 */
/* Walks tables of manifest fields; see manifest_field.h. */
#include "supervisor/package/manifest_field.h"

#include <stdio.h>
#include <string.h>

#define MANIFEST_FIELD_PATH_MAX 128U
#define MANIFEST_FIELD_ITEM_MAX 1024

const char *const manifest_field_actions[] = {"read", "compute", "write_local",
    "write_external", "delete", "execute", "credential_use", "network_egress",
    NULL};

/* No control character of ASCII or C1 (as UTF-8), no mark that turns the
 * direction of a line: what is shown is what is there. */
static bool
manifest_field_printable(const char *text, bool lines)
{
	const unsigned char *at = (const unsigned char *)text;

	for (; *at != '\0'; at++) {
		if (lines && (*at == '\n' || *at == '\t'))
			continue;
		if (*at < 0x20 || *at == 0x7f ||
		    (*at == 0xc2 && at[1] >= 0x80 && at[1] <= 0x9f))
			return false;
		if (*at == 0xe2 && at[1] == 0x80 && at[2] >= 0x8e &&
		    (at[2] <= 0x8f || (at[2] >= 0xa8 && at[2] <= 0xae)))
			return false;
		if (*at == 0xe2 && at[1] == 0x81 && at[2] >= 0xa6 &&
		    at[2] <= 0xa9)
			return false;
	}
	return true;
}

static void
manifest_field_text(const json_t *value, const char *path, int64_t min,
    int64_t max, bool lines, struct manifest_report *report)
{
	size_t len = json_string_length(value);

	if (!json_is_string(value))
		manifest_report_fault(report, path, "must be a text");
	else if (len < (size_t)min || len > (size_t)max)
		manifest_report_fault(report, path,
		    "has %zu bytes, it must be %lld to %lld", len,
		    (long long)min, (long long)max);
	else if (!manifest_field_printable(json_string_value(value), lines))
		manifest_report_fault(
		    report, path, "holds a control character");
}

static void
manifest_field_word(const json_t *value, const char *path,
    const char *const *words, struct manifest_report *report)
{
	const char *text = json_string_value(value);
	char list[160] = "";
	size_t i, used = 0;

	for (i = 0; words[i] != NULL; i++) {
		if (text != NULL && strcmp(words[i], text) == 0)
			return;
		if (used < sizeof(list))
			used +=
			    (size_t)snprintf(list + used, sizeof(list) - used,
				"%s%s", i > 0 ? ", " : "", words[i]);
	}
	manifest_report_fault(report, path, "must be one of %s", list);
}

/* A list of texts, of mappings with fields of their own, or of anything. */
static void
manifest_field_list(const json_t *value, const char *path,
    const struct manifest_field *field, struct manifest_report *report)
{
	char item[MANIFEST_FIELD_PATH_MAX + 32];
	size_t i;

	if (!json_is_array(value) ||
	    json_array_size(value) > (size_t)field->max) {
		manifest_report_fault(report, path,
		    "must be a list of at most %lld", (long long)field->max);
		return;
	}
	for (i = 0; i < json_array_size(value); i++) {
		(void)snprintf(item, sizeof(item), "%s[%zu]", path, i);
		if (field->kind == MANIFEST_TEXTS)
			manifest_field_text(json_array_get(value, i), item, 1,
			    MANIFEST_FIELD_ITEM_MAX, false, report);
		if (field->kind == MANIFEST_OBJECTS)
			manifest_field_check(json_array_get(value, i), item,
			    field->fields, report);
	}
}

static void
manifest_field_one(const json_t *value, const char *path,
    const struct manifest_field *field, struct manifest_report *report)
{
	json_int_t number = json_integer_value(value);

	switch (field->kind) {
	case MANIFEST_TEXT:
	case MANIFEST_LINES:
		manifest_field_text(value, path, field->min, field->max,
		    field->kind == MANIFEST_LINES, report);
		return;
	case MANIFEST_WORD:
		manifest_field_word(value, path, field->words, report);
		return;
	case MANIFEST_NUMBER:
		if (!json_is_integer(value) || number < field->min ||
		    number > field->max)
			manifest_report_fault(report, path,
			    "must be a whole number from %lld to %lld",
			    (long long)field->min, (long long)field->max);
		return;
	case MANIFEST_FLAG:
		if (!json_is_boolean(value))
			manifest_report_fault(
			    report, path, "must be true or false");
		return;
	case MANIFEST_TEXTS:
	case MANIFEST_LIST:
	case MANIFEST_OBJECTS:
		manifest_field_list(value, path, field, report);
		return;
	case MANIFEST_OBJECT:
		manifest_field_check(value, path, field->fields, report);
		return;
	case MANIFEST_ANY_OBJECT:
		if (!json_is_object(value))
			manifest_report_fault(
			    report, path, "must be a mapping");
		return;
	case MANIFEST_ANY:
		return;
	}
}

/* The names of a table, cut where they get too many. */
static void
manifest_field_names(
    const struct manifest_field *fields, char *list_r, size_t size)
{
	size_t used = 0;

	for (; fields->name != NULL; fields++) {
		if (used + strlen(fields->name) + 6 > size) {
			(void)snprintf(list_r + used, size - used, ", ...");
			return;
		}
		used += (size_t)snprintf(list_r + used, size - used, "%s%s",
		    used > 0 ? ", " : "", fields->name);
	}
}

static void
manifest_field_unknown(const json_t *object, const char *path,
    const struct manifest_field *fields, struct manifest_report *report)
{
	char place[MANIFEST_FIELD_PATH_MAX + 64], names[240] = "";
	const struct manifest_field *field;
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)object, key, value)
	{
		for (field = fields; field->name != NULL; field++)
			if (strcmp(field->name, key) == 0)
				break;
		if (field->name != NULL)
			continue;
		manifest_field_names(fields, names, sizeof(names));
		(void)snprintf(place, sizeof(place), "%s.%.60s", path, key);
		manifest_report_fault(
		    report, place, "is no field of it; those are %s", names);
	}
}

void
manifest_field_check(const json_t *object, const char *path,
    const struct manifest_field *fields, struct manifest_report *report)
{
	char place[MANIFEST_FIELD_PATH_MAX];
	const struct manifest_field *field;

	if (!json_is_object(object)) {
		manifest_report_fault(report, path, "must be a mapping");
		return;
	}
	manifest_field_unknown(object, path, fields, report);
	for (field = fields; field->name != NULL; field++) {
		const json_t *value = manifest_field_get(object, field->name);

		(void)snprintf(
		    place, sizeof(place), "%s.%s", path, field->name);
		if (value != NULL)
			manifest_field_one(value, place, field, report);
		else if (field->required)
			manifest_report_fault(report, place, "is missing");
	}
}

json_t *
manifest_field_get(const json_t *object, const char *key)
{
	json_t *value = json_object_get(object, key);

	return json_is_null(value) ? NULL : value;
}

void
manifest_field_drop_null(json_t *object, const struct manifest_field *fields)
{
	for (; fields->name != NULL; fields++) {
		json_t *value = json_object_get(object, fields->name);

		if (json_is_null(value))
			(void)json_object_del(object, fields->name);
		else if (fields->kind == MANIFEST_OBJECT &&
			 json_is_object(value))
			manifest_field_drop_null(value, fields->fields);
	}
}
