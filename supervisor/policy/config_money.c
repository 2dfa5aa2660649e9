/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exact decimals. Called by config_value.c and config_llm.c. It must never
 * compute with fractions: a number of a file is turned into its text first.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "supervisor/policy/config_money.h"

#define CONFIG_MONEY_MICRO INT64_C(1000000)
#define CONFIG_MONEY_DIGITS 6

enum result
config_money_parse(const char *text, int64_t *micro_r)
{
	int64_t micro = 0, unit = CONFIG_MONEY_MICRO;
	size_t whole = strspn(text, "0123456789"), part = 0, i;

	if (text[whole] == '.')
		part = strspn(text + whole + 1, "0123456789");
	if (whole == 0 || whole > 7 || part > CONFIG_MONEY_DIGITS ||
	    text[whole + (part > 0 ? part + 1 : 0)] != '\0')
		return RESULT_BAD;
	for (i = 0; i < whole; i++)
		micro = micro * 10 + (text[i] - '0');
	micro *= CONFIG_MONEY_MICRO;
	for (i = 0; i < part; i++) {
		unit /= 10;
		micro += unit * (text[whole + 1 + i] - '0');
	}
	*micro_r = micro;
	return micro <= CONFIG_MONEY_MAX ? RESULT_OK : RESULT_BAD;
}

enum result
config_money_read(const json_t *value, int64_t *micro_r)
{
	char text[64];

	if (json_is_string(value))
		return config_money_parse(json_string_value(value), micro_r);
	/* Of up to seven digits before and six behind the point a double
	 * keeps every one: its shortest text is what was written. */
	if (json_is_integer(value))
		(void)snprintf(text, sizeof(text), "%" JSON_INTEGER_FORMAT,
		    json_integer_value(value));
	else if (json_is_real(value))
		(void)snprintf(
		    text, sizeof(text), "%.9f", json_real_value(value));
	else
		return RESULT_BAD;
	if (json_is_real(value) && strlen(text) > 3 &&
	    strcmp(text + strlen(text) - 3, "000") == 0)
		text[strlen(text) - 3] = '\0';
	return config_money_parse(text, micro_r);
}

void
config_money_text(int64_t micro, char text_r[CONFIG_MONEY_TEXT_MAX])
{
	size_t len;

	(void)snprintf(text_r, CONFIG_MONEY_TEXT_MAX, "%" PRId64 ".%06" PRId64,
	    micro / CONFIG_MONEY_MICRO, micro % CONFIG_MONEY_MICRO);
	len = strlen(text_r);
	while (text_r[len - 1] == '0')
		text_r[--len] = '\0';
	if (text_r[len - 1] == '.')
		text_r[len - 1] = '\0';
}
