/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list of findings: one entry per code and subject. Called by the
 * judges; must never drop a finding without saying so.
 */
#include "supervisor/argv/argv_finding.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void
argv_finding_says(const struct argv_finding *finding, char *text_r, size_t size)
{
	const char *says = argv_code_row(finding->code)->says;
	const char *slot = strstr(says, "%s");

	if (slot == NULL)
		(void)snprintf(text_r, size, "%s", says);
	else
		(void)snprintf(text_r, size, "%.*s%s%s", (int)(slot - says),
		    says, finding->subject, slot + 2);
}

static struct argv_finding *
argv_finding_find(
    struct argv_findings *findings, enum argv_code code, const char *subject)
{
	for (size_t i = 0; i < findings->count; i++) {
		if (findings->list[i].code == code &&
		    strcmp(findings->list[i].subject, subject) == 0)
			return &findings->list[i];
	}
	return NULL;
}

static enum result
argv_finding_new(struct argv_findings *findings, enum argv_code code,
    const char *subject, struct argv_finding **finding_r)
{
	struct argv_finding *finding;

	if (findings->count >= ARGV_FINDINGS_MAX)
		return RESULT_TOO_LONG;
	if (findings->list == NULL) {
		findings->list =
		    calloc(ARGV_FINDINGS_MAX, sizeof(*findings->list));
		if (findings->list == NULL)
			return RESULT_NO_MEMORY;
	}
	finding = &findings->list[findings->count];
	finding->code = code;
	finding->subject = strndup(subject, ARGV_SUBJECT_MAX);
	if (finding->subject == NULL)
		return RESULT_NO_MEMORY;
	findings->count++;
	*finding_r = finding;
	return RESULT_OK;
}

void
argv_finding_add(struct argv_findings *findings, enum argv_code code,
    const char *subject, const struct argv_item *item)
{
	struct argv_finding *finding;

	if (findings->result != RESULT_OK)
		return;
	finding = argv_finding_find(findings, code, subject);
	if (finding == NULL)
		findings->result =
		    argv_finding_new(findings, code, subject, &finding);
	if (findings->result != RESULT_OK || item == NULL)
		return;
	if (finding->place_count < ARGV_PLACES_MAX)
		finding->places[finding->place_count] = item;
	finding->place_count++;
}

void
argv_finding_sort(struct argv_findings *findings)
{
	for (size_t i = 1; i < findings->count; i++) {
		struct argv_finding one = findings->list[i];
		size_t at = i;

		for (; at > 0 && findings->list[at - 1].code > one.code; at--)
			findings->list[at] = findings->list[at - 1];
		findings->list[at] = one;
	}
}

void
argv_finding_clear(struct argv_findings *findings)
{
	for (size_t i = 0; i < findings->count; i++)
		free(findings->list[i].subject);
	free(findings->list);
	findings->list = NULL;
	findings->count = 0;
}
