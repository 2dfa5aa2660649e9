/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first message of a TLS client, as far as a proxy must understand it:
 * one unambiguous server name, whether encrypted_client_hello is there, and
 * ALPN for the log. Takes any segmentation and several records; work is
 * linear in the bytes however they arrive. Pure. Used by egress-proxy's
 * session before anything is sent upstream.
 */
#ifndef EGRESS_PROXY_CLIENT_HELLO_H
#define EGRESS_PROXY_CLIENT_HELLO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/domain.h"
#include "egress-proxy/deny.h"

/* Most bytes of records a hello may take, and most records. */
#define CLIENT_HELLO_BYTES_MAX 65536U
#define CLIENT_HELLO_RECORDS_MAX 64U
#define CLIENT_HELLO_EXTENSIONS_MAX 128U
#define CLIENT_HELLO_ALPN_TEXT_MAX 96U

enum client_hello_status {
	CLIENT_HELLO_OK = 0,
	CLIENT_HELLO_NEED_MORE,
	CLIENT_HELLO_NOT_TLS, /* SSLv2, HTTP, SSH, ... */
	CLIENT_HELLO_BAD,     /* TLS, but malformed or ambiguous */
	CLIENT_HELLO_TOO_LONG,
	CLIENT_HELLO_STATUS_COUNT
};

/* What was found, valid after CLIENT_HELLO_OK. */
struct client_hello {
	bool has_name;
	struct domain name; /* canonical server name */
	bool ech;           /* encrypted_client_hello or its predecessor */
	uint16_t version;   /* legacy_version of the hello */
	char alpn[CLIENT_HELLO_ALPN_TEXT_MAX]; /* "h2,http/1.1", cut */
	size_t record_bytes; /* bytes of the records that hold the hello */
	unsigned records;
};

/* Where the reader stands between calls; zero-initialise, no cleanup. */
struct client_hello_reader {
	size_t at;         /* start of the first record not yet counted */
	size_t gathered;   /* handshake bytes in the counted records */
	size_t need;       /* length of the whole message, 0: not known */
	uint8_t prefix[4]; /* handshake header, may come in pieces */
	unsigned records;
};

/* Look at bytes, which are all bytes received so far, from the first one,
 * at every call. Every status but NEED_MORE is final. Allocates only for a
 * hello in several records (freed before return); out of memory is BAD. */
enum client_hello_status client_hello_read(struct client_hello_reader *reader,
    const uint8_t *bytes, size_t len, struct client_hello *hello_r);

/* The code for a final status that is not OK. */
enum deny_code client_hello_deny_code(enum client_hello_status status);

/* Compare a hello with the name that was asked for: sni_missing,
 * sni_mismatch, ech_refused or none. */
enum deny_code client_hello_check(const struct client_hello *hello,
    const struct domain *expected, bool ech_allowed);

#endif
