/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The listener of the tools port and its connections: accepts what the port
 * has room for, reads what it wants, writes what it has, all without
 * blocking. Called by main.c through tools_link.
 */
#ifndef SUPERVISOR_GATE_TOOLS_IO_H
#define SUPERVISOR_GATE_TOOLS_IO_H

#include <event2/event.h>

#include "common/result.h"
#include "supervisor/gate/tools_port.h"

struct tools_io; /* opaque */

enum result tools_io_new(
    struct event_base *base, struct tools_port *port, struct tools_io **io_r);
void tools_io_free(struct tools_io **io);

/* The sandbox's listener; taken in any case. RESULT_EXISTS for a second
 * one, RESULT_BAD when it is no listening internet socket. */
enum result tools_io_listen(struct tools_io *io, int fd);

/* Something was told to the port from elsewhere: write and arm anew. */
void tools_io_update(struct tools_io *io);

#endif
