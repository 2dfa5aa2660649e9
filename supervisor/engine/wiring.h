/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The wiring of a sandbox: what the supervisor and init say to each other,
 * behind one interface for every way into a container (inherited
 * descriptors; a socket in a volume and a multiplexed stream would be
 * others). What init says arrives as fixed-size records and leaves as
 * callbacks. Used by the sandbox's story and the probe.
 */
#ifndef SUPERVISOR_ENGINE_WIRING_H
#define SUPERVISOR_ENGINE_WIRING_H

#include <event2/event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/result.h"
#include "supervisor/init/init_protocol.h"

struct wiring; /* opaque */

enum wiring_kind {
	WIRING_FD,     /* inherited descriptors */
	WIRING_MUX,    /* frames over standard input and output */
	WIRING_VOLUME, /* a socket in a volume of the engine's */
};

/* Where a way that needs a place finds it; texts are copied. */
struct wiring_place {
	const char *dir; /* the volume's folder on the host */
	uint32_t uid;    /* init's, which alone may connect */
	/* mux, and init is in a volume already: there is no folder. */
	bool program_is_there;
	/* mux: the unix socket of the daemon over which it goes, once the
	 * container is made (wiring_join); NULL: over the client's own
	 * standard input and output. */
	const char *daemon;
};

/* Its word in sandbox.wiring and in records. */
const char *wiring_name(enum wiring_kind kind);

/* Descriptors are the callee's. detail texts are sentences. */
struct wiring_handlers {
	/* First record; pid is init's in our namespace, 0 where another
	 * process speaks for it. */
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
	/* The run's id, for the log of what speaks for init; or NULL. */
	const char *(*sandbox)(void *context);
	/* After wiring_join: the container may be started. */
	void (*on_joined)(void *context);
};

/* Before the engine starts: make what its client will be given. place is
 * of WIRING_VOLUME, and of WIRING_MUX where init comes by a volume too; else
 * NULL, or empty. */
enum result wiring_new(struct event_base *base, enum wiring_kind kind,
    const struct wiring_place *place, const struct init_setup *setup,
    const struct wiring_handlers *handlers, void *context,
    struct wiring **wiring_r, char *detail_r, size_t detail_size);

/* What the engine's client gets: fds become 3, 4, ...; its own standard
 * input and output (-1: /dev/null, captured). All borrowed. */
struct wiring_pass {
	int fds[INIT_FD_COUNT];
	size_t count;
	int stdin_fd, stdout_fd;
};
/* The workload's streams are borrowed; -1: /dev/null. */
enum result wiring_pass(
    struct wiring *wiring, const int streams[3], struct wiring_pass *pass_r);

/* The inode of init's end of the control socket (holder_kill.h); 0: it has
 * none that we made. */
ino_t wiring_socket(const struct wiring *wiring);

/* The engine has them now: close our copies, so that an end is seen. */
void wiring_passed(struct wiring *wiring);

/* With a daemon: the container is made, and its id is this. on_joined, or
 * on_end with RESULT_REFUSED. */
enum result wiring_join(struct wiring *wiring, const char *container);

/* type is INIT_IMPORT, INIT_EXPORT or INIT_RESULTS; fd is borrowed. */
struct wiring_tree {
	enum init_type type;
	const char *path;
	uint64_t max_bytes, max_files, max_file;
};
enum result wiring_send_tree(
    struct wiring *wiring, const struct wiring_tree *tree, int fd);
/* secret_fd -1: none. */
enum result wiring_send_go(struct wiring *wiring, int go_fd, int secret_fd);
enum result wiring_send_kill(struct wiring *wiring);
enum result wiring_send_bye(struct wiring *wiring);

/* Closes the control socket: init kills everything when it sees that.
 * Accepts NULL, clears. */
void wiring_free(struct wiring **wiring);

#endif
