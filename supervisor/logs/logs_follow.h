/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is added to the logs while one watches: told by the kernel (inotify),
 * never polled for. Used by `agentnode logs --follow`.
 */
#ifndef SUPERVISOR_LOGS_LOGS_FOLLOW_H
#define SUPERVISOR_LOGS_LOGS_FOLLOW_H

#include "supervisor/logs/logs_view.h"

/* Begin to watch the folder; before the first files are opened, so that
 * nothing falls between. fd_r is the caller's to close. */
enum result logs_follow_watch(
    const struct state_dir *dir, int *fd_r, struct json_fault *fault);

/* Show what comes, until spec->out takes no more (RESULT_CLOSED) or
 * the folder is (RESULT_NOT_FOUND). out_fd: behind spec->out. */
enum result logs_follow(
    struct logs_view *view, int fd, int out_fd, struct json_fault *fault);

#endif
