/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small network pieces without any library: numeric addresses only, names
 * through the hosts file only, every step with a time limit.
 */
#ifndef SUPERVISOR_PROBE_DIAL_H
#define SUPERVISOR_PROBE_DIAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROBE_DIAL_TIMEOUT_MS 5000

/* Connected TCP socket, or -1 with errno. text is an IPv4 or IPv6 address. */
int probe_dial_address(const char *text, uint16_t port);
/* The same for a name of the hosts file; ENOENT when it has none. */
int probe_dial_name(const char *name, uint16_t port);
bool probe_dial_send(int fd, const void *bytes, size_t len);
/* Up to size bytes, what came in time; 0 at the end, -1 with errno. */
long probe_dial_receive(int fd, void *bytes_r, size_t size);

#endif
