/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The story of one audit: each subject in turn, then the order. Called by
 * audit-argv, by its tests and by the fuzzer.
 */
#include "supervisor/argv/argv_judge.h"

#include <stdio.h>

enum result
argv_judge(const struct argv_items *items, struct argv_findings *findings_r,
    struct argv_fault *fault_r)
{
	*findings_r = (struct argv_findings){.result = RESULT_OK};
	fault_r->text[0] = '\0';
	argv_judge_network(items, findings_r);
	argv_judge_mount(items, findings_r, fault_r);
	argv_judge_rights(items, findings_r);
	argv_judge_limits(items, findings_r);
	argv_judge_engine(items, findings_r);
	if (findings_r->result == RESULT_OK) {
		argv_finding_sort(findings_r);
		return RESULT_OK;
	}
	if (fault_r->text[0] == '\0' && findings_r->result == RESULT_TOO_LONG)
		(void)snprintf(fault_r->text, sizeof(fault_r->text),
		    "there are more than %u findings", ARGV_FINDINGS_MAX);
	if (findings_r->result == RESULT_TOO_LONG)
		findings_r->result = RESULT_BAD;
	argv_finding_clear(findings_r);
	return findings_r->result;
}
