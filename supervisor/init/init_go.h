/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The go memfd and the secret memfd: checked offsets, no parsing. Both come
 * from our side, and are checked all the same.
 */
#ifndef SUPERVISOR_INIT_GO_H
#define SUPERVISOR_INIT_GO_H

#include <stdbool.h>
#include <stddef.h>

#include "supervisor/init/init_protocol.h"

#define INIT_GO_WORDS_MAX 8192U
/* Where a workload started with INIT_GO_RESULT finds its standard output;
 * its descriptor 1 is its standard error then. */
#define INIT_RESULT_FD 3

enum init_go_flag {
	INIT_GO_RESULT = 1, /* what is printed is not the result */
	INIT_GO_FLAGS = INIT_GO_RESULT
};

enum init_go_kind {
	INIT_GO_WORKLOAD, /* argv of at least one word, cwd absolute */
	INIT_GO_SECRET,   /* environment only */
};

/* Pure: whether every offset leads to a terminated string inside and every
 * environment entry has a name. */
bool init_go_valid(const void *bytes, size_t size, enum init_go_kind kind);

/* Maps a memfd that has all four seals and is valid; the mapping is the
 * caller's. NULL with errno. */
const struct init_go *init_go_map(int fd, enum init_go_kind kind);
void init_go_unmap(const struct init_go *go);

/* Puts words[0..count) into list_r; the strings stay in the mapping. */
void init_go_words(
    const struct init_go *go, uint32_t offset, uint32_t count, char **list_r);
const char *init_go_cwd_borrow(const struct init_go *go);

/* For the child that becomes the workload: argv and environment as execve
 * wants them; the secrets come last, as the first entry of a name wins.
 * secret may be NULL. 0 or errno. */
int init_go_lists(const struct init_go *go, const struct init_go *secret,
    char ***argv_r, char ***env_r);
/* With INIT_GO_RESULT, what it prints goes to its standard error, and its
 * standard output is where nothing gets by accident. Last, so that of all
 * descriptors from 3 on this one alone is there after exec. 0 or errno. */
int init_go_result(const struct init_go *go);

#endif
