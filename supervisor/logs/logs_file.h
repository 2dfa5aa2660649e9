/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lines of one file of a log, with one buffer of a line's size whatever
 * the file holds. A file that was rotated away is still written to for a
 * moment, by those who have not been told: NAME.jsonl.1 is read on beside
 * its successor, older ones are closed at their end. Used by logs_view.
 */
#ifndef SUPERVISOR_LOGS_LOGS_FILE_H
#define SUPERVISOR_LOGS_LOGS_FILE_H

#include <sys/types.h>

#include "supervisor/logs/logs_line.h"
#include "supervisor/policy/log_files.h"

struct logs_file {
	char name[STATE_DIR_NAME_MAX]; /* of the log: "agentnode-gate" */
	int fd;                        /* -1: read to its end */
	dev_t device;
	ino_t inode;
	unsigned newer; /* how many files of this log came after it */
	char *buffer;   /* owned, LOGS_LINE_MAX and one */
	size_t start, end;
	bool skipping; /* the rest of a line that was cut */
	char ts[LOGS_LINE_TIME];
};

/* Open generation 0 (being written) to LOG_FILES_KEPT (the oldest).
 * RESULT_NOT_FOUND, without a fault: there is none. */
enum result logs_file_open(const struct state_dir *dir, const char *name,
    unsigned generation, struct logs_file *file_r, time_t *written_r,
    struct json_fault *fault);
void logs_file_close(struct logs_file *file);

/* The next line; its bytes stay until the next call. RESULT_NOT_FOUND: there
 * is no more for now. follow: what a file that may still grow ends inside is
 * not a line yet; else it is one that is torn. */
enum result logs_file_next(
    struct logs_file *file, bool follow, struct logs_line *line_r);

#endif
