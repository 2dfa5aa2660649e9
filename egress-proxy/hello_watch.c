/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Follows the records behind a judged ClientHello on both sides. Called by
 * tunnel.c with everything that passes, until there is a verdict. Must never
 * say OPEN while a TLS server could still take another hello in the clear,
 * nor let a byte of such a hello's message pass.
 */
#include "egress-proxy/hello_watch.h"

#include <string.h>

enum {
	HELLO_WATCH_CIPHERS = 20, /* ChangeCipherSpec */
	HELLO_WATCH_ALERT = 21,
	HELLO_WATCH_HANDSHAKE = 22,
	HELLO_WATCH_DATA = 23,
	HELLO_WATCH_HEARTBEAT = 24, /* RFC 6520 section 3: dropped now */
	HELLO_WATCH_HEADER = 5,
	HELLO_WATCH_RECORD_MAX = 16384 + 2048, /* RFC 5246 section 6.2.3 */
	HELLO_WATCH_CLIENT_HELLO = 1,
	HELLO_WATCH_SERVER_HELLO = 2,
	HELLO_WATCH_RANDOM_AT = 6, /* behind type, length and version */
	HELLO_WATCH_START = 38,    /* where the random ends */
	HELLO_WATCH_FATAL = 2
};

/* The random of a HelloRetryRequest (RFC 8446 section 4.1.3). */
static const uint8_t
    hello_watch_retry[HELLO_WATCH_START - HELLO_WATCH_RANDOM_AT] = {0xcf, 0x21,
	0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c, 0x02, 0x1e, 0x65,
	0xb8, 0x91, 0xc2, 0xa2, 0x11, 0x16, 0x7a, 0xbb, 0x8c, 0x5e, 0x07, 0x9e,
	0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c};

/* One byte of a record's header. False: longer than any TLS record. The
 * version is the reader's affair: RFC 8446 has it ignored. */
static bool
hello_watch_header(struct hello_watch *watch, uint8_t byte)
{
	size_t len;

	watch->header[watch->header_len++] = byte;
	if (watch->header_len < HELLO_WATCH_HEADER)
		return true;
	len = (size_t)watch->header[3] << 8 | watch->header[4];
	watch->record_left = (uint16_t)len;
	watch->some = false;
	if (len == 0)
		watch->header_len = 0;
	return len <= HELLO_WATCH_RECORD_MAX;
}

/* count bytes of the record were dealt with. */
static void
hello_watch_pass(struct hello_watch *watch, size_t count)
{
	watch->some = true;
	watch->record_left = (uint16_t)(watch->record_left - count);
	if (watch->record_left == 0)
		watch->header_len = 0;
}

static bool
hello_watch_in_header(const struct hello_watch *watch)
{
	return watch->header_len < HELLO_WATCH_HEADER;
}

/* --- the server --- */

/* The handshake header is there: how much follows. */
static void
hello_watch_message(struct hello_watch *watch)
{
	watch->message_left = (uint32_t)watch->start[1] << 16 |
			      (uint32_t)watch->start[2] << 8 | watch->start[3];
	watch->differs = watch->start[0] != HELLO_WATCH_SERVER_HELLO;
}

/* One byte of a handshake message. */
static enum hello_watch_verdict
hello_watch_handshake(struct hello_watch *watch, uint8_t byte)
{
	enum hello_watch_verdict verdict = HELLO_WATCH_MORE;
	bool hello;

	if (watch->gathered < sizeof(watch->start)) {
		watch->start[watch->gathered++] = byte;
		if (watch->gathered < sizeof(watch->start))
			return verdict;
		hello_watch_message(watch);
	} else {
		watch->message_left--;
		hello = watch->start[0] == HELLO_WATCH_SERVER_HELLO;
		if (hello && watch->gathered < HELLO_WATCH_START) {
			if (watch->gathered >= HELLO_WATCH_RANDOM_AT &&
			    byte != hello_watch_retry[watch->gathered -
						      HELLO_WATCH_RANDOM_AT])
				watch->differs = true;
			if (watch->differs)
				return HELLO_WATCH_OPEN;
			if (++watch->gathered == HELLO_WATCH_START)
				verdict = HELLO_WATCH_RETRY;
		}
	}
	if (watch->message_left == 0) {
		if (watch->start[0] == HELLO_WATCH_SERVER_HELLO &&
		    watch->gathered < HELLO_WATCH_START)
			return HELLO_WATCH_OPEN; /* too short to be one */
		watch->gathered = 0;
	}
	return verdict;
}

