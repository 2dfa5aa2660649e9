/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens a URL as a client inside a sandbox would: through the proxy of the
 * environment, or directly to the address the hosts file gives. For https
 * it goes as far as the first TLS record of the other side: enough to show
 * that the way is open, without a TLS library.
 */
#ifndef SUPERVISOR_PROBE_FETCH_H
#define SUPERVISOR_PROBE_FETCH_H

#include <stdbool.h>
#include <stddef.h>

/* text_r: "reached, status 200", "reached, TLS answered", "refused",
 * "refused by the proxy, status 403 (host_not_allowed)", "failed: ...".
 * True when it was reached. */
bool probe_fetch(const char *url, char *text_r, size_t size);
/* The same by a socket of its own, whatever proxy the environment names. */
bool probe_fetch_raw(const char *url, char *text_r, size_t size);

#endif
