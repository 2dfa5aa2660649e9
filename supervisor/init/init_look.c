/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One walk over each place (see the header), by what the kernel says of an
 * entry's kind. Called before `go`, when nothing foreign runs; opens folders
 * only, follows no link, and must never call unseen what it could not read.
 */
#include "supervisor/init/init_look.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "supervisor/init/tree_stream.h"

#define INIT_LOOK_OPEN (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define INIT_LOOK_PATH (INIT_PATH_MAX + TREE_STREAM_PATH_MAX + 2U)

struct init_look {
	struct init_report_look *report;
	char path[INIT_LOOK_PATH];
	size_t len;
	unsigned depth;
};

static void init_look_folder(struct init_look *look, int fd);

/* The first is named, with nothing that a terminal would take for more. */
static void
init_look_tell(struct init_look *look)
{
	char *to = look->report->path;

	if (look->report->odd++ > 0)
		return;
	for (size_t i = 0; i + 1 < sizeof(look->report->path) && i < look->len;
	     i++)
		to[i] = look->path[i] >= ' ' && look->path[i] <= '~'
			    ? look->path[i]
			    : '?';
}

/* False when the path has no room for it; it is told then. */
static bool
init_look_enter(struct init_look *look, const char *name)
{
	size_t len = strlen(name);

	if (len + 1 >= sizeof(look->path) - look->len) {
		init_look_tell(look);
		return false;
	}
	look->path[look->len++] = '/';
	memcpy(look->path + look->len, name, len);
	look->len += len;
	return true;
}

/* DT_UNKNOWN when it cannot be known. */
static unsigned char
init_look_kind(int folder, const struct dirent *entry)
{
	struct stat info;

	if (entry->d_type != DT_UNKNOWN)
		return entry->d_type;
	if (fstatat(folder, entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0)
		return DT_UNKNOWN;
	return (unsigned char)IFTODT(info.st_mode);
}

static void
init_look_below(struct init_look *look, int folder, const char *name)
{
	int fd = look->depth < TREE_STREAM_DEPTH_MAX
		     ? openat(folder, name, INIT_LOOK_OPEN)
		     : -1;

	if (fd < 0) {
		init_look_tell(look);
		return;
	}
	look->depth++;
	init_look_folder(look, fd);
	look->depth--;
}

static void
init_look_entry(struct init_look *look, int folder, const struct dirent *entry)
{
	size_t before = look->len;
	unsigned char kind;

	if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
		return;
	kind = init_look_kind(folder, entry);
	if (kind == DT_REG || kind == DT_LNK)
		return;
	if (!init_look_enter(look, entry->d_name))
		return;
	if (kind == DT_DIR)
		init_look_below(look, folder, entry->d_name);
	else
		init_look_tell(look);
	look->len = before;
}

/* Takes fd. Recursion is bounded by TREE_STREAM_DEPTH_MAX. */
static void
init_look_folder(struct init_look *look, int fd)
{
	DIR *list = fdopendir(fd);
	const struct dirent *entry;

	if (list == NULL) {
		close(fd);
		init_look_tell(look);
		return;
	}
	for (errno = 0; (entry = readdir(list)) != NULL; errno = 0)
		init_look_entry(look, dirfd(list), entry);
	if (errno != 0)
		init_look_tell(look);
	(void)closedir(list);
}

void
init_look(const struct init_setup *setup, struct init_report *report)
{
	static struct init_look look;

	look.report = &report->look;
	for (uint32_t i = 0; i < setup->look_count; i++) {
		int fd = open(setup->look[i], INIT_LOOK_OPEN);

		look.len = strlen(setup->look[i]);
		look.depth = 0;
		memcpy(look.path, setup->look[i], look.len);
		if (fd < 0)
			init_look_tell(&look);
		else
			init_look_folder(&look, fd);
		look.report->places++;
	}
}
