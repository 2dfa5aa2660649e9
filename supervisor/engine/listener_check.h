/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is a descriptor that came out of a container the listener we asked for?
 * Listening, TCP over IPv4, exactly this address, and in init's network
 * namespace, not ours. Used by wiring.c.
 */
#ifndef SUPERVISOR_ENGINE_LISTENER_CHECK_H
#define SUPERVISOR_ENGINE_LISTENER_CHECK_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/result.h"

/* Learned once, from the first listener; compared with each. */
struct listener_space {
	uint64_t cookie; /* SO_NETNS_COOKIE; 0: not known yet */
	dev_t dev;       /* of /proc/<init>/ns/net */
	ino_t ino;
};

/* The namespace of init, from /proc; it must differ from our own. */
enum result listener_check_space(pid_t init, struct listener_space *space_r,
    char *detail_r, size_t detail_size);

/* address and port in network order. RESULT_MISMATCH: detail_r says what
 * is wrong. */
enum result listener_check(int fd, uint32_t address, uint16_t port,
    struct listener_space *space, char *detail_r, size_t detail_size);

/* A socket over which connections are passed (fd_accept). */
enum result listener_check_pair(int fd, char *detail_r, size_t detail_size);

#endif
