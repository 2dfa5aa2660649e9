/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state machine of a mux link: two of them, frames carried between by
 * hand, and one that hears what no honest end says. No descriptor, no clock.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "supervisor/mux/mux_link.h"

static struct mux_link test_host, test_inside;
static uint64_t test_now;

/* The last event of each end, and of which stream. */
struct test_heard {
	enum mux_link_event event;
	struct mux_stream *stream;
	enum mux_link_result result;
};

static struct test_heard
test_hear(struct mux_link *link, const struct mux_frame *frame)
{
	struct test_heard heard;

	heard.result = mux_link_receive(
	    link, frame, test_now, &heard.event, &heard.stream);
	return heard;
}

/* Everything one end has to say, to the other; the last that was heard. */
static struct test_heard
test_carry(struct mux_link *from, struct mux_link *to)
{
	uint8_t bytes[MUX_FRAME_CONTROL_MAX];
	struct test_heard heard = {MUX_LINK_NOTHING, NULL, MUX_LINK_OK};
	struct mux_frame frame;
	size_t len, used;

	while ((len = mux_link_say(from, bytes)) > 0) {
		assert_int_equal(
		    mux_frame_decode(bytes, len, &frame, &used), MUX_FRAME_OK);
		heard = test_hear(to, &frame);
		assert_int_equal(heard.result, MUX_LINK_OK);
	}
	return heard;
}

static int
test_begin(void **state)
{
	(void)state;
	test_now = 1000;
	mux_link_init(&test_host, MUX_LINK_HOST, test_now);
	mux_link_init(&test_inside, MUX_LINK_INSIDE, test_now);
	(void)test_carry(&test_host, &test_inside);
	(void)test_carry(&test_inside, &test_host);
	return 0;
}

/* A connection, known to both. */
static void
test_connect(struct mux_stream **host_r, struct mux_stream **inside_r)
{
	struct test_heard heard;

	*inside_r = mux_link_open(&test_inside, MUX_KIND_CONNECTION, 3);
	assert_non_null(*inside_r);
	heard = test_carry(&test_inside, &test_host);
	assert_int_equal(heard.event, MUX_LINK_OPENED);
	*host_r = heard.stream;
	assert_int_equal((*host_r)->number, 3);
	assert_int_equal((*host_r)->id, (*inside_r)->id);
}

static struct test_heard
test_data(
    struct mux_link *to, struct mux_stream *stream, uint32_t id, uint32_t len)
{
	const struct mux_frame frame = {
	    .type = MUX_FRAME_DATA, .stream = id, .length = len};

	if (stream != NULL)
		mux_link_sent(stream, len);
	return test_hear(to, &frame);
}

static struct test_heard
test_say(struct mux_link *to, enum mux_frame_type type, uint32_t stream,
    uint32_t value)
{
	const struct mux_frame frame = {.type = type,
	    .stream = stream,
	    .window = value,
	    .version = value,
	    .kind = (enum mux_frame_kind)value,
	    .length = value};

	return test_hear(to, &frame);
}

/* ---- windows ---- */

/* There is one of it: it may have more than a connection. */
static void
test_mux_link_window_standard(void **state)
{
	struct mux_stream *host, *inside;

	(void)state;
	test_connect(&host, &inside);
	host->kind = MUX_KIND_STDOUT;
	assert_int_equal(
	    test_data(&test_host, inside, inside->id, MUX_LINK_WINDOW).event,
	    MUX_LINK_DATA);
	mux_link_taken(host, MUX_LINK_WINDOW);
	(void)test_carry(&test_host, &test_inside);
	assert_int_equal(host->window, MUX_LINK_WINDOW_STANDARD);
	assert_int_equal(test_host.pool,
	    MUX_LINK_POOL - (MUX_LINK_WINDOW_STANDARD - MUX_LINK_WINDOW));
}

static void
test_mux_link_window(void **state)
{
	struct mux_stream *host, *inside, *turn;
	uint32_t most;

	(void)state;
	test_connect(&host, &inside);
	inside->ready = true;
	turn = mux_link_turn(&test_inside, &most);
	assert_ptr_equal(turn, inside);
	assert_true(most <= MUX_LINK_WINDOW);
	assert_int_equal(
	    test_data(&test_host, inside, inside->id, MUX_LINK_WINDOW).event,
	    MUX_LINK_DATA);
	/* Used up: nobody's turn. Taken: granted again, and more. */
	assert_null(mux_link_turn(&test_inside, &most));
	mux_link_taken(host, MUX_LINK_WINDOW / 4);
	(void)test_carry(&test_host, &test_inside);
	assert_null(mux_link_turn(&test_inside, &most));
	mux_link_taken(host, MUX_LINK_WINDOW / 4);
	(void)test_carry(&test_host, &test_inside);
	assert_ptr_equal(mux_link_turn(&test_inside, &most), inside);
	assert_int_equal(host->window, MUX_LINK_WINDOW_MOST);
	assert_int_equal(inside->may_send, host->may_come);
	assert_int_equal(
	    host->may_come + host->waiting + host->taken, host->window);
	assert_int_equal(test_host.pool,
	    MUX_LINK_POOL - (MUX_LINK_WINDOW_MOST - MUX_LINK_WINDOW));
}