static enum hello_watch_verdict
hello_watch_server_byte(struct hello_watch *watch, uint8_t byte)
{
	enum hello_watch_verdict verdict = HELLO_WATCH_MORE;

	if (hello_watch_in_header(watch)) {
		if ((watch->header_len == 0 &&
			(byte < HELLO_WATCH_CIPHERS ||
			    byte > HELLO_WATCH_HANDSHAKE)) ||
		    (watch->header_len == 1 && byte != 3))
			return HELLO_WATCH_OPEN;
		return hello_watch_header(watch, byte) ? HELLO_WATCH_MORE
						       : HELLO_WATCH_OPEN;
	}
	if (watch->header[0] == HELLO_WATCH_HANDSHAKE)
		verdict = hello_watch_handshake(watch, byte);
	else if (watch->header[0] == HELLO_WATCH_ALERT && !watch->some &&
		 byte == HELLO_WATCH_FATAL)
		verdict = HELLO_WATCH_OPEN;
	hello_watch_pass(watch, 1);
	return verdict;
}

enum hello_watch_verdict
hello_watch_server(
    struct hello_watch *watch, const uint8_t *bytes, size_t len, bool *open_r)
{
	enum hello_watch_verdict said = HELLO_WATCH_MORE, verdict;

	*open_r = false;
	for (size_t i = 0; i < len; i++) {
		verdict = hello_watch_server_byte(watch, bytes[i]);
		if (verdict == HELLO_WATCH_RETRY)
			said = verdict;
		if (verdict != HELLO_WATCH_OPEN)
			continue;
		*open_r = true;
		return said == HELLO_WATCH_RETRY ? said : HELLO_WATCH_OPEN;
	}
	return said;
}

/* --- the client --- */

/* The first byte of a record, its type. */
static enum hello_watch_verdict
hello_watch_type(const struct hello_watch *watch, uint8_t type)
{
	switch (type) {
	case HELLO_WATCH_ALERT:
	case HELLO_WATCH_HEARTBEAT:
		return HELLO_WATCH_MORE;
	case HELLO_WATCH_HANDSHAKE:
		return watch->answered ? HELLO_WATCH_MORE : HELLO_WATCH_STOP;
	case HELLO_WATCH_CIPHERS:
	case HELLO_WATCH_DATA:
		/* Behind the answer what follows is encrypted. */
		return watch->answered ? HELLO_WATCH_OPEN : HELLO_WATCH_MORE;
	default:
		return HELLO_WATCH_OPEN;
	}
}

/* What the record at hand holds, from at on; *count_r bytes are used. */
static enum hello_watch_verdict
hello_watch_client_part(
    struct hello_watch *watch, const uint8_t *at, size_t len, size_t *count_r)
{
	enum hello_watch_verdict verdict;

	*count_r = 1;
	if (hello_watch_in_header(watch)) {
		if (watch->header_len == 0) {
			verdict = hello_watch_type(watch, *at);
			if (verdict != HELLO_WATCH_MORE)
				return verdict;
		}
		return hello_watch_header(watch, *at) ? HELLO_WATCH_MORE
						      : HELLO_WATCH_OPEN;
	}
	if (watch->header[0] == HELLO_WATCH_HANDSHAKE)
		return *at == HELLO_WATCH_CLIENT_HELLO ? HELLO_WATCH_HELLO
						       : HELLO_WATCH_OPEN;
	*count_r = len < watch->record_left ? len : watch->record_left;
	hello_watch_pass(watch, *count_r);
	return HELLO_WATCH_MORE;
}

enum hello_watch_verdict
hello_watch_client(
    struct hello_watch *watch, const uint8_t *bytes, size_t len, size_t *pass_r)
{
	enum hello_watch_verdict verdict;
	size_t count;

	for (*pass_r = 0; *pass_r < len; *pass_r += count) {
		verdict = hello_watch_client_part(
		    watch, bytes + *pass_r, len - *pass_r, &count);
		if (verdict == HELLO_WATCH_OPEN)
			*pass_r = len;
		if (verdict != HELLO_WATCH_MORE)
			return verdict;
	}
	return HELLO_WATCH_MORE;
}
