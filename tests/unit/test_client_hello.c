/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ClientHello messages built byte by byte: every vector of the group, in
 * every segmentation, with the code it ends in.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include "egress-proxy/client_hello.h"

/* A message under construction. */
struct wire {
	uint8_t bytes[1 << 18];
	size_t len;
};

static void
put(struct wire *wire, const void *bytes, size_t len)
{
	assert_true(wire->len + len <= sizeof(wire->bytes));
	memcpy(wire->bytes + wire->len, bytes, len);
	wire->len += len;
}

static void
put_number(struct wire *wire, unsigned width, size_t value)
{
	uint8_t byte;

	while (width-- > 0) {
		byte = (uint8_t)(value >> (8 * width));
		put(wire, &byte, 1);
	}
}

static void
put_vector(struct wire *wire, unsigned width, const void *bytes, size_t len)
{
	put_number(wire, width, len);
	put(wire, bytes, len);
}

static void
put_extension(struct wire *wire, unsigned type, const void *bytes, size_t len)
{
	put_number(wire, 2, type);
	put_vector(wire, 2, bytes, len);
}

/* server_name with one entry of that type. */
static void
put_name(struct wire *wire, unsigned type, const char *name, size_t len)
{
	static struct wire entry, list;

	entry.len = list.len = 0;
	put_number(&entry, 1, type);
	put_vector(&entry, 2, name, len);
	put_vector(&list, 2, entry.bytes, entry.len);
	put_extension(wire, 0, list.bytes, list.len);
}

/* The handshake message around a block of extensions; NULL: no block. */
static void
put_hello(struct wire *wire, const struct wire *extensions)
{
	static const uint8_t suites[] = {0x13, 0x01, 0x13, 0x02};
	static const uint8_t zero[32];
	static struct wire body;

	body.len = 0;
	put_number(&body, 2, 0x0303);
	put(&body, zero, 32);
	put_vector(&body, 1, zero, 32);
	put_vector(&body, 2, suites, sizeof(suites));
	put_vector(&body, 1, zero, 1);
	if (extensions != NULL)
		put_vector(&body, 2, extensions->bytes, extensions->len);
	put_number(wire, 1, 1);
	put_vector(wire, 3, body.bytes, body.len);
}

/* message cut into records of at most size bytes. */
static void
put_records(struct wire *wire, const struct wire *message, size_t size)
{
	size_t at, len;

	for (at = 0; at < message->len; at += len) {
		len = message->len - at < size ? message->len - at : size;
		put_number(wire, 1, 22);
		put_number(wire, 2, 0x0301);
		put_vector(wire, 2, message->bytes + at, len);
	}
}

/* Feed in steps; an exactly sized copy each time, so that a sanitizer sees
 * a byte too far. */
static enum client_hello_status
feed(const uint8_t *bytes, size_t len, size_t step, struct client_hello *hello)
{
	struct client_hello_reader reader = {0};
	enum client_hello_status status = CLIENT_HELLO_NEED_MORE;
	uint8_t *copy;
	size_t have;

	for (have = 0; status == CLIENT_HELLO_NEED_MORE && have < len;) {
		have = len - have < step ? len : have + step;
		copy = malloc(have);
		assert_non_null(copy);
		memcpy(copy, bytes, have);
		status = client_hello_read(&reader, copy, have, hello);
		free(copy);
	}
	return status;
}

/* The same outcome in one write, in 1-byte writes and in others. */
static enum client_hello_status
read_all(const struct wire *wire, struct client_hello *hello)
{
	static const size_t steps[] = {1, 2, 7, 100, 1460};
	enum client_hello_status status, other;
	struct client_hello again;
	size_t i;

	status = feed(wire->bytes, wire->len, wire->len, hello);
	for (i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		other = feed(wire->bytes, wire->len, steps[i], &again);
		assert_int_equal(other, status);
		if (status == CLIENT_HELLO_OK)
			assert_memory_equal(&again, hello, sizeof(again));
	}
	return status;
}

static struct wire extensions, message, wire;

static void
start(void)
{
	extensions.len = message.len = wire.len = 0;
}

