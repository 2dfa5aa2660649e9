/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The way into a container by inherited descriptors: the control socket
 * pair, init itself as a sealed memfd, the workload's three streams. What
 * init says arrives here as fixed-size records and leaves as callbacks.
 * A second way in (a socket in a volume, a multiplexed stream) would have
 * this same interface. Used by the sandbox's story and the probe.
 */
#ifndef SUPERVISOR_ENGINE_WIRING_FD_H
#define SUPERVISOR_ENGINE_WIRING_FD_H

#include <event2/event.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/result.h"
#include "supervisor/init/init_protocol.h"

struct wiring_fd; /* opaque */

/* Descriptors are the callee's. detail texts are sentences. */
struct wiring_fd_handlers {
	/* First record; pid is init's in our namespace. */
	void (*on_hello)(pid_t pid, void *context);
	/* A checked listener, in the order of the setup. */
	void (*on_listener)(uint32_t index, int fd, void *context);
	/* The sealed report; after this no descriptor may come. */
	void (*on_report)(int fd, void *context);
	/* IMPORTED or EXPORTED; error is an errno or 0. */
	void (*on_tree)(bool is_export, int error, void *context);
	void (*on_status)(const struct init_status *status, void *context);
	/* init failed at a step, spoke wrongly (RESULT_BAD), or its socket
	 * closed (RESULT_EOF). Nothing follows. */
	void (*on_end)(enum result why, const char *detail, void *context);
};

/* Make the pair and the memfd of libexec/agentnode/agentnode-init, and send
 * setup, before the engine starts. */
enum result wiring_fd_new(struct event_base *base,
    const struct init_setup *setup, const struct wiring_fd_handlers *handlers,
    void *context, struct wiring_fd **wiring_r, char *detail_r,
    size_t detail_size);

/* What the engine passes into the container as 3, 4, ... The streams are
 * borrowed; -1: /dev/null. fds_r has INIT_FD_COUNT places. */
enum result wiring_fd_pass(struct wiring_fd *wiring, int stdin_fd,
    int stdout_fd, int stderr_fd, int *fds_r);

/* The inode of init's end of the control socket (holder_kill.h). */
ino_t wiring_fd_socket(const struct wiring_fd *wiring);

/* The engine has them now: close our copies, so that an end is seen. */
void wiring_fd_passed(struct wiring_fd *wiring);

/* type is INIT_IMPORT, INIT_EXPORT or INIT_RESULTS; fd is borrowed. */
struct wiring_fd_tree {
	enum init_type type;
	const char *path;
	uint64_t max_bytes, max_files, max_file;
};
enum result wiring_fd_send_tree(
    struct wiring_fd *wiring, const struct wiring_fd_tree *tree, int fd);
/* secret_fd -1: none. */
enum result wiring_fd_send_go(
    struct wiring_fd *wiring, int go_fd, int secret_fd);
enum result wiring_fd_send_kill(struct wiring_fd *wiring);
enum result wiring_fd_send_bye(struct wiring_fd *wiring);

/* Closes the control socket: init kills everything when it sees that.
 * Accepts NULL, clears. */
void wiring_fd_free(struct wiring_fd **wiring);

#endif
