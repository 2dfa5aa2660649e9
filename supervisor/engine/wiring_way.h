/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A way in: how init's control socket comes about and how the workload's
 * streams get to it. Private to wiring.c (what is said over the socket,
 * the same for each way) and wiring_*.c (one way each).
 */
#ifndef SUPERVISOR_ENGINE_WIRING_WAY_H
#define SUPERVISOR_ENGINE_WIRING_WAY_H

#include <event2/event.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "supervisor/engine/listener_check.h"
#include "supervisor/engine/wiring.h"

/* What init may say next. */
enum wiring_phase {
	WIRING_HELLO,     /* nothing heard yet */
	WIRING_LISTENERS, /* listeners in order, then the report */
	WIRING_TALK,      /* records without descriptors */
	WIRING_ENDED
};

struct wiring {
	struct event_base *base;
	const struct wiring_way *way;
	void *state; /* the way's own; freed by its close */
	enum wiring_phase phase;
	int control; /* our end; -1: not yet */
	pid_t init;
	pid_t peer; /* who connected; 0: a pair has no such end */
	struct event *event;
	struct wiring_unsent *unsent; /* wiring_send.c: what waits, in order */
	struct event *again;          /* when it is tried again */
	uint32_t next;                /* listener expected next */
	struct listener_space space;
	struct init_setup setup;
	struct wiring_handlers handlers;
	void *context;
};

struct wiring_way {
	/* Another process speaks for init, and passes connections over
	 * pairs in place of listeners. */
	bool far;
	/* Makes what the engine will be given. Calls wiring_attach now, or
	 * later from the loop when the socket is there. */
	enum result (*open)(struct wiring *wiring,
	    const struct wiring_place *place, char *detail_r,
	    size_t detail_size);
	enum result (*pass)(struct wiring *wiring, const int streams[3],
	    struct wiring_pass *pass_r);
	void (*passed)(struct wiring *wiring);
	ino_t (*socket)(const struct wiring *wiring);
	/* NULL: the container needs nobody to be attached. */
	enum result (*join)(struct wiring *wiring, const char *container);
	/* Also after an open that failed half way: state may be NULL. */
	void (*close)(struct wiring *wiring);
};

extern const struct wiring_way wiring_fd, wiring_mux, wiring_volume;

/* agentnode-init as installed, open for reading; as a sealed memfd. */
enum result wiring_program(int *fd_r, char *detail_r, size_t detail_size);
enum result wiring_fd_program(int *fd_r, char *detail_r, size_t size);

/* A volume's folder on the host, which nobody but root may write; init in
 * it, byte for byte ours. */
enum result wiring_volume_dir(
    const char *path, int *dir_r, char *detail_r, size_t size);
enum result wiring_volume_program(int dir, char *detail_r, size_t size);

/* control is a SOCK_SEQPACKET socket to init (or to what speaks for it);
 * taken, also on failure. Sends setup; records are read from now on. */
enum result wiring_attach(struct wiring *wiring, int control);
/* One record, borrowed descriptors, over control; or later, by itself, when
 * they are too many now. */
enum result wiring_send(struct wiring *wiring, const void *body, size_t len,
    const int *fds, size_t fd_count);
enum result wiring_send_streams(struct wiring *wiring, const int streams[3]);
/* What waits is dropped. */
void wiring_send_clear(struct wiring *wiring);
/* The way itself failed: on_end, once; nothing follows. */
void wiring_end(struct wiring *wiring, enum result why, const char *detail);

#endif
