/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One placeholder on the host: an empty directory, or a file that is empty
 * or says what a tool must find. Made with O_EXCL, known by device and
 * inode, removed only as it was made. Used by native_place alone.
 */
#ifndef SUPERVISOR_NATIVE_NATIVE_HOLD_H
#define SUPERVISOR_NATIVE_NATIVE_HOLD_H

#include <stdbool.h>
#include <stddef.h>

#include "common/result.h"
#include "supervisor/native/native_journal.h"

/* What is known before it is made: on which disk; 0 where nothing is. */
void native_hold_plan(struct native_journal_entry *entry);

/* RESULT_EXISTS: something is there. dev and ino are filled in. */
enum result native_hold_make(struct native_journal_entry *entry);

/* What is there now, when it could be ours: kind, owner, content, and dev
 * and ino where the entry has them (else they are filled in).
 * RESULT_NOT_FOUND: its directory has nothing of that name; RESULT_MISMATCH:
 * another one, or one that was filled. Anything else: it is not known, and
 * may be there still (its directory was moved away, say, or its disk is not
 * mounted). */
enum result native_hold_identify(struct native_journal_entry *entry);

/* Removed when it is still what was made. Results as above; what is another
 * one now stays. */
enum result native_hold_remove(const struct native_journal_entry *entry);

/* Nothing of ours can be there any more: it need not be remembered. */
bool native_hold_is_over(enum result result);

/* RESULT_UNSUPPORTED when a placeholder answers to its name in upper case
 * on a file system that is not known to have one entry for both. */
enum result native_hold_folded(
    const struct native_journal_entry *entries, size_t count);

#endif
