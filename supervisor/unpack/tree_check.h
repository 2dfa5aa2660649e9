/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every tree that agentnode-unpack touches passes through here, whatever it
 * came from: names, links, duplicates, parents and bounds are judged, modes
 * made clean, contents hashed, and what is clean goes to a sink. At the end
 * stands the tree hash.
 */
#ifndef SUPERVISOR_UNPACK_TREE_CHECK_H
#define SUPERVISOR_UNPACK_TREE_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/result.h"
#include "supervisor/init/tree_stream.h"
#include "supervisor/unpack/unpack_io.h"
#include "supervisor/unpack/unpack_jobs.h"

/* One entry. Texts are borrowed for the call. */
struct tree_entry {
	enum tree_stream_type type;
	uint32_t mode;
	const char *path;   /* NUL-terminated */
	const char *target; /* links only */
	uint64_t size;      /* files: bytes of content that follow */
};

/* Takes clean entries, parents first, a file's content right behind it. */
struct tree_sink {
	enum result (*entry)(void *context, const struct tree_entry *entry);
	enum result (*data)(void *context, const uint8_t *bytes, size_t len);
	enum result (*end)(void *context);
	void *context;
};

struct tree_check; /* opaque */

struct tree_check_spec {
	struct unpack_io *io;
	const struct tree_sink *sink; /* NULL: hash only; borrowed */
	uint64_t max_bytes, max_files;
	/* The source is a directory of a file system: names cannot repeat
	 * and parents exist, so nothing is remembered to look for that. */
	bool is_directory;
	/* Keep the mode as it is instead of making it clean, so that a
	 * changed mode of a sealed tree changes the hash. */
	bool keep_mode;
	/* A folder may come again: two trees become one. Files may not. */
	bool merge_folders;
	/* Missing parents (archives) are made instead of refused. */
	bool make_parents;
};

struct tree_check_total {
	char hash[UNPACK_HASH_SIZE];
	uint64_t files, bytes;
};

enum result tree_check_new(
    const struct tree_check_spec *spec, struct tree_check **check_r);
void tree_check_free(struct tree_check **check);

/* path_len bytes of path need not be NUL-terminated; nor target. */
enum result tree_check_entry(struct tree_check *check,
    enum tree_stream_type type, uint32_t mode, const char *path,
    size_t path_len, const char *target, size_t target_len, uint64_t size);
/* Exactly size bytes after a file's entry, in any number of calls. */
enum result tree_check_data(
    struct tree_check *check, const uint8_t *bytes, size_t len);
enum result tree_check_end(
    struct tree_check *check, struct tree_check_total *total_r);

#endif
