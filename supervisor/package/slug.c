/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rule of slugs. Called wherever a name becomes part of a path or an
 * argument. Pure.
 */
#include <stdio.h>
#include <string.h>

#include "supervisor/package/slug.h"

static bool
slug_is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

bool
slug_is_valid(const char *text)
{
	size_t len = strnlen(text, SLUG_MAX + 1), i;

	if (len < SLUG_MIN || len > SLUG_MAX || !slug_is_letter(text[0]) ||
	    !slug_is_letter(text[len - 1]))
		return false;
	for (i = 0; i < len; i++)
		if (!slug_is_letter(text[i]) &&
		    (text[i] != '-' || text[i - 1] == '-'))
			return false;
	return true;
}

bool
slug_derive(const char *package, char slug_r[SLUG_MAX + 1])
{
	const char *slash = strrchr(package, '/');
	char plain[SLUG_MAX + 1];
	size_t len = 0;
	char c;

	package = slash != NULL ? slash + 1 : package;
	for (; *package != '\0' && len < SLUG_MAX; package++) {
		c = *package;
		if (c >= 'A' && c <= 'Z')
			c = (char)(c - 'A' + 'a');
		if (slug_is_letter(c))
			plain[len++] = c;
		else if (len > 0 && plain[len - 1] != '-')
			plain[len++] = '-';
	}
	while (len > 0 && plain[len - 1] == '-')
		len--;
	plain[len] = '\0';
	if (len == 0 || len >= SLUG_MIN)
		snprintf(slug_r, SLUG_MAX + 1, "%s", plain);
	else
		snprintf(slug_r, SLUG_MAX + 1, "mcp-%.2s", plain);
	return slug_is_valid(slug_r);
}
