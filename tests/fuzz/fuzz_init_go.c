/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: the checks on the go memfd. What passes is walked as init
 * walks it; a word that leads outside is found by the sanitizer.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/init/init_go.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
walk(const struct init_go *go, uint32_t offset, uint32_t count)
{
	char **list = calloc((size_t)count + 1, sizeof(char *));
	size_t total = 0;

	if (list == NULL)
		return;
	init_go_words(go, offset, count, list);
	for (uint32_t i = 0; i < count; i++)
		total += strlen(list[i]);
	/* Used, so that the walk stays. */
	if (total > INIT_GO_MAX * (size_t)INIT_GO_WORDS_MAX)
		abort();
	free(list);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* Aligned, as a mapping is. */
	struct init_go *copy = size == 0 ? NULL : malloc(size);

	if (copy == NULL)
		return 0;
	memcpy(copy, data, size);
	if (init_go_valid(copy, size, INIT_GO_SECRET))
		walk(copy, copy->env_offset, copy->envc);
	if (init_go_valid(copy, size, INIT_GO_WORKLOAD)) {
		walk(copy, copy->argv_offset, copy->argc);
		walk(copy, copy->env_offset, copy->envc);
		if (init_go_cwd_borrow(copy)[0] != '/')
			abort();
	}
	free(copy);
	return 0;
}
