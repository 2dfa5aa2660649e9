/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests: what is accepted names one canonical host and a port, and the
 * head written for the upstream is itself strictly valid, with that host.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "egress-proxy/connect_request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
fuzz_connect_request_rewritten(const struct connect_request *request)
{
	struct connect_request_target named;
	struct http_head head;
	struct buffer buffer;
	const char *bytes;
	char authority[512];

	buffer_init(&buffer, 4 * HTTP_HEAD_BYTES_MAX);
	if (connect_request_rewrite(request, &buffer) != RESULT_OK)
		abort();
	bytes = (const char *)buffer_bytes_borrow(&buffer);
	/* A long name may push a head at the limit over it, and the field
	 * that closes the connection comes on top of a full head's. */
	if (buffer.len <= HTTP_HEAD_BYTES_MAX &&
	    request->head.field_count < HTTP_HEAD_FIELDS_MAX) {
		if (http_head_parse_request(bytes, buffer.len, &head) !=
			HTTP_HEAD_OK ||
		    head.head_len != buffer.len ||
		    head.target.bytes[0] != '/' ||
		    head.host.len + 4 >= sizeof(authority))
			abort();
		memcpy(authority, head.host.bytes, head.host.len);
		memcpy(authority + head.host.len, ":80", 3);
		if (connect_request_parse_authority(authority,
			head.host.len + (request->target.port == 80 ? 3 : 0),
			&named) != RESULT_OK ||
		    named.port != request->target.port ||
		    !domain_equal(&named.name, &request->target.name))
			abort();
	}
	buffer_free(&buffer);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct connect_request request;
	struct connect_request_target target;
	enum connect_request_status status;

	status = connect_request_parse((const char *)data, size, &request);
	if (status == CONNECT_REQUEST_OK) {
		if (request.target.port == 0 ||
		    request.target.is_address == (request.target.name.len != 0))
			abort();
		if (request.plain_http)
			fuzz_connect_request_rewritten(&request);
	} else if (status == CONNECT_REQUEST_REFUSED) {
		if (request.code == DENY_NONE || request.detail == NULL)
			abort();
	}
	connect_request_parse_authority((const char *)data, size, &target);
	return 0;
}
