/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a ClientHello byte by byte (see the header).
 */
#include "supervisor/probe/probe_hello.h"

#include <string.h>
#include <sys/random.h>

#define PROBE_HELLO_RANDOM 32U
#define PROBE_HELLO_NAME_MAX 253U

struct probe_hello {
	uint8_t *bytes;
	size_t len;
};

static void
probe_hello_put(struct probe_hello *hello, const void *bytes, size_t len)
{
	memcpy(hello->bytes + hello->len, bytes, len);
	hello->len += len;
}

static void
probe_hello_put16(struct probe_hello *hello, size_t value)
{
	const uint8_t bytes[2] = {(uint8_t)(value >> 8), (uint8_t)value};

	probe_hello_put(hello, bytes, 2);
}

/* Puts the length of everything behind at into the two bytes before it. */
static void
probe_hello_close(struct probe_hello *hello, size_t at)
{
	size_t len = hello->len - at;

	hello->bytes[at - 2] = (uint8_t)(len >> 8);
	hello->bytes[at - 1] = (uint8_t)len;
}

static void
probe_hello_server_name(struct probe_hello *hello, const char *name)
{
	size_t len = strlen(name);

	probe_hello_put16(hello, 0); /* server_name */
	probe_hello_put16(hello, len + 5);
	probe_hello_put16(hello, len + 3);
	probe_hello_put(hello, "", 1); /* host_name */
	probe_hello_put16(hello, len);
	probe_hello_put(hello, name, len);
}

static void
probe_hello_extensions(struct probe_hello *hello, const char *name,
    const uint8_t share[PROBE_HELLO_RANDOM])
{
	static const uint8_t fixed[] = {0, 10, 0, 6, 0, 4, 0, 29, 0,
	    23,                  /* groups x25519, P-256 */
	    0, 11, 0, 2, 1, 0,   /* uncompressed points */
	    0, 13, 0, 14, 0, 12, /* signature algorithms */
	    4, 3, 8, 4, 4, 1, 5, 3, 8, 5, 5, 1, 0, 43, 0, 5, 4, 3, 4, 3,
	    3,                                  /* versions 1.3, 1.2 */
	    0, 45, 0, 2, 1, 1,                  /* PSK with (EC)DHE */
	    0, 51, 0, 38, 0, 36, 0, 29, 0, 32}; /* key share x25519 */

	probe_hello_server_name(hello, name);
	probe_hello_put(hello, fixed, sizeof(fixed));
	probe_hello_put(hello, share, PROBE_HELLO_RANDOM);
}

size_t
probe_hello_make(const char *name, uint8_t bytes_r[PROBE_HELLO_MAX])
{
	static const uint8_t start[] = {22, 3, 1, 0, 0, /* record */
	    1, 0, 0, 0,                                 /* client_hello */
	    3, 3};
	static const uint8_t suites[] = {0, 0, 14, 0x13, 1, 0x13, 2, 0x13, 3,
	    0xc0, 0x2b, 0xc0, 0x2f, 0xc0, 0x2c, 0xc0, 0x30, 1, 0};
	uint8_t random[2 * PROBE_HELLO_RANDOM];
	struct probe_hello hello = {bytes_r, 0};
	size_t extensions;

	if (strlen(name) > PROBE_HELLO_NAME_MAX ||
	    getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
		return 0;
	probe_hello_put(&hello, start, sizeof(start));
	probe_hello_put(&hello, random, PROBE_HELLO_RANDOM);
	probe_hello_put(&hello, suites, sizeof(suites));
	probe_hello_put16(&hello, 0);
	extensions = hello.len;
	probe_hello_extensions(&hello, name, random + PROBE_HELLO_RANDOM);
	probe_hello_close(&hello, extensions);
	probe_hello_close(&hello, 9); /* handshake: low 16 of 24 bits */
	probe_hello_close(&hello, 5); /* record */
	return hello.len;
}

bool
probe_hello_answered(const uint8_t *bytes, size_t len)
{
	return len >= 3 && bytes[0] == 22 && bytes[1] == 3 &&
	       (len < 6 || bytes[5] == 2);
}
