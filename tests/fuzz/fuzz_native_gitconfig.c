/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A git config, or the one line of a .git file, whatever it says: a place
 * inside of the workspace is a clean path in it, and no word is empty.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/native/native_gitplace.h"
#include "supervisor/native/native_gitwords.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct native_gitplace_from from = {"/w", "/home/u", "a/b"};

static void
fuzz_native_gitconfig_place(const struct native_gitplace *place)
{
	const char *path = place->path;

	if (strlen(place->named) >= sizeof(place->named) ||
	    strlen(path) + 1 >= sizeof(place->path) || path[0] == '/' ||
	    (!place->inside && path[0] != '\0') || strstr(path, "//") != NULL ||
	    strcmp(path, "..") == 0 || strncmp(path, "../", 3) == 0 ||
	    strstr(path, "/../") != NULL)
		abort();
}

static enum result
fuzz_native_gitconfig_word(const char *word, size_t before, void *context)
{
	struct native_gitplace place;
	size_t *words = context;

	if (word[0] == '\0' || before > *words ||
	    strlen(word) >= NATIVE_GITCONFIG_VALUE_MAX)
		abort();
	++*words;
	if (native_gitplace_find(&from, word, &place) == RESULT_OK)
		fuzz_native_gitconfig_place(&place);
	return RESULT_OK;
}

static enum result
fuzz_native_gitconfig_value(
    enum native_gitconfig_kind kind, const char *value, void *context)
{
	struct native_gitplace place;
	size_t words = 0;

	(void)context;
	if (value[0] == '\0' || strlen(value) >= NATIVE_GITCONFIG_VALUE_MAX ||
	    kind > NATIVE_GITCONFIG_OTHER)
		abort();
	if (native_gitplace_find(&from, value, &place) == RESULT_OK)
		fuzz_native_gitconfig_place(&place);
	return native_gitwords_read(value, fuzz_native_gitconfig_word, &words);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct native_gitplace place;

	(void)native_gitconfig_read(
	    (const char *)data, size, fuzz_native_gitconfig_value, NULL);
	if (native_gitplace_line(&from, "gitdir:", (const char *)data, size,
		&place) == RESULT_OK)
		fuzz_native_gitconfig_place(&place);
	if (native_gitplace_line(&from, "", (const char *)data, size, &place) ==
	    RESULT_OK)
		fuzz_native_gitconfig_place(&place);
	return 0;
}
