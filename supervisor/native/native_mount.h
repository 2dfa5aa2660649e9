/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The few mount calls the launcher makes, by descriptor: nothing is looked
 * up twice. Each ends the process with a sentence when it fails, unless it
 * says otherwise.
 */
#ifndef SUPERVISOR_NATIVE_NATIVE_MOUNT_H
#define SUPERVISOR_NATIVE_NATIVE_MOUNT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* What a mount must not allow, from the kernel's MOUNT_ATTR_. */
#define NATIVE_MOUNT_RO 1U
#define NATIVE_MOUNT_NOSUID 2U
#define NATIVE_MOUNT_NODEV 4U
#define NATIVE_MOUNT_NOEXEC 8U

struct native_mount_option {
	const char *key, *value;
};

/* openat2 with RESOLVE_NO_MAGICLINKS and resolve; -1 with errno. */
int native_mount_open(
    int at, const char *path, uint64_t flags, uint64_t resolve);

/* A detached copy of the mounts at and below fd, private, with NATIVE_MOUNT_
 * flags for all of it; -1 with errno. */
int native_mount_clone(int fd, uint64_t attributes);
/* Ids on disk become others by the mapping of a user namespace. 0 or errno
 * (EINVAL: the file system cannot). */
int native_mount_map(int tree, int userns);
/* The mount itself, not what is below, read-only from now on. */
void native_mount_freeze(int mount);
/* A new file system, detached. */
int native_mount_new(const char *type, uint64_t attributes,
    const struct native_mount_option *options, size_t count);
/* A new tmpfs: size in bytes. */
int native_mount_tmpfs(
    uint64_t attributes, uint64_t size, unsigned mode, uid_t uid, gid_t gid);
/* Put a detached mount on what target holds open. name is for the fault. */
void native_mount_attach(int tree, int target, const char *name);

#endif
