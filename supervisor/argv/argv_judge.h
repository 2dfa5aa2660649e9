/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The audit itself: what a container would be started with, in; the ways
 * the host leaks in, out. Pure, total, in a stable order. Its leaves are
 * argv_judge_NAME.c, one per subject; only argv_judge.c calls them.
 */
#ifndef SUPERVISOR_ARGV_ARGV_JUDGE_H
#define SUPERVISOR_ARGV_ARGV_JUDGE_H

#include "common/result.h"
#include "supervisor/argv/argv_finding.h"
#include "supervisor/argv/argv_items.h"

/* findings_r points into items, which must outlive it. RESULT_BAD: a value
 * is not what the engine would take, or there is more than can be told;
 * fault_r says what. */
enum result argv_judge(const struct argv_items *items,
    struct argv_findings *findings_r, struct argv_fault *fault_r);

/* The leaves. A fault of a mount goes to fault_r. */
void argv_judge_network(
    const struct argv_items *items, struct argv_findings *findings);
void argv_judge_mount(const struct argv_items *items,
    struct argv_findings *findings, struct argv_fault *fault_r);
void argv_judge_rights(
    const struct argv_items *items, struct argv_findings *findings);
void argv_judge_engine(
    const struct argv_items *items, struct argv_findings *findings);
void argv_judge_limits(
    const struct argv_items *items, struct argv_findings *findings);

#endif
