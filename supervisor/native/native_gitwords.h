/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which files a command line in a git config may run: its words, as a shell
 * may split them. For native_repository, which looks which of them are files
 * in the workspace. Pure.
 */
#ifndef SUPERVISOR_NATIVE_NATIVE_GITWORDS_H
#define SUPERVISOR_NATIVE_NATIVE_GITWORDS_H

#include <stddef.h>

#include "common/result.h"
#include "supervisor/native/native_gitconfig.h"

/* before: how many words of the same way of splitting came before it. Another
 * result than RESULT_OK ends it. */
typedef enum result native_gitwords_each(
    const char *word, size_t before, void *context);

/* Each word twice when there are quotes: with what is quoted taken for one,
 * and split there too. At most NATIVE_GITCONFIG_VALUE_MAX bytes. */
enum result native_gitwords_read(
    const char *value, native_gitwords_each *each, void *context);

#endif
