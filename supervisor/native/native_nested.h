/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Other file systems mounted inside a writable directory (a cache, a disk,
 * a socket somebody bound there): the user named the directory, not them,
 * so they are shown read-only. A line of mountinfo is the kernel's, but the
 * names in it are anybody's.
 */
#ifndef SUPERVISOR_NATIVE_NATIVE_NESTED_H
#define SUPERVISOR_NATIVE_NATIVE_NESTED_H

#include <stddef.h>

#include "supervisor/native/native_given.h"

#define NATIVE_NESTED_BYTES_MAX (4U << 20)

/* The mount point of one line of mountinfo (no newline), unescaped.
 * RESULT_BAD: it is no such line; RESULT_TOO_LONG. Pure. */
enum result native_nested_point(
    const char *line, size_t len, char path_r[NATIVE_VIEW_PATH_MAX]);

/* The same of any word of it, counted from 0: number, parent, device, root,
 * mount point. */
enum result native_nested_word(const char *line, size_t len, int number,
    char word_r[NATIVE_VIEW_PATH_MAX]);

/* A read-only step for each mount below the root. */
enum result native_nested_add(
    struct native_step_plan *plan, const struct native_given *root);

#endif
