/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starting one program: the only place of the supervisor that forks. The
 * program gets exactly the descriptors, environment and words named here;
 * everything else is closed on exec. Used by child.c (our own processes)
 * and engine_call.c (the container engine).
 */
#ifndef SUPERVISOR_ENGINE_ENGINE_SPAWN_H
#define SUPERVISOR_ENGINE_ENGINE_SPAWN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "common/result.h"

#define ENGINE_SPAWN_PASS_MAX 16U

struct engine_spawn_spec {
	const char *const *argv;            /* argv[0] is an absolute path */
	const char *const *envp;            /* the whole environment */
	int stdin_fd, stdout_fd, stderr_fd; /* -1: /dev/null */
	const int *pass;                    /* become 3, 4, ... */
	size_t pass_count;
	mode_t umask;
	/* Working directory, NULL: ours. The engine's monitor leaves files
	 * ("oom") where it was started. */
	const char *folder;
	/* SIGKILL when we die: for our own processes. Not for the engine's
	 * client, which then still removes the container. */
	bool die_with_us;
	/* Leave the cgroup mount "/sys/fs/cgroup/unified" out of its view
	 * (a mount namespace of its own). */
	bool hide_unified;
	/* Called in the child before all else that can fail, NULL: nothing.
	 * Makes system calls and nothing else; 0 or errno. */
	int (*place)(const void *context);
	const void *place_context;
};

/* Fork and exec in a session of its own. Returns after the exec worked;
 * RESULT_SYSTEM with errno otherwise. pidfd_r is close-on-exec and the
 * caller's, who also reaps. */
enum result engine_spawn(
    const struct engine_spawn_spec *spec, pid_t *pid_r, int *pidfd_r);

#endif
