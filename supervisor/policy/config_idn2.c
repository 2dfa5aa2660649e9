/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The only user of libidn2; see config_idn2.h. It must never see a name
 * that came from a container or over a network.
 */
#include "supervisor/policy/config_idn2.h"

#include <idn2.h>
#include <stdio.h>

bool
config_idn2_ascii(const char *host, char *ascii_r, size_t size,
    char why_r[CONFIG_IDN_WHY_MAX])
{
	char *converted = NULL;
	int used, code = idn2_to_ascii_8z(host, &converted,
		      IDN2_NFC_INPUT | IDN2_NONTRANSITIONAL |
			  IDN2_USE_STD3_ASCII_RULES);

	if (code != IDN2_OK) {
		snprintf(why_r, CONFIG_IDN_WHY_MAX,
		    "no internationalised name: %s", idn2_strerror(code));
		return false;
	}
	used = snprintf(ascii_r, size, "%s", converted);
	idn2_free(converted);
	if (used >= 0 && (size_t)used < size)
		return true;
	snprintf(why_r, CONFIG_IDN_WHY_MAX, "too long");
	return false;
}