static void
test_mux_link_stalled_alone(void **state)
{
	struct mux_stream *host[2], *inside[2];
	uint32_t most;

	(void)state;
	for (int i = 0; i < 2; i++) {
		test_connect(&host[i], &inside[i]);
		inside[i]->ready = true;
	}
	(void)test_data(&test_host, inside[0], inside[0]->id, MUX_LINK_WINDOW);
	/* The first waits for whoever reads it; the second goes on. */
	for (int i = 0; i < 100; i++) {
		assert_ptr_equal(mux_link_turn(&test_inside, &most), inside[1]);
		(void)test_data(&test_host, inside[1], inside[1]->id, most);
		mux_link_taken(host[1], most);
		(void)test_carry(&test_host, &test_inside);
	}
	assert_int_equal(host[0]->waiting, MUX_LINK_WINDOW);
}

static void
test_mux_link_turns(void **state)
{
	struct mux_stream *host[32], *inside[32];
	uint64_t sent[32] = {0}, least = UINT64_MAX, greatest = 0;
	uint32_t most;

	(void)state;
	for (int i = 0; i < 32; i++) {
		test_connect(&host[i], &inside[i]);
		inside[i]->ready = true;
	}
	for (int i = 0; i < 3200; i++) {
		struct mux_stream *turn = mux_link_turn(&test_inside, &most);
		int which = (int)(turn - inside[0]);

		(void)test_data(&test_host, turn, turn->id, most);
		mux_link_taken(host[which], most);
		sent[which] += most;
		(void)test_carry(&test_host, &test_inside);
	}
	for (int i = 0; i < 32; i++) {
		least = sent[i] < least ? sent[i] : least;
		greatest = sent[i] > greatest ? sent[i] : greatest;
	}
	assert_true(greatest * 10 <= least * 12);
}

static void
test_mux_link_bounded(void **state)
{
	struct mux_stream *host, *inside;
	uint64_t waits = 0;

	(void)state;
	/* Streams that are never read, by an end that sends all it may. */
	for (unsigned i = 0; i < MUX_LINK_CONNECTIONS; i++) {
		test_connect(&host, &inside);
		assert_int_equal(
		    test_data(&test_host, inside, inside->id, MUX_LINK_WINDOW)
			.result,
		    MUX_LINK_OK);
		mux_link_taken(host, MUX_LINK_WINDOW);
		(void)test_carry(&test_host, &test_inside);
		while (inside->may_send > 0)
			assert_int_equal(
			    test_data(&test_host, inside, inside->id,
				inside->may_send < 65536 ? inside->may_send
							 : 65536)
				.result,
			    MUX_LINK_OK);
		waits += host->waiting;
	}
	assert_true(waits > MUX_LINK_POOL);
	assert_true(waits <= (uint64_t)MUX_LINK_CONNECTIONS * MUX_LINK_WINDOW +
				 MUX_LINK_POOL);
	assert_int_equal(test_host.pool, 0);
}

/* ---- ends ---- */

static void
test_mux_link_half_close(void **state)
{
	struct mux_stream *host, *inside, *first, *second;
	struct mux_link *one, *other;

	(void)state;
	for (int order = 0; order < 2; order++) {
		test_connect(&host, &inside);
		first = order == 0 ? host : inside;
		second = order == 0 ? inside : host;
		one = order == 0 ? &test_host : &test_inside;
		other = order == 0 ? &test_inside : &test_host;
		mux_link_eof(first);
		assert_int_equal(test_carry(one, other).event, MUX_LINK_EOF);
		assert_false(mux_link_is_over(first));
		assert_false(mux_link_may_send(first));
		/* The other way is open. */
		assert_int_equal(
		    test_data(one, second, second->id, 5).event, MUX_LINK_DATA);
		mux_link_eof(second);
		assert_int_equal(test_carry(other, one).event, MUX_LINK_EOF);
		assert_true(mux_link_is_over(second));
		assert_false(mux_link_is_over(first)); /* five bytes wait */
		mux_link_taken(first, 5);
		assert_true(mux_link_is_over(first));
		mux_link_free(one, first);
		mux_link_free(other, second);
		assert_int_equal(test_host.used + test_inside.used, 0);
	}
}

