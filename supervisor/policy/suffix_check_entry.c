/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which entries need the public suffix list. Called where an entry is read;
 * apart from suffix_check.c, so that a program without libpsl can be linked.
 */
#include "supervisor/policy/suffix_check.h"

enum result
suffix_check_entry(
    const struct policy_entry *entry, char why_r[SUFFIX_CHECK_WHY_MAX])
{
	why_r[0] = '\0';
	if (entry->kind != POLICY_ENTRY_WILDCARD)
		return RESULT_OK;
	return suffix_check_wildcard(&entry->name, why_r);
}
