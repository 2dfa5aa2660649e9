/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lane between llm-broker and llm-key: a SOCK_STREAM socketpair that
 * carries one call after the other. The broker makes pairs and sends their
 * other ends with `upstream_open`; lanes are used again. Both ends are of
 * one build on one machine: fixed headers in host byte order, no parser.
 *
 * One call: OPEN, its head, its body -> DATA ... EOF or FAILED -> RELEASE.
 * What of it goes through the lane, and what through the trunk that all
 * lanes share, stands in lane_trunk.h.
 * Whoever sees a frame that does not belong ends the process: the other end
 * is ours, so it is a broken invariant.
 * Backpressure is the socket's: llm-key stops reading the upstream while the
 * lane does not take more; the broker stops reading the lane while the agent
 * does not. Closing a lane cancels its call.
 */
#ifndef LLM_BROKER_LANE_H
#define LLM_BROKER_LANE_H

#include <stdint.h>

#define LANE_MAGIC 0x414e4c31U /* "ANL1" */
#define LANE_HEAD_MAX 16384U   /* bytes of the canonical head */
#define LANE_DATA_MAX 65536U   /* bytes of one DATA frame */
#define LANE_COUNT_MAX 1024U   /* lanes of one broker */
#define LANE_PROVIDER_MAX 32U

enum lane_type {
	/* broker to llm-key */
	LANE_OPEN = 1, /* struct lane_open; then head, then body, raw */
	LANE_RELEASE,  /* lane_frame; value: enum lane_release */
	/* llm-key to broker */
	LANE_DATA,   /* lane_frame, value = bytes that follow, 1..DATA_MAX */
	LANE_EOF,    /* lane_frame: the upstream closed in order */
	LANE_FAILED, /* lane_frame, value: enum lane_failure. Nothing follows;
		      * the lane is free again after RELEASE */
};

/* What the broker found at the end of the response. KEEP: it was complete
 * and the connection may serve another call. */
enum lane_release {
	LANE_RELEASE_KEEP = 1,
	LANE_RELEASE_CLOSE,
	/* as CLOSE or KEEP, and the provider said 401 or 403: the breaker */
	LANE_RELEASE_KEY_REFUSED,
};

enum lane_failure {
	LANE_FAILED_NO_KEY = 1, /* credential_unavailable */
	LANE_FAILED_BREAKER,    /* the provider refused this key lately */
	LANE_FAILED_LOOKUP,     /* lookup_failed */
	LANE_FAILED_ADDRESS,    /* address_not_allowed */
	LANE_FAILED_DIAL,       /* dial_failed */
	LANE_FAILED_TLS,        /* chain, name or protocol */
	LANE_FAILED_TIMEOUT,    /* connect or first byte */
	LANE_FAILED_CLOSED,     /* closed before or inside the response */
	LANE_FAILED_HEAD,       /* the canonical head is not canonical */
	LANE_FAILED_BUSY,       /* too many connections */
};

/* call numbers the calls of one lane: the broker counts up with each OPEN,
 * and every frame of that call repeats it, both ways. What llm-key wrote of
 * an earlier call (an EOF that crossed its RELEASE) is dropped. A RELEASE
 * follows every call whose lane is used again, after FAILED and EOF too; a
 * call that ends before its whole request was taken closes the lane. */
struct lane_frame {
	uint32_t magic, type, value, call;
};

/* The head is the broker's: request line, Host, and fields it chose, each
 * ended by CRLF, without the empty line and without any credential field;
 * llm-key checks that Host is the provider's, appends the key's field and
 * the empty line, and sends the body behind it as it is. */
struct lane_open {
	struct lane_frame frame;          /* value = head_len */
	char provider[LANE_PROVIDER_MAX]; /* NUL-terminated */
	uint64_t body_len;
	uint32_t first_byte_ms; /* until the first byte of the response */
	uint32_t idle_ms;       /* between bytes of the response */
	uint64_t number;        /* the broker's, for both logs */
};

#endif
