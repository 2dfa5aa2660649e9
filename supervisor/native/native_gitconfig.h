/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a repository's config names: other places that git reads, and words
 * that it runs. Those inside the workspace are as good as the config and are
 * protected like it. The user wrote the config; it is read for what it says,
 * not judged. Read as git reads it, byte for byte. Pure.
 */
#ifndef SUPERVISOR_NATIVE_NATIVE_GITCONFIG_H
#define SUPERVISOR_NATIVE_NATIVE_GITCONFIG_H

#include <stdbool.h>
#include <stddef.h>

#include "common/result.h"

#define NATIVE_GITCONFIG_BYTES_MAX (256U << 10)
#define NATIVE_GITCONFIG_VALUE_MAX 4096U

enum native_gitconfig_kind {
	NATIVE_GITCONFIG_HOOKS,   /* core.hooksPath: a directory */
	NATIVE_GITCONFIG_INCLUDE, /* another config */
	NATIVE_GITCONFIG_RUN,     /* git runs it: fsmonitor, filters, ... */
	NATIVE_GITCONFIG_OTHER    /* anything else that has a value */
};

/* One value that is not empty: quotes, escapes and continued lines undone.
 * Another result than RESULT_OK ends the reading. */
typedef enum result native_gitconfig_each(
    enum native_gitconfig_kind kind, const char *value, void *context);

/* RESULT_BAD: git would not read it, or not like that; RESULT_TOO_LONG: a
 * value or a name is longer than is looked at; else what each says. */
enum result native_gitconfig_read(
    const char *text, size_t len, native_gitconfig_each *each, void *context);

#endif
