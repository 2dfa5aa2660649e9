/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One record of the audit chain as a line of JSON:
 *   {"event","fields","hash","prev","seq","ts","v":1}
 * hash is SHA-256 over the canonical record without it; prev is the hash of
 * the record before (64 zeros for the first). The line is the canonical
 * text of the whole record, so that no byte of it can change unseen. Made
 * by agentnode-ledger, checked by it and by `audit show|verify`. Pure.
 */
#ifndef SUPERVISOR_LEDGER_AUDIT_RECORD_H
#define SUPERVISOR_LEDGER_AUDIT_RECORD_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "common/json_field.h"
#include "common/result.h"
#include "supervisor/policy/digest.h"

#define AUDIT_RECORD_LINE_MAX (128U * 1024U)
#define AUDIT_RECORD_EVENT_MAX 64U
#define AUDIT_RECORD_TS_MAX 32U

/* The end of a chain: what the next record must follow. */
struct audit_link {
	uint64_t seq;              /* 0: no record yet */
	char hash[DIGEST_HEX + 1]; /* zeros when there is none */
};

void audit_record_first(struct audit_link *link_r);

/* Make the line (with its newline) that follows link, and move link on.
 * fields is borrowed. Caller frees *line_r. RESULT_BAD: event is no word
 * of a-z, 0-9 and "_"; RESULT_TOO_LONG: the line would be too long. */
enum result audit_record_make(struct audit_link *link, const char *ts,
    const char *event, const json_t *fields, char **line_r, size_t *len_r);

/* Check a line (without newline) against link, and move link on when it is
 * right. record_r (may be NULL) gets the record; caller owns. RESULT_BAD:
 * not a record; RESULT_MISMATCH: not the next one, or changed. */
enum result audit_record_check(struct audit_link *link, const char *line,
    size_t len, json_t **record_r, struct json_fault *fault);

/* UTC with milliseconds, "2026-01-02T03:04:05.678Z". */
void audit_record_time(int64_t unix_ms, char text_r[AUDIT_RECORD_TS_MAX]);

#endif
