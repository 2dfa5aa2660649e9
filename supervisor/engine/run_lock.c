/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flock(2) on runs/<id>. Called by the sandbox's story and gc; must never
 * remove a file that a living supervisor has locked.
 */
#include "supervisor/engine/run_lock.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"

#define RUN_LOCK_WORD_DOCKER "docker"

static bool
run_lock_is_id(const char *id)
{
	return strlen(id) == RUN_LOCK_ID_MAX - 1 &&
	       id[strspn(id, "0123456789abcdef")] == '\0';
}

static void
run_lock_path(
    const struct engine_files *files, const char *id, char *path_r, size_t size)
{
	(void)snprintf(path_r, size, "%s/%s", files->runs, id);
}

void
run_lock_id_file(
    const struct engine_files *files, const char *id, char *path_r, size_t size)
{
	(void)snprintf(path_r, size, "%s/%s.cid", files->runs, id);
}

void
run_lock_container(const struct engine_files *files, const char *id,
    char container_r[RUN_LOCK_CONTAINER_MAX])
{
	char path[RUN_LOCK_ID_FILE_MAX], *text = NULL;
	size_t len = 0, hex = RUN_LOCK_CONTAINER_MAX - 1;
	int fd FD_CLEANUP = -1;

	container_r[0] = '\0';
	run_lock_id_file(files, id, path, sizeof(path));
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fd_read_all(fd, 128, &text, &len) != RESULT_OK)
		return;
	if (len == hex && strspn(text, "0123456789abcdef") == hex)
		memcpy(container_r, text, hex + 1);
	free(text);
}

static void
run_lock_forget_id(const struct engine_files *files, const char *id)
{
	char path[RUN_LOCK_ID_FILE_MAX];

	run_lock_id_file(files, id, path, sizeof(path));
	(void)unlink(path);
}

enum result
run_lock_id(char id_r[RUN_LOCK_ID_MAX])
{
	uint64_t number;

	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		return RESULT_SYSTEM;
	(void)snprintf(id_r, RUN_LOCK_ID_MAX, "%016" PRIx64, number);
	return RESULT_OK;
}

enum result
run_lock_new(const struct engine_files *files, struct run_lock *lock_r)
{
	char aside[ENGINE_FILES_PATH_MAX + 96];

	lock_r->fd = -1;
	if (run_lock_id(lock_r->id) != RESULT_OK)
		return RESULT_SYSTEM;
	run_lock_path(files, lock_r->id, lock_r->path, sizeof(lock_r->path));
	(void)snprintf(aside, sizeof(aside), "%s.new", lock_r->path);
	lock_r->fd = open(
	    aside, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (lock_r->fd < 0)
		return RESULT_SYSTEM;
	/* It gets its name when it is locked: nobody sees it unlocked. */
	if (flock(lock_r->fd, LOCK_EX | LOCK_NB) == 0 &&
	    rename(aside, lock_r->path) == 0)
		return RESULT_OK;
	(void)unlink(aside);
	fd_close(&lock_r->fd);
	return RESULT_SYSTEM;
}

enum result
run_lock_note(struct run_lock *lock, const struct run_lock_facts *facts)
{
	char text[RUN_LOCK_NAME_MAX + 128];
	int len = snprintf(text, sizeof(text), "%s %" PRIu64 " %s %s\n",
	    facts->name, facts->socket,
	    facts->container[0] != '\0' ? facts->container : "-",
	    facts->docker ? RUN_LOCK_WORD_DOCKER : "-");
	struct stat info;

	if (len < 0 || (size_t)len >= sizeof(text))
		return RESULT_TOO_LONG;
	/* Over what it says: a disk takes its time to cut a file. */
	if (lseek(lock->fd, 0, SEEK_SET) != 0 ||
	    fd_write_all(lock->fd, text, (size_t)len) != RESULT_OK ||
	    fstat(lock->fd, &info) != 0)
		return RESULT_SYSTEM;
	return info.st_size == len || ftruncate(lock->fd, len) == 0
		   ? RESULT_OK
		   : RESULT_SYSTEM;
}

void
run_lock_end(const struct engine_files *files, struct run_lock *lock)
{
	if (lock->fd < 0)
		return;
	run_lock_forget_id(files, lock->id);
	(void)unlink(lock->path);
	fd_close(&lock->fd);
}

void
run_lock_leave(struct run_lock *lock)
{
	fd_close(&lock->fd);
}

/* Open and lock the file of a dead supervisor; -1 when it lives, is new,
 * or there is none. */
static int
run_lock_seize(const struct engine_files *files, const char *id)
{
	char path[ENGINE_FILES_PATH_MAX + 64];
	struct stat info;
	int fd;

	run_lock_path(files, id, path, sizeof(path));
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -1;
	/* nlink 0: it ended in order between the open and the lock. */
	if (flock(fd, LOCK_EX | LOCK_NB) != 0 || fstat(fd, &info) != 0 ||
	    info.st_nlink == 0)
		fd_close(&fd);
	return fd;
}

bool
run_lock_is_alive(const struct engine_files *files, const char *id)
{
	char path[ENGINE_FILES_PATH_MAX + 64];
	int fd FD_CLEANUP = -1;

	if (!run_lock_is_id(id))
		return false;
	run_lock_path(files, id, path, sizeof(path));
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	return fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) != 0;
}

