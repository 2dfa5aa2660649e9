/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The walk that only looks; see tree_stat.h. Entries are taken in the order
 * in which the folder lists them: another order is another fingerprint,
 * which costs a full hash and never hides a change. Must never open anything
 * but folders.
 */
#include "supervisor/unpack/tree_stat.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "common/fd.h"
#include "supervisor/init/tree_stream.h"
#include "supervisor/unpack/tree_digest.h"
#include "supervisor/unpack/tree_walk.h"

#define TREE_STAT_CHECK_EVERY 1024U
#define TREE_STAT_XFS 0x58465342L /* XFS_SB_MAGIC, not in linux/magic.h */
#ifndef STATX_ATTR_DAX
#define STATX_ATTR_DAX 0x00200000
#endif
#ifndef STATX_MNT_ID
#define STATX_MNT_ID 0x00001000U
#endif
/* Never used again within one boot (Linux 6.8); else the ordinary number. */
#ifndef STATX_MNT_ID_UNIQUE
#define STATX_MNT_ID_UNIQUE 0x00004000U
#endif
#define TREE_STAT_WANTED (STATX_BASIC_STATS | STATX_BTIME)

/* What stands before each name in the hash. Numbers only and no padding. */
struct tree_stat_record {
	uint64_t mode, owner, links, size, ino, dev, rdev, mount;
	uint64_t modified[2], changed[2], born[2];
	uint64_t attributes, name_len;
};

struct tree_stat {
	struct unpack_io *io;
	struct tree_digest *digest;
	struct tree_stat_total *total;
	uint64_t files_left, mount;
	uid_t own;
	unsigned depth;
};

static enum result
tree_stat_fault(struct tree_stat *walk, const char *name, const char *what)
{
	return unpack_io_fault(walk->io, UNPACK_UNREADABLE, "\"%s\": %s: %m",
	    unpack_io_name(name, strlen(name)), what);
}

static void
tree_stat_unsteady(struct tree_stat *walk, const char *word)
{
	if (walk->total->unsteady == NULL)
		walk->total->unsteady = word;
}

/* Who but root and ourselves could change it, and not by its own inode? A
 * folder may be anybody's (the engine gives the topmost one to its user): it
 * has no content that is written, and what changes in it moves its ctime. */
static void
tree_stat_judge(struct tree_stat *walk, const struct statx *info)
{
	bool is_link = S_ISLNK(info->stx_mode);
	bool is_file = S_ISREG(info->stx_mode);
	int64_t changed_ns = info->stx_ctime.tv_sec * INT64_C(1000000000) +
			     info->stx_ctime.tv_nsec;

	if (changed_ns > walk->total->newest_ns)
		walk->total->newest_ns = changed_ns;
	if (is_file && info->stx_nlink != 1)
		tree_stat_unsteady(walk, "hard_link");
	if (!is_link && (info->stx_mode & (S_IWGRP | S_IWOTH)) != 0)
		tree_stat_unsteady(walk, "writable");
	if (is_file && info->stx_uid != 0 && info->stx_uid != walk->own)
		tree_stat_unsteady(walk, "owner");
	if ((info->stx_attributes & STATX_ATTR_DAX) != 0)
		tree_stat_unsteady(walk, "filesystem");
	if ((info->stx_mask & STATX_BASIC_STATS) != STATX_BASIC_STATS)
		tree_stat_unsteady(walk, "filesystem");
}

