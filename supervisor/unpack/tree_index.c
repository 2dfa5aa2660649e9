/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The set of names of a tree; see tree_index.h. Called by tree_check.c.
 * libc's tsearch is a red-black tree, so hostile names cost log n.
 */
#include "supervisor/unpack/tree_index.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

struct tree_index_node {
	enum tree_index_kind kind;
	const char *path; /* into text, or the caller's while searching */
	char text[];
};

static int
tree_index_order(const void *a, const void *b)
{
	const struct tree_index_node *left = a, *right = b;

	return strcmp(left->path, right->path);
}

static struct tree_index_node *
tree_index_node(const struct tree_index *index, const char *path)
{
	struct tree_index_node key = {.path = path};
	void *found =
	    tfind(&key, (void *const *)&index->root, tree_index_order);

	return found == NULL ? NULL : *(struct tree_index_node **)found;
}

enum tree_index_kind
tree_index_find(const struct tree_index *index, const char *path)
{
	const struct tree_index_node *node = tree_index_node(index, path);

	return node == NULL ? TREE_INDEX_NONE : node->kind;
}

enum result
tree_index_put(
    struct tree_index *index, const char *path, enum tree_index_kind kind)
{
	struct tree_index_node *node = tree_index_node(index, path);
	size_t size = strlen(path) + 1;

	if (node != NULL) {
		node->kind = kind;
		return RESULT_OK;
	}
	node = malloc(sizeof(*node) + size);
	if (node == NULL)
		return RESULT_NO_MEMORY;
	memcpy(node->text, path, size);
	node->path = node->text;
	node->kind = kind;
	if (tsearch(node, &index->root, tree_index_order) == NULL) {
		free(node);
		return RESULT_NO_MEMORY;
	}
	return RESULT_OK;
}

void
tree_index_free(struct tree_index *index)
{
	tdestroy(index->root, free);
	index->root = NULL;
}
