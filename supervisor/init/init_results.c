/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes what lies at the top of one directory as a result stream, names
 * sorted by byte. Runs in the tree child after the workload and everything
 * it started is dead. What it left is hostile all the same: nothing is
 * followed, nothing that is no regular file is opened, and what cannot be
 * read is said instead of ending the rest.
 */
#include "supervisor/init/init_results.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "supervisor/init/init_below.h"
#include "supervisor/init/init_tree.h"
#include "supervisor/init/result_stream.h"

struct init_results {
	int stream_fd;
	uint64_t bytes, max_file; /* what may still come; of one file */
	char **names;             /* owned, each too */
	size_t count, max;
	uint64_t more; /* entries that are not listed */
	struct init_below below;
};

static int
init_results_compare(const void *left, const void *right)
{
	return strcmp(*(const char *const *)left, *(const char *const *)right);
}

static int
init_results_add(struct init_results *results, const char *name)
{
	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return 0;
	if (results->count >= results->max) {
		results->more++;
		return 0;
	}
	results->names[results->count] = strdup(name);
	if (results->names[results->count] == NULL)
		return ENOMEM;
	results->count++;
	return 0;
}

static int
init_results_list(struct init_results *results, int folder)
{
	int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *stream = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *entry;
	int error = 0;

	if (stream == NULL) {
		error = errno;
		if (copy >= 0)
			close(copy);
		return error;
	}
	for (errno = 0; error == 0 && (entry = readdir(stream)) != NULL;
	     errno = 0)
		error = init_results_add(results, entry->d_name);
	if (error == 0)
		error = errno;
	closedir(stream);
	if (results->count > 1)
		qsort(results->names, results->count, sizeof(char *),
		    init_results_compare);
	return error;
}

static int
init_results_put(struct init_results *results, enum result_stream_kind kind,
    const char *name, uint64_t size, uint64_t sent)
{
	size_t len = strlen(name);
	struct result_stream_header header = {.magic = RESULT_STREAM_MAGIC,
	    .kind = (uint32_t)kind,
	    .name_len = (uint32_t)len,
	    .size = size,
	    .sent = sent};
	int error =
	    init_tree_write(results->stream_fd, &header, sizeof(header));

	return error != 0 ? error
			  : init_tree_write(results->stream_fd, name, len);
}

/* A directory does not come back, but how much is in it is said. */
static int
init_results_dir(struct init_results *results, int folder, const char *name)
{
	struct result_stream_header header = {.magic = RESULT_STREAM_MAGIC,
	    .kind = RESULT_STREAM_DIR,
	    .name_len = (uint32_t)strlen(name)};
	int error;

	init_below_count(folder, name, &results->below);
	header.size = results->below.count;
	if (results->below.cut)
		header.flags = RESULT_STREAM_AT_LEAST;
	error = init_tree_write(results->stream_fd, &header, sizeof(header));
	return error != 0
		   ? error
		   : init_tree_write(results->stream_fd, name, header.name_len);
}

static uint64_t
init_results_least(uint64_t left, uint64_t right)
{
	return left < right ? left : right;
}

/* fd is of a regular file, opened. */
static int
init_results_content(
    struct init_results *results, int fd, const char *name, uint64_t size)
{
	uint64_t sent = init_results_least(
	    size, init_results_least(results->max_file, results->bytes));
	int error =
	    init_results_put(results, RESULT_STREAM_FILE, name, size, sent);

	results->bytes -= sent;
	return error != 0 ? error
			  : init_tree_copy(fd, results->stream_fd, sent);
}

static int
init_results_file(struct init_results *results, int folder, const char *name)
{
	int fd = openat(folder, name,
	    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;
	int error;

	if (fd < 0)
		return init_results_put(
		    results, RESULT_STREAM_UNREADABLE, name, 0, 0);
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
		error = init_results_put(
		    results, RESULT_STREAM_UNREADABLE, name, 0, 0);
	else
		error = init_results_content(
		    results, fd, name, (uint64_t)st.st_size);
	close(fd);
	return error;
}

static int
init_results_entry(struct init_results *results, int folder, const char *name)
{
	enum result_stream_kind kind = RESULT_STREAM_SPECIAL;
	struct stat st;

	if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return init_results_put(
		    results, RESULT_STREAM_UNREADABLE, name, 0, 0);
	if (S_ISREG(st.st_mode))
		return init_results_file(results, folder, name);
	if (S_ISDIR(st.st_mode))
		return init_results_dir(results, folder, name);
	if (S_ISLNK(st.st_mode))
		kind = RESULT_STREAM_LINK;
	return init_results_put(results, kind, name, 0, 0);
}

/* Names, until there is one that counts. */
static bool
init_results_empty(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *stream = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	bool empty;

	if (stream == NULL) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	do {
		errno = 0;
		entry = readdir(stream);
	} while (entry != NULL && (strcmp(entry->d_name, ".") == 0 ||
				      strcmp(entry->d_name, "..") == 0));
	empty = entry == NULL && errno == 0;
	closedir(stream);
	return empty;
}

bool
init_results_none(const char *path, int stream_fd)
{
	struct init_results results = {.stream_fd = stream_fd};

	return init_results_empty(path) &&
	       init_results_put(&results, RESULT_STREAM_END, "", 0, 0) == 0;
}

int
init_results_run(int root, int stream_fd, const struct init_results_bound *most)
{
	struct init_results results = {.stream_fd = stream_fd,
	    .bytes = most->bytes,
	    .max_file = most->file_bytes,
	    .max = (size_t)init_results_least(
		most->entries, INIT_RESULTS_ENTRIES_MAX)};
	int error = 0;

	results.names = calloc(results.max + 1, sizeof(char *));
	if (results.names == NULL)
		return ENOMEM;
	error = init_results_list(&results, root);
	for (size_t i = 0; error == 0 && i < results.count; i++)
		error = init_results_entry(&results, root, results.names[i]);
	if (error == 0 && results.more > 0)
		error = init_results_put(
		    &results, RESULT_STREAM_MORE, "", results.more, 0);
	if (error == 0)
		error = init_results_put(&results, RESULT_STREAM_END, "", 0, 0);
	for (size_t i = 0; i < results.count; i++)
		free(results.names[i]);
	free(results.names);
	return error;
}