static enum result
tree_stat_put(
    struct tree_stat *walk, const char *name, const struct statx *info)
{
	struct tree_stat_record record = {
	    .mode = info->stx_mode,
	    .owner = (uint64_t)info->stx_uid << 32 | info->stx_gid,
	    .links = info->stx_nlink,
	    .size = info->stx_size,
	    .ino = info->stx_ino,
	    .dev = (uint64_t)info->stx_dev_major << 32 | info->stx_dev_minor,
	    .rdev = (uint64_t)info->stx_rdev_major << 32 | info->stx_rdev_minor,
	    .mount = walk->mount,
	    .modified = {(uint64_t)info->stx_mtime.tv_sec,
		info->stx_mtime.tv_nsec},
	    .changed = {(uint64_t)info->stx_ctime.tv_sec,
		info->stx_ctime.tv_nsec},
	    .born = {(uint64_t)info->stx_btime.tv_sec, info->stx_btime.tv_nsec},
	    .attributes = info->stx_attributes,
	    .name_len = strlen(name),
	};
	enum result result;

	tree_stat_judge(walk, info);
	result = tree_digest_put(walk->digest, &record, sizeof(record));
	if (result == RESULT_OK && record.name_len > 0)
		result = tree_digest_put(walk->digest, name, record.name_len);
	return result;
}

/* The mount is part of each record; one that lies over an entry is none of
 * this tree. */
static enum result
tree_stat_look(
    struct tree_stat *walk, int fd, const char *name, struct statx *info_r)
{
	int flags =
	    AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_STATX_SYNC_AS_STAT;

	if (name[0] == '\0')
		flags |= AT_EMPTY_PATH;
	if (statx(fd, name, flags, TREE_STAT_WANTED | STATX_MNT_ID_UNIQUE,
		info_r) != 0)
		return tree_stat_fault(walk, name, "stat");
	if ((info_r->stx_mask & (STATX_MNT_ID | STATX_MNT_ID_UNIQUE)) == 0)
		tree_stat_unsteady(walk, "filesystem");
	if (walk->mount == 0)
		walk->mount = info_r->stx_mnt_id;
	if (info_r->stx_mnt_id != walk->mount)
		return unpack_io_fault(walk->io, UNPACK_UNSAFE,
		    "\"%s\" is another mount",
		    unpack_io_name(name, strlen(name)));
	return RESULT_OK;
}

static enum result
tree_stat_target(struct tree_stat *walk, int fd, const char *name)
{
	char target[TREE_STREAM_PATH_MAX + 1];
	ssize_t len = readlinkat(fd, name, target, sizeof(target));
	uint64_t size;
	enum result result;

	if (len < 0)
		return tree_stat_fault(walk, name, "read the link");
	size = (uint64_t)len;
	result = tree_digest_put(walk->digest, &size, sizeof(size));
	if (result == RESULT_OK && len > 0)
		result = tree_digest_put(walk->digest, target, (size_t)len);
	return result;
}

static enum result tree_stat_folder(struct tree_stat *walk, int fd);

static enum result
tree_stat_descend(struct tree_stat *walk, int dir_fd, const char *name)
{
	int fd FD_CLEANUP =
	    tree_walk_openat2(dir_fd, name, O_RDONLY | O_DIRECTORY);
	struct statx info;
	enum result result;

	if (fd < 0)
		return tree_stat_fault(walk, name, "open");
	result = tree_stat_look(walk, fd, "", &info);
	if (result == RESULT_OK)
		result = tree_stat_put(walk, name, &info);
	return result == RESULT_OK ? tree_stat_folder(walk, fd) : result;
}

static enum result
tree_stat_entry(struct tree_stat *walk, int fd, const char *name)
{
	struct statx info;
	enum result result;

	if (walk->files_left == 0)
		return unpack_io_fault(walk->io, UNPACK_TOO_BIG,
		    "the folder has more entries than allowed");
	walk->files_left--;
	if (++walk->total->entries % TREE_STAT_CHECK_EVERY == 0 &&
	    (result = unpack_io_check(walk->io)) != RESULT_OK)
		return result;
	result = tree_stat_look(walk, fd, name, &info);
	if (result != RESULT_OK)
		return result;
	if (S_ISDIR(info.stx_mode))
		return tree_stat_descend(walk, fd, name);
	result = tree_stat_put(walk, name, &info);
	if (result == RESULT_OK && S_ISLNK(info.stx_mode))
		result = tree_stat_target(walk, fd, name);
	return result;
}