/* A file that was cut by a death while it was written says less. */
static void
run_lock_facts_of(const char *text, struct run_lock_facts *facts_r)
{
	char engine[16] = "";

	memset(facts_r, 0, sizeof(*facts_r));
	(void)sscanf(text, "%127s %" SCNu64 " %64s %15s", facts_r->name,
	    &facts_r->socket, facts_r->container, engine);
	if (strspn(facts_r->container, "0123456789abcdef") != 64)
		facts_r->container[0] = '\0';
	facts_r->docker = strcmp(engine, RUN_LOCK_WORD_DOCKER) == 0;
}

static bool
run_lock_take_stale(const struct engine_files *files, const char *id,
    struct run_lock_stale *stale_r)
{
	int fd FD_CLEANUP = run_lock_seize(files, id);
	char *text = NULL;
	size_t len = 0;

	if (fd < 0 || fd_read_all(fd, 1024, &text, &len) != RESULT_OK)
		return false;
	(void)snprintf(stale_r->id, sizeof(stale_r->id), "%.16s", id);
	run_lock_facts_of(text, &stale_r->facts);
	if (stale_r->facts.container[0] == '\0')
		run_lock_container(
		    files, stale_r->id, stale_r->facts.container);
	free(text);
	return true;
}

static bool
run_lock_is_of(enum run_lock_whose whose, const struct run_lock_facts *facts)
{
	return whose == RUN_LOCK_ALL ||
	       facts->docker == (whose == RUN_LOCK_DOCKER);
}

size_t
run_lock_stale(const struct engine_files *files, enum run_lock_whose whose,
    struct run_lock_stale *stale_r, size_t max)
{
	DIR *dir = opendir(files->runs);
	struct dirent *entry;
	size_t count = 0;

	while (dir != NULL && count < max && (entry = readdir(dir)) != NULL) {
		if (run_lock_is_id(entry->d_name) &&
		    run_lock_take_stale(
			files, entry->d_name, &stale_r[count]) &&
		    run_lock_is_of(whose, &stale_r[count].facts))
			count++;
	}
	if (dir != NULL)
		(void)closedir(dir);
	return count;
}

void
run_lock_forget(const struct engine_files *files, const char *id)
{
	char path[ENGINE_FILES_PATH_MAX + 64];
	int fd FD_CLEANUP = run_lock_is_id(id) ? run_lock_seize(files, id) : -1;

	if (fd < 0)
		return;
	run_lock_forget_id(files, id);
	run_lock_path(files, id, path, sizeof(path));
	(void)unlink(path);
}
