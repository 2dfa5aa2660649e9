/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a path of the host is, by its name alone: nothing is opened, and a
 * link that leads elsewhere is not seen. Pure; used by the judges of mounts
 * and of devices.
 */
#ifndef SUPERVISOR_ARGV_ARGV_PLACE_H
#define SUPERVISOR_ARGV_ARGV_PLACE_H

#include <stdbool.h>
#include <stddef.h>

#define ARGV_PLACE_PATH_MAX 4096U

enum argv_place {
	ARGV_PLACE_ENGINE_SOCKET, /* the engine's, or a directory with it */
	ARGV_PLACE_SOCKET,        /* another unix socket */
	ARGV_PLACE_ROOT,          /* "/" */
	ARGV_PLACE_KERNEL,        /* /proc, /sys, /dev and below */
	ARGV_PLACE_CREDENTIALS,   /* a file or directory that holds keys */
	ARGV_PLACE_HOME,          /* a home directory itself */
	ARGV_PLACE_SYSTEM,        /* /etc, /usr, /var and the like */
	ARGV_PLACE_PROJECT,       /* below a home, or relative */
	ARGV_PLACE_SCRATCH,       /* below /tmp or /var/tmp */
	ARGV_PLACE_OTHER,
};

/* "a//b/./c/../d" -> "a/b/d"; false: too long. */
bool argv_place_clean(const char *path, char *clean_r, size_t size);

/* path as written: absolute, relative, or with "~" or "$" in front. */
enum argv_place argv_place_of(const char *path);

#endif
