/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sandbox's listeners, and what keeps accepting possible when places or
 * descriptors run out. Used by broker.c.
 */
#ifndef LLM_BROKER_BROKER_LISTEN_H
#define LLM_BROKER_BROKER_LISTEN_H

#include <event2/event.h>
#include <stddef.h>
#include <stdint.h>

#include "common/result.h"

#define BROKER_LISTEN_MAX 8U /* of one sandbox; one is usual */

struct broker;

struct broker_listen_port {
	struct broker *broker;
	int fd;
	struct event *event;
};

struct broker_listen {
	struct broker_listen_port ports[BROKER_LISTEN_MAX];
	size_t count;
	struct event *resume;
	int reserve_fd;   /* given up to accept and close when none is left */
	size_t files_max; /* descriptors above this are kept for lanes */
	uint64_t shortages;
};

enum result broker_listen_init(struct broker *broker);
void broker_listen_close(struct broker *broker);

/* Takes fd. RESULT_BAD: not a listening internet stream socket;
 * RESULT_TOO_LONG. */
enum result broker_listen_add(struct broker *broker, int fd);
/* Close them all. */
void broker_listen_clear(struct broker *broker);

#endif
