/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tree hash: one record per entry, sorted by
 * path, each fed into SHA-256 behind its length as 8 bytes big-endian. A
 * record is canonical JSON:
 *   {"mode":"0755","path":"a","type":"d"}
 *   {"mode":"0644","path":"a/b","sha256":"<64 hex>","type":"f"}
 *   {"link":"b","mode":"0777","path":"a/c","type":"l"}
 * Owners and times are not in it. Used by agentnode-unpack only.
 */
#ifndef SUPERVISOR_UNPACK_TREE_HASH_H
#define SUPERVISOR_UNPACK_TREE_HASH_H

#include <stddef.h>
#include <stdint.h>

#include "common/result.h"
#include "supervisor/init/tree_stream.h"
#include "supervisor/unpack/tree_digest.h"
#include "supervisor/unpack/unpack_jobs.h"

struct tree_hash_record {
	char *path;   /* owned; target stands behind its NUL for links */
	char *target; /* into path, NULL unless a link */
	uint32_t mode;
	enum tree_stream_type type;
	uint8_t sha256[TREE_DIGEST_SHA256]; /* files */
};

/* Sorts the records and hashes them. */
enum result tree_hash_records(struct tree_hash_record *records, size_t count,
    char hash_r[UNPACK_HASH_SIZE]);

#endif
