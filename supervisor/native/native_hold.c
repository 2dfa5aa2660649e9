/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Placeholders, one at a time (see the header). Called by native_place; must
 * never follow a link, overwrite, or remove what holds a byte of somebody's.
 */
#include "supervisor/native/native_hold.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "common/fd.h"
#include "supervisor/native/native_protect.h"

#define NATIVE_HOLD_CONTENT_MAX 16U
/* Not in every linux/magic.h. */
#define NATIVE_HOLD_NTFS3 0x7366746eUL
#define NATIVE_HOLD_EXFAT 0x2011bab0UL
#define NATIVE_HOLD_F2FS 0xf2f52010UL

/* The directory above, opened without a link; name_r is the last part. */
static int
native_hold_parent(const char *path, const char **name_r)
{
	char above[NATIVE_VIEW_PATH_MAX];
	struct open_how how = {.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
	    .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
	const char *end = strrchr(path, '/');

	errno = EINVAL;
	if (end == NULL || end == path)
		return -1;
	memcpy(above, path, (size_t)(end - path));
	above[end - path] = '\0';
	*name_r = end + 1;
	return (int)syscall(SYS_openat2, AT_FDCWD, above, &how, sizeof(how));
}

static enum result
native_hold_fill(int parent, const char *name, const char *content)
{
	int fd FD_CLEANUP = openat(parent, name,
	    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	enum result result;

	if (fd < 0)
		return errno == EEXIST ? RESULT_EXISTS : RESULT_SYSTEM;
	result = fd_write_all(fd, content, strlen(content));
	if (result != RESULT_OK)
		(void)unlinkat(parent, name, 0);
	return result;
}

void
native_hold_plan(struct native_journal_entry *entry)
{
	const char *name = NULL;
	int parent FD_CLEANUP = native_hold_parent(entry->path, &name);
	struct stat info;

	entry->ino = 0;
	entry->dev = parent >= 0 && fstat(parent, &info) == 0 ? info.st_dev : 0;
}

enum result
native_hold_make(struct native_journal_entry *entry)
{
	const char *name = NULL;
	int parent FD_CLEANUP = native_hold_parent(entry->path, &name);
	struct stat info;
	enum result result = RESULT_OK;

	if (parent < 0)
		return RESULT_SYSTEM;
	if (!entry->dir)
		result = native_hold_fill(
		    parent, name, native_protect_content(entry->path));
	else if (mkdirat(parent, name, 0755) != 0)
		result = errno == EEXIST ? RESULT_EXISTS : RESULT_SYSTEM;
	if (result != RESULT_OK)
		return result;
	/* Nobody would know that it is ours. */
	if (fstatat(parent, name, &info, AT_SYMLINK_NOFOLLOW) != 0) {
		(void)unlinkat(parent, name, entry->dir ? AT_REMOVEDIR : 0);
		return RESULT_SYSTEM;
	}
	entry->dev = info.st_dev;
	entry->ino = info.st_ino;
	return RESULT_OK;
}

static enum result
native_hold_is_empty(int parent, const char *name)
{
	int fd = openat(
	    parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *list = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *item;
	enum result result = RESULT_OK;

	if (list == NULL) {
		fd_close(&fd);
		return RESULT_SYSTEM;
	}
	errno = 0;
	while (result == RESULT_OK && (item = readdir(list)) != NULL) {
		if (strcmp(item->d_name, ".") != 0 &&
		    strcmp(item->d_name, "..") != 0)
			result = RESULT_MISMATCH;
	}
	if (result == RESULT_OK && errno != 0)
		result = RESULT_SYSTEM;
	(void)closedir(list);
	return result;
}

static enum result
native_hold_says(int parent, const char *name, const char *content)
{
	char bytes[NATIVE_HOLD_CONTENT_MAX];
	int fd FD_CLEANUP =
	    openat(parent, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	ssize_t got = fd < 0 ? -1 : read(fd, bytes, sizeof(bytes));

	if (got < 0)
		return RESULT_SYSTEM;
	return got == (ssize_t)strlen(content) &&
		       memcmp(bytes, content, (size_t)got) == 0
		   ? RESULT_OK
		   : RESULT_MISMATCH;
}

/* The bytes it was made with, and no other name. */
static enum result
native_hold_untouched(int parent, const char *name,
    const struct native_journal_entry *entry, const struct stat *info)
{
	const char *content = native_protect_content(entry->path);

	if (entry->dir)
		return S_ISDIR(info->st_mode)
			   ? native_hold_is_empty(parent, name)
			   : RESULT_MISMATCH;
	if (!S_ISREG(info->st_mode) || info->st_nlink != 1 ||
	    (size_t)info->st_size != strlen(content))
		return RESULT_MISMATCH;
	return content[0] == '\0' ? RESULT_OK
				  : native_hold_says(parent, name, content);
}

/* Another disk than the one it was made on: a mount point without its mount,
 * say. What is not here may be there. */
static bool
native_hold_elsewhere(int parent, const struct native_journal_entry *entry)
{
	struct stat info;

	return entry->dev != 0 && (fstat(parent, &info) != 0 ||
				      entry->dev != (uint64_t)info.st_dev);
}

static enum result
native_hold_compare(int parent, const char *name,
    const struct native_journal_entry *entry, struct stat *info_r)
{
	if (fstatat(parent, name, info_r, AT_SYMLINK_NOFOLLOW) != 0)
		return errno == ENOENT ? RESULT_NOT_FOUND : RESULT_SYSTEM;
	if (info_r->st_uid != geteuid() ||
	    (entry->ino != 0 && (entry->ino != (uint64_t)info_r->st_ino ||
				    entry->dev != (uint64_t)info_r->st_dev)))
		return RESULT_MISMATCH;
	return native_hold_untouched(parent, name, entry, info_r);
}

static enum result
native_hold_look(int parent, const char *name,
    const struct native_journal_entry *entry, struct stat *info_r)
{
	enum result result = native_hold_compare(parent, name, entry, info_r);

	return result != RESULT_OK && native_hold_elsewhere(parent, entry)
		   ? RESULT_SYSTEM
		   : result;
}

enum result
native_hold_identify(struct native_journal_entry *entry)
{
	const char *name = NULL;
	int parent FD_CLEANUP = native_hold_parent(entry->path, &name);
	struct stat info;
	enum result result;

	if (parent < 0)
		return RESULT_SYSTEM;
	result = native_hold_look(parent, name, entry, &info);
	if (result != RESULT_OK)
		return result;
	entry->dev = info.st_dev;
	entry->ino = info.st_ino;
	return RESULT_OK;
}

enum result
native_hold_remove(const struct native_journal_entry *entry)
{
	const char *name = NULL;
	int parent FD_CLEANUP = native_hold_parent(entry->path, &name);
	struct stat info;
	enum result result;

	if (parent < 0)
		return RESULT_SYSTEM;
	result = native_hold_look(parent, name, entry, &info);
	if (result != RESULT_OK)
		return result;
	if (unlinkat(parent, name, entry->dir ? AT_REMOVEDIR : 0) == 0)
		return RESULT_OK;
	if (errno == ENOENT)
		return RESULT_NOT_FOUND;
	return errno == ENOTEMPTY ? RESULT_MISMATCH : RESULT_SYSTEM;
}

bool
native_hold_is_over(enum result result)
{
	return result == RESULT_OK || result == RESULT_NOT_FOUND ||
	       result == RESULT_MISMATCH;
}

/* One entry of the kernel for both spellings, so that a mount on it holds
 * for both. */
static bool
native_hold_one_entry(int parent)
{
	struct statfs fs;

	if (fstatfs(parent, &fs) != 0)
		return false;
	switch ((unsigned long)fs.f_type) {
	case EXT4_SUPER_MAGIC:
	case XFS_SUPER_MAGIC:
	case TMPFS_MAGIC:
	case MSDOS_SUPER_MAGIC:
	case NATIVE_HOLD_NTFS3:
	case NATIVE_HOLD_EXFAT:
	case NATIVE_HOLD_F2FS:
		return true;
	}
	return false;
}

static enum result
native_hold_folded_one(const struct native_journal_entry *entry)
{
	char upper[NATIVE_VIEW_PATH_MAX];
	const char *name = NULL;
	int parent FD_CLEANUP = native_hold_parent(entry->path, &name);
	struct stat info;
	size_t i = 0;

	if (parent < 0)
		return RESULT_SYSTEM;
	for (; name[i] != '\0'; i++)
		upper[i] = name[i] >= 'a' && name[i] <= 'z'
			       ? (char)(name[i] - 'a' + 'A')
			       : name[i];
	upper[i] = '\0';
	if (fstatat(parent, upper, &info, AT_SYMLINK_NOFOLLOW) != 0 ||
	    entry->ino != (uint64_t)info.st_ino ||
	    entry->dev != (uint64_t)info.st_dev)
		return RESULT_OK;
	return native_hold_one_entry(parent) ? RESULT_OK : RESULT_UNSUPPORTED;
}

enum result
native_hold_folded(const struct native_journal_entry *entries, size_t count)
{
	enum result result = RESULT_OK;

	for (size_t i = 0; i < count && result == RESULT_OK; i++)
		result = native_hold_folded_one(&entries[i]);
	return result;
}
