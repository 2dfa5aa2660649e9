/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The answer to the request to attach (see the header). Called by
 * mux_host.c; must never take a connection for the container's that still
 * is the daemon's.
 */
#include "supervisor/gate/mux_attach.h"

#include "common/http_head.h"

#define MUX_ATTACH_SWITCHED 101U

enum mux_attach_answer
mux_attach_read(const char *bytes, size_t len, unsigned *status_r)
{
	struct http_head head;
	const struct http_field *upgrade;
	enum http_head_status status =
	    http_head_parse_response(bytes, len, &head);

	*status_r = 0;
	if (status == HTTP_HEAD_NEED_MORE)
		return len < MUX_ATTACH_HEAD_MAX ? MUX_ATTACH_MORE
						 : MUX_ATTACH_BAD;
	if (status != HTTP_HEAD_OK)
		return MUX_ATTACH_BAD;
	*status_r = head.status;
	if (head.status != MUX_ATTACH_SWITCHED)
		return MUX_ATTACH_REFUSED;
	upgrade = http_head_find(&head, "upgrade");
	if (upgrade == NULL ||
	    !http_head_text_is_nocase(upgrade->value, "tcp") ||
	    head.head_len != len)
		return MUX_ATTACH_BAD;
	return MUX_ATTACH_DONE;
}