/* Wrap the extensions gathered so far into records and read them. */
static enum client_hello_status
finish(size_t record, struct client_hello *hello)
{
	put_hello(&message, &extensions);
	put_records(&wire, &message, record);
	return read_all(&wire, hello);
}

static void
b031_plain_hello(void **state)
{
	struct client_hello hello;
	struct domain host;

	(void)state;
	start();
	put_name(&extensions, 0, "API.example.com", 15);
	put_extension(&extensions, 16, "\0\x0c\x02h2\x08http/1.1", 14);
	put_extension(&extensions, 0x0a0a, "", 0);
	assert_int_equal(finish(16384, &hello), CLIENT_HELLO_OK);
	assert_true(hello.has_name);
	assert_string_equal(hello.name.name, "api.example.com");
	assert_string_equal(hello.alpn, "h2,http/1.1");
	assert_false(hello.ech);
	assert_int_equal(hello.version, 0x0303);
	assert_int_equal(hello.records, 1);
	assert_int_equal(hello.record_bytes, wire.len);
	assert_int_equal(domain_parse("api.example.com", 15, &host), DOMAIN_OK);
	assert_int_equal(client_hello_check(&hello, &host, false), DENY_NONE);
	assert_int_equal(domain_parse("example.com", 11, &host), DOMAIN_OK);
	assert_int_equal(
	    client_hello_check(&hello, &host, true), DENY_SNI_MISMATCH);
}

static void
b033_missing_name(void **state)
{
	struct client_hello hello;
	struct domain host;

	(void)state;
	assert_int_equal(domain_parse("example.com", 11, &host), DOMAIN_OK);
	start();
	put_extension(&extensions, 43, "\x02\x03\x04", 3);
	assert_int_equal(finish(16384, &hello), CLIENT_HELLO_OK);
	assert_false(hello.has_name);
	assert_int_equal(
	    client_hello_check(&hello, &host, false), DENY_SNI_MISSING);
	start();
	put_hello(&message, NULL);
	put_records(&wire, &message, 16384);
	assert_int_equal(read_all(&wire, &hello), CLIENT_HELLO_OK);
	assert_int_equal(
	    client_hello_check(&hello, &host, true), DENY_SNI_MISSING);
}

static void
b034_encrypted_client_hello(void **state)
{
	static const unsigned types[] = {0xfe0d, 0xffce};
	struct client_hello hello;
	struct domain host;
	size_t i;

	(void)state;
	assert_int_equal(domain_parse("example.com", 11, &host), DOMAIN_OK);
	for (i = 0; i < 2; i++) {
		start();
		put_name(&extensions, 0, "example.com", 11);
		put_extension(&extensions, types[i], "\0GREASE", 7);
		assert_int_equal(finish(16384, &hello), CLIENT_HELLO_OK);
		assert_true(hello.ech);
		assert_int_equal(
		    client_hello_check(&hello, &host, false), DENY_ECH_REFUSED);
		assert_int_equal(
		    client_hello_check(&hello, &host, true), DENY_NONE);
	}
}

/* A hello that needs 17 KiB: 4-byte header, extensions padded. */
static void
pad_to(size_t size)
{
	static uint8_t padding[1 << 16];

	put_extension(&extensions, 21, padding, size - extensions.len - 4 - 81);
}

static void
b035_17_kib(void **state)
{
	struct client_hello hello;

	(void)state;
	start();
	put_name(&extensions, 0, "example.com", 11);
	pad_to(17 * 1024);
	assert_int_equal(finish(16384, &hello), CLIENT_HELLO_OK);
	assert_int_equal(message.len, 17 * 1024);
	assert_int_equal(hello.records, 2);
	assert_string_equal(hello.name.name, "example.com");
}