static void
test_mux_link_resets(void **state)
{
	struct mux_stream *host, *inside;
	uint32_t id;

	(void)state;
	test_connect(&host, &inside);
	id = inside->id;
	mux_link_reset(inside, MUX_LINK_GONE);
	assert_false(mux_link_is_over(inside)); /* until the other knows */
	assert_int_equal(
	    test_carry(&test_inside, &test_host).event, MUX_LINK_RESET);
	mux_link_free(&test_host, host);
	/* What was on its way is dropped; the answer frees it. */
	assert_int_equal(
	    test_data(&test_inside, NULL, id, 100).event, MUX_LINK_NOTHING);
	assert_int_equal(
	    test_carry(&test_host, &test_inside).event, MUX_LINK_RESET);
	assert_true(mux_link_is_over(inside));
	mux_link_free(&test_inside, inside);
	/* Of a stream that was: dropped, a reset answered. */
	assert_int_equal(
	    test_data(&test_host, NULL, id, 100).event, MUX_LINK_NOTHING);
	assert_int_equal(
	    test_say(&test_host, MUX_FRAME_RESET, id, 1).result, MUX_LINK_OK);
	assert_int_equal(test_host.answer_count, 1);
}

static void
test_mux_link_crossing(void **state)
{
	struct mux_stream *host, *inside;
	struct mux_frame frame;
	uint8_t bytes[MUX_FRAME_CONTROL_MAX];
	size_t used, len;

	(void)state;
	test_connect(&host, &inside);
	mux_link_reset(inside, MUX_LINK_GONE);
	mux_link_reset(host, MUX_LINK_GONE);
	len = mux_link_say(&test_inside, bytes); /* on its way */
	assert_true(len > 0);
	assert_int_equal(
	    test_carry(&test_host, &test_inside).event, MUX_LINK_NOTHING);
	assert_int_equal(
	    mux_frame_decode(bytes, len, &frame, &used), MUX_FRAME_OK);
	(void)test_hear(&test_host, &frame);
	(void)test_carry(&test_inside, &test_host);
	(void)test_carry(&test_host, &test_inside);
	assert_true(mux_link_is_over(host));
	assert_true(mux_link_is_over(inside));
}

static void
test_mux_link_full(void **state)
{
	struct mux_stream *host, *inside;
	struct test_heard heard;

	(void)state;
	for (unsigned i = 0; i < MUX_LINK_CONNECTIONS; i++)
		test_connect(&host, &inside);
	/* One too many: refused, and nothing is kept of it. */
	inside = mux_link_open(&test_inside, MUX_KIND_CONNECTION, 0);
	assert_non_null(inside);
	assert_int_equal(
	    test_carry(&test_inside, &test_host).event, MUX_LINK_NOTHING);
	heard = test_carry(&test_host, &test_inside);
	assert_int_equal(heard.event, MUX_LINK_RESET);
	assert_ptr_equal(heard.stream, inside);
	assert_int_equal(test_host.used, MUX_LINK_CONNECTIONS);
	/* The host's own have room. */
	assert_non_null(mux_link_open(&test_host, MUX_KIND_TREE_OUT, 0));
}

/* ---- what no honest end says ---- */

