/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One process of ours, started by the supervisor: absolute path beside
 * agentnode, empty environment, descriptors 0-2 on /dev/null (2 on the log
 * of the run), 3 its control socket, everything else closed. Start-up is
 * config -> ready with a deadline; death is seen by pidfd.
 */
#ifndef SUPERVISOR_CHILD_H
#define SUPERVISOR_CHILD_H

#include <event2/event.h>
#include <jansson.h>
#include <sys/types.h>

#include "common/ipc.h"
#include "common/peer.h"
#include "common/result.h"

struct child; /* opaque */

struct child_handlers {
	void (*on_ready)(struct child *child, void *context);
	void (*on_message)(
	    struct child *child, struct ipc_message *message, void *context);
	/* Once, however it ended; detail is a sentence. The child is dead
	 * when this is called. exit_code -1 when a signal ended it. */
	void (*on_end)(struct child *child, int exit_code, int signal,
	    const char *detail, void *context);
};

struct child_spec {
	enum ipc_role role;    /* decides the program's file name, unless */
	const char *program;   /* another one has that role; static */
	json_t *config;        /* borrowed; body of the config message */
	const int *config_fds; /* borrowed; go with the config message */
	size_t config_fd_count;
	uid_t uid; /* told in config as "uid"; 0 = default */
};

/* Absolute path of a program beside agentnode (libexec/agentnode/NAME);
 * RESULT_NOT_FOUND names it. */
enum result child_program_path(const char *name, char *path_r, size_t size);

/* What a person or another program calls: the agentnode in bin. */
enum result child_command_path(char *path_r, size_t size);

/* As above for a data file: share/agentnode/NAME. */
enum result child_shared_path(const char *name, char *path_r, size_t size);

enum result child_start(struct event_base *base, const struct child_spec *spec,
    const struct child_handlers *handlers, void *context,
    struct child **child_r);
enum result child_send(struct child *child, const struct ipc_message *message);
const char *child_name(const struct child *child);
pid_t child_pid(const struct child *child);
/* Its work is done: it is killed; child_free then need not wait long. */
void child_over(struct child *child);
/* Kill at once if alive, reap, free. Accepts NULL, clears. */
void child_free(struct child **child);

#endif
