/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The chain on disk: audit.jsonl and audit.head in the ledger's folder.
 * Several ledgers (one per supervisor) append to one chain: each takes the
 * lock, reads what the others added, appends, syncs, moves the head.
 * Used by ledger.c only.
 */
#ifndef SUPERVISOR_LEDGER_AUDIT_CHAIN_H
#define SUPERVISOR_LEDGER_AUDIT_CHAIN_H

#include <jansson.h>
#include <stdbool.h>

#include "common/buffer.h"
#include "common/json_field.h"
#include "common/result.h"
#include "common/secret.h"
#include "supervisor/ledger/audit_head.h"

struct audit_chain {
	int dir_fd;          /* borrowed: stays open */
	int log_fd, head_fd; /* the file that the chain ends in; its head */
	int next_fd;         /* the file that this batch begins, or -1 */
	uint64_t drop_below; /* files that go when it is written */
	/* Set between init and the first catch_up. */
	uint64_t max_size;        /* a file as large as this is the last of
				   * its kind; 0: one file for ever */
	unsigned max_files;       /* as many are kept, at least 2 */
	const struct secret *key; /* borrowed; NULL: heads have no seal */
	bool is_key_new;          /* made in this start: a chain without a
				   * seal may be from before; until one is */
	struct audit_head head;   /* where the chain ends, as we know it */
	struct audit_link next;   /* end including what is pending */
	struct buffer pending;    /* lines of this batch, not yet written */
	bool failed; /* a sync failed: what is on disk is unknown; nothing is
		      * written any more */
};

void audit_chain_init(struct audit_chain *chain);

/* Open or make the two files in dir_fd (borrowed). */
enum result audit_chain_open(
    struct audit_chain *chain, int dir_fd, struct json_fault *fault);
void audit_chain_close(struct audit_chain *chain);

/* RESULT_NEED_MORE: another ledger has it; try again. */
enum result audit_chain_lock(struct audit_chain *chain);
void audit_chain_unlock(struct audit_chain *chain);

/* Under the lock: read what others appended; a torn last line (its writer
 * died in the middle) is cut off and a record `torn_tail` pending instead.
 * RESULT_MISMATCH: the files do not fit each other, or the head has another
 * key's seal, or none although there is a key (fault says how). Also pending
 * then: `audit_rotated`, the first record of a new file; `chain_adopted`,
 * records whose writer died before it sealed them; `chain_unsealed`, a chain
 * from before there was a key, where is_key_new. */
enum result audit_chain_catch_up(
    struct audit_chain *chain, int64_t now_ms, struct json_fault *fault);

/* Under the lock, after catch_up: add one record to the batch. */
enum result audit_chain_add(struct audit_chain *chain, int64_t now_ms,
    const char *event, const json_t *fields);

/* Under the lock: write the batch, sync, move the head. On a fault nothing of
 * the batch counts: the log is cut back to its old end, except where the
 * head may name what was written already (then `failed`: it stays). */
enum result audit_chain_commit(
    struct audit_chain *chain, struct json_fault *fault);

#endif
