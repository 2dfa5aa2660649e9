/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A connection of our own to Docker's daemon that becomes the standard input
 * and output of one container: made and asked for here, answered to
 * agentnode-gate, which alone reads from it. Used by wiring_mux.c.
 */
#ifndef SUPERVISOR_ENGINE_DOCKER_ATTACH_H
#define SUPERVISOR_ENGINE_DOCKER_ATTACH_H

#include "common/result.h"

#define DOCKER_ATTACH_ID 64U /* digits of a container's id */

/* path is the daemon's unix socket, the client's own (engine_files.h). Does
 * not wait; *fd_r is blocking. */
enum result docker_attach_connect(const char *path, int *fd_r);

/* The one request of the connection: nothing but the container's bytes
 * passes over it once the daemon agreed. id is the container's, in full. */
enum result docker_attach_ask(int fd, const char *id);

#endif
