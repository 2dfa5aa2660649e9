/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options of the audit commands; see audit_filter.h. Called by
 * command_audit.c and command_audit_stats.c.
 */
#include "supervisor/command/audit_filter.h"

#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "supervisor/command/command_option.h"
#include "supervisor/ledger/audit_record.h"

#define AUDIT_FILTER_AGO_MAX 100000000UL

static bool
audit_filter_number(
    const char *text, unsigned long most, char **end_r, unsigned long *number_r)
{
	errno = 0;
	if (text[0] < '0' || text[0] > '9')
		return false;
	*number_r = strtoul(text, end_r, 10);
	return errno == 0 && *number_r > 0 && *number_r <= most;
}

/* 90s, 15m, 24h, 7d */
static bool
audit_filter_ago(const char *text, char since_r[AUDIT_FILTER_TIME_MAX])
{
	static const char units[] = "smhd";
	static const int64_t seconds[] = {1, 60, 3600, 86400};
	const char *unit;
	unsigned long number;
	int64_t then;
	char *end;

	if (!audit_filter_number(text, AUDIT_FILTER_AGO_MAX, &end, &number) ||
	    end[0] == '\0' || end[1] != '\0' ||
	    (unit = strchr(units, end[0])) == NULL)
		return false;
	then = (int64_t)time(NULL) - (int64_t)number * seconds[unit - units];
	audit_record_time((then > 0 ? then : 0) * 1000, since_r);
	return true;
}

/* The beginning of a time as records have it: times compare as texts. */
static bool
audit_filter_time(const char *text, char since_r[AUDIT_FILTER_TIME_MAX])
{
	static const char form[] = "0000-00-00T00:00:00";
	size_t len = strlen(text);

	if (len == 20 && text[19] == 'Z')
		len = 19;
	if (len != 10 && len != 19)
		return false;
	for (size_t i = 0; i < len; i++)
		if (form[i] == '0' ? text[i] < '0' || text[i] > '9'
				   : text[i] != form[i])
			return false;
	(void)snprintf(since_r, AUDIT_FILTER_TIME_MAX, "%.*s", (int)len, text);
	return true;
}

bool
audit_filter_since(const char *text, char since_r[AUDIT_FILTER_TIME_MAX])
{
	return audit_filter_ago(text, since_r) ||
	       audit_filter_time(text, since_r);
}

static bool
audit_filter_last(const char *text, size_t *last_r)
{
	unsigned long number;
	char *end;

	if (!audit_filter_number(text, AUDIT_FILTER_LAST_MAX, &end, &number) ||
	    *end != '\0')
		return false;
	*last_r = number;
	return true;
}

static bool
audit_filter_set(struct audit_filter *filter, int option, const char *value)
{
	switch (option) {
	case 'j':
		filter->json = true;
		return true;
	case 'l':
		return audit_filter_last(value, &filter->last);
	case 'e':
		filter->event = value;
		return true;
	case 'c':
		filter->code = value;
		return true;
	case 'p':
		filter->package = value;
		return true;
	case 's':
		return audit_filter_since(value, filter->since);
	default:
		return false;
	}
}

bool
audit_filter_parse(
    int argc, char **argv, const char *allowed, struct audit_filter *filter_r)
{
	static const struct option known[] = {{"json", no_argument, NULL, 'j'},
	    {"last", required_argument, NULL, 'l'},
	    {"event", required_argument, NULL, 'e'},
	    {"code", required_argument, NULL, 'c'},
	    {"package", required_argument, NULL, 'p'},
	    {"since", required_argument, NULL, 's'}, {NULL, 0, NULL, 0}};
	int option;

	*filter_r = (struct audit_filter){.json = false};
	while ((option = command_option_next(argc, argv, "", known)) != -1)
		if (strchr(allowed, option) == NULL ||
		    !audit_filter_set(filter_r, option, optarg))
			return false;
	return optind == argc;
}

static bool
audit_filter_is(const json_t *object, const char *key, const char *wanted)
{
	const char *text = json_string_value(json_object_get(object, key));

	return wanted == NULL || (text != NULL && strcmp(text, wanted) == 0);
}

bool
audit_filter_takes(const struct audit_filter *filter, const json_t *record)
{
	const json_t *fields = json_object_get(record, "fields");
	const char *ts = json_string_value(json_object_get(record, "ts"));

	return audit_filter_is(record, "event", filter->event) &&
	       audit_filter_is(fields, "code", filter->code) &&
	       audit_filter_is(fields, "package", filter->package) &&
	       (ts == NULL || strcmp(ts, filter->since) >= 0);
}
