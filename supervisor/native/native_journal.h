/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which placeholders a run holds on the host: one file per run in
 * AGENTNODE_HOME/native, locked for as long as its supervisor lives. A file
 * nobody locks is what a killed run left. A line is "kind dev ino path";
 * ino 0: about to be made, dev its directory's then, or 0 where not known. Used
 * by native_place alone.
 */
#ifndef SUPERVISOR_NATIVE_NATIVE_JOURNAL_H
#define SUPERVISOR_NATIVE_NATIVE_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/result.h"
#include "supervisor/native/native_view.h"

#define NATIVE_JOURNAL_ENTRIES_MAX 128U
#define NATIVE_JOURNAL_BYTES_MAX \
	(NATIVE_JOURNAL_ENTRIES_MAX * (NATIVE_VIEW_PATH_MAX + 64U))
#define NATIVE_JOURNAL_NAME_MAX 24U
#define NATIVE_JOURNAL_RUNS_MAX 4096U
#define NATIVE_JOURNAL_KEPT_S (30 * 24 * 60 * 60)
#define NATIVE_JOURNAL_KEPT_MAX 64U

struct native_journal_entry {
	bool dir;
	uint64_t dev, ino;
	char path[NATIVE_VIEW_PATH_MAX]; /* absolute, canonical */
};

/* One line without its newline. RESULT_BAD: it is none. Pure. */
enum result native_journal_parse(
    const char *line, size_t len, struct native_journal_entry *entry_r);
/* With the newline; 0 when it does not fit. Pure. */
size_t native_journal_format(
    const struct native_journal_entry *entry, char *text_r, size_t size);

/* The folder of the journals, made when missing; and the one lock that is
 * held while placeholders are made or removed. Both are -1 on a fault. */
enum result native_journal_open(const char *agentnode, int *dir_r, int *lock_r);

/* This run's own, empty and locked. */
enum result native_journal_new(
    int dir, char name_r[NATIVE_JOURNAL_NAME_MAX], int *fd_r);
/* All of it, in place of what it said. */
enum result native_journal_write(
    int fd, const struct native_journal_entry *entries, size_t count);

/* Each line of each journal but the named one ("" : none). The lock is
 * held. alive: its run lives. What it returns matters to native_journal_forget
 * alone: true when nothing of the line can be there any more. One that is too
 * long or has a line that is none is RESULT_BAD when alive, and what is not
 * read of it passed over when dead. */
typedef bool native_journal_each(
    const struct native_journal_entry *entry, bool alive, void *context);
enum result native_journal_scan(
    int dir, const char *but, native_journal_each *each, void *context);
/* Remove the journals of dead runs of whose lines nothing can be there; of the
 * others those that are older than NATIVE_JOURNAL_KEPT_S, and the oldest of
 * more than NATIVE_JOURNAL_KEPT_MAX: what they tell of may come back until
 * then. The lock is held. */
void native_journal_forget(int dir, native_journal_each *each, void *context);

#endif
