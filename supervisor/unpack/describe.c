/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Describes installed trees; see describe.h. Opens files only below the
 * root it was given (tree_walk_open); what they say is judged by
 * package_facts.c. Must never run or load anything of the tree.
 */
#include "supervisor/unpack/describe.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/json_field.h"
#include "supervisor/unpack/package_facts.h"
#include "supervisor/unpack/tree_name.h"
#include "supervisor/unpack/tree_walk.h"
#include "supervisor/unpack/unpack_jobs.h"

#define DESCRIBE_FILE_MAX (64U << 20)

/* Parse one JSON file below the root. */
static enum result
describe_load(
    struct unpack_io *io, int root_fd, const char *path, json_t **value_r)
{
	struct json_fault fault = {""};
	int fd FD_CLEANUP = -1;
	char *bytes = NULL;
	enum result result;
	size_t len;

	result = tree_walk_open(io, root_fd, path, DESCRIBE_FILE_MAX, &fd);
	if (result == RESULT_NOT_FOUND)
		return unpack_io_fault(io, UNPACK_PACKAGE,
		    "the package has no %s",
		    unpack_io_name(path, strlen(path)));
	if (result != RESULT_OK)
		return result;
	result = fd_read_all(fd, DESCRIBE_FILE_MAX, &bytes, &len);
	if (result == RESULT_OK)
		result = json_field_parse(bytes, len, value_r, &fault);
	free(bytes);
	if (result != RESULT_OK)
		return unpack_io_fault(io, UNPACK_PACKAGE, "%s: %s",
		    unpack_io_name(path, strlen(path)), fault.text);
	return RESULT_OK;
}

static enum result
describe_fault(struct unpack_io *io, const struct json_fault *fault)
{
	return unpack_io_fault(io, UNPACK_PACKAGE, "%s",
	    unpack_io_name(fault->text, strlen(fault->text)));
}

enum result
describe_write_list(struct unpack_io *io, int list_fd, const json_t *list)
{
	char *text = json_dumps(list, JSON_COMPACT | JSON_SORT_KEYS);
	enum result result = RESULT_NO_MEMORY;

	if (text == NULL)
		return result;
	if (strlen(text) > UNPACK_LIST_MAX)
		result = unpack_io_fault(
		    io, UNPACK_TOO_BIG, "the list of dependencies is too long");
	else
		result = unpack_io_write(
		    io, list_fd, (const uint8_t *)text, strlen(text));
	free(text);
	return result;
}

/* folder/path, as a file that exists in the tree. */
static enum result
describe_entry(struct unpack_io *io, int root_fd, const char *folder,
    const char *path, char *entry_r, size_t size)
{
	size_t len = strlen(path);
	int fd FD_CLEANUP = -1;
	int written;

	path = tree_name_trim(path, &len);
	written = snprintf(entry_r, size, "%s%s%.*s", folder,
	    folder[0] == '\0' ? "" : "/", (int)len, path);
	if (written < 0 || (size_t)written >= size ||
	    tree_name_check(entry_r, strlen(entry_r)) != TREE_NAME_OK)
		return unpack_io_fault(io, UNPACK_PACKAGE,
		    "the command's path \"%s\" is not allowed",
		    unpack_io_name(path, len));
	if (tree_walk_open(io, root_fd, entry_r, UNPACK_BYTES_MAX, &fd) !=
	    RESULT_OK)
		return unpack_io_fault(io, UNPACK_PACKAGE,
		    "the command's file \"%s\" is not there",
		    unpack_io_name(entry_r, strlen(entry_r)));
	return RESULT_OK;
}

static enum result
describe_answer(const char *entry, const json_t *list, json_t **result_r)
{
	*result_r = json_pack("{s:s,s:I}", "entry", entry, "count",
	    (json_int_t)json_array_size(list));
	return *result_r == NULL ? RESULT_NO_MEMORY : RESULT_OK;
}

static enum result
describe_npm_entry(struct unpack_io *io, int root_fd, const char *package,
    char *entry_r, size_t size)
{
	struct json_fault fault = {""};
	char folder[PACKAGE_FACTS_NAME_MAX + 32], path[sizeof(folder) + 16];
	json_t *manifest = NULL;
	const char *bin = NULL;
	enum result result;

	(void)snprintf(folder, sizeof(folder), "node_modules/%s", package);
	(void)snprintf(path, sizeof(path), "%s/package.json", folder);
	result = describe_load(io, root_fd, path, &manifest);
	if (result != RESULT_OK)
		return result;
	result = package_facts_npm_entry(manifest, package, 0, &bin, &fault);
	if (result != RESULT_OK)
		result = describe_fault(io, &fault);
	else
		result =
		    describe_entry(io, root_fd, folder, bin, entry_r, size);
	json_decref(manifest);
	return result;
}

enum result
describe_npm(struct unpack_io *io, int root_fd, int list_fd,
    const char *package, const char *version, json_t **result_r)
{
	char entry[TREE_STREAM_PATH_MAX + 1];
	struct json_fault fault = {""};
	json_t *lock = NULL, *list = NULL;
	enum result result;

	result = describe_load(io, root_fd, "package-lock.json", &lock);
	if (result != RESULT_OK)
		return result;
	result = package_facts_npm_lock(lock, package, version, &list, &fault);
	if (result != RESULT_OK)
		result = describe_fault(io, &fault);
	json_decref(lock);
	if (result == RESULT_OK)
		result = describe_npm_entry(
		    io, root_fd, package, entry, sizeof(entry));
	if (result == RESULT_OK)
		result = describe_write_list(io, list_fd, list);
	if (result == RESULT_OK)
		result = describe_answer(entry, list, result_r);
	json_decref(list);
	return result;
}

