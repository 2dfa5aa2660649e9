/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts the launcher and gives it what it waits for (see the header). Called
 * by exec_run and sandbox_client; must never give anything to a launcher of
 * another run.
 */
#include "supervisor/engine/native_launcher.h"

#include <limits.h>
#include <stdlib.h>

#include "common/fd.h"
#include "supervisor/child.h"

#define NATIVE_LAUNCHER_PROGRAM "agentnode-native"
#define NATIVE_LAUNCHER_OUTPUT_MAX 4096U

struct native_launcher {
	struct engine_call *call;
	int give; /* our end of the pair */
};

/* Between the start and native_launcher_give the loop does not run. */
static void
native_launcher_unheard(const struct engine_call_end *end, void *context)
{
	(void)end;
	(void)context;
}

static enum result
native_launcher_call(
    struct event_base *base, struct native_launcher *launcher, int end)
{
	/* Neither an environment nor a place. */
	static const struct engine_files none = {.dir = "/"};
	char path[PATH_MAX];
	const char *const words[] = {path, NULL};
	const struct engine_call_spec call = {.files = &none,
	    .argv = words,
	    .stdin_fd = -1,
	    .stdout_fd = -1,
	    .pass = &end,
	    .pass_count = 1,
	    .output_max = NATIVE_LAUNCHER_OUTPUT_MAX,
	    .die_with_us = true};
	enum result result =
	    child_program_path(NATIVE_LAUNCHER_PROGRAM, path, sizeof(path));

	if (result != RESULT_OK)
		return result;
	return engine_call_start(
	    base, &call, native_launcher_unheard, launcher, &launcher->call);
}

enum result
native_launcher_start(
    struct event_base *base, struct native_launcher **launcher_r)
{
	struct native_launcher *launcher = calloc(1, sizeof(*launcher));
	enum result result;
	int pair[2];

	*launcher_r = launcher;
	if (launcher == NULL)
		return RESULT_NO_MEMORY;
	launcher->give = -1;
	result = fd_socketpair(pair);
	if (result == RESULT_OK) {
		launcher->give = pair[0];
		result = native_launcher_call(base, launcher, pair[1]);
		fd_close(&pair[1]);
	}
	if (result != RESULT_OK)
		native_launcher_free(launcher_r);
	return result;
}

enum result
native_launcher_give(struct native_launcher **launcher,
    const int fds[NATIVE_LAUNCH_GIVEN], engine_call_done *done, void *context,
    struct engine_call **call_r)
{
	struct native_launcher *gone = *launcher;
	const char byte = NATIVE_LAUNCH_BYTE;
	enum result result =
	    fd_send(gone->give, &byte, 1, fds, NATIVE_LAUNCH_GIVEN);

	/* One that ended already says why itself. */
	if (result == RESULT_CLOSED)
		result = RESULT_OK;
	if (result == RESULT_OK) {
		*call_r = gone->call;
		engine_call_hand_over(gone->call, done, context);
		gone->call = NULL;
	}
	native_launcher_free(launcher);
	return result;
}

void
native_launcher_free(struct native_launcher **launcher)
{
	struct native_launcher *gone = *launcher;

	if (gone == NULL)
		return;
	*launcher = NULL;
	fd_close(&gone->give);
	engine_call_free(&gone->call);
	free(gone);
}
