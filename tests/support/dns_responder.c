/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers by the first label:
 *   good     A 192.0.2.X and AAAA 2001:db8::X, TTL 300
 *   aonly    A only, no data for AAAA           nx       NXDOMAIN
 *   nodata   neither family                     servfail SERVFAIL
 *   zero     TTL 0                              ttlN     TTL N seconds
 *   chain    three CNAMEs (TTL 60), then as good
 *   cname    a CNAME and nothing behind it
 *   silent   no answer at all                   halfmute A, never AAAA
 *   garbage  right id and question, then noise  short    five bytes
 *   wrongid  an answer with another id and a bad address, then as good
 *   wrongq   an answer to another question, then as good
 *   trunc    TC over UDP, as good over TCP      many     33 addresses
 *   late     nothing the first time, good when asked again
 */
#include "tests/support/dns_responder.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#define PACKET_MAX 4096U

struct dns_packet {
	uint8_t bytes[PACKET_MAX];
	size_t len;
};

struct dns_question {
	char label[64]; /* first label */
	char name[256];
	unsigned type;
	size_t len; /* of the header and the question */
	bool has_edns;
};

static void
dns_responder_put(struct dns_packet *packet, const void *bytes, size_t len)
{
	assert_true(packet->len + len <= PACKET_MAX);
	memcpy(packet->bytes + packet->len, bytes, len);
	packet->len += len;
}

static void
dns_responder_put16(struct dns_packet *packet, unsigned value)
{
	uint8_t bytes[2] = {(uint8_t)(value >> 8), (uint8_t)value};

	dns_responder_put(packet, bytes, 2);
}

/* Name by pointer to offset, type, IN, TTL, data; counts it. */
static void
dns_responder_record(struct dns_packet *packet, unsigned offset, unsigned type,
    unsigned ttl, const void *data, size_t len)
{
	dns_responder_put16(packet, 0xc000 | offset);
	dns_responder_put16(packet, type);
	dns_responder_put16(packet, 1);
	dns_responder_put16(packet, ttl >> 16);
	dns_responder_put16(packet, ttl);
	dns_responder_put16(packet, (unsigned)len);
	dns_responder_put(packet, data, len);
	packet->bytes[7]++;
}

static bool
dns_responder_parse(
    const struct dns_packet *query, struct dns_question *question_r)
{
	size_t at = 12, len;

	memset(question_r, 0, sizeof(*question_r));
	while (at < query->len && query->bytes[at] != 0) {
		len = query->bytes[at];
		if (len > 63 || at + 1 + len >= query->len)
			return false;
		if (at == 12)
			memcpy(question_r->label, query->bytes + 13, len);
		else
			strcat(question_r->name, ".");
		strncat(
		    question_r->name, (const char *)query->bytes + at + 1, len);
		at += 1 + len;
	}
	if (at + 5 > query->len)
		return false;
	question_r->type =
	    (unsigned)query->bytes[at + 1] << 8 | query->bytes[at + 2];
	question_r->len = at + 5;
	question_r->has_edns = query->bytes[11] == 1;
	return true;
}

/* Header and question of the query, as a response with rcode. */
static void
dns_responder_begin(struct dns_packet *reply, const struct dns_packet *query,
    const struct dns_question *question, unsigned rcode)
{
	reply->len = 0;
	dns_responder_put(reply, query->bytes, question->len);
	reply->bytes[2] = 0x81;
	reply->bytes[3] = (uint8_t)(0x80 | rcode);
	memset(reply->bytes + 6, 0, 6);
}

static void
dns_responder_address(struct dns_packet *reply, unsigned type, unsigned offset,
    unsigned ttl, unsigned char octet)
{
	uint8_t four[4] = {192, 0, 2, octet};
	uint8_t six[16] = {0x20, 1, 0x0d, 0xb8, [15] = octet};

	if (type == 1)
		dns_responder_record(reply, offset, 1, ttl, four, 4);
	else if (type == 28)
		dns_responder_record(reply, offset, 28, ttl, six, 16);
}

