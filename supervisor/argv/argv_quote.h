/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words as a shell takes them back, for a line that a person copies. Pure;
 * what is printed is never run by us.
 */
#ifndef SUPERVISOR_ARGV_ARGV_QUOTE_H
#define SUPERVISOR_ARGV_ARGV_QUOTE_H

#include "common/buffer.h"

/* Append one word: as it is when harmless, else in single quotes. */
enum result argv_quote_word(struct buffer *buffer, const char *word);

/* All of them, a space between two. */
enum result argv_quote_words(
    struct buffer *buffer, const char *const *words, size_t count);

#endif
