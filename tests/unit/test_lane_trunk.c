/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The trunk between llm-broker and llm-key: records of many lanes on one
 * socket, in any pieces, none before the messages it follows, none lost when
 * there is no room, and nothing believed that cannot be.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sys/socket.h>
#include <unistd.h>

#include "common/event_loop.h"
#include "llm-broker/lane_trunk.h"

#define SEATS 3U

static struct {
	struct event_base *base;
	struct lane_trunk trunk;
	struct lane_seat seats[SEATS];
	int other; /* the other end of it */
	char heard[4096];
	size_t heard_len;
	unsigned leaves; /* the seat that leaves when it is spoken to; 0: none*/
	unsigned ends;
	const char *what;
} test_lane_trunk;

static void
test_lane_trunk_on_bytes(struct lane_seat *seat, const char *bytes, size_t len)
{
	char *at = test_lane_trunk.heard + test_lane_trunk.heard_len;

	assert_in_range(len, 1,
	    sizeof(test_lane_trunk.heard) - test_lane_trunk.heard_len - 2);
	*at++ = (char)('0' + seat->number);
	memcpy(at, bytes, len);
	at[len] = ' ';
	test_lane_trunk.heard_len += len + 2;
	if (seat->number == test_lane_trunk.leaves)
		lane_trunk_unseat(seat);
}

static void
test_lane_trunk_on_end(const char *what, void *context)
{
	assert_ptr_equal(context, &test_lane_trunk);
	test_lane_trunk.ends++;
	test_lane_trunk.what = what;
}

static const struct lane_trunk_handlers test_lane_trunk_handlers = {
    .on_bytes = test_lane_trunk_on_bytes, .on_end = test_lane_trunk_on_end};

static int
test_lane_trunk_setup(void **state)
{
	int pair[2];

	(void)state;
	memset(&test_lane_trunk, 0, sizeof(test_lane_trunk));
	assert_int_equal(event_loop_new(&test_lane_trunk.base), RESULT_OK);
	assert_int_equal(
	    socketpair(
		AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair),
	    0);
	test_lane_trunk.other = pair[1];
	lane_trunk_init(&test_lane_trunk.trunk, test_lane_trunk.base,
	    &test_lane_trunk_handlers, &test_lane_trunk);
	assert_int_equal(
	    lane_trunk_open(&test_lane_trunk.trunk, pair[0], 0), RESULT_OK);
	for (size_t i = 0; i < SEATS; i++)
		lane_trunk_seat(
		    &test_lane_trunk.trunk, &test_lane_trunk.seats[i]);
	return 0;
}

static int
test_lane_trunk_teardown(void **state)
{
	(void)state;
	for (size_t i = 0; i < SEATS; i++)
		lane_trunk_unseat(&test_lane_trunk.seats[i]);
	lane_trunk_close(&test_lane_trunk.trunk);
	event_base_free(test_lane_trunk.base);
	(void)close(test_lane_trunk.other);
	return 0;
}

static void
test_lane_trunk_turn(void)
{
	assert_in_range(
	    event_base_loop(test_lane_trunk.base, EVLOOP_NONBLOCK) + 1, 1, 2);
}

/* A record as the other end writes it. */
static size_t
test_lane_trunk_record(
    char *at, uint32_t lane, uint32_t after, const char *text)
{
	const struct lane_record record = {
	    LANE_TRUNK_MAGIC, lane, (uint32_t)strlen(text), after};

	memcpy(at, &record, sizeof(record));
	memcpy(at + sizeof(record), text, record.len);
	return sizeof(record) + record.len;
}

static void
test_lane_trunk_say(const void *bytes, size_t len)
{
	assert_int_equal(
	    send(test_lane_trunk.other, bytes, len, MSG_NOSIGNAL), len);
}

static void
test_lane_trunk_expect(const char *heard)
{
	test_lane_trunk.heard[test_lane_trunk.heard_len] = '\0';
	assert_string_equal(test_lane_trunk.heard, heard);
}

static void
test_lane_trunk_pieces(void **state)
{
	char bytes[256];
	size_t len = test_lane_trunk_record(bytes, 2, 0, "two");

	(void)state;
	len += test_lane_trunk_record(bytes + len, 1, 0, "one");
	len += test_lane_trunk_record(bytes + len, 2, 0, "again");
	test_lane_trunk_say(bytes, len);
	test_lane_trunk_turn();
	test_lane_trunk_expect("2two 1one 2again ");
	for (size_t i = 0; i < len; i++) {
		test_lane_trunk_say(bytes + i, 1);
		test_lane_trunk_turn();
	}
	test_lane_trunk_expect("2two 1one 2again 2two 1one 2again ");
	assert_int_equal(test_lane_trunk.trunk.in.len, 0);
}

