/* SPDX-License-Identifier: Apache-2.0 */
/*
 * IDNA 2008 conversion before the canonical parsers. Called by config_shape
 * and by commands. It must never see a name that
 * came from a container or over a network.
 */
#include <stdio.h>
#include <string.h>

#include "common/domain.h"
#include "egress-proxy/policy_entry.h"
#include "supervisor/policy/config_idn.h"
#include "supervisor/policy/config_idn2.h"
#include "supervisor/policy/suffix_check.h"

#define CONFIG_IDN_TEXT_MAX 1024U

static bool
config_idn_no(char why_r[CONFIG_IDN_WHY_MAX], const char *why)
{
	snprintf(why_r, CONFIG_IDN_WHY_MAX, "%s", why);
	return false;
}

static bool
config_idn_is_ascii(const char *text)
{
	for (; *text != '\0'; text++)
		if ((unsigned char)*text >= 0x80)
			return false;
	return true;
}

/* The host of an entry: behind the scheme and "*.", before the port. */
static void
config_idn_find_host(const char *text, size_t *start_r, size_t *len_r)
{
	const char *scheme = strstr(text, "://");
	const char *host = scheme != NULL ? scheme + 3 : text;

	if (strncmp(host, "*.", 2) == 0)
		host += 2;
	*start_r = (size_t)(host - text);
	*len_r = strcspn(host, ":/");
}

/* text with its host converted; ASCII comes back as it is. */
static bool
config_idn_convert(const char *text, char *ascii_r, size_t size,
    char why_r[CONFIG_IDN_WHY_MAX])
{
	char host[CONFIG_IDN_TEXT_MAX], converted[CONFIG_IDN_TEXT_MAX];
	size_t start, len;
	int used;

	if (strlen(text) >= sizeof(host))
		return config_idn_no(why_r, "too long");
	if (config_idn_is_ascii(text)) {
		used = snprintf(ascii_r, size, "%s", text);
		return (used >= 0 && (size_t)used < size) ||
		       config_idn_no(why_r, "too long");
	}
	config_idn_find_host(text, &start, &len);
	memcpy(host, text + start, len);
	host[len] = '\0';
	if (!config_idn2_ascii(host, converted, sizeof(converted), why_r))
		return false;
	used = snprintf(ascii_r, size, "%.*s%s%s", (int)start, text, converted,
	    text + start + len);
	return (used >= 0 && (size_t)used < size) ||
	       config_idn_no(why_r, "too long");
}

bool
config_idn_name(const char *text, char *canonical_r, size_t size,
    char why_r[CONFIG_IDN_WHY_MAX])
{
	char ascii[CONFIG_IDN_TEXT_MAX];
	enum domain_fault fault;
	struct domain domain;

	if (!config_idn_convert(text, ascii, sizeof(ascii), why_r))
		return false;
	fault = domain_parse(ascii, strlen(ascii), &domain);
	if (fault != DOMAIN_OK)
		return config_idn_no(why_r, domain_fault_text(fault));
	snprintf(canonical_r, size, "%s", domain.name);
	return true;
}

bool
config_idn_entry(const char *text, bool is_deny, char *canonical_r, size_t size,
    char why_r[CONFIG_IDN_WHY_MAX])
{
	char ascii[CONFIG_IDN_TEXT_MAX];
	enum policy_entry_fault fault;
	struct policy_entry entry;

	if (!config_idn_convert(text, ascii, sizeof(ascii), why_r))
		return false;
	fault = policy_entry_parse(ascii, strlen(ascii),
	    is_deny ? POLICY_ENTRY_FROM_DENY : POLICY_ENTRY_FROM_HOST, &entry);
	if (fault != POLICY_ENTRY_OK)
		return config_idn_no(
		    why_r, policy_entry_fault_text(fault, entry.name_fault));
	if (!is_deny && suffix_check_entry(&entry, why_r) != RESULT_OK)
		return false;
	snprintf(canonical_r, size, "%s", entry.text);
	return true;
}
