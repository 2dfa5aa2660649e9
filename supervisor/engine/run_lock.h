/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A living run: a file named after the run id, locked for as long as the
 * supervisor lives. What the engine still knows of a run whose file nobody
 * locks is a leftover. Used by the sandbox's story, by installs (labels of
 * their throwaway containers and volumes) and by gc.
 */
#ifndef SUPERVISOR_ENGINE_RUN_LOCK_H
#define SUPERVISOR_ENGINE_RUN_LOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/result.h"
#include "supervisor/engine/engine_files.h"

#define RUN_LOCK_ID_MAX 17U    /* 16 hex digits and NUL */
#define RUN_LOCK_NAME_MAX 128U /* a container's name and NUL */
#define RUN_LOCK_STALE_MAX 16U
#define RUN_LOCK_CONTAINER_MAX 65U /* 64 hex digits and NUL */

struct run_lock {
	int fd; /* -1: none */
	char id[RUN_LOCK_ID_MAX];
	char path[ENGINE_FILES_PATH_MAX + 64];
};

/* Where the engine writes the id of the container it makes for this run,
 * before its runtime hears of it; beside the run's file, removed with it. */
void run_lock_id_file(const struct engine_files *files, const char *id,
    char *path_r, size_t size);
#define RUN_LOCK_ID_FILE_MAX (ENGINE_FILES_PATH_MAX + 64)
/* The id that is written there; "" when there is none, or a part of one. */
void run_lock_container(const struct engine_files *files, const char *id,
    char container_r[RUN_LOCK_CONTAINER_MAX]);

struct run_lock_facts {
	char name[RUN_LOCK_NAME_MAX]; /* "": nothing was started */
	uint64_t socket;              /* inode of init's socket; 0: none */
	char container[RUN_LOCK_CONTAINER_MAX]; /* its id; "": not known */
	bool docker; /* docker has it; else podman, or no engine */
};

/* A new random id; alone for a run that is refused before it is one. */
enum result run_lock_id(char id_r[RUN_LOCK_ID_MAX]);
/* A new random id, its file made and locked. */
enum result run_lock_new(
    const struct engine_files *files, struct run_lock *lock_r);
/* Write down what is known of the container, so that the next start can
 * end and remove it. */
enum result run_lock_note(
    struct run_lock *lock, const struct run_lock_facts *facts);
/* Everything is gone: remove the files and unlock. Accepts an empty lock. */
void run_lock_end(const struct engine_files *files, struct run_lock *lock);
/* Unlock, but leave the file: there is something left to remove. */
void run_lock_leave(struct run_lock *lock);

/* True when a living supervisor holds this id. */
bool run_lock_is_alive(const struct engine_files *files, const char *id);

struct run_lock_stale {
	char id[RUN_LOCK_ID_MAX];
	struct run_lock_facts facts;
};

/* One engine knows nothing of what another has: that is no leftover of its
 * own, and to be unknown there is not to be gone. */
enum run_lock_whose {
	RUN_LOCK_ALL,
	RUN_LOCK_PODMAN, /* and those without an engine */
	RUN_LOCK_DOCKER
};

/* Runs whose supervisor died, at most max. */
size_t run_lock_stale(const struct engine_files *files,
    enum run_lock_whose whose, struct run_lock_stale *stale_r, size_t max);
/* Its leftovers were removed: forget the files. */
void run_lock_forget(const struct engine_files *files, const char *id);

#endif
