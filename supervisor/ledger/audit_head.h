/* SPDX-License-Identifier: Apache-2.0 */
/*
 * audit.head: how far the chain goes, in one fixed block, so that a log cut
 * at its end is noticed. Its file is also the lock between ledgers. Written
 * by agentnode-ledger, read by `audit verify` too. Pure.
 */
#ifndef SUPERVISOR_LEDGER_AUDIT_HEAD_H
#define SUPERVISOR_LEDGER_AUDIT_HEAD_H

#include <stdint.h>

#include "common/json_field.h"
#include "common/result.h"
#include "supervisor/ledger/audit_record.h"

/* Names in the ledger's folder (AGENTNODE_HOME/ledger). */
#define AUDIT_HEAD_DIR "ledger"
#define AUDIT_HEAD_LOG "audit.jsonl"
#define AUDIT_HEAD_FILE "audit.head"

#define AUDIT_HEAD_SIZE 256U /* exactly, blank-padded, newline last */

#define AUDIT_HEAD_FILE_MAX 4294967295U
#define AUDIT_HEAD_NAME_MAX 40U

struct audit_head {
	struct audit_link link;
	uint64_t size; /* bytes of its file up to this record's newline */
	uint64_t file; /* the number of the file that the chain ends in */
	char mac[DIGEST_HEX + 1]; /* audit_seal.h; "" when there is none */
};

/* The chain's files: audit.jsonl is number 0, then audit.1.jsonl ... */
void audit_head_name(uint64_t file, char name_r[AUDIT_HEAD_NAME_MAX]);

void audit_head_write(
    const struct audit_head *head, char block_r[AUDIT_HEAD_SIZE]);

/* RESULT_NOT_FOUND for an empty file (len 0): no record was ever written.
 * RESULT_BAD sets the fault. */
enum result audit_head_read(const char *block, size_t len,
    struct audit_head *head_r, struct json_fault *fault);

#endif