/* What follows a message waits for it, and what stands behind waits too. */
static void
test_lane_trunk_after(void **state)
{
	char bytes[256];
	size_t len = test_lane_trunk_record(bytes, 1, 0, "a");

	(void)state;
	len += test_lane_trunk_record(bytes + len, 1, 1, "b");
	len += test_lane_trunk_record(bytes + len, 2, 1, "c");
	len += test_lane_trunk_record(bytes + len, 3, 2, "d");
	test_lane_trunk_say(bytes, len);
	test_lane_trunk_turn();
	test_lane_trunk_turn();
	lane_trunk_drain(&test_lane_trunk.trunk);
	test_lane_trunk_expect("1a ");
	lane_trunk_heard(&test_lane_trunk.trunk);
	test_lane_trunk_turn();
	test_lane_trunk_expect("1a 1b 2c ");
	lane_trunk_heard(&test_lane_trunk.trunk);
	lane_trunk_heard(&test_lane_trunk.trunk);
	test_lane_trunk_turn();
	test_lane_trunk_expect("1a 1b 2c 3d ");
	assert_int_equal(test_lane_trunk.ends, 0);
}

/* A lane that left, also while it was spoken to: what follows is dropped. */
static void
test_lane_trunk_left(void **state)
{
	char bytes[256];
	size_t len = test_lane_trunk_record(bytes, 2, 0, "last");

	(void)state;
	len += test_lane_trunk_record(bytes + len, 2, 0, "dropped");
	len += test_lane_trunk_record(bytes + len, 1, 0, "dropped");
	len += test_lane_trunk_record(bytes + len, 3, 0, "here");
	test_lane_trunk.leaves = 2;
	lane_trunk_unseat(&test_lane_trunk.seats[0]);
	assert_null(lane_trunk_find(&test_lane_trunk.trunk, 1));
	test_lane_trunk_say(bytes, len);
	test_lane_trunk_turn();
	test_lane_trunk_expect("2last 3here ");
	assert_int_equal(test_lane_trunk.ends, 0);
}

static void
test_lane_trunk_cannot_be(void **state)
{
	const struct lane_record rows[] = {{LANE_TRUNK_MAGIC + 1, 1, 1, 0},
	    {LANE_TRUNK_MAGIC, 1, 0, 0},
	    {LANE_TRUNK_MAGIC, 1, LANE_TRUNK_RECORD_MAX + 1, 0},
	    {LANE_TRUNK_MAGIC, 1, UINT32_MAX, 0}, {LANE_TRUNK_MAGIC, 0, 1, 0},
	    {LANE_TRUNK_MAGIC, SEATS + 1, 1, 0}};

	(void)test_lane_trunk_teardown(state);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		(void)test_lane_trunk_setup(state);
		test_lane_trunk_say(&rows[i], sizeof(rows[i]));
		test_lane_trunk_say("x", 1);
		test_lane_trunk_turn();
		assert_int_equal(test_lane_trunk.ends, 1);
		assert_non_null(test_lane_trunk.what);
		assert_int_equal(test_lane_trunk.heard_len, 0);
		assert_int_equal(test_lane_trunk.trunk.fd, -1);
		(void)test_lane_trunk_teardown(state);
	}
	(void)test_lane_trunk_setup(state);
}

static void
test_lane_trunk_closed(void **state)
{
	const struct iovec part = {(char *)(uintptr_t) "x", 1};

	(void)state;
	(void)shutdown(test_lane_trunk.other, SHUT_WR);
	test_lane_trunk_turn();
	assert_int_equal(test_lane_trunk.ends, 1);
	assert_null(test_lane_trunk.what);
	assert_int_equal(lane_trunk_put(&test_lane_trunk.trunk,
			     &test_lane_trunk.seats[0], &part, 1),
	    RESULT_CLOSED);
	lane_trunk_flush(&test_lane_trunk.trunk);
	lane_trunk_drain(&test_lane_trunk.trunk);
}

/* What is put in one turn leaves with one write, at its end. */
static void
test_lane_trunk_together(void **state)
{
	const struct iovec parts[] = {{(char *)(uintptr_t) "ab", 2}, {NULL, 0},
	    {(char *)(uintptr_t) "c", 1}};
	char bytes[256], want[256];
	size_t len = test_lane_trunk_record(want, 1, 0, "abc");

	(void)state;
	len += test_lane_trunk_record(want + len, 3, 1, "abc");
	assert_int_equal(lane_trunk_put(&test_lane_trunk.trunk,
			     &test_lane_trunk.seats[0], parts, 3),
	    RESULT_OK);
	lane_trunk_told(&test_lane_trunk.trunk);
	assert_int_equal(lane_trunk_put(&test_lane_trunk.trunk,
			     &test_lane_trunk.seats[2], parts, 3),
	    RESULT_OK);
	assert_int_equal(
	    recv(test_lane_trunk.other, bytes, sizeof(bytes), 0), -1);
	test_lane_trunk_turn();
	assert_int_equal(
	    recv(test_lane_trunk.other, bytes, sizeof(bytes), 0), len);
	assert_memory_equal(bytes, want, len);
}

