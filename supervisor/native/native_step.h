/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A view while it is being made: steps are added in order, with the
 * directories they need, and the first fault is said in one sentence. For
 * the files that make a view; pure but for native_step_look.
 */
#ifndef SUPERVISOR_NATIVE_NATIVE_STEP_H
#define SUPERVISOR_NATIVE_NATIVE_STEP_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "common/result.h"
#include "supervisor/native/native_view.h"

struct native_step_plan {
	struct native_view *view; /* borrowed, as is the text */
	char *fault;
	size_t fault_size;
};

/* Write the sentence and hand the result back. */
enum result native_step_fault(struct native_step_plan *plan, enum result result,
    const char *format, ...) __attribute__((format(printf, 3, 4)));

/* One more step, after a NATIVE_STEP_DIR for each directory above target
 * that no step has and none brings along. step_r may be NULL; borrowed. */
enum result native_step_add(struct native_step_plan *plan,
    enum native_step_kind kind, const char *target,
    struct native_step **step_r);
/* The same with a source, looked at before. */
enum result native_step_bind(struct native_step_plan *plan, bool writable,
    const char *target, const char *source, const struct stat *info);

/* True when path is dir or lies below it. Both canonical. */
bool native_step_below(const char *path, const char *dir);
/* dir and name with one separator; RESULT_TOO_LONG. */
enum result native_step_join(
    char path_r[NATIVE_VIEW_PATH_MAX], const char *dir, const char *name);
/* The last step with exactly this target, or NULL. */
struct native_step *native_step_find(
    const struct native_view *view, const char *target);

/* The step that decides what path is: the last at or above it, or NULL. */
const struct native_step *native_step_decides(
    const struct native_view *view, const char *path);

/* What an absolute path is, itself, with no link followed on the way. Its
 * descriptor (O_PATH) goes to fd_r, which may be NULL. RESULT_NOT_FOUND;
 * RESULT_REFUSED: a link on the way; RESULT_SYSTEM. */
enum result native_step_look(const char *path, struct stat *info_r, int *fd_r);

#endif
