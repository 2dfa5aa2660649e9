/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A resolver for the tools that play the supervisor: a few names with one
 * IPv4 address each, over UDP on loopback; all others do not exist. Used by
 * drive_broker.c.
 */
#ifndef TESTS_BENCH_DRIVE_NAMES_H
#define TESTS_BENCH_DRIVE_NAMES_H

#include <event2/event.h>
#include <netinet/in.h>
#include <stddef.h>

#define DRIVE_NAMES_MAX 16U

struct drive_names {
	char names[DRIVE_NAMES_MAX][256];
	struct in_addr addresses[DRIVE_NAMES_MAX];
	size_t count;
	int fd;
	struct event *event;
	char server[32]; /* "127.0.0.1:PORT" */
};

/* "NAME=ADDRESS"; exits when it is none. */
void drive_names_add(struct drive_names *names, const char *text);
void drive_names_open(struct drive_names *names, struct event_base *base);
void drive_names_close(struct drive_names *names);

#endif