/* More than the socket holds: all of it comes, in order. */
static void
test_lane_trunk_room(void **state)
{
	static char block[16384],
	    got[sizeof(block) + sizeof(struct lane_record)];
	const struct iovec part = {block, sizeof(block)};
	size_t have = 0;
	ssize_t count;

	(void)state;
	for (unsigned i = 0; i < 100; i++) {
		memset(block, (int)i, sizeof(block));
		assert_int_equal(
		    lane_trunk_put(&test_lane_trunk.trunk,
			&test_lane_trunk.seats[i % SEATS], &part, 1),
		    RESULT_OK);
	}
	assert_true(test_lane_trunk.trunk.out.len > sizeof(got));
	for (unsigned i = 0; i < 100; i++) {
		for (have = 0; have < sizeof(got); have += (size_t)count) {
			test_lane_trunk_turn();
			count = recv(test_lane_trunk.other, got + have,
			    sizeof(got) - have, 0);
			assert_true(count > 0);
		}
		assert_int_equal(
		    ((struct lane_record *)(void *)got)->lane, i % SEATS + 1);
		memset(block, (int)i, sizeof(block));
		assert_memory_equal(
		    got + sizeof(struct lane_record), block, sizeof(block));
	}
	assert_int_equal(test_lane_trunk.trunk.out.len, 0);
}

static void
test_lane_trunk_too_long(void **state)
{
	static char block[LANE_TRUNK_RECORD_MAX + 1];
	struct iovec part = {block, sizeof(block)};

	(void)state;
	assert_int_equal(lane_trunk_put(&test_lane_trunk.trunk,
			     &test_lane_trunk.seats[0], &part, 1),
	    RESULT_TOO_LONG);
	assert_int_equal(test_lane_trunk.trunk.out.len, 0);
	part.iov_len--;
	assert_int_equal(lane_trunk_put(&test_lane_trunk.trunk,
			     &test_lane_trunk.seats[0], &part, 1),
	    RESULT_OK);
}

#define TEST_LANE_TRUNK(name)                                   \
	cmocka_unit_test_setup_teardown(test_lane_trunk_##name, \
	    test_lane_trunk_setup, test_lane_trunk_teardown)

/* More than it may hold waits behind one that is held; then one message comes
 * after the other. */
static void
test_lane_trunk_held_full(void **state)
{
	static char text[16384], bytes[sizeof(text) + 64];
	size_t len;

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	lane_trunk_unseat(&test_lane_trunk.seats[2]); /* hears none of it */
	for (unsigned i = 0; i < 8; i++) {
		len = test_lane_trunk_record(bytes, 3, 3, text);
		test_lane_trunk_say(bytes, len);
	}
	len = test_lane_trunk_record(bytes, 1, 3, "last");
	test_lane_trunk_say(bytes, len);
	for (unsigned i = 0; i < 3; i++) {
		test_lane_trunk_turn();
		test_lane_trunk_expect("");
		assert_true(test_lane_trunk.trunk.is_held);
		lane_trunk_heard(&test_lane_trunk.trunk);
	}
	for (unsigned i = 0; i < 4; i++)
		test_lane_trunk_turn();
	assert_int_equal(test_lane_trunk.ends, 0);
	test_lane_trunk_expect("1last ");
}

/* A number is never given twice, nor nobody's. */
static void
test_lane_trunk_used_up(void **state)
{
	struct lane_seat last, none;

	(void)state;
	test_lane_trunk.trunk.seated = UINT32_MAX - 1;
	lane_trunk_seat(&test_lane_trunk.trunk, &last);
	assert_int_equal(last.number, UINT32_MAX);
	lane_trunk_unseat(&last);
	assert_int_equal(test_lane_trunk.ends, 0);
	lane_trunk_seat(&test_lane_trunk.trunk, &none);
	assert_int_equal(none.number, 0);
	assert_int_equal(test_lane_trunk.ends, 1);
	assert_non_null(test_lane_trunk.what);
	lane_trunk_unseat(&none);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {TEST_LANE_TRUNK(pieces),
	    TEST_LANE_TRUNK(after), TEST_LANE_TRUNK(held_full),
	    TEST_LANE_TRUNK(left), TEST_LANE_TRUNK(cannot_be),
	    TEST_LANE_TRUNK(closed), TEST_LANE_TRUNK(together),
	    TEST_LANE_TRUNK(room), TEST_LANE_TRUNK(too_long),
	    TEST_LANE_TRUNK(used_up)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