static void
b036_several_records(void **state)
{
	struct client_hello hello;

	(void)state;
	start();
	put_name(&extensions, 0, "example.com", 11);
	put_hello(&message, &extensions);
	put_records(&wire, &message, message.len / 3 + 1);
	assert_int_equal(read_all(&wire, &hello), CLIENT_HELLO_OK);
	assert_int_equal(hello.records, 3);
	/* Also when the handshake header itself is cut. */
	wire.len = 0;
	put_records(&wire, &message, 2);
	assert_int_equal(read_all(&wire, &hello), CLIENT_HELLO_OK);
	assert_string_equal(hello.name.name, "example.com");
	/* What follows belongs to the tunnel. */
	put(&wire, "\x14\x03\x03\0\x01\x01", 6);
	assert_int_equal(
	    feed(wire.bytes, wire.len, wire.len, &hello), CLIENT_HELLO_OK);
	assert_int_equal(hello.record_bytes, wire.len - 6);
	/* One byte a record passes the record limit. */
	wire.len = 0;
	put_records(&wire, &message, 1);
	assert_int_equal(read_all(&wire, &hello), CLIENT_HELLO_BAD);
}

static void
b036_interleaved_and_empty_records(void **state)
{
	struct client_hello hello;
	size_t half;

	(void)state;
	start();
	put_name(&extensions, 0, "example.com", 11);
	put_hello(&message, &extensions);
	half = message.len / 2;
	put_number(&wire, 1, 22);
	put_number(&wire, 2, 0x0301);
	put_vector(&wire, 2, message.bytes, half);
	put(&wire, "\x15\x03\x01\0\x02\x01\0", 7); /* alert between */
	put_number(&wire, 1, 22);
	put_number(&wire, 2, 0x0301);
	put_vector(&wire, 2, message.bytes + half, message.len - half);
	assert_int_equal(read_all(&wire, &hello), CLIENT_HELLO_BAD);

	wire.len = 0;
	put(&wire, "\x16\x03\x01\0\0", 5);
	put_records(&wire, &message, 16384);
	assert_int_equal(read_all(&wire, &hello), CLIENT_HELLO_BAD);

	/* A second message in the record of the first. */
	start();
	put_name(&extensions, 0, "example.com", 11);
	put_hello(&message, &extensions);
	put_hello(&message, &extensions);
	put_records(&wire, &message, 16384);
	assert_int_equal(read_all(&wire, &hello), CLIENT_HELLO_BAD);

	/* A record longer than TLS allows. */
	start();
	put(&wire, "\x16\x03\x01\x40\x01", 5);
	assert_int_equal(read_all(&wire, &hello), CLIENT_HELLO_BAD);
}

static void
b035_too_long(void **state)
{
	struct client_hello hello;
	size_t i;

	(void)state;
	/* The header alone says that it will not fit. */
	start();
	put(&wire, "\x16\x03\x01\0\x04\x01\x01\0\0", 9);
	assert_int_equal(read_all(&wire, &hello), CLIENT_HELLO_TOO_LONG);
	/* It fits, but not with the headers of its records. */
	start();
	put_number(&message, 1, 1);
	put_number(&message, 3, 65532);
	for (i = 0; i < 65532; i++)
		put_number(&message, 1, 0);
	put_records(&wire, &message, 8192);
	assert_int_equal(read_all(&wire, &hello), CLIENT_HELLO_TOO_LONG);
}

static void
b038_not_tls(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
	} rows[] = {
	    {"\x80\x2e\x01\x03\x01\0\x15\0\0\0\x10", 11}, /* SSLv2 */
	    {"\x80", 1},
	    {"GET / HTTP/1.1\r\n", 16},
	    {"SSH-2.0-OpenSSH_9.2\r\n", 21},
	    {"\x16\x02\0\0\x10", 5},
	    {"\x15\x03\x01\0\x02\x02\x28", 7}, /* an alert first */
	    {"\x17\x03\x03\0\x05hello", 10},
	    {"\0", 1},
	};
	struct client_hello hello;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		start();
		put(&wire, rows[i].bytes, rows[i].len);
		assert_int_equal(read_all(&wire, &hello), CLIENT_HELLO_NOT_TLS);
	}
	assert_int_equal(
	    client_hello_deny_code(CLIENT_HELLO_NOT_TLS), DENY_NOT_TLS);
	assert_int_equal(
	    client_hello_deny_code(CLIENT_HELLO_BAD), DENY_TLS_PARSE);
	assert_int_equal(
	    client_hello_deny_code(CLIENT_HELLO_TOO_LONG), DENY_TLS_PARSE);
}

