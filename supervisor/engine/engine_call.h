/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One call of the container engine's client with our configuration and
 * environment: the words are typed by our own code, output is bounded, the
 * call has a deadline. On the loop (a sandbox's client, removals) or
 * waited for (commands). Used by the sandbox's story and the commands.
 */
#ifndef SUPERVISOR_ENGINE_ENGINE_CALL_H
#define SUPERVISOR_ENGINE_ENGINE_CALL_H

#include <event2/event.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "common/result.h"
#include "supervisor/engine/engine_files.h"

struct engine_call; /* opaque */

#define ENGINE_CALL_ERROR_MAX 2048U

/* exit_code -1: ended by a signal, or killed at the deadline. error is the
 * (escaped, cut) last line of standard error. output is borrowed. */
struct engine_call_end {
	int exit_code;
	const char *output;
	size_t output_len;
	const char *error;
};
typedef void engine_call_done(const struct engine_call_end *end, void *context);

struct engine_call_spec {
	const struct engine_files *files;
	/* Whole command line, argv[0] the client's absolute path. */
	const char *const *argv;
	int stdin_fd;    /* -1: /dev/null; borrowed */
	int stdout_fd;   /* -1: captured; borrowed */
	const int *pass; /* become 3, 4, ... */
	size_t pass_count;
	size_t output_max;              /* more output ends the call */
	unsigned timeout_ms;            /* 0: none (a sandbox's own client) */
	bool hide_unified, die_with_us; /* engine_spawn.h */
	int (*place)(const void *context);
	const void *place_context;
};

enum result engine_call_start(struct event_base *base,
    const struct engine_call_spec *spec, engine_call_done *done, void *context,
    struct engine_call **call_r);
/* Somebody else is to hear of its end, which has not been told. */
void engine_call_hand_over(
    struct engine_call *call, engine_call_done *done, void *context);
void engine_call_kill(struct engine_call *call);
pid_t engine_call_pid(const struct engine_call *call);
/* Kills a client that still runs. Accepts NULL, clears. */
void engine_call_free(struct engine_call **call);

/* Call and wait. The caller frees *output_r (NUL-terminated; output_r may
 * be NULL). RESULT_REFUSED when the client said no: detail_r has its
 * words; exit_code_r may be NULL. */
enum result engine_call_wait(const struct engine_call_spec *spec,
    char **output_r, size_t *len_r, int *exit_code_r, char *detail_r,
    size_t detail_size);

/* Absolute path of the engine's client in the fixed search path. */
enum result engine_call_find(const char *name, char *path_r, size_t size);

#endif
