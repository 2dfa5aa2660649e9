/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Python requirements that name exactly one file each: NAME==VERSION
 * --hash=sha256:<64 hex>, nothing else (no range, extra, marker, URL or
 * option). Pure, fuzzed. Used by manifest_pack.c and agentnode-unpack; what
 * pip reads is written anew from the parsed form.
 */
#ifndef SUPERVISOR_PACKAGE_REQUIREMENT_H
#define SUPERVISOR_PACKAGE_REQUIREMENT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "supervisor/package/manifest_report.h"

#define REQUIREMENT_FILE "requirements.txt"
#define REQUIREMENT_FILE_MAX (1U << 20)
#define REQUIREMENT_ITEMS_MAX 500U
#define REQUIREMENT_LINE_MAX 16384U
#define REQUIREMENT_HASHES_MAX 64U

/* One requirement: appends {"name" (PEP 503),"version","hashes":["sha256:
 * <64 hex>",...]} to list. may_lack_hash: wheels of the package itself are
 * part of what is hashed. Faults go to report under path. */
void requirement_parse(const char *line, size_t len, bool may_lack_hash,
    const char *path, json_t *list, struct manifest_report *report);

/* A whole file: comments, empty lines, lines that go on behind '\'. Paths
 * are "requirements.txt:LINE". A name that comes twice is a fault. */
void requirement_parse_file(const char *bytes, size_t len, bool may_lack_hash,
    json_t *list, struct manifest_report *report);

/* The file that pip gets; caller frees. NULL: no memory. */
char *requirement_text(const json_t *list);

#endif
