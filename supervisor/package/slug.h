/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slugs: the short names of packages, used as lockfile keys and inside
 * volume, container and file names. Used by lockfile, install and commands.
 */
#ifndef SUPERVISOR_PACKAGE_SLUG_H
#define SUPERVISOR_PACKAGE_SLUG_H

#include <stdbool.h>
#include <stddef.h>

#define SLUG_MIN 3U
#define SLUG_MAX 60U
/* What a slug is, for sentences. */
#define SLUG_RULE "3 to 60 of a-z, 0-9 and single inner hyphens"

bool slug_is_valid(const char *text);

/* A slug from a package's name: "@scope/Server_Name" -> "server-name";
 * names too short get "mcp-" in front. False when nothing usable is left. */
bool slug_derive(const char *package, char slug_r[SLUG_MAX + 1]);

#endif
