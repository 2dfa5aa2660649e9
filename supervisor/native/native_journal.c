/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Journals of placeholders (see the header). Called by native_place; must
 * never take a line at its word: what is removed is compared first.
 */
#include "supervisor/native/native_journal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/fd.h"

#define NATIVE_JOURNAL_FOLDER "native"
#define NATIVE_JOURNAL_LOCK "lock"
#define NATIVE_JOURNAL_END ".run"
#define NATIVE_JOURNAL_TRIES 2000U /* of 5 ms */
#define NATIVE_JOURNAL_PAUSE_NS 5000000L

static bool
native_journal_number(const char **at, const char *end, uint64_t *value_r)
{
	const char *from = *at;
	uint64_t value = 0;

	while (*at < end && **at >= '0' && **at <= '9') {
		if (value > (UINT64_MAX - 9) / 10)
			return false;
		value = value * 10 + (uint64_t)(**at - '0');
		(*at)++;
	}
	*value_r = value;
	if (*at == from || *at == end || **at != ' ')
		return false;
	(*at)++;
	return true;
}

/* Absolute, no empty part, no "." or "..", no control byte. */
static bool
native_journal_path(const char *path)
{
	for (const char *at = path; *at != '\0'; at++) {
		if ((unsigned char)*at < 0x20)
			return false;
		if (*at == '/' &&
		    (at[1] == '/' || at[1] == '\0' ||
			strncmp(at, "/./", 3) == 0 || strcmp(at, "/.") == 0 ||
			strncmp(at, "/../", 4) == 0 || strcmp(at, "/..") == 0))
			return false;
	}
	return path[0] == '/';
}

enum result
native_journal_parse(
    const char *line, size_t len, struct native_journal_entry *entry_r)
{
	const char *at = line + 2, *end = line + len;

	if (len < 4 || (line[0] != 'd' && line[0] != 'f') || line[1] != ' ' ||
	    memchr(line, '\0', len) != NULL)
		return RESULT_BAD;
	entry_r->dir = line[0] == 'd';
	if (!native_journal_number(&at, end, &entry_r->dev) ||
	    !native_journal_number(&at, end, &entry_r->ino) || at == end ||
	    (size_t)(end - at) >= sizeof(entry_r->path))
		return RESULT_BAD;
	memcpy(entry_r->path, at, (size_t)(end - at));
	entry_r->path[end - at] = '\0';
	return native_journal_path(entry_r->path) ? RESULT_OK : RESULT_BAD;
}

size_t
native_journal_format(
    const struct native_journal_entry *entry, char *text_r, size_t size)
{
	int len = snprintf(text_r, size, "%c %" PRIu64 " %" PRIu64 " %s\n",
	    entry->dir ? 'd' : 'f', entry->dev, entry->ino, entry->path);

	return len < 0 || (size_t)len >= size ? 0 : (size_t)len;
}

