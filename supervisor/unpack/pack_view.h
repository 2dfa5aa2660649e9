/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What agentnode-unpack keeps of a package while it passes by: every name,
 * and the content of the few files that say what it is. A sink for
 * tree_check, so that folders and archives are judged by the same code.
 * Used by pack_judge.c and the pack jobs.
 */
#ifndef SUPERVISOR_UNPACK_PACK_VIEW_H
#define SUPERVISOR_UNPACK_PACK_VIEW_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "supervisor/package/manifest_report.h"
#include "supervisor/unpack/tree_check.h"

enum pack_view_file {
	PACK_VIEW_MANIFEST, /* agentnode.yaml */
	PACK_VIEW_REQUIREMENTS,
	PACK_VIEW_PACKAGE, /* package.json */
	PACK_VIEW_LOCK,    /* package-lock.json */
	PACK_VIEW_REPORT,  /* pip's, of a build */
	PACK_VIEW_FILES
};

struct pack_view; /* opaque */

/* clashes gets a fault for names that differ only by case; borrowed. */
enum result pack_view_new(
    struct manifest_report *clashes, struct pack_view **view_r);
void pack_view_free(struct pack_view **view);
void pack_view_sink(struct pack_view *view, struct tree_sink *sink_r);

/* After the tree ended: where the package begins. 0: at the top. 1: in the
 * one folder that everything lies in. -1: there is no manifest. */
int pack_view_settle(struct pack_view *view);

/* Paths are those of the package, behind what settle found. */
bool pack_view_has(const struct pack_view *view, const char *path);
/* A file DIR/... that ends so, or anything at all (end ""). */
bool pack_view_has_in(
    const struct pack_view *view, const char *folder, const char *end);
/* NULL: it is not there; *too_long_r: it is, and longer than allowed. */
const char *pack_view_content(const struct pack_view *view,
    enum pack_view_file file, size_t *len_r, bool *too_long_r);
const char *pack_view_file_name(enum pack_view_file file);

/* Calls back for every path; for the warnings. */
void pack_view_each(const struct pack_view *view,
    void (*look)(const char *path, void *context), void *context);

#endif
