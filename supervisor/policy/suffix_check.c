/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The public suffix check of wildcards. Called when an entry enters the
 * configuration, a lockfile or the command line. It must never accept a
 * wildcard because a list is missing.
 */
#include "supervisor/policy/suffix_check.h"

#include <libpsl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* A label that nobody registers, to ask about "*.base" rules. */
#define SUFFIX_CHECK_PROBE "agentnode-wildcard-probe"
#define SUFFIX_CHECK_LINE_MAX 512U

/* A rule of the list lies below base: ".base" is the end of the rule. */
static bool
suffix_check_rule_below(const char *rule, const struct domain *base)
{
	size_t len = strcspn(rule, " \t\r\n");

	if (rule[0] == '/' || rule[0] == '!' || len < base->len + 2)
		return false;
	return rule[len - base->len - 1] == '.' &&
	       strncmp(rule + len - base->len, base->name, base->len) == 0;
}

/* The list in text form beside the one that libpsl reads. */
static FILE *
suffix_check_open_list(void)
{
	const char *dafsa = psl_dist_filename();
	const char *end = dafsa == NULL ? NULL : strstr(dafsa, ".dafsa");
	char path[512];
	int used;

	if (dafsa == NULL)
		return NULL;
	if (end == NULL)
		return fopen(dafsa, "re");
	used =
	    snprintf(path, sizeof(path), "%.*s.dat", (int)(end - dafsa), dafsa);
	if (used < 0 || (size_t)used >= sizeof(path))
		return NULL;
	return fopen(path, "re");
}

/* Rules below base, which libpsl cannot be asked for. */
static enum result
suffix_check_list_below(const struct domain *base)
{
	char line[SUFFIX_CHECK_LINE_MAX];
	enum result result = RESULT_OK;
	FILE *list = suffix_check_open_list();
	unsigned rules = 0;

	if (list == NULL)
		return RESULT_NOT_FOUND;
	while (result == RESULT_OK && fgets(line, sizeof(line), list) != NULL) {
		rules++;
		if (suffix_check_rule_below(line, base))
			result = RESULT_REFUSED;
	}
	/* A file that could not be read whole says nothing. */
	if (ferror(list) != 0 || rules == 0)
		result = RESULT_NOT_FOUND;
	fclose(list);
	return result;
}

static enum result
suffix_check_psl(const psl_ctx_t *psl, const struct domain *base)
{
	char probe[sizeof(SUFFIX_CHECK_PROBE) + DOMAIN_NAME_MAX + 1];

	if (psl_is_public_suffix(psl, base->name))
		return RESULT_REFUSED;
	snprintf(probe, sizeof(probe), "%s.%s", SUFFIX_CHECK_PROBE, base->name);
	if (psl_is_public_suffix(psl, probe))
		return RESULT_REFUSED;
	return suffix_check_list_below(base);
}

enum result
suffix_check_wildcard(
    const struct domain *base, char why_r[SUFFIX_CHECK_WHY_MAX])
{
	psl_ctx_t *psl = psl_latest(NULL);
	enum result result;

	why_r[0] = '\0';
	result = psl == NULL ? RESULT_NOT_FOUND : suffix_check_psl(psl, base);
	psl_free(psl);
	if (result == RESULT_REFUSED)
		snprintf(why_r, SUFFIX_CHECK_WHY_MAX,
		    "is a wildcard at or above a public suffix, where "
		    "strangers can register names; list the full names");
	else if (result == RESULT_NOT_FOUND)
		snprintf(why_r, SUFFIX_CHECK_WHY_MAX,
		    "is a wildcard, and the public suffix list to check it "
		    "against is not installed; install publicsuffix");
	return result;
}
