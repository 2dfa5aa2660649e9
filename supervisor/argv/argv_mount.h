/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `-v` and `--mount` ask for, as one struct. Pure; used by the judge of
 * mounts, for the line and for the `Binds` of an inspect file.
 */
#ifndef SUPERVISOR_ARGV_ARGV_MOUNT_H
#define SUPERVISOR_ARGV_ARGV_MOUNT_H

#include <stdbool.h>

#include "common/result.h"

#define ARGV_MOUNT_TEXT_MAX 4096U

enum argv_mount_kind {
	ARGV_MOUNT_BIND,   /* source is a path of the host */
	ARGV_MOUNT_VOLUME, /* the engine's own, named or not */
	ARGV_MOUNT_MEMORY, /* tmpfs, devpts */
	ARGV_MOUNT_IMAGE,
};

struct argv_mount {
	enum argv_mount_kind kind;
	bool read_only;
	bool overlay; /* podman's :O: writes do not reach the source */
	bool shared;  /* mounts made inside appear on the host */
	char source[ARGV_MOUNT_TEXT_MAX]; /* "": none */
	char target[ARGV_MOUNT_TEXT_MAX];
};

/* [SOURCE:]TARGET[:OPTION,...]. RESULT_BAD: the engines refuse it. */
enum result argv_mount_volume(const char *text, struct argv_mount *mount_r);

/* type=...,source=...,target=...,... RESULT_BAD: no such record; what_r,
 * when not NULL, names the field, in at most 63 bytes. */
enum result argv_mount_record(
    const char *text, struct argv_mount *mount_r, char what_r[64]);

#endif