/* Waits for the others at most ten seconds. */
static enum result
native_journal_lock(int dir, int *lock_r)
{
	const struct timespec pause = {0, NATIVE_JOURNAL_PAUSE_NS};

	*lock_r = openat(dir, NATIVE_JOURNAL_LOCK,
	    O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (*lock_r < 0)
		return RESULT_SYSTEM;
	for (unsigned i = 0; i < NATIVE_JOURNAL_TRIES; i++) {
		if (flock(*lock_r, LOCK_EX | LOCK_NB) == 0)
			return RESULT_OK;
		if (errno != EWOULDBLOCK && errno != EINTR)
			break;
		(void)nanosleep(&pause, NULL);
	}
	fd_close(lock_r);
	return RESULT_TIMEOUT;
}

enum result
native_journal_open(const char *agentnode, int *dir_r, int *lock_r)
{
	int home FD_CLEANUP = open(agentnode, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct stat info;
	enum result result = RESULT_SYSTEM;

	*dir_r = *lock_r = -1;
	if (home < 0 || (mkdirat(home, NATIVE_JOURNAL_FOLDER, 0700) != 0 &&
			    errno != EEXIST))
		return RESULT_SYSTEM;
	*dir_r = openat(home, NATIVE_JOURNAL_FOLDER,
	    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (*dir_r >= 0 && fstat(*dir_r, &info) == 0 &&
	    info.st_uid == geteuid() && (info.st_mode & 022) == 0)
		result = native_journal_lock(*dir_r, lock_r);
	if (result != RESULT_OK)
		fd_close(dir_r);
	return result;
}

enum result
native_journal_new(int dir, char name_r[NATIVE_JOURNAL_NAME_MAX], int *fd_r)
{
	uint64_t number;

	*fd_r = -1;
	if (getrandom(&number, sizeof(number), 0) != (ssize_t)sizeof(number))
		return RESULT_SYSTEM;
	(void)snprintf(name_r, NATIVE_JOURNAL_NAME_MAX,
	    "%016" PRIx64 NATIVE_JOURNAL_END, number);
	*fd_r = openat(dir, name_r,
	    O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (*fd_r < 0)
		return RESULT_SYSTEM;
	if (flock(*fd_r, LOCK_EX | LOCK_NB) == 0)
		return RESULT_OK;
	(void)unlinkat(dir, name_r, 0);
	fd_close(fd_r);
	return RESULT_SYSTEM;
}

enum result
native_journal_write(
    int fd, const struct native_journal_entry *entries, size_t count)
{
	size_t size = count * (NATIVE_VIEW_PATH_MAX + 64U) + 1, used = 0;
	char *text = malloc(size);
	enum result result = RESULT_OK;

	if (text == NULL)
		return RESULT_NO_MEMORY;
	for (size_t i = 0; i < count && result == RESULT_OK; i++) {
		size_t len = native_journal_format(
		    &entries[i], text + used, size - used);

		used += len;
		result = len == 0 ? RESULT_TOO_LONG : RESULT_OK;
	}
	/* Over what it said, whose paths these are too: never an empty one. */
	if (result == RESULT_OK && lseek(fd, 0, SEEK_SET) != 0)
		result = RESULT_SYSTEM;
	if (result == RESULT_OK)
		result = fd_write_all(fd, text, used);
	if (result == RESULT_OK && ftruncate(fd, (off_t)used) != 0)
		result = RESULT_SYSTEM;
	free(text);
	return result;
}

static bool
native_journal_is_run(const char *name)
{
	size_t len = strlen(name), end = sizeof(NATIVE_JOURNAL_END) - 1;

	return len == 16 + end && strcmp(name + 16, NATIVE_JOURNAL_END) == 0 &&
	       strspn(name, "0123456789abcdef") == 16;
}

/* Whole lines alone: a last one without its end was cut by a kill. over_r:
 * nothing of any can be there, and each was understood. */
static enum result
native_journal_lines(
    int fd, bool alive, native_journal_each *each, void *context, bool *over_r)
{
	char *text = NULL, *line, *end;
	size_t len = 0;
	enum result result =
	    fd_read_all(fd, NATIVE_JOURNAL_BYTES_MAX, &text, &len);

	*over_r = result == RESULT_OK;
	if (result == RESULT_TOO_LONG)
		return alive ? RESULT_BAD : RESULT_OK;
	if (result != RESULT_OK)
		return result;
	for (line = text;
	     (end = memchr(line, '\n', (size_t)(text + len - line))) != NULL;
	     line = end + 1) {
		struct native_journal_entry entry;

		if (native_journal_parse(line, (size_t)(end - line), &entry) ==
		    RESULT_OK)
			*over_r &= each(&entry, alive, context);
		else {
			*over_r = false;
			result = alive ? RESULT_BAD : RESULT_OK;
		}
	}
	*over_r &= line == text + len;
	free(text);
	return result;
}

/* Its file, locked now when its run is dead. */
static int
native_journal_probe(int dir, const char *name, bool *alive_r)
{
	int fd = openat(dir, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);

	*alive_r = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0;
	return fd;
}

enum result
native_journal_scan(
    int dir, const char *but, native_journal_each *each, void *context)
{
	int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = copy < 0 ? NULL : fdopendir(copy);
	const struct dirent *item;
	unsigned count = 0;
	enum result result = RESULT_OK;

	if (list == NULL) {
		fd_close(&copy);
		return RESULT_SYSTEM;
	}
	while (result == RESULT_OK && (item = readdir(list)) != NULL) {
		bool alive = false, over;
		int fd FD_CLEANUP = -1;

		if (!native_journal_is_run(item->d_name) ||
		    strcmp(item->d_name, but) == 0)
			continue;
		if (++count > NATIVE_JOURNAL_RUNS_MAX)
			result = RESULT_TOO_LONG;
		fd = native_journal_probe(dir, item->d_name, &alive);
		/* Its run may live, and hold what is ours as well. */
		if (fd < 0 && (errno == EMFILE || errno == ENFILE ||
				  errno == ENOMEM || errno == EIO))
			result = RESULT_SYSTEM;
		if (fd >= 0 && result == RESULT_OK)
			result = native_journal_lines(
			    fd, alive, each, context, &over);
	}
	(void)closedir(list);
	return result;
}

/* One whose run is dead. */
struct native_journal_dead {
	char name[NATIVE_JOURNAL_NAME_MAX];
	time_t since; /* last written */
	bool over;    /* nothing that it tells of can be there */
};

static int
native_journal_younger(const void *a, const void *b)
{
	const struct native_journal_dead *one = a, *other = b;

	if (one->over != other->over)
		return one->over ? 1 : -1;
	if (one->since != other->since)
		return one->since > other->since ? -1 : 1;
	return strcmp(one->name, other->name);
}

static size_t
native_journal_dead(DIR *list, int dir, native_journal_each *each,
    void *context, struct native_journal_dead *dead_r)
{
	const struct dirent *item;
	size_t count = 0;

	while (
	    count < NATIVE_JOURNAL_RUNS_MAX && (item = readdir(list)) != NULL) {
		bool alive = true;
		int fd FD_CLEANUP = -1;
		struct stat info;

		if (!native_journal_is_run(item->d_name))
			continue;
		fd = native_journal_probe(dir, item->d_name, &alive);
		if (fd < 0 || alive || fstat(fd, &info) != 0)
			continue;
		memcpy(
		    dead_r[count].name, item->d_name, strlen(item->d_name) + 1);
		if (native_journal_lines(fd, false, each, context,
			&dead_r[count].over) != RESULT_OK)
			dead_r[count].over = false;
		dead_r[count++].since = info.st_mtime;
	}
	return count;
}

void
native_journal_forget(int dir, native_journal_each *each, void *context)
{
	struct native_journal_dead *dead =
	    calloc(NATIVE_JOURNAL_RUNS_MAX, sizeof(*dead));
	int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = copy < 0 ? NULL : fdopendir(copy);
	size_t count = 0;
	time_t now = time(NULL);

	if (list != NULL && dead != NULL)
		count = native_journal_dead(list, dir, each, context, dead);
	if (count > 0)
		qsort(dead, count, sizeof(*dead), native_journal_younger);
	for (size_t i = 0; i < count; i++) {
		if (dead[i].over || i >= NATIVE_JOURNAL_KEPT_MAX ||
		    now - dead[i].since > NATIVE_JOURNAL_KEPT_S)
			(void)unlinkat(dir, dead[i].name, 0);
	}
	if (list != NULL)
		(void)closedir(list);
	else
		fd_close(&copy);
	free(dead);
}
