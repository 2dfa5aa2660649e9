/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names by which a layer of an image says that something of the layers
 * below is gone. Used by layer_source.c. Pure.
 */
#ifndef SUPERVISOR_UNPACK_LAYER_MARK_H
#define SUPERVISOR_UNPACK_LAYER_MARK_H

#include <stddef.h>

enum layer_mark {
	LAYER_MARK_NONE,   /* an entry like any other */
	LAYER_MARK_REMOVE, /* the name behind ".wh." goes */
	LAYER_MARK_EMPTY,  /* all in its folder goes */
	LAYER_MARK_OTHER,  /* of the engine's own; means nothing */
	LAYER_MARK_BAD,    /* ".wh." alone, or ".wh.." and the like */
};

/* path is checked (tree_name.h) and writable; what the mark is about
 * replaces it: the removed path, or the folder ("" is the top). */
enum layer_mark layer_mark_read(char *path, size_t *len);

#endif
