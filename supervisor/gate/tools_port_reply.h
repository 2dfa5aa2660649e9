/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a request of the tools port is answered: with something, or with why
 * not. Part of the story in tools_port.
 */
#ifndef SUPERVISOR_GATE_TOOLS_PORT_REPLY_H
#define SUPERVISOR_GATE_TOOLS_PORT_REPLY_H

#include "supervisor/gate/tools_port.h"

/* Where the answer to the connection's request goes. */
struct tools_answer tools_port_reply_to(
    struct tools_port *port, size_t connection);

/* It was written there: the request is over. An answer that could not be
 * held ends the connection. */
void tools_port_reply_written(struct tools_port *port, size_t connection,
    enum result written, uint64_t now_ms);

/* Refuse: counted, logged, told to the supervisor. detail "": the fault's
 * own sentence. */
void tools_port_reply_refuse(struct tools_port *port, size_t connection,
    enum tools_fault fault, const char *target, const char *detail,
    uint64_t now_ms);

#endif
