/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reader of ClientHello messages (RFC 8446 sections 4.1.2 and 5.1, RFC 6066
 * section 3, RFC 9849). Called by session.c with everything a client sent
 * behind its 200. It must never answer OK for a hello in which two parsers
 * could find two names, nor decide before the whole message is there.
 */
#include "egress-proxy/client_hello.h"

#include <stdlib.h>
#include <string.h>

enum {
	CLIENT_HELLO_RECORD_HEADER = 5,
	CLIENT_HELLO_RECORD_MAX = 16384, /* RFC 8446 section 5.1 */
	CLIENT_HELLO_CONTENT_HANDSHAKE = 22,
	CLIENT_HELLO_TYPE = 1,
	CLIENT_HELLO_RANDOM = 32,
	CLIENT_HELLO_SESSION_MAX = 32
};

enum {
	CLIENT_HELLO_EXT_SERVER_NAME = 0,
	CLIENT_HELLO_EXT_ALPN = 16,
	CLIENT_HELLO_EXT_ECH = 0xfe0d,
	CLIENT_HELLO_EXT_ESNI = 0xffce /* the draft before ECH */
};

/* Bytes that are still to be read; every read is checked. */
struct client_hello_bytes {
	const uint8_t *at;
	size_t len;
};

/* Extension types met so far, to find one that comes twice. */
struct client_hello_seen {
	uint64_t low; /* one bit for each type below 64 */
	uint16_t others[CLIENT_HELLO_EXTENSIONS_MAX];
	size_t other_count;
	size_t count;
};

/* width bytes as a number; false when they are not there. */
static bool
client_hello_number(
    struct client_hello_bytes *bytes, unsigned width, size_t *value_r)
{
	unsigned i;

	if (bytes->len < width)
		return false;
	*value_r = 0;
	for (i = 0; i < width; i++)
		*value_r = *value_r << 8 | bytes->at[i];
	bytes->at += width;
	bytes->len -= width;
	return true;
}

/* A vector behind a length of width bytes. */
static bool
client_hello_vector(struct client_hello_bytes *bytes, unsigned width,
    struct client_hello_bytes *vector_r)
{
	size_t len;

	if (!client_hello_number(bytes, width, &len) || len > bytes->len)
		return false;
	vector_r->at = bytes->at;
	vector_r->len = len;
	bytes->at += len;
	bytes->len -= len;
	return true;
}

/* True the first time a type is seen. */
static bool
client_hello_first_seen(struct client_hello_seen *seen, uint16_t type)
{
	size_t i;

	if (++seen->count > CLIENT_HELLO_EXTENSIONS_MAX)
		return false;
	if (type < 64) {
		if ((seen->low >> type & 1) != 0)
			return false;
		seen->low |= (uint64_t)1 << type;
		return true;
	}
	for (i = 0; i < seen->other_count; i++)
		if (seen->others[i] == type)
			return false;
	seen->others[seen->other_count++] = type;
	return true;
}

/* Exactly one entry of type host_name, canonical after lower-casing; a
 * trailing dot is not allowed on the wire (RFC 6066). */
static bool
client_hello_server_name(
    struct client_hello_bytes data, struct client_hello *hello)
{
	struct client_hello_bytes list, name;
	size_t type;

	if (!client_hello_vector(&data, 2, &list) || data.len != 0 ||
	    !client_hello_number(&list, 1, &type) || type != 0 ||
	    !client_hello_vector(&list, 2, &name) || list.len != 0 ||
	    name.len == 0 || name.at[name.len - 1] == '.')
		return false;
	hello->has_name = true;
	return domain_parse_any(
		   (const char *)name.at, name.len, &hello->name) == DOMAIN_OK;
}

/* Protocol names as text for the log; what is not printable is '?'. */
static bool
client_hello_alpn(struct client_hello_bytes data, struct client_hello *hello)
{
	struct client_hello_bytes list, name;
	size_t used = 0, i;

	if (!client_hello_vector(&data, 2, &list) || data.len != 0 ||
	    list.len == 0)
		return false;
	while (list.len > 0) {
		if (!client_hello_vector(&list, 1, &name) || name.len == 0)
			return false;
		if (used > 0 && used + 1 < sizeof(hello->alpn))
			hello->alpn[used++] = ',';
		for (i = 0; i < name.len && used + 1 < sizeof(hello->alpn); i++)
			hello->alpn[used++] =
			    name.at[i] > 0x20 && name.at[i] < 0x7f
				? (char)name.at[i]
				: '?';
	}
	hello->alpn[used] = '\0';
	return true;
}