static void
test_mux_link_violations(void **state)
{
	struct mux_stream *host, *inside;
	uint32_t id;

	(void)state;
	test_connect(&host, &inside);
	id = host->id;
	assert_int_equal(
	    test_data(&test_host, NULL, id, MUX_LINK_WINDOW + 1).result,
	    MUX_LINK_BAD_WINDOW);
	assert_int_equal(
	    test_say(&test_host, MUX_FRAME_WINDOW, id, 0x7fffffff).result,
	    MUX_LINK_BAD_WINDOW);
	assert_int_equal(
	    test_data(&test_host, NULL, id + 2, 1).result, MUX_LINK_BAD_STREAM);
	assert_int_equal(
	    test_data(&test_host, NULL, 2, 1).result, MUX_LINK_BAD_STREAM);
	assert_int_equal(
	    test_say(&test_host, MUX_FRAME_OPEN, id, MUX_KIND_CONNECTION)
		.result,
	    MUX_LINK_BAD_STREAM);
	assert_int_equal(
	    test_say(&test_host, MUX_FRAME_OPEN, id + 3, MUX_KIND_CONNECTION)
		.result,
	    MUX_LINK_BAD_STREAM);
	assert_int_equal(
	    test_say(&test_host, MUX_FRAME_OPEN, id + 2, MUX_KIND_STDIN).result,
	    MUX_LINK_BAD_KIND);
	assert_int_equal(
	    test_say(&test_inside, MUX_FRAME_OPEN, 2, MUX_KIND_CONNECTION)
		.result,
	    MUX_LINK_BAD_KIND);
	assert_int_equal(test_say(&test_host, MUX_FRAME_HELLO, 0, 1).result,
	    MUX_LINK_BAD_ORDER);
	assert_int_equal(
	    test_say(&test_host, MUX_FRAME_EOF, id, 0).event, MUX_LINK_EOF);
	assert_int_equal(
	    test_data(&test_host, NULL, id, 1).result, MUX_LINK_BAD_ORDER);
	assert_int_equal(test_say(&test_host, MUX_FRAME_EOF, id, 0).result,
	    MUX_LINK_BAD_ORDER);
}

static void
test_mux_link_flood(void **state)
{
	enum mux_link_result result = MUX_LINK_OK;
	struct mux_stream *host, *inside;
	unsigned resets = 0;

	(void)state;
	test_connect(&host, &inside);
	/* An end that resets and never reads the answers. */
	while (result == MUX_LINK_OK && resets < 10000) {
		result =
		    test_say(&test_host, MUX_FRAME_RESET, host->id, 1).result;
		resets++;
	}
	assert_int_equal(result, MUX_LINK_BAD_FLOOD);
	assert_int_equal(resets, MUX_LINK_ANSWERS + 1);
}

static void
test_mux_link_versions(void **state)
{
	struct mux_frame hello = {
	    .type = MUX_FRAME_HELLO, .version = 2, .window = 65536};

	(void)state;
	mux_link_init(&test_host, MUX_LINK_HOST, 0);
	assert_int_equal(test_say(&test_host, MUX_FRAME_PING, 0, 0).result,
	    MUX_LINK_BAD_ORDER);
	assert_null(mux_link_open(&test_host, MUX_KIND_STDIN, 0));
	assert_int_equal(
	    test_hear(&test_host, &hello).result, MUX_LINK_BAD_VERSION);
	hello.version = MUX_FRAME_VERSION;
	hello.window = 0;
	assert_int_equal(
	    test_hear(&test_host, &hello).result, MUX_LINK_BAD_WINDOW);
}

static void
test_mux_link_keepalive(void **state)
{
	uint64_t next;

	(void)state;
	assert_int_equal(
	    mux_link_tick(&test_host, test_now, &next), MUX_LINK_OK);
	assert_int_equal(next, test_now + MUX_LINK_PING_MS);
	test_now = next;
	assert_int_equal(
	    mux_link_tick(&test_host, test_now, &next), MUX_LINK_OK);
	(void)test_carry(&test_host, &test_inside); /* ping */
	(void)test_carry(&test_inside, &test_host); /* pong */
	assert_int_equal(test_host.heard_ms, test_now);
	/* And then nothing. */
	test_now += MUX_LINK_SILENT_MS - 1;
	assert_int_equal(
	    mux_link_tick(&test_host, test_now, &next), MUX_LINK_OK);
	assert_int_equal(next, test_now + 1);
	assert_int_equal(
	    mux_link_tick(&test_host, test_now + 1, &next), MUX_LINK_SILENT);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup(test_mux_link_window, test_begin),
	    cmocka_unit_test_setup(test_mux_link_window_standard, test_begin),
	    cmocka_unit_test_setup(test_mux_link_stalled_alone, test_begin),
	    cmocka_unit_test_setup(test_mux_link_turns, test_begin),
	    cmocka_unit_test_setup(test_mux_link_bounded, test_begin),
	    cmocka_unit_test_setup(test_mux_link_half_close, test_begin),
	    cmocka_unit_test_setup(test_mux_link_resets, test_begin),
	    cmocka_unit_test_setup(test_mux_link_crossing, test_begin),
	    cmocka_unit_test_setup(test_mux_link_full, test_begin),
	    cmocka_unit_test_setup(test_mux_link_violations, test_begin),
	    cmocka_unit_test_setup(test_mux_link_flood, test_begin),
	    cmocka_unit_test_setup(test_mux_link_versions, test_begin),
	    cmocka_unit_test_setup(test_mux_link_keepalive, test_begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
