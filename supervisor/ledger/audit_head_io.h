/* SPDX-License-Identifier: Apache-2.0 */
/*
 * audit.head as a file: read and written in one block, under its lock. Used
 * by audit_chain and audit_verify, and by the supervisor before it makes a
 * key.
 */
#ifndef SUPERVISOR_LEDGER_AUDIT_HEAD_IO_H
#define SUPERVISOR_LEDGER_AUDIT_HEAD_IO_H

#include <stdbool.h>

#include "common/json_field.h"
#include "common/result.h"
#include "supervisor/ledger/audit_head.h"

/* RESULT_NOT_FOUND (without a fault): it is empty, no record was ever
 * written; RESULT_MISMATCH: it is no head. */
enum result audit_head_io_read(
    int fd, struct audit_head *head_r, struct json_fault *fault);

/* In place, not synced. RESULT_SYSTEM: nothing was written; RESULT_CLOSED:
 * a part of the block was. errno says why. */
enum result audit_head_io_write(int fd, const struct audit_head *head);

/* Does the folder have a head with a seal, or one that cannot be read? Then
 * no new key fits it. */
bool audit_head_io_is_sealed(int dir_fd);

#endif
