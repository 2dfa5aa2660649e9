/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times as text; see utc_time.h. It must never accept two spellings of one
 * moment: the text is what is signed.
 */
#include "supervisor/policy/utc_time.h"

#include <stdio.h>
#include <string.h>

#define UTC_TIME_YEAR_MIN 2000
#define UTC_TIME_YEAR_MAX 2999

bool
utc_time_text(time_t time, char text_r[UTC_TIME_LEN + 1])
{
	struct tm parts;

	text_r[0] = '\0';
	if (gmtime_r(&time, &parts) == NULL ||
	    parts.tm_year + 1900 < UTC_TIME_YEAR_MIN ||
	    parts.tm_year + 1900 > UTC_TIME_YEAR_MAX)
		return false;
	return strftime(text_r, UTC_TIME_LEN + 1, "%Y-%m-%dT%H:%M:%SZ",
		   &parts) == UTC_TIME_LEN;
}

/* The digits of text[from..from+count). */
static int
utc_time_number(const char *text, size_t from, size_t count)
{
	int number = 0;

	for (size_t i = from; i < from + count; i++)
		number = number * 10 + (text[i] - '0');
	return number;
}

static bool
utc_time_form(const char *text)
{
	static const char form[] = "dddd-dd-ddTdd:dd:ddZ";

	if (strnlen(text, sizeof(form)) != UTC_TIME_LEN)
		return false;
	for (size_t i = 0; i < UTC_TIME_LEN; i++) {
		bool digit = text[i] >= '0' && text[i] <= '9';

		if (form[i] == 'd' ? !digit : text[i] != form[i])
			return false;
	}
	return true;
}

bool
utc_time_parse(const char *text, time_t *time_r)
{
	char again[UTC_TIME_LEN + 1];
	struct tm parts = {0};

	*time_r = 0;
	if (!utc_time_form(text))
		return false;
	parts.tm_year = utc_time_number(text, 0, 4) - 1900;
	parts.tm_mon = utc_time_number(text, 5, 2) - 1;
	parts.tm_mday = utc_time_number(text, 8, 2);
	parts.tm_hour = utc_time_number(text, 11, 2);
	parts.tm_min = utc_time_number(text, 14, 2);
	parts.tm_sec = utc_time_number(text, 17, 2);
	*time_r = timegm(&parts);
	/* The 31st of a short month, hour 24, second 60: another day. */
	return utc_time_text(*time_r, again) && strcmp(again, text) == 0;
}
