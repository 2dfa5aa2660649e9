/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The private runtime directory and the engine's configuration in it: our
 * own containers.conf, an empty hooks directory and an empty mounts file,
 * so that no configuration of the user or the host adds a volume, a hook,
 * a variable or a hosts line to a sandbox. Used by everything that calls
 * the engine.
 */
#ifndef SUPERVISOR_ENGINE_ENGINE_FILES_H
#define SUPERVISOR_ENGINE_ENGINE_FILES_H

#include <stddef.h>

#include "common/result.h"

#define ENGINE_FILES_PATH_MAX 512U
#define ENGINE_FILES_ENV_MAX 8U
/* The label that says whose a thing of a shared daemon is: the user, and the
 * places by which that user knows what is alive and needed (this directory;
 * of an ordinary user AGENTNODE_HOME too). */
#define ENGINE_FILES_OWNER "agentnode.owner"
#define ENGINE_FILES_OWNER_MAX 32U

struct engine_files {
	char dir[ENGINE_FILES_PATH_MAX]; /* 0700, ours */
	char conf[ENGINE_FILES_PATH_MAX + 32];
	char hooks[ENGINE_FILES_PATH_MAX + 32];
	char mounts[ENGINE_FILES_PATH_MAX + 32];
	char runs[ENGINE_FILES_PATH_MAX + 32];   /* run_lock.h */
	char uids[ENGINE_FILES_PATH_MAX + 32];   /* sandbox_uid.h */
	char slots[ENGINE_FILES_PATH_MAX + 32];  /* control_slot.h */
	char docker[ENGINE_FILES_PATH_MAX + 32]; /* Docker's own, empty */
	char owner[ENGINE_FILES_OWNER_MAX];      /* of what a daemon keeps */
	/* The engine's whole environment, NULL-terminated, points into
	 * storage: never copy this structure. */
	const char *envp[ENGINE_FILES_ENV_MAX];
	char storage[5][ENGINE_FILES_PATH_MAX + 64];
};

/* Make or check everything (root: /run/agentnode; a user:
 * $XDG_RUNTIME_DIR/agentnode or /run/user/UID/agentnode). Directories that
 * are not ours, or not 0700, and a hook are refused. detail_r: one sentence. */
enum result engine_files_prepare(
    struct engine_files *files, char *detail_r, size_t detail_size);
/* Which daemon Docker's client speaks to ("unix:///..."), besides its
 * configuration folder, which has no proxy, credential or context. */
enum result engine_files_docker(struct engine_files *files, const char *host);
/* The unix socket of that daemon; NULL: it has none, or was not told. */
const char *engine_files_daemon(const struct engine_files *files);

#endif
