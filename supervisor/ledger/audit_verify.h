/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the whole chain, all its files, and checks every link, the head and
 * its seal: for `audit`, `runs` and who looks for living runs. Changes
 * nothing.
 */
#ifndef SUPERVISOR_LEDGER_AUDIT_VERIFY_H
#define SUPERVISOR_LEDGER_AUDIT_VERIFY_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/json_field.h"
#include "common/result.h"
#include "common/secret.h"
#include "supervisor/ledger/audit_head.h"

struct audit_verify_report {
	uint64_t records; /* right ones, from the first one kept */
	uint64_t first;   /* its number: 1 unless older ones were dropped */
	uint64_t line;    /* first wrong line, 0: none */
	char file[AUDIT_HEAD_NAME_MAX]; /* where it is */
	uint64_t torn_bytes; /* a last line without end, behind the head:
			      * its writer died; the next ledger repairs */
	uint64_t unsealed;   /* right records behind the head: no seal covers
			      * them yet */
	bool sealed;         /* the head has this host's seal */
	char last_ts[32];
};

/* Called for each right record in order, once; record is borrowed. Of those
 * that a rotation drops meanwhile some may be left out. */
typedef void audit_verify_each(const json_t *record, void *context);

/* dir_fd: the ledger's folder, -1 when there is none (nothing was written).
 * key: the seal is checked with it; NULL: there must be none.
 * RESULT_MISMATCH: the fault names the first wrong line or what is missing
 * at the end. each may be NULL. */
enum result audit_verify_files(int dir_fd, const struct secret *key,
    audit_verify_each *each, void *context,
    struct audit_verify_report *report_r, struct json_fault *fault);

#endif