/* A CNAME from the name at offset to a new name "cN.test"; its offset. */
static unsigned
dns_responder_cname(struct dns_packet *reply, unsigned offset, unsigned number)
{
	uint8_t data[9] = {
	    2, 'c', (uint8_t)('0' + number), 4, 't', 'e', 's', 't', 0};
	unsigned at = (unsigned)reply->len + 12;

	dns_responder_record(reply, offset, 5, 60, data, sizeof(data));
	return at;
}

/* The reply to one question; len 0: none. */
static void
dns_responder_reply(struct dns_responder *responder,
    const struct dns_packet *query, const struct dns_question *question,
    bool over_tcp, struct dns_packet *reply)
{
	const char *label = question->label;
	unsigned octet = responder->last_octet, i, ttl = 300, offset = 12;

	dns_responder_begin(reply, query, question, 0);
	if (strcmp(label, "silent") == 0 ||
	    (strcmp(label, "halfmute") == 0 && question->type == 28) ||
	    (strcmp(label, "late") == 0 && responder->queries <= 2)) {
		reply->len = 0;
		return;
	}
	if (strcmp(label, "nx") == 0 || strcmp(label, "servfail") == 0) {
		dns_responder_begin(
		    reply, query, question, label[0] == 'n' ? 3 : 2);
		return;
	}
	if (strcmp(label, "nodata") == 0 ||
	    (strcmp(label, "aonly") == 0 && question->type == 28))
		return;
	if (strcmp(label, "trunc") == 0 && !over_tcp) {
		reply->bytes[2] |= 2;
		return;
	}
	if (strcmp(label, "short") == 0) {
		reply->len = 5;
		return;
	}
	if (strcmp(label, "garbage") == 0) {
		dns_responder_put(reply, "\xc0\x0c\x00\x01\xff\xff\xff", 7);
		reply->bytes[7] = 3;
		return;
	}
	if (strcmp(label, "cname") == 0) {
		(void)dns_responder_cname(reply, offset, 0);
		return;
	}
	for (i = 0; strcmp(label, "chain") == 0 && i < 3; i++)
		offset = dns_responder_cname(reply, offset, i);
	if (strcmp(label, "zero") == 0)
		ttl = 0;
	if (strncmp(label, "ttl", 3) == 0)
		ttl = (unsigned)strtoul(label + 3, NULL, 10);
	for (i = 1; strcmp(label, "many") == 0 && i < 33; i++)
		dns_responder_address(
		    reply, question->type, offset, ttl, (uint8_t)(100 + i));
	dns_responder_address(
	    reply, question->type, offset, ttl, (unsigned char)octet);
}

/* A spoofed reply that must not be believed, sent before the true one. */
static bool
dns_responder_spoof(const struct dns_packet *query,
    const struct dns_question *question, struct dns_packet *reply)
{
	dns_responder_begin(reply, query, question, 0);
	dns_responder_address(reply, question->type, 12, 300, 66);
	if (strcmp(question->label, "wrongid") == 0)
		reply->bytes[0] ^= 0x55;
	else if (strcmp(question->label, "wrongq") == 0)
		reply->bytes[14] ^= 1;
	else
		return false;
	return true;
}

static bool
dns_responder_note(struct dns_responder *responder,
    const struct dns_packet *query, struct dns_question *question)
{
	if (!dns_responder_parse(query, question))
		return false;
	responder->queries++;
	if (question->has_edns)
		responder->with_edns++;
	(void)snprintf(responder->last_name, sizeof(responder->last_name), "%s",
	    question->name);
	return true;
}