static enum result
tree_stat_list(struct tree_stat *walk, int fd, DIR *folder)
{
	static const struct tree_stat_record end = {0};
	const struct dirent *entry;
	enum result result = RESULT_OK;

	rewinddir(folder); /* the offset is shared with an earlier job */
	errno = 0;
	while (result == RESULT_OK && (entry = readdir(folder)) != NULL) {
		if (strcmp(entry->d_name, ".") != 0 &&
		    strcmp(entry->d_name, "..") != 0)
			result = tree_stat_entry(walk, fd, entry->d_name);
		errno = 0;
	}
	if (result == RESULT_OK && errno != 0)
		result = tree_stat_fault(walk, "", "list");
	if (result == RESULT_OK) /* of this folder: no entry has mode 0 */
		result = tree_digest_put(walk->digest, &end, sizeof(end));
	return result;
}

static enum result
tree_stat_folder(struct tree_stat *walk, int fd)
{
	int own = -1;
	enum result result;
	DIR *folder;

	if (walk->depth >= TREE_STREAM_DEPTH_MAX)
		return unpack_io_fault(
		    walk->io, UNPACK_TOO_BIG, "the tree is too deep");
	own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	folder = own < 0 ? NULL : fdopendir(own);
	if (folder == NULL) {
		fd_close(&own);
		return tree_stat_fault(walk, "", "list");
	}
	walk->depth++;
	result = tree_stat_list(walk, fd, folder);
	walk->depth--;
	(void)closedir(folder);
	return result;
}

/* File systems where every write, also one through a mapping after a
 * write-back, moves the ctime of the inode that is looked at. */
static bool
tree_stat_known(const struct statfs *place)
{
	return place->f_type == EXT4_SUPER_MAGIC ||
	       place->f_type == TREE_STAT_XFS ||
	       place->f_type == BTRFS_SUPER_MAGIC;
}

static enum result
tree_stat_begin(struct tree_stat *walk, int root_fd)
{
	struct statfs place;
	struct statx info;
	uint64_t where[2] = {0, 0};
	enum result result;

	if (fstatfs(root_fd, &place) != 0)
		return tree_stat_fault(walk, "", "file system");
	if (!tree_stat_known(&place))
		tree_stat_unsteady(walk, "filesystem");
	where[0] = (uint64_t)place.f_type;
	memcpy(&where[1], &place.f_fsid, sizeof(where[1]));
	result = tree_digest_start(walk->digest, TREE_DIGEST_SHA256);
	if (result == RESULT_OK)
		result = tree_digest_put(walk->digest, where, sizeof(where));
	if (result == RESULT_OK)
		result = tree_stat_look(walk, root_fd, "", &info);
	if (result == RESULT_OK)
		result = tree_stat_put(walk, "", &info);
	return result;
}

enum result
tree_stat_read(struct unpack_io *io, int root_fd, uint64_t max_files,
    struct tree_stat_total *total_r)
{
	struct tree_stat walk = {.io = io,
	    .total = total_r,
	    .files_left = max_files,
	    .own = geteuid()};
	uint8_t sum[TREE_DIGEST_SHA256];
	enum result result;

	*total_r = (struct tree_stat_total){.unsteady = NULL};
	result = tree_digest_new(&walk.digest);
	if (result == RESULT_OK)
		result = tree_stat_begin(&walk, root_fd);
	if (result == RESULT_OK)
		result = tree_stat_folder(&walk, root_fd);
	if (result == RESULT_OK)
		result = tree_digest_end(walk.digest, sum);
	tree_digest_free(&walk.digest);
	if (result != RESULT_OK)
		return result;
	memcpy(total_r->stat, "sha256:", 7); /* NOLINT: the rest follows */
	tree_digest_hex(sum, sizeof(sum), total_r->stat + 7);
	return RESULT_OK;
}