static bool
client_hello_extension(
    size_t type, struct client_hello_bytes data, struct client_hello *hello)
{
	switch (type) {
	case CLIENT_HELLO_EXT_SERVER_NAME:
		return client_hello_server_name(data, hello);
	case CLIENT_HELLO_EXT_ALPN:
		return client_hello_alpn(data, hello);
	case CLIENT_HELLO_EXT_ECH:
	case CLIENT_HELLO_EXT_ESNI:
		hello->ech = true;
		return true;
	default:
		return true;
	}
}

static bool
client_hello_extensions(
    struct client_hello_bytes list, struct client_hello *hello)
{
	struct client_hello_seen seen;
	struct client_hello_bytes data;
	size_t type;

	seen.low = 0;
	seen.count = seen.other_count = 0;
	while (list.len > 0) {
		if (!client_hello_number(&list, 2, &type) ||
		    !client_hello_vector(&list, 2, &data) ||
		    !client_hello_first_seen(&seen, (uint16_t)type) ||
		    !client_hello_extension(type, data, hello))
			return false;
	}
	return true;
}

/* The message without its handshake header; must end exactly. */
static bool
client_hello_body(struct client_hello_bytes body, struct client_hello *hello)
{
	struct client_hello_bytes session, suites, compressions, extensions;
	size_t version;

	if (!client_hello_number(&body, 2, &version) || version >> 8 != 3 ||
	    body.len < CLIENT_HELLO_RANDOM)
		return false;
	hello->version = (uint16_t)version;
	body.at += CLIENT_HELLO_RANDOM;
	body.len -= CLIENT_HELLO_RANDOM;
	if (!client_hello_vector(&body, 1, &session) ||
	    session.len > CLIENT_HELLO_SESSION_MAX ||
	    !client_hello_vector(&body, 2, &suites) || suites.len < 2 ||
	    suites.len % 2 != 0 ||
	    !client_hello_vector(&body, 1, &compressions) ||
	    compressions.len < 1)
		return false;
	if (body.len == 0) /* TLS 1.0 without extensions: no name */
		return true;
	return client_hello_vector(&body, 2, &extensions) && body.len == 0 &&
	       client_hello_extensions(extensions, hello);
}

/* The header of the record at reader->at, checked as far as it is there. */
static enum client_hello_status
client_hello_record(const struct client_hello_reader *reader,
    const uint8_t *bytes, size_t len, size_t *payload_r)
{
	const uint8_t *header = bytes + reader->at;
	size_t have = len - reader->at;
	enum client_hello_status wrong =
	    reader->records == 0 ? CLIENT_HELLO_NOT_TLS : CLIENT_HELLO_BAD;

	if ((have > 0 && header[0] != CLIENT_HELLO_CONTENT_HANDSHAKE) ||
	    (have > 1 && header[1] != 3))
		return wrong;
	if (have < CLIENT_HELLO_RECORD_HEADER)
		return CLIENT_HELLO_NEED_MORE;
	*payload_r = (size_t)header[3] << 8 | header[4];
	if (*payload_r == 0 || *payload_r > CLIENT_HELLO_RECORD_MAX ||
	    reader->records == CLIENT_HELLO_RECORDS_MAX)
		return CLIENT_HELLO_BAD;
	return CLIENT_HELLO_OK;
}

/* Note the handshake header in the have bytes of payload that are there,
 * the first of which is byte gathered of the message. */
static enum client_hello_status
client_hello_header(
    struct client_hello_reader *reader, const uint8_t *payload, size_t have)
{
	size_t i;

	for (i = 0; i < have && reader->gathered + i < 4; i++)
		reader->prefix[reader->gathered + i] = payload[i];
	if (reader->gathered + i > 0 && reader->prefix[0] != CLIENT_HELLO_TYPE)
		return CLIENT_HELLO_BAD;
	if (reader->need != 0 || reader->gathered + i < 4)
		return CLIENT_HELLO_OK;
	reader->need =
	    4 + ((size_t)reader->prefix[1] << 16 |
		    (size_t)reader->prefix[2] << 8 | reader->prefix[3]);
	return reader->need > CLIENT_HELLO_BYTES_MAX ? CLIENT_HELLO_TOO_LONG
						     : CLIENT_HELLO_OK;
}

