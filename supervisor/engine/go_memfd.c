/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lay out argv, environment and working directory in one block and seal
 * it. Called once per start; must never write beyond INIT_GO_MAX.
 */
#include "supervisor/engine/go_memfd.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/fd.h"
#include "supervisor/init/init_protocol.h"

struct go_memfd_layout {
	char *bytes; /* NULL while only measuring */
	size_t used;
};

static uint32_t
go_memfd_put(struct go_memfd_layout *layout, const void *from, size_t len)
{
	size_t offset = layout->used;

	layout->used += len;
	if (layout->bytes != NULL && from != NULL)
		memcpy(layout->bytes + offset, from, len);
	return (uint32_t)offset;
}

static uint32_t
go_memfd_count(const char *const *words)
{
	uint32_t count = 0;

	while (words != NULL && words[count] != NULL)
		count++;
	return count;
}

/* A table of offsets, then the strings. */
static uint32_t
go_memfd_strings(struct go_memfd_layout *layout, const char *const *words)
{
	uint32_t count = go_memfd_count(words);
	uint32_t table = go_memfd_put(layout, NULL, count * sizeof(uint32_t));

	for (uint32_t i = 0; i < count; i++) {
		uint32_t offset =
		    go_memfd_put(layout, words[i], strlen(words[i]) + 1);

		if (layout->bytes != NULL)
			memcpy(layout->bytes + table + i * sizeof(offset),
			    &offset, sizeof(offset));
	}
	/* The next table is aligned. */
	layout->used = (layout->used + 3) & ~(size_t)3;
	return table;
}

static void
go_memfd_fill(struct go_memfd_layout *layout, const char *const *argv,
    const char *const *envp, const char *cwd, uint32_t flags)
{
	struct init_go header = {.magic = INIT_MAGIC,
	    .version = INIT_PROTOCOL_VERSION,
	    .argc = go_memfd_count(argv),
	    .envc = go_memfd_count(envp),
	    .flags = flags};

	layout->used = sizeof(header);
	header.argv_offset = go_memfd_strings(layout, argv);
	header.env_offset = go_memfd_strings(layout, envp);
	header.cwd_offset = go_memfd_put(layout, cwd, strlen(cwd) + 1);
	header.size = (uint32_t)layout->used;
	if (layout->bytes != NULL)
		memcpy(layout->bytes, &header, sizeof(header));
}

/* Whether it fits, without adding sizes that could overflow. */
static bool
go_memfd_fits(const char *const *words)
{
	size_t sum = 0;

	for (size_t i = 0; words != NULL && words[i] != NULL; i++) {
		size_t len = strnlen(words[i], INIT_GO_MAX);

		if (len >= INIT_GO_MAX || sum + len + 8 >= INIT_GO_MAX)
			return false;
		sum += len + 8;
	}
	return true;
}

enum result
go_memfd_new(const char *const *argv, const char *const *envp, const char *cwd,
    uint32_t flags, int *fd_r)
{
	struct go_memfd_layout layout = {NULL, 0};
	enum result result;

	*fd_r = -1;
	if (!go_memfd_fits(argv) || !go_memfd_fits(envp) ||
	    strnlen(cwd, INIT_PATH_MAX) >= INIT_PATH_MAX)
		return RESULT_TOO_LONG;
	go_memfd_fill(&layout, argv, envp, cwd, flags);
	if (layout.used > INIT_GO_MAX)
		return RESULT_TOO_LONG;
	layout.bytes = calloc(1, layout.used);
	if (layout.bytes == NULL)
		return RESULT_NO_MEMORY;
	go_memfd_fill(&layout, argv, envp, cwd, flags);
	result =
	    fd_sealed_memfd("agentnode-go", layout.bytes, layout.used, fd_r);
	free(layout.bytes);
	return result;
}
