/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps a client from a second ClientHello in the clear while its tunnel
 * begins. Called by tunnel.c with what it read and before it passes it on.
 * Must never let the first byte of such a hello's record go before it is
 * known whether the server asked for it.
 */
#include "egress-proxy/tunnel_hello.h"

#include <stdlib.h>
#include <string.h>

enum result
tunnel_hello_keep(struct tunnel_end *from, const void *bytes, size_t count)
{
	from->behind = malloc(count);
	if (from->behind == NULL)
		return RESULT_NO_MEMORY;
	memcpy(from->behind, bytes, count);
	from->behind_len = (uint32_t)count;
	return RESULT_OK;
}

void
tunnel_hello_drop(struct tunnel_end *from)
{
	free(from->behind);
	from->behind = NULL;
	from->behind_len = 0;
}

/* Nothing but a second hello that was asked for can hold the client up. */
static void
tunnel_hello_answered(struct tunnel *tunnel)
{
	tunnel->ends[1].watched = 0;
	tunnel->ends[0].watch.answered = true;
	if (!tunnel->retry)
		tunnel->ends[0].stopped = 0;
}

/* Bytes of the server pass whatever they say; its first message decides
 * about the client's. */
static void
tunnel_hello_server(struct tunnel *tunnel, const uint8_t *bytes, size_t count)
{
	bool open;

	if (hello_watch_server(&tunnel->ends[1].watch, bytes, count, &open) ==
	    HELLO_WATCH_RETRY)
		tunnel->retry = true;
	if (open)
		tunnel_hello_answered(tunnel);
}

/* How many of the client's bytes may pass now. */
static size_t
tunnel_hello_client(struct tunnel *tunnel, const uint8_t *bytes, size_t count)
{
	struct tunnel_end *client = &tunnel->ends[0];
	size_t pass;

	switch (hello_watch_client(&client->watch, bytes, count, &pass)) {
	case HELLO_WATCH_MORE:
	case HELLO_WATCH_RETRY: /* a server's */
		break;
	case HELLO_WATCH_OPEN:
		client->watched = tunnel->ends[1].watched = 0;
		break;
	case HELLO_WATCH_STOP:
		client->stopped = 1;
		break;
	case HELLO_WATCH_HELLO:
		tunnel->refused = true;
		break;
	}
	return pass;
}

size_t
tunnel_hello_look(struct tunnel *tunnel, const struct tunnel_end *from,
    const uint8_t *bytes, size_t count)
{
	if (!from->watched)
		return count;
	if (from == &tunnel->ends[0])
		return tunnel_hello_client(tunnel, bytes, count);
	tunnel_hello_server(tunnel, bytes, count);
	return count;
}

void
tunnel_hello_ended(struct tunnel *tunnel)
{
	if (tunnel->ends[1].watched && tunnel->ends[1].eof)
		tunnel_hello_answered(tunnel);
}

bool
tunnel_hello_due(struct tunnel *tunnel)
{
	if (!tunnel->retry || tunnel->told || !tunnel->ends[0].stopped ||
	    tunnel->ends[0].held > 0)
		return false;
	tunnel->told = true;
	return true;
}
