/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A listener on loopback that one socket of ours can connect to and nobody
 * else on this machine: its filter drops every segment from another port,
 * and that port is taken. Used by auth_test.c, because llm-broker accepts on
 * TCP only.
 */
#ifndef SUPERVISOR_COMMAND_OWN_LISTENER_H
#define SUPERVISOR_COMMAND_OWN_LISTENER_H

#include "common/result.h"

/* Both close-on-exec and the caller's; the client is connected, and waits to
 * be accepted. */
enum result own_listener_make(int *listener_r, int *client_r);

#endif
