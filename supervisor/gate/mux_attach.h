/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a Docker daemon answers to the request to attach, the only thing it
 * says before the container does: a head, and nothing behind it, since the
 * container is started after. Pure. Used by mux_host.c.
 */
#ifndef SUPERVISOR_GATE_MUX_ATTACH_H
#define SUPERVISOR_GATE_MUX_ATTACH_H

#include <stddef.h>

#define MUX_ATTACH_HEAD_MAX 4096U

enum mux_attach_answer {
	MUX_ATTACH_MORE,    /* its head is not there as a whole */
	MUX_ATTACH_DONE,    /* it is the container's stream from here on */
	MUX_ATTACH_REFUSED, /* another status, which is in status_r */
	MUX_ATTACH_BAD,     /* no such head, or bytes behind it */
};

enum mux_attach_answer mux_attach_read(
    const char *bytes, size_t len, unsigned *status_r);

#endif
