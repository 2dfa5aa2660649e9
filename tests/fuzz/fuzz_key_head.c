/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz: the check of canonical heads. The first two bytes are the length of
 * the body. What passes holds: one Host, the provider's, no credential, no
 * empty line, no byte that is not printable.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "llm-broker/key/key_head.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* How many lines begin with this name and a colon. */
static unsigned
fuzz_key_head_count(const char *head, size_t len, const char *name)
{
	size_t name_len = strlen(name);
	unsigned count = 0;

	for (size_t i = 0; i + name_len < len; i++)
		if ((i == 0 || head[i - 1] == '\n') &&
		    strncasecmp(head + i, name, name_len) == 0 &&
		    head[i + name_len] == ':')
			count++;
	return count;
}

static void
fuzz_key_head_holds(const char *head, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if ((head[i] < 0x20 && head[i] != '\r' && head[i] != '\n') ||
		    head[i] > 0x7e)
			abort();
	if (len < 4 || memmem(head, len, "\n\r\n", 3) != NULL ||
	    memcmp(head + len - 2, "\r\n", 2) != 0)
		abort();
	if (fuzz_key_head_count(head, len, "host") != 1 ||
	    fuzz_key_head_count(head, len, "authorization") != 0 ||
	    fuzz_key_head_count(head, len, "x-special-key") != 0 ||
	    fuzz_key_head_count(head, len, "transfer-encoding") != 0 ||
	    fuzz_key_head_count(head, len, "content-length") > 1)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct key_head_expected expected = {.host = "api.example.test",
	    .authority = "api.example.test:8443",
	    .key_header = "x-special-key"};

	if (size < 2)
		return 0;
	expected.body_len = (uint64_t)(data[0] | data[1] << 8);
	if (key_head_check((const char *)data + 2, size - 2, &expected) ==
	    KEY_HEAD_OK)
		fuzz_key_head_holds((const char *)data + 2, size - 2);
	return 0;
}