static int
describe_order(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The commands pip installed: the names in bin/. Returns how many; the
 * caller frees each. */
static size_t
describe_pip_bins(int root_fd, char **names_r)
{
	int fd = openat(
	    root_fd, "bin", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *folder = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	size_t count = 0;

	if (folder == NULL) {
		fd_close(&fd);
		return 0;
	}
	while (count < PACKAGE_FACTS_BINS_MAX &&
	       (entry = readdir(folder)) != NULL) {
		if (entry->d_name[0] == '.')
			continue;
		names_r[count] = strdup(entry->d_name);
		if (names_r[count] != NULL)
			count++;
	}
	(void)closedir(folder);
	if (count > 0)
		qsort(names_r, count, sizeof(*names_r), describe_order);
	return count;
}

static enum result
describe_pip_entry(struct unpack_io *io, int root_fd, const char *package,
    char *entry_r, size_t size)
{
	char *names[PACKAGE_FACTS_BINS_MAX];
	size_t count = describe_pip_bins(root_fd, names), choice;
	enum result result;

	if (count == 0)
		return unpack_io_fault(io, UNPACK_PACKAGE,
		    "%s brings no command (no console script)", package);
	choice =
	    package_facts_choose((const char *const *)names, count, package);
	result =
	    describe_entry(io, root_fd, "bin", names[choice], entry_r, size);
	while (count > 0)
		free(names[--count]);
	return result;
}

enum result
describe_pip(struct unpack_io *io, int root_fd, int list_fd,
    const char *package, const char *version, json_t **result_r)
{
	char entry[TREE_STREAM_PATH_MAX + 1];
	struct json_fault fault = {""};
	json_t *report = NULL, *list = NULL;
	enum result result;

	result = describe_load(io, root_fd, DESCRIBE_PIP_REPORT, &report);
	if (result != RESULT_OK)
		return result;
	result =
	    package_facts_pip_report(report, package, version, &list, &fault);
	if (result != RESULT_OK)
		result = describe_fault(io, &fault);
	json_decref(report);
	if (result == RESULT_OK)
		result = describe_pip_entry(
		    io, root_fd, package, entry, sizeof(entry));
	if (result == RESULT_OK)
		result = describe_write_list(io, list_fd, list);
	if (result == RESULT_OK)
		result = describe_answer(entry, list, result_r);
	json_decref(list);
	return result;
}

enum result
describe_report(struct unpack_io *io, struct pack_view *view, int list_fd)
{
	struct json_fault fault = {""};
	json_t *report = NULL, *list = NULL;
	bool too_long = false;
	size_t len = 0;
	const char *bytes =
	    pack_view_content(view, PACK_VIEW_REPORT, &len, &too_long);
	enum result result;

	if (bytes == NULL)
		return unpack_io_fault(
		    io, UNPACK_PACKAGE, "pip left no report in the tree");
	result = json_field_parse(bytes, len, &report, &fault);
	if (result == RESULT_OK)
		result =
		    package_facts_pip_report(report, NULL, "", &list, &fault);
	if (result != RESULT_OK)
		result = describe_fault(io, &fault);
	json_decref(report);
	if (result == RESULT_OK)
		result = describe_write_list(io, list_fd, list);
	json_decref(list);
	return result;
}

/* The command that package.json of a local folder names. */
static enum result
describe_dir_manifest(
    struct unpack_io *io, int root_fd, char *entry_r, size_t size)
{
	struct json_fault fault = {""};
	json_t *manifest = NULL;
	const char *path = NULL;
	enum result result =
	    describe_load(io, root_fd, "package.json", &manifest);

	if (result != RESULT_OK)
		return result;
	result =
	    package_facts_npm_entry(manifest, "the folder", 1, &path, &fault);
	if (result != RESULT_OK)
		result = describe_fault(io, &fault);
	else
		result = describe_entry(io, root_fd, "", path, entry_r, size);
	json_decref(manifest);
	return result;
}

static bool
describe_dir_has(struct unpack_io *io, int root_fd, const char *path)
{
	int fd FD_CLEANUP = -1;

	return tree_walk_open(io, root_fd, path, UNPACK_BYTES_MAX, &fd) ==
	       RESULT_OK;
}

/* What starts a local folder: package.json, or a Python file by name. */
static enum result
describe_dir_find(struct unpack_io *io, int root_fd, char *entry_r, size_t size)
{
	static const char *const mains[] = {
	    "__main__.py", "main.py", "server.py", NULL};

	if (describe_dir_has(io, root_fd, "package.json"))
		return describe_dir_manifest(io, root_fd, entry_r, size);
	for (size_t i = 0; mains[i] != NULL && io->code == NULL; i++) {
		if (!describe_dir_has(io, root_fd, mains[i]))
			continue;
		(void)snprintf(entry_r, size, "%s", mains[i]);
		return RESULT_OK;
	}
	return unpack_io_fault(io, UNPACK_PACKAGE,
	    "the folder has neither a package.json with a command nor a "
	    "__main__.py, main.py or server.py: name one with --entry");
}

enum result
describe_dir(
    struct unpack_io *io, int root_fd, const char *entry, json_t **result_r)
{
	char path[TREE_STREAM_PATH_MAX + 1];
	enum result result;
	size_t len;

	if (entry != NULL)
		result =
		    describe_entry(io, root_fd, "", entry, path, sizeof(path));
	else
		result = describe_dir_find(io, root_fd, path, sizeof(path));
	if (result != RESULT_OK)
		return result;
	len = strlen(path);
	*result_r = json_pack("{s:s,s:s}", "entry", path, "runner",
	    len > 3 && strcmp(path + len - 3, ".py") == 0 ? "python" : "node");
	return *result_r == NULL ? RESULT_NO_MEMORY : RESULT_OK;
}
