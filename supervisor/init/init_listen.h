/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sockets of the container. Listeners are made in its network
 * namespace and handed to the supervisor; init keeps none.
 */
#ifndef SUPERVISOR_INIT_LISTEN_H
#define SUPERVISOR_INIT_LISTEN_H

#include "supervisor/init/init_protocol.h"

/* Makes and sends every listener of setup. 0 or errno. */
int init_listen_all(const struct init_setup *setup);

/* A unix listener for the relay, or -1 with errno. Any process of the
 * container may connect. */
int init_listen_unix(const char *path);

#endif
