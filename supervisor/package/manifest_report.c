/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list of faults; see manifest_report.h. It must never grow without
 * bound, and never lose the count.
 */
#include "supervisor/package/manifest_report.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/log.h"

#define MANIFEST_REPORT_TEXT_MAX 400U
#define MANIFEST_REPORT_PATH_MAX 160U

void
manifest_report_init(struct manifest_report *report_r)
{
	report_r->faults = json_array();
	report_r->warnings = json_array();
	report_r->count = 0;
}

void
manifest_report_clear(struct manifest_report *report)
{
	json_decref(report->faults);
	json_decref(report->warnings);
	*report = (struct manifest_report){.faults = NULL};
}

static bool
manifest_report_has(const json_t *list, const json_t *item)
{
	json_t *other;
	size_t i;

	json_array_foreach((json_t *)list, i, other)
	{
		if (json_equal(other, item))
			return true;
	}
	return false;
}

static bool manifest_report_add(json_t *list, const char *path,
    const char *format, va_list args) __attribute__((format(printf, 3, 0)));

/* False: it is there already. */
static bool
manifest_report_add(
    json_t *list, const char *path, const char *format, va_list args)
{
	char text[MANIFEST_REPORT_TEXT_MAX];
	char clean[MANIFEST_REPORT_TEXT_MAX], place[MANIFEST_REPORT_PATH_MAX];
	size_t have = json_array_size(list);
	json_t *item;

	if (have >= MANIFEST_REPORT_MAX)
		return true;
	if (have == MANIFEST_REPORT_MAX - 1) {
		path = "manifest";
		(void)snprintf(
		    text, sizeof(text), "has more; mend these first");
	} else {
		(void)vsnprintf(text, sizeof(text), format, args);
	}
	log_escape(text, strlen(text), clean, sizeof(clean));
	log_escape(path, strlen(path), place, sizeof(place));
	item = json_pack("{s:s,s:s}", "path", place, "message", clean);
	if (item != NULL && manifest_report_has(list, item)) {
		json_decref(item);
		return false;
	}
	(void)json_array_append_new(list, item);
	return true;
}

void
manifest_report_fault(
    struct manifest_report *report, const char *path, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (manifest_report_add(report->faults, path, format, args))
		report->count++;
	va_end(args);
}

void
manifest_report_warn(
    struct manifest_report *report, const char *path, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	(void)manifest_report_add(report->warnings, path, format, args);
	va_end(args);
}

void
manifest_report_first(
    const struct manifest_report *report, struct json_fault *fault)
{
	const json_t *first = json_array_get(report->faults, 0);

	if (report->count == 0)
		return;
	json_field_fault(fault, "%s %s",
	    first == NULL ? "manifest"
			  : json_string_value(json_object_get(first, "path")),
	    first == NULL
		? "cannot be judged: out of memory"
		: json_string_value(json_object_get(first, "message")));
}
