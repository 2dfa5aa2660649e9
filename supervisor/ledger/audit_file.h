/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One of the chain's numbered files. A file that was dropped stays, empty:
 * the ledger may remove nothing. Used by audit_chain and audit_verify.
 */
#ifndef SUPERVISOR_LEDGER_AUDIT_FILE_H
#define SUPERVISOR_LEDGER_AUDIT_FILE_H

#include <stdbool.h>
#include <sys/types.h>

#include "common/json_field.h"
#include "common/result.h"
#include "supervisor/ledger/audit_head.h"

enum audit_file_use {
	AUDIT_FILE_READ,   /* only read */
	AUDIT_FILE_APPEND, /* must be there */
	AUDIT_FILE_MAKE,   /* made when it is not there */
	AUDIT_FILE_HEAD    /* made too, and written in place */
};

/* A regular file that nobody else may write. RESULT_NOT_FOUND (without a
 * fault): there is none. */
enum result audit_file_open(int dir_fd, const char *name,
    enum audit_file_use use, int *fd_r, struct json_fault *fault);

/* Up to size bytes at an offset; *len_r says how many there were. */
enum result audit_file_read(
    int fd, off_t at, char *bytes_r, size_t size, size_t *len_r);

/* How long one of the chain's files is; 0 when there is none. */
uint64_t audit_file_size(int dir_fd, uint64_t file);

/* What its first record follows. RESULT_NOT_FOUND: it is empty;
 * RESULT_MISMATCH: it does not begin with a record. */
enum result audit_file_before(int fd, struct audit_link *before_r);

/* Which files are there: from the oldest one with a record in it, without a
 * gap, to number newest. */
uint64_t audit_file_oldest(int dir_fd, uint64_t newest);

#endif
