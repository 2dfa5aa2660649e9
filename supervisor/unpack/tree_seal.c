/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two looks around a hash; see tree_seal.h. Called by job_table.c and, per
 * file, by tree_walk.c. Must never give a fingerprint where a doubt is left:
 * without one the next start reads everything again, which is only slow.
 */
#include "supervisor/unpack/tree_seal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>

/* A change is given the second in which it happens, or better. What changed
 * less than this before the first look could change again unseen. */
#define TREE_SEAL_SETTLED_NS INT64_C(2000000000)

/* All three together wait for every page (WB_SYNC_ALL) and protect it. */
#define TREE_SEAL_WRITE_BACK                                   \
	(SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | \
	    SYNC_FILE_RANGE_WAIT_AFTER)

static void
tree_seal_refuse(struct tree_seal *seal, const char *word)
{
	if (seal->unsealed == NULL)
		seal->unsealed = word;
}

enum result
tree_seal_begin(struct tree_seal *seal, struct unpack_io *io, int root_fd,
    uint64_t max_files)
{
	struct timespec now;

	*seal = (struct tree_seal){
	    .io = io, .root_fd = root_fd, .max_files = max_files};
	if (clock_gettime(CLOCK_REALTIME, &now) != 0)
		return RESULT_SYSTEM;
	seal->begin_ns = now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
	return tree_stat_read(io, root_fd, max_files, &seal->before);
}

/* A read lease is refused while anybody has the file open, or mapped, for
 * writing. Only its owner may ask: with EACCES the file is root's. */
static void
tree_seal_lease(struct tree_seal *seal, int fd)
{
	if (fcntl(fd, F_SETLEASE, F_RDLCK) == 0) {
		if (fcntl(fd, F_SETLEASE, F_UNLCK) != 0)
			tree_seal_refuse(seal, "lease");
		return;
	}
	if (errno == EAGAIN)
		tree_seal_refuse(seal, "open_for_writing");
	else if (errno != EACCES)
		tree_seal_refuse(seal, "lease");
}

void
tree_seal_settle(struct tree_seal *seal, int fd)
{
	tree_seal_lease(seal, fd);
	if (sync_file_range(fd, 0, 0, TREE_SEAL_WRITE_BACK) != 0)
		tree_seal_refuse(seal, "write_back");
}

enum result
tree_seal_end(struct tree_seal *seal, char stat_r[UNPACK_HASH_SIZE])
{
	struct tree_stat_total after;
	enum result result =
	    tree_stat_read(seal->io, seal->root_fd, seal->max_files, &after);

	stat_r[0] = '\0';
	if (result != RESULT_OK)
		return result;
	if (after.unsteady != NULL)
		tree_seal_refuse(seal, after.unsteady);
	if (strcmp(after.stat, seal->before.stat) != 0)
		tree_seal_refuse(seal, "changed");
	if (after.newest_ns > seal->begin_ns - TREE_SEAL_SETTLED_NS)
		tree_seal_refuse(seal, "recent");
	if (seal->unsealed == NULL)
		memcpy(stat_r, after.stat, UNPACK_HASH_SIZE);
	return RESULT_OK;
}