static void
b039_ambiguous_names(void **state)
{
	static const struct {
		const char *name;
		size_t len;
	} bad[] = {{"", 0}, {"example.com.", 12}, {"example.com\0.evil", 17},
	    {"example..com", 12}, {"exa mple.com", 12}, {"a_b.example", 11},
	    {"127.0.0.1", 9}, {"::1", 3}, {"xn--", 4}, {"ex\xc3\xa4.com", 8},
	    {"[example.com]", 13}, {"example.com:443", 15}};
	struct client_hello hello;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		start();
		put_name(&extensions, 0, bad[i].name, bad[i].len);
		assert_int_equal(finish(16384, &hello), CLIENT_HELLO_BAD);
		assert_false(hello.has_name);
		assert_int_equal(hello.name.len, 0);
	}
	start(); /* two extensions */
	put_name(&extensions, 0, "example.com", 11);
	put_name(&extensions, 0, "example.com", 11);
	assert_int_equal(finish(16384, &hello), CLIENT_HELLO_BAD);
	start(); /* two names in one */
	put_extension(&extensions, 0,
	    "\0\x0c\0\0\x03"
	    "a.b\0\0\x03"
	    "c.d",
	    14);
	assert_int_equal(finish(16384, &hello), CLIENT_HELLO_BAD);
	start(); /* another type of name */
	put_name(&extensions, 1, "example.com", 11);
	assert_int_equal(finish(16384, &hello), CLIENT_HELLO_BAD);
	start(); /* empty extension, empty list */
	put_extension(&extensions, 0, "", 0);
	assert_int_equal(finish(16384, &hello), CLIENT_HELLO_BAD);
	start();
	put_extension(&extensions, 0, "\0\0", 2);
	assert_int_equal(finish(16384, &hello), CLIENT_HELLO_BAD);
	start(); /* bytes behind the list */
	put_extension(&extensions, 0,
	    "\0\x06\0\0\x03"
	    "a.bX",
	    9);
	assert_int_equal(finish(16384, &hello), CLIENT_HELLO_BAD);
}

static void
b039_duplicate_extensions(void **state)
{
	struct client_hello hello;
	unsigned i;

	(void)state;
	start();
	put_name(&extensions, 0, "example.com", 11);
	put_extension(&extensions, 0xfe0d, "", 0);
	put_extension(&extensions, 0xfe0d, "", 0);
	assert_int_equal(finish(16384, &hello), CLIENT_HELLO_BAD);
	start();
	put_extension(&extensions, 43, "", 0);
	put_extension(&extensions, 43, "", 0);
	assert_int_equal(finish(16384, &hello), CLIENT_HELLO_BAD);
	start();
	for (i = 0; i < CLIENT_HELLO_EXTENSIONS_MAX; i++)
		put_extension(&extensions, 100 + i, "", 0);
	assert_int_equal(finish(16384, &hello), CLIENT_HELLO_OK);
	put_extension(&extensions, 100 + i, "", 0);
	message.len = wire.len = 0;
	assert_int_equal(finish(16384, &hello), CLIENT_HELLO_BAD);
}

/* Every length field of a good hello off by one, and every truncation of
 * its body behind a header that says so. */
static void
b043_lengths(void **state)
{
	static struct wire cut;
	struct client_hello hello;
	size_t body;

	(void)state;
	start();
	put_name(&extensions, 0, "example.com", 11);
	put_extension(&extensions, 16, "\0\x03\x02h2", 5);
	put_hello(&message, &extensions);
	for (body = 0; body < message.len - 4; body++) {
		cut.len = wire.len = 0;
		put_number(&cut, 1, 1);
		put_vector(&cut, 3, message.bytes + 4, body);
		put_records(&wire, &cut, 16384);
		/* A hello may end where its extensions begin. */
		assert_int_equal(read_all(&wire, &hello),
		    body == 75 ? CLIENT_HELLO_OK : CLIENT_HELLO_BAD);
	}
}

