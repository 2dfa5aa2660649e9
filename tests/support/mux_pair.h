/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Both ends of a mux link joined by two pipes, in one process, with what init
 * and the supervisor hold. Used by machine tests of supervisor/mux.
 */
#ifndef TESTS_SUPPORT_MUX_PAIR_H
#define TESTS_SUPPORT_MUX_PAIR_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "supervisor/mux/mux_bridge.h"

#define MUX_PAIR_BIG (1U << 20)

extern struct mux_bridge mux_pair_host, mux_pair_inside;
/* The supervisor's end, init's end, and the workload's streams: here, and
 * on the host. */
extern int mux_pair_supervisor, mux_pair_init, mux_pair_work[3],
    mux_pair_client[3];
extern uint8_t mux_pair_bytes[MUX_PAIR_BIG], mux_pair_got[MUX_PAIR_BIG];

extern uint64_t mux_pair_ahead; /* of the clock, in milliseconds */

/* Until neither has anything to do. */
void mux_pair_turn(void);
int mux_pair_begin(void **state);
int mux_pair_end(void **state);
void mux_pair_say(int socket, enum init_type type, uint32_t value,
    const int *fds, size_t count);
/* The next record at socket; false: there is none. */
bool mux_pair_hear(
    int socket, enum init_type type, uint32_t value, int *fds_r, size_t count);
void mux_pair_same_bytes(int fd, const uint8_t *bytes, size_t len);
/* A listener inside; what the supervisor gets for it, and its port. */
int mux_pair_listener(uint32_t index, struct sockaddr_in *name_r);
/* A client inside, and what serves it on the host. */
void mux_pair_connect(
    const struct sockaddr_in *name, int listener, int *client_r, int *served_r);
/* len bytes into one descriptor and, the same, out of the other. */
void mux_pair_pass(int from, int to, size_t len);
void mux_pair_ended(int fd);

#endif
