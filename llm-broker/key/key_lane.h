/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The story of one call on a lane (lane.h), as a machine of states: OPEN and
 * its head, a key and a connection, the body up, the response down, its end,
 * RELEASE. It is handed bytes of the broker and told what the upstream did;
 * what it wants done it asks of key_lane_actions. No socket, no clock of its
 * own; key_lane_io.c gives it both, tests/machine plays it.
 */
#ifndef LLM_BROKER_KEY_KEY_LANE_H
#define LLM_BROKER_KEY_KEY_LANE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/result.h"
#include "llm-broker/key/key_config.h"
#include "llm-broker/lane.h"

enum key_lane_state {
	KEY_LANE_FREE,    /* no call: an OPEN may come */
	KEY_LANE_HEAD,    /* OPEN came, its head not all */
	KEY_LANE_KEY,     /* the key is awaited */
	KEY_LANE_CONNECT, /* a connection is awaited */
	KEY_LANE_SEND,    /* it is there: write head and key */
	KEY_LANE_BODY,    /* the rest of the body goes up */
	KEY_LANE_ANSWER,  /* all is sent, the response comes */
	KEY_LANE_OVER,    /* EOF or FAILED was said; RELEASE will come */
	KEY_LANE_CLOSED   /* the lane ended, or the broker broke its rules */
};

/* May a call of this provider go on? */
enum key_lane_admit {
	KEY_LANE_GO,
	KEY_LANE_WAIT, /* the key is awaited */
	KEY_LANE_NO_KEY,
	KEY_LANE_BREAKER
};

enum key_lane_verdict { /* of a call that is over */
	KEY_LANE_UNKNOWN,
	KEY_LANE_SUCCEEDED,  /* the provider answered, and took the key */
	KEY_LANE_KEY_REFUSED /* it answered 401 or 403 */
};

#define KEY_LANE_DETAIL_MAX 128U

struct key_lane;

/* What key_lane.c has done for it. None may step the lane before it
 * returns. */
struct key_lane_actions {
	uint64_t (*now_ms)(struct key_lane *lane);
	/* The provider of that name, or NULL. */
	const struct key_config_provider *(*provider)(
	    struct key_lane *lane, const char *name);
	enum key_lane_admit (*admit)(struct key_lane *lane);
	/* RESULT_OK: may be written now; RESULT_NEED_MORE: key_lane_ready or
	 * key_lane_failed follows; else there is no room. */
	enum result (*connect)(struct key_lane *lane);
	/* Head, key and the body's beginning. RESULT_CLOSED: *sent_r says
	 * whether a byte of it may have left. */
	enum result (*inject)(struct key_lane *lane, const char *head,
	    size_t head_len, const char *body, size_t body_len, bool *sent_r);
	enum result (*send)(
	    struct key_lane *lane, const char *bytes, size_t len);
	/* Give the connection back, if there is one. */
	void (*release)(struct key_lane *lane, bool keep);
	void (*judge)(struct key_lane *lane, enum key_lane_verdict verdict);
	/* A frame without bytes to the broker. */
	void (*say)(struct key_lane *lane, enum lane_type type, uint32_t value);
	void (*deadline)(struct key_lane *lane, uint64_t due_ms); /* 0: none */
	void (*report)(struct key_lane *lane); /* one line per call */
};

struct key_lane {
	const struct key_lane_actions *actions;
	enum key_lane_state state;
	struct lane_open open; /* of the call */
	const struct key_config_provider *provider;
	uint64_t left, apart; /* bytes to come; the last ones in the lane */
	uint64_t up, down;    /* bytes of body and response */
	uint64_t began_ms, sent_ms, first_ms; /* 0: not yet */
	enum lane_failure failure;            /* 0: none */
	char detail[KEY_LANE_DETAIL_MAX];     /* of the failure */
	bool is_cancelled; /* the lane was closed while it was under way */
	bool is_retried;
	bool is_reported;
	bool is_broken; /* the broker broke the rules of lane.h */
};

void key_lane_init(
    struct key_lane *lane, const struct key_lane_actions *actions);

/* Bytes of the trunk (lane_trunk.h); returns how many were taken. The others
 * are offered again, with more behind them, after the next event. */
size_t key_lane_take(struct key_lane *lane, const char *bytes, size_t len);
/* The rest of the body is next, and comes in the lane itself: */
bool key_lane_is_apart(const struct key_lane *lane);
void key_lane_take_apart(struct key_lane *lane, const char *bytes, size_t len);
/* Would key_lane_take have use for bytes now? */
bool key_lane_wants(const struct key_lane *lane);

void key_lane_ready(struct key_lane *lane); /* the connection is there */
void key_lane_failed(
    struct key_lane *lane, enum lane_failure failure, const char *detail);
void key_lane_key_changed(struct key_lane *lane);
/* Of the response, on their way to the broker. */
void key_lane_received(struct key_lane *lane, size_t len);
/* The upstream ended, in order or not, after all it sent was received. */
void key_lane_upstream_ended(struct key_lane *lane, bool in_order);
/* stalled: the broker does not take more, so nobody waits for the upstream */
void key_lane_stalled(struct key_lane *lane, bool stalled);
void key_lane_deadline(struct key_lane *lane);
void key_lane_gone(struct key_lane *lane, const char *why); /* other end */

const char *key_lane_state_text(enum key_lane_state state);
const char *key_lane_failure_text(enum lane_failure failure);

#endif
