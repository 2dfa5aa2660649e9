/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A git config, whatever it says: the places are inside the workspace, by
 * names alone.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/native/native_gitconfig.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
fuzz_native_gitconfig_place(const char *place)
{
	size_t len = strlen(place);

	if (len == 0 || len >= NATIVE_VIEW_PATH_MAX / 2 || place[0] == '/' ||
	    strstr(place, "//") != NULL || strcmp(place, "..") == 0 ||
	    strncmp(place, "../", 3) == 0 || strstr(place, "/../") != NULL)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct native_gitconfig places;

	(void)native_gitconfig_read((const char *)data, size, "/w", &places);
	if (places.count > NATIVE_GITCONFIG_PLACES_MAX)
		abort();
	for (size_t i = 0; i < places.count; i++)
		fuzz_native_gitconfig_place(places.places[i]);
	return 0;
}
