/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All faults and warnings that a manifest gets, each with its path, so that
 * a person mends a file once. Pure. Filled by manifest*.c and by
 * agentnode-unpack's look at the folder; read by manifest_check and
 * `agentnode validate`.
 */
#ifndef SUPERVISOR_PACKAGE_MANIFEST_REPORT_H
#define SUPERVISOR_PACKAGE_MANIFEST_REPORT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/json_field.h"

#define MANIFEST_REPORT_MAX 64U /* of each; the last one says so */

struct manifest_report {
	json_t *faults, *warnings; /* owned: [{"path","message"}] */
	size_t count;              /* faults found, also those not kept */
};

void manifest_report_init(struct manifest_report *report_r);
void manifest_report_clear(struct manifest_report *report);

/* "PATH MESSAGE" is the sentence. Foreign text in it is escaped and cut. */
void manifest_report_fault(struct manifest_report *report, const char *path,
    const char *format, ...) __attribute__((format(printf, 3, 4)));
void manifest_report_warn(struct manifest_report *report, const char *path,
    const char *format, ...) __attribute__((format(printf, 3, 4)));

/* The first fault as a sentence; nothing when there is none. */
void manifest_report_first(
    const struct manifest_report *report, struct json_fault *fault);

#endif
