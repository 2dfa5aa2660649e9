/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The log files of our processes: AGENTNODE_HOME/log/NAME.jsonl, 0600, one
 * per program ("agentnode-egress-proxy"), appended to by every run. Opened
 * by the supervisor, which hands the descriptor on; shown by `logs`.
 */
#ifndef SUPERVISOR_POLICY_LOG_FILES_H
#define SUPERVISOR_POLICY_LOG_FILES_H

#include <stdbool.h>
#include <stddef.h>

#include "common/json_field.h"
#include "common/result.h"
#include "supervisor/policy/state_dir.h"

#define LOG_FILES_DIR "log"
#define LOG_FILES_END ".jsonl"
#define LOG_FILES_SIZE_MAX (10U * 1024U * 1024U) /* then a new one begins */
#define LOG_FILES_KEPT 5U /* NAME.jsonl.1 (newest) to NAME.jsonl.5 */

/* Lower-case letters, digits and hyphens, at most 64: what becomes a file
 * name. */
bool log_files_is_name(const char *name);

/* Open for appending, O_NONBLOCK off; a file that reached its size is
 * rotated away first. home is AGENTNODE_HOME's path (config_home). */
enum result log_files_open(
    const char *home, const char *name, int *fd_r, struct json_fault *fault);

/* True when the file behind fd is full: open again, send log_replace. */
bool log_files_is_full(int fd);

/* Names with a log, sorted, for `logs`: calls each once. */
enum result log_files_list(const struct state_dir *log_dir,
    void (*each)(const char *name, void *context), void *context,
    struct json_fault *fault);

#endif
