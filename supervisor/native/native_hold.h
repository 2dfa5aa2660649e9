/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One placeholder on the host: an empty directory, or a file that is empty
 * or says what a tool must find. Made with O_EXCL, known by device and
 * inode, removed only as it was made. Used by native_place alone.
 */
#ifndef SUPERVISOR_NATIVE_NATIVE_HOLD_H
#define SUPERVISOR_NATIVE_NATIVE_HOLD_H

#include <stddef.h>

#include "common/result.h"
#include "supervisor/native/native_journal.h"

/* RESULT_EXISTS: something is there. dev and ino are filled in. */
enum result native_hold_make(struct native_journal_entry *entry);

/* What is there now, when it could be ours: kind, owner, content, and dev
 * and ino where the entry has them (else they are filled in).
 * RESULT_NOT_FOUND, RESULT_MISMATCH. */
enum result native_hold_identify(struct native_journal_entry *entry);

/* Removed when it is still what was made. RESULT_NOT_FOUND: somebody did;
 * RESULT_MISMATCH: it is another one now, or was filled; it stays. */
enum result native_hold_remove(const struct native_journal_entry *entry);

/* RESULT_UNSUPPORTED when a placeholder answers to its name in upper case
 * on a file system that is not known to have one entry for both. */
enum result native_hold_folded(
    const struct native_journal_entry *entries, size_t count);

#endif
