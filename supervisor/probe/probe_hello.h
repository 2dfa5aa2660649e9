/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A TLS ClientHello, so that the probe can ask whether a TLS server is at
 * the other end. Offers 1.3 and 1.2; goes no further.
 */
#ifndef SUPERVISOR_PROBE_HELLO_H
#define SUPERVISOR_PROBE_HELLO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROBE_HELLO_MAX 768U

/* One record with this server name; its length, 0 when it cannot be made. */
size_t probe_hello_make(const char *name, uint8_t bytes_r[PROBE_HELLO_MAX]);

/* Whether this begins a handshake record with a ServerHello. */
bool probe_hello_answered(const uint8_t *bytes, size_t len);

#endif
