/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An audit chain in a folder of its own, two keys, and whole batches of a
 * ledger. For the tests of the chain; never part of an installed program.
 */
#ifndef TESTS_SUPPORT_AUDIT_CASE_H
#define TESTS_SUPPORT_AUDIT_CASE_H

#include "supervisor/ledger/audit_chain.h"
#include "supervisor/ledger/audit_verify.h"

struct audit_case {
	char path[64];
	int fd;
	struct secret *one, *two;
};

/* cmocka's fixtures: *state becomes the struct. */
int audit_case_setup(void **state);
int audit_case_teardown(void **state);

/* Three files are kept, of max_size each. */
void audit_case_open(struct audit_case *test, struct audit_chain *chain,
    const struct secret *key, uint64_t max_size);

/* One batch under the lock; 0 records: what catching up has to say. */
enum result audit_case_batch(struct audit_chain *chain, int count);

/* Some batches of a ledger of its own. */
enum result audit_case_write(struct audit_case *test, const struct secret *key,
    int batches, uint64_t max_size);

enum result audit_case_verify(struct audit_case *test, const struct secret *key,
    struct audit_verify_report *report_r);

/* The files as they are; -1: there is none. Caller frees what was read. */
long audit_case_size(struct audit_case *test, const char *name);
char *audit_case_read(struct audit_case *test, const char *name, size_t *len_r);
void audit_case_put(
    struct audit_case *test, const char *name, const char *bytes, size_t len);

/* audit.head, read and written without a look at its seal. */
void audit_case_head(struct audit_case *test, struct audit_head *head);
void audit_case_head_put(
    struct audit_case *test, const struct audit_head *head);

/* A ledger that starts and writes nothing. */
void audit_case_start(struct audit_case *test, const struct secret *key);

#endif