static void
b043_legacy_fields(void **state)
{
	static const uint8_t places[] = {
	    38,                      /* session id: 32 becomes 33 */
	    4 + 2 + 32 + 1 + 32 + 1, /* cipher suites: odd */
	    4,                       /* legacy_version: not 3.x */
	};
	struct client_hello hello;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(places); i++) {
		start();
		put_name(&extensions, 0, "example.com", 11);
		put_hello(&message, &extensions);
		message.bytes[places[i]]++;
		put_records(&wire, &message, 16384);
		assert_int_equal(read_all(&wire, &hello), CLIENT_HELLO_BAD);
	}
	start(); /* not a ClientHello: told by its first byte */
	put(&wire, "\x16\x03\x03\0\x30\x02", 6);
	assert_int_equal(read_all(&wire, &hello), CLIENT_HELLO_BAD);
}

static void
alpn_text_is_clean_and_cut(void **state)
{
	struct client_hello hello;
	uint8_t list[300];
	size_t i;

	(void)state;
	start();
	put_extension(&extensions, 16, "\0\x04\x03\x1b[H", 6);
	assert_int_equal(finish(16384, &hello), CLIENT_HELLO_OK);
	assert_string_equal(hello.alpn, "?[H");
	start();
	list[0] = 0;
	list[1] = 200;
	for (i = 2; i < 202; i += 10)
		memcpy(list + i,
		    "\x09"
		    "abcdefghi",
		    10);
	put_extension(&extensions, 16, list, 202);
	assert_int_equal(finish(16384, &hello), CLIENT_HELLO_OK);
	assert_int_equal(strlen(hello.alpn), CLIENT_HELLO_ALPN_TEXT_MAX - 1);
	start();
	put_extension(&extensions, 16, "\0\x01\0", 3);
	assert_int_equal(finish(16384, &hello), CLIENT_HELLO_BAD);
	start();
	put_extension(&extensions, 16, "\0\0", 2);
	assert_int_equal(finish(16384, &hello), CLIENT_HELLO_BAD);
}

/* Work is linear: a 60 KiB hello in 1-byte steps costs the reader little
 * more than calls. Quadratic work would be 60000^2 / 2 bytes. */
static void
i11_linear_work(void **state)
{
	struct client_hello_reader reader = {0};
	struct client_hello hello;
	enum client_hello_status status = CLIENT_HELLO_NEED_MORE;
	clock_t begin, used;
	size_t have;

	(void)state;
	start();
	put_name(&extensions, 0, "example.com", 11);
	pad_to(60000);
	put_hello(&message, &extensions);
	put_records(&wire, &message, 1000);
	begin = clock();
	for (have = 1; status == CLIENT_HELLO_NEED_MORE; have++)
		status = client_hello_read(&reader, wire.bytes, have, &hello);
	used = clock() - begin;
	assert_int_equal(status, CLIENT_HELLO_OK);
	assert_int_equal(hello.records, 60);
	print_message("60 KiB in 1-byte steps: %ld us\n",
	    (long)(used * 1000000 / CLOCKS_PER_SEC));
	assert_true(used < CLOCKS_PER_SEC / 2);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(b031_plain_hello),
	    cmocka_unit_test(b033_missing_name),
	    cmocka_unit_test(b034_encrypted_client_hello),
	    cmocka_unit_test(b035_17_kib),
	    cmocka_unit_test(b035_too_long),
	    cmocka_unit_test(b036_several_records),
	    cmocka_unit_test(b036_interleaved_and_empty_records),
	    cmocka_unit_test(b038_not_tls),
	    cmocka_unit_test(b039_ambiguous_names),
	    cmocka_unit_test(b039_duplicate_extensions),
	    cmocka_unit_test(b043_lengths),
	    cmocka_unit_test(b043_legacy_fields),
	    cmocka_unit_test(alpn_text_is_clean_and_cut),
	    cmocka_unit_test(i11_linear_work),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
