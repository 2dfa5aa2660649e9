/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How far a misspelt word is from a known one: decides which command or key
 * is suggested. Pure; used by command_dispatch.c and config_table.c.
 */
#ifndef SUPERVISOR_POLICY_NEAR_WORD_H
#define SUPERVISOR_POLICY_NEAR_WORD_H

/* Longer words are near to nothing. */
#define NEAR_WORD_MAX 64U

/* Changes of one byte (insert, delete, replace, swap with the next) from a
 * to b, at most limit + 1. */
unsigned near_word_distance(const char *a, const char *b, unsigned limit);

#endif
