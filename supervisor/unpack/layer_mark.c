/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See layer_mark.h. Called once per entry; must never make a path that the
 * check of names would not let pass.
 */
#include "supervisor/unpack/layer_mark.h"

#include <string.h>

#define LAYER_MARK_PREFIX ".wh."
#define LAYER_MARK_PREFIX_LEN 4U
#define LAYER_MARK_OPAQUE ".wh..wh..opq"

enum layer_mark
layer_mark_read(char *path, size_t *len)
{
	size_t at = *len, rest;
	const char *name;

	while (at > 0 && path[at - 1] != '/')
		at--;
	name = path + at;
	rest = *len - at;
	if (rest < LAYER_MARK_PREFIX_LEN ||
	    memcmp(name, LAYER_MARK_PREFIX, LAYER_MARK_PREFIX_LEN) != 0)
		return LAYER_MARK_NONE;
	if (rest == strlen(LAYER_MARK_OPAQUE) &&
	    memcmp(name, LAYER_MARK_OPAQUE, rest) == 0) {
		*len = at > 0 ? at - 1 : 0;
		path[*len] = '\0';
		return LAYER_MARK_EMPTY;
	}
	name += LAYER_MARK_PREFIX_LEN;
	rest -= LAYER_MARK_PREFIX_LEN;
	if (rest >= LAYER_MARK_PREFIX_LEN &&
	    memcmp(name, LAYER_MARK_PREFIX, LAYER_MARK_PREFIX_LEN) == 0)
		return LAYER_MARK_OTHER;
	if (rest == 0 ||
	    (name[0] == '.' && (rest == 1 || (rest == 2 && name[1] == '.'))))
		return LAYER_MARK_BAD;
	memmove(path + at, name, rest);
	*len = at + rest;
	path[*len] = '\0';
	return LAYER_MARK_REMOVE;
}
