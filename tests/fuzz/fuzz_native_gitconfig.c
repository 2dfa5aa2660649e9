/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A git config, or the one line of a .git file, whatever it says: a place
 * inside of the workspace is a clean path in it.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/native/native_gitconfig.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct native_gitplace_from from = {
	    "/w", "/home/u", "a/b"};
	struct native_gitconfig places;
	struct native_gitplace place;

	if (native_gitconfig_read((const char *)data, size, &from, &places) !=
	    RESULT_OK)
		places.count = 0;
	for (size_t i = 0; i < places.count; i++)
		fuzz_native_gitconfig_place(&places.places[i].place);
	if (native_gitplace_line(&from, "gitdir:", (const char *)data, size,
		&place) == RESULT_OK)
		fuzz_native_gitconfig_place(&place);
	if (native_gitplace_line(&from, "", (const char *)data, size, &place) ==
	    RESULT_OK)
		fuzz_native_gitconfig_place(&place);
	return 0;
}
