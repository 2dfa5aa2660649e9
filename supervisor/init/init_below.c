/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts what a command left in a directory; see init_below.h. Called by
 * init_results, when nothing of the command lives. The tree is hostile all
 * the same: no link is followed, no other file system entered, no file
 * opened, and depth and names are bounded.
 */
#include "supervisor/init/init_below.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static DIR *
init_below_open(int folder, const char *name, dev_t *dev)
{
	int fd = openat(
	    folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;
	DIR *list = NULL;

	if (fd >= 0 && fstat(fd, &st) == 0 && (*dev == 0 || *dev == st.st_dev))
		list = fdopendir(fd);
	if (list == NULL && fd >= 0)
		close(fd);
	if (list != NULL)
		*dev = st.st_dev;
	return list;
}

static bool
init_below_is_dir(int folder, const struct dirent *entry)
{
	struct stat st;

	if (entry->d_type != DT_UNKNOWN)
		return entry->d_type == DT_DIR;
	return fstatat(folder, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISDIR(st.st_mode);
}

/* dev: of the directory above; 0: there is none that counts. */
static void
init_below_walk(int folder, const char *name, dev_t dev, unsigned depth,
    struct init_below *below)
{
	DIR *list = depth < INIT_BELOW_DEPTH_MAX
			? init_below_open(folder, name, &dev)
			: NULL;
	const struct dirent *entry;

	if (list == NULL) {
		below->cut = true;
		return;
	}
	while ((entry = readdir(list)) != NULL) {
		if (strcmp(entry->d_name, ".") == 0 ||
		    strcmp(entry->d_name, "..") == 0)
			continue;
		if (below->names >= INIT_BELOW_NAMES_MAX) {
			below->cut = true;
			break;
		}
		below->names++;
		if (!init_below_is_dir(dirfd(list), entry))
			below->count++;
		else
			init_below_walk(
			    dirfd(list), entry->d_name, dev, depth + 1, below);
	}
	closedir(list);
}

void
init_below_count(int folder, const char *name, struct init_below *below)
{
	struct stat st;

	below->count = 0;
	below->cut = fstat(folder, &st) != 0;
	if (!below->cut)
		init_below_walk(folder, name, st.st_dev, 0, below);
}
