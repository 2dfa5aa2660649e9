/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ClientHello: the outcome does not depend on how the bytes arrive, and an
 * accepted name is canonical.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "egress-proxy/client_hello.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static enum client_hello_status
fuzz_client_hello_feed(
    const uint8_t *data, size_t size, size_t step, struct client_hello *hello_r)
{
	struct client_hello_reader reader = {0};
	enum client_hello_status status = CLIENT_HELLO_NEED_MORE;
	size_t have = 0;

	memset(hello_r, 0, sizeof(*hello_r));
	while (status == CLIENT_HELLO_NEED_MORE && have < size) {
		have = size - have < step ? size : have + step;
		status = client_hello_read(&reader, data, have, hello_r);
	}
	return status;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct client_hello whole, pieces;
	enum client_hello_status status;
	struct domain again;

	status = fuzz_client_hello_feed(data, size, size + 1, &whole);
	if (status != fuzz_client_hello_feed(data, size, 1, &pieces) ||
	    memcmp(&whole, &pieces, sizeof(whole)) != 0)
		abort();
	if (status != CLIENT_HELLO_OK)
		return 0;
	if (whole.record_bytes > size ||
	    whole.record_bytes > CLIENT_HELLO_BYTES_MAX ||
	    memchr(whole.alpn, '\0', sizeof(whole.alpn)) == NULL)
		abort();
	if (whole.has_name && (domain_parse_any(whole.name.name, whole.name.len,
				   &again) != DOMAIN_OK ||
				  !domain_equal(&whole.name, &again)))
		abort();
	return 0;
}
