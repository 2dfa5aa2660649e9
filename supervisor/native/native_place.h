/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Placeholders on the host for protected paths that are not there: made
 * before a run, removed after it when they are still ours and empty. Runs
 * side by side in one workspace hold the same ones together; what a killed
 * run left is removed by the next start. Used by exec around a native run.
 */
#ifndef SUPERVISOR_NATIVE_NATIVE_PLACE_H
#define SUPERVISOR_NATIVE_NATIVE_PLACE_H

#include <stddef.h>

#include "common/result.h"
#include "supervisor/native/native_view.h"

struct native_place; /* opaque: what one run holds */

/* Removes leftovers, makes the view and its placeholders, all under one
 * lock, so that no other run changes what was looked at. fault_r as of
 * native_view_make. On a fault nothing stays, *place_r is NULL. The choice's
 * held is ours to fill. */
enum result native_place_begin(const struct native_view_choice *choice,
    struct native_view *view_r, struct native_place **place_r, char *fault_r,
    size_t fault_size);

/* The run has ended, nothing of it lives: placeholders that nobody else
 * holds are removed. A kill before it leaves them to the next start.
 * RESULT_MISMATCH: one was changed or removed by somebody; what was changed
 * stays. */
enum result native_place_end(struct native_place *place);

/* After the end: protected paths that are not what they were before, by
 * whatever on the host (a mount holds against the command, not against its
 * user), and placeholders that were taken away or filled. NULL behind the last
 * one; borrowed. */
const char *native_place_changed(const struct native_place *place, size_t i);

/* Ends it when that was not done. Accepts NULL, clears. */
void native_place_free(struct native_place **place);

/* Only remove what killed runs left; each (may be NULL) is told every path
 * that was removed. RESULT_NOT_FOUND: no run ever held one. */
typedef void native_place_each(const char *path, void *context);
enum result native_place_sweep(
    const char *agentnode, native_place_each *each, void *context);

#endif
