/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an entry point may look like, and which file of the package it is.
 * Pure. Used by manifest*.c, agentnode-unpack and the runs of packages.
 */
#ifndef SUPERVISOR_PACKAGE_MANIFEST_ENTRYPOINT_H
#define SUPERVISOR_PACKAGE_MANIFEST_ENTRYPOINT_H

#include <stdbool.h>
#include <stddef.h>

#define MANIFEST_ENTRYPOINT_MAX 200U
#define MANIFEST_ENTRYPOINT_RULE                             \
	"must be module.path:function (python: identifiers " \
	"joined by dots) or path/file.mjs:function (node)"

/* python: module.path[:function]. node: a relative path with .js, .mjs or
 * .cjs, "./" in front or not, and [:function]. No "..", no empty part. */
bool manifest_entrypoint_is_valid(const char *text, bool is_node);

/* Of a valid one: the n-th (from 0) file that it may stand for, as a path
 * in the package ("a/b.py", then "a/b/__init__.py"). False: no more. */
bool manifest_entrypoint_file(
    const char *text, bool is_node, unsigned n, char *path_r, size_t size);

/* Behind the colon; "run" when there is none. Borrowed. */
const char *manifest_entrypoint_function(const char *text);

/* A letter or '_', then letters, digits and '_'. */
bool manifest_entrypoint_is_identifier(const char *text, size_t len);

#endif
