/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The set of paths a foreign tree has named so far, to refuse a second
 * entry of the same name and an entry below something that is no folder.
 * A balanced tree: no order or choice of names makes it slow. Pure.
 */
#ifndef SUPERVISOR_UNPACK_TREE_INDEX_H
#define SUPERVISOR_UNPACK_TREE_INDEX_H

#include "common/result.h"

enum tree_index_kind {
	TREE_INDEX_NONE,    /* not named yet */
	TREE_INDEX_FOLDER,  /* named as a folder */
	TREE_INDEX_IMPLIED, /* a folder only because something is in it */
	TREE_INDEX_OTHER,   /* a file or a link */
};

struct tree_index {
	void *root;
};

/* The kind under which path was named. */
enum tree_index_kind tree_index_find(
    const struct tree_index *index, const char *path);
/* Copies path. A name that is there already gets the new kind. */
enum result tree_index_put(
    struct tree_index *index, const char *path, enum tree_index_kind kind);
void tree_index_free(struct tree_index *index);

#endif
