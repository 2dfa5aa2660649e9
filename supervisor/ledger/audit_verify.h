/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the whole chain and checks every link and the head: for `audit
 * verify` and `audit show`. Changes nothing.
 */
#ifndef SUPERVISOR_LEDGER_AUDIT_VERIFY_H
#define SUPERVISOR_LEDGER_AUDIT_VERIFY_H

#include <jansson.h>
#include <stdint.h>

#include "common/json_field.h"
#include "common/result.h"

struct audit_verify_report {
	uint64_t records;    /* right ones, from the start */
	uint64_t line;       /* first wrong line, 0: none */
	uint64_t torn_bytes; /* a last line without end, behind the head:
			      * its writer died; the next ledger repairs */
	char last_ts[32];
};

/* Called for each right record in order; record is borrowed. */
typedef void audit_verify_each(const json_t *record, void *context);

/* log_fd and head_fd may be -1 (no such file). RESULT_MISMATCH: the fault
 * names the first wrong line or what is missing at the end. each may be
 * NULL. */
enum result audit_verify_files(int log_fd, int head_fd, audit_verify_each *each,
    void *context, struct audit_verify_report *report_r,
    struct json_fault *fault);

#endif
