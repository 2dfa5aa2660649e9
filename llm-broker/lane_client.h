/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The broker's end of the lanes to llm-key (lane.h): a pool of socketpairs
 * that carry one call after the other. Whose turn it is and when a lane may
 * be read is call_io.c's; frames, numbers and what is left of an earlier
 * call are known here alone. A frame that does not belong ends the process.
 */
#ifndef LLM_BROKER_LANE_CLIENT_H
#define LLM_BROKER_LANE_CLIENT_H

#include <event2/event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/result.h"
#include "llm-broker/lane.h"

/* Of lanes' and agents' events on a base with four priorities: messages of
 * our own processes come first; last what is done when nothing else is. What
 * llm-key says of a new key it says before it uses it, so it is known before
 * the first byte of a response that can hold it, if a lane is read only when
 * the loop said so. */
#define LANE_CLIENT_PRIORITIES 4
#define LANE_CLIENT_PRIORITY 2
#define LANE_CLIENT_PRIORITY_LAST 3

#define LANE_CLIENT_READ 32768U /* bytes of one read */
#define LANE_CLIENT_BATCH 15U   /* lanes made at one time, at most */

struct lane;        /* opaque */
struct lane_client; /* the pool; opaque */

struct lane_client_handlers {
	/* Give llm-key its ends, at most LANE_CLIENT_BATCH and before the
	 * first lane the trunk's; they stay the caller's. */
	enum result (*open)(const int *fds, size_t count, void *context);
	/* A lane with an owner has something to read, or room. */
	void (*on_ready)(void *owner, bool readable, bool writable);
	/* From inside lane_client_read. */
	void (*on_data)(void *owner, const char *bytes, size_t len);
	void (*on_end)(void *owner); /* the upstream closed in order */
	void (*on_failed)(void *owner, enum lane_failure failure);
};

enum result lane_client_new(struct event_base *base, size_t max,
    const struct lane_client_handlers *handlers, void *context,
    struct lane_client **client_r);
/* Every lane is closed; none may have an owner. */
void lane_client_free(struct lane_client **client);

/* An idle lane, or a new one. RESULT_TOO_LONG: there are max already;
 * RESULT_CLOSED: llm-key does not take it. */
enum result lane_client_take(
    struct lane_client *client, void *owner, struct lane **lane_r);

/* The request of the next call. head and body stay the caller's until
 * lane_client_write has said RESULT_OK. */
struct lane_request {
	const char *provider;
	const char *head, *body;
	size_t head_len, body_len;
	uint32_t first_byte_ms, idle_ms;
	uint64_t number; /* of the call, for the logs */
};
void lane_client_begin(struct lane *lane, const struct lane_request *request);

/* RESULT_OK: all of it is in the trunk and the lane; NEED_MORE: no room,
 * on_ready will come; CLOSED. */
enum result lane_client_write(struct lane *lane);

/* What was written leaves now, not when this turn of the loop ends: for a
 * call that is alone. */
void lane_client_hurry(struct lane *lane);

/* One read, handed to the handlers piece by piece. RESULT_OK: perhaps more;
 * NEED_MORE: nothing there; CLOSED: llm-key closed it. The owner may
 * release or drop the lane from inside; then it has none any more. */
enum result lane_client_read(struct lane *lane);

/* Done with the call: the lane goes back to the pool. Only when the whole
 * request was written. Clears the pointer. */
void lane_client_release(struct lane **lane, enum lane_release how);
/* Give the call up: close the lane, which cancels it. */
void lane_client_drop(struct lane **lane);

/* A message of llm-key's on its pair was taken (lane_trunk.h). */
void lane_client_heard(struct lane_client *client);

/* Close the idle ones. */
void lane_client_trim(struct lane_client *client);

size_t lane_client_open_count(const struct lane_client *client);
size_t lane_client_idle_count(const struct lane_client *client);

#endif