static void
dns_responder_on_udp(evutil_socket_t fd, short what, void *context)
{
	struct dns_responder *responder = context;
	struct sockaddr_in from;
	socklen_t from_len = sizeof(from);
	struct dns_packet query, reply;
	struct dns_question question;
	ssize_t got = recvfrom(fd, query.bytes, sizeof(query.bytes), 0,
	    (struct sockaddr *)&from, &from_len);

	(void)what;
	if (got <= 0)
		return;
	query.len = (size_t)got;
	if (!dns_responder_note(responder, &query, &question))
		return;
	if (dns_responder_spoof(&query, &question, &reply))
		(void)sendto(fd, reply.bytes, reply.len, 0,
		    (struct sockaddr *)&from, from_len);
	dns_responder_reply(responder, &query, &question, false, &reply);
	if (reply.len > 0)
		(void)sendto(fd, reply.bytes, reply.len, 0,
		    (struct sockaddr *)&from, from_len);
}

static void
dns_responder_on_tcp(evutil_socket_t fd, short what, void *context)
{
	struct dns_responder *responder = context;
	struct dns_packet query, reply;
	struct dns_question question;
	uint8_t prefix[2];

	(void)what;
	if (recv(fd, prefix, 2, MSG_WAITALL) != 2) {
		event_del(responder->on_tcp);
		return;
	}
	query.len = (size_t)prefix[0] << 8 | prefix[1];
	assert_true(query.len <= PACKET_MAX);
	assert_int_equal(
	    recv(fd, query.bytes, query.len, MSG_WAITALL), (ssize_t)query.len);
	if (!dns_responder_note(responder, &query, &question))
		return;
	responder->tcp_queries++;
	dns_responder_reply(responder, &query, &question, true, &reply);
	prefix[0] = (uint8_t)(reply.len >> 8);
	prefix[1] = (uint8_t)reply.len;
	(void)send(fd, prefix, 2, MSG_NOSIGNAL);
	(void)send(fd, reply.bytes, reply.len, MSG_NOSIGNAL);
}

static void
dns_responder_drop_client(struct dns_responder *responder)
{
	if (responder->on_tcp != NULL)
		event_free(responder->on_tcp);
	if (responder->tcp_client >= 0)
		close(responder->tcp_client);
	responder->on_tcp = NULL;
	responder->tcp_client = -1;
}

static void
dns_responder_on_accept(evutil_socket_t fd, short what, void *context)
{
	struct dns_responder *responder = context;

	(void)what;
	dns_responder_drop_client(responder);
	responder->tcp_client = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
	assert_true(responder->tcp_client >= 0);
	responder->on_tcp = event_new(responder->base, responder->tcp_client,
	    EV_READ | EV_PERSIST, dns_responder_on_tcp, responder);
	event_add(responder->on_tcp, NULL);
}

void
dns_responder_open(struct dns_responder *responder, struct event_base *base)
{
	struct sockaddr_in here = {
	    .sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t len = sizeof(here);

	memset(responder, 0, sizeof(*responder));
	responder->base = base;
	responder->last_octet = 1;
	responder->tcp_client = -1;
	responder->tcp = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(
	    bind(responder->tcp, (struct sockaddr *)&here, len), 0);
	assert_int_equal(listen(responder->tcp, 8), 0);
	assert_int_equal(
	    getsockname(responder->tcp, (struct sockaddr *)&here, &len), 0);
	responder->udp = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	assert_int_equal(
	    bind(responder->udp, (struct sockaddr *)&here, len), 0);
	responder->port = ntohs(here.sin_port);
	(void)snprintf(responder->address, sizeof(responder->address),
	    "127.0.0.1:%u", responder->port);
	responder->on_udp = event_new(base, responder->udp,
	    EV_READ | EV_PERSIST, dns_responder_on_udp, responder);
	responder->on_accept = event_new(base, responder->tcp,
	    EV_READ | EV_PERSIST, dns_responder_on_accept, responder);
	event_add(responder->on_udp, NULL);
	event_add(responder->on_accept, NULL);
}

void
dns_responder_close(struct dns_responder *responder)
{
	dns_responder_drop_client(responder);
	event_free(responder->on_udp);
	event_free(responder->on_accept);
	close(responder->udp);
	close(responder->tcp);
}
