/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A DNS server for tests: real packets on 127.0.0.1, UDP and TCP, on the
 * test's own loop. How it answers is the first label of the name asked;
 * dns_responder.c has the list. Never part of an installed program.
 */
#ifndef TESTS_SUPPORT_DNS_RESPONDER_H
#define TESTS_SUPPORT_DNS_RESPONDER_H

#include <event2/event.h>
#include <stddef.h>
#include <stdint.h>

struct dns_responder {
	struct event_base *base;
	int udp, tcp, tcp_client;
	struct event *on_udp, *on_accept, *on_tcp;
	uint16_t port;
	char address[32];         /* "127.0.0.1:PORT" */
	unsigned queries;         /* questions seen */
	unsigned tcp_queries;     /* of these over TCP */
	unsigned with_edns;       /* of these with an OPT record */
	char last_name[256];      /* as asked */
	unsigned char last_octet; /* of the addresses it gives */
};

void dns_responder_open(
    struct dns_responder *responder, struct event_base *base);
void dns_responder_close(struct dns_responder *responder);

#endif