/* Count one record. OK: the message is whole. */
static enum client_hello_status
client_hello_next(
    struct client_hello_reader *reader, const uint8_t *bytes, size_t len)
{
	enum client_hello_status status;
	size_t payload, have;

	status = client_hello_record(reader, bytes, len, &payload);
	if (status != CLIENT_HELLO_OK)
		return status;
	have = len - reader->at - CLIENT_HELLO_RECORD_HEADER;
	if (have > payload)
		have = payload;
	status = client_hello_header(
	    reader, bytes + reader->at + CLIENT_HELLO_RECORD_HEADER, have);
	if (status != CLIENT_HELLO_OK)
		return status;
	/* A hello ends where its record ends: nothing may share it. */
	if (reader->need != 0 && reader->gathered + payload > reader->need)
		return CLIENT_HELLO_BAD;
	if (reader->at + CLIENT_HELLO_RECORD_HEADER + payload >
	    CLIENT_HELLO_BYTES_MAX)
		return CLIENT_HELLO_TOO_LONG;
	if (have < payload)
		return CLIENT_HELLO_NEED_MORE;
	reader->at += CLIENT_HELLO_RECORD_HEADER + payload;
	reader->gathered += payload;
	reader->records++;
	return reader->gathered == reader->need ? CLIENT_HELLO_OK
						: CLIENT_HELLO_NEED_MORE;
}

/* The message out of several records, without their headers. */
static void
client_hello_join(
    const uint8_t *bytes, const struct client_hello_reader *reader, uint8_t *to)
{
	size_t at = 0, payload;

	while (at < reader->at) {
		payload = (size_t)bytes[at + 3] << 8 | bytes[at + 4];
		at += CLIENT_HELLO_RECORD_HEADER;
		memcpy(to, bytes + at, payload);
		to += payload;
		at += payload;
	}
}

static enum client_hello_status
client_hello_whole(const struct client_hello_reader *reader,
    const uint8_t *bytes, struct client_hello *hello)
{
	struct client_hello_bytes body;
	uint8_t *joined = NULL;
	bool good;

	hello->record_bytes = reader->at;
	hello->records = reader->records;
	body.at = bytes + CLIENT_HELLO_RECORD_HEADER + 4;
	body.len = reader->need - 4;
	if (reader->records > 1) {
		/* All need bytes are filled, and need is 4 at least. */
		joined = calloc(1, reader->need + 1);
		if (joined == NULL)
			return CLIENT_HELLO_BAD;
		client_hello_join(bytes, reader, joined);
		body.at = joined + 4;
	}
	good = client_hello_body(body, hello);
	free(joined);
	return good ? CLIENT_HELLO_OK : CLIENT_HELLO_BAD;
}

enum client_hello_status
client_hello_read(struct client_hello_reader *reader, const uint8_t *bytes,
    size_t len, struct client_hello *hello_r)
{
	enum client_hello_status status = CLIENT_HELLO_NEED_MORE;
	unsigned before;

	memset(hello_r, 0, sizeof(*hello_r));
	do {
		before = reader->records;
		status = client_hello_next(reader, bytes, len);
	} while (status == CLIENT_HELLO_NEED_MORE && reader->records > before);
	if (status != CLIENT_HELLO_OK)
		return status;
	status = client_hello_whole(reader, bytes, hello_r);
	if (status != CLIENT_HELLO_OK)
		memset(hello_r, 0, sizeof(*hello_r));
	return status;
}

enum deny_code
client_hello_deny_code(enum client_hello_status status)
{
	switch (status) {
	case CLIENT_HELLO_OK:
	case CLIENT_HELLO_NEED_MORE:
		return DENY_NONE;
	case CLIENT_HELLO_NOT_TLS:
		return DENY_NOT_TLS;
	case CLIENT_HELLO_BAD:
	case CLIENT_HELLO_TOO_LONG:
	case CLIENT_HELLO_STATUS_COUNT:
		break;
	}
	return DENY_TLS_PARSE;
}

enum deny_code
client_hello_check(const struct client_hello *hello,
    const struct domain *expected, bool ech_allowed)
{
	if (!hello->has_name)
		return DENY_SNI_MISSING;
	if (!domain_equal(&hello->name, expected))
		return DENY_SNI_MISMATCH;
	if (hello->ech && !ech_allowed)
		return DENY_ECH_REFUSED;
	return DENY_NONE;
}
