/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz: a lane whose broker was taken over. The first byte says what the
 * world answers, the second how the bytes are cut; what is not taken is
 * offered again behind what happens next. At the end the lane goes: nothing
 * is held, each call was reported once, nothing was sent twice.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tests/machine/lane_script.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What happens between two pieces, by the world's byte. */
static void
fuzz_key_lane_happen(struct lane_script *script, uint8_t world, size_t turn)
{
	struct key_lane *lane = &script->lane;

	switch ((world + turn) % 7) {
	case 0:
		key_lane_ready(lane);
		return;
	case 1:
		if (lane->state == KEY_LANE_CONNECT)
			script->has_connection = false;
		key_lane_failed(lane, LANE_FAILED_CLOSED, "closed");
		return;
	case 2:
		script->admit = (enum key_lane_admit)(turn % 4);
		key_lane_key_changed(lane);
		return;
	case 3:
		if (lane->state == KEY_LANE_ANSWER)
			key_lane_received(lane, turn + 1);
		return;
	case 4:
		key_lane_upstream_ended(lane, turn % 2 == 0);
		return;
	case 5:
		key_lane_stalled(lane, turn % 2 == 0);
		return;
	default:
		key_lane_deadline(lane);
		return;
	}
}

/* What stands in the lane itself, when a body is that long. */
static void
fuzz_key_lane_apart(struct key_lane *lane)
{
	char block[4096] = {0};
	size_t len =
	    lane->apart < sizeof(block) ? (size_t)lane->apart : sizeof(block);

	if (!key_lane_is_apart(lane))
		return;
	key_lane_take_apart(lane, block, len);
	if (lane->left != lane->apart)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct lane_script script;
	size_t piece, from = 0, to = 0;
	uint8_t world;

	if (size < 2 || size > 65536)
		return 0;
	world = data[0];
	piece = (size_t)data[1] + 1;
	data += 2;
	size -= 2;
	lane_script_init(&script);
	script.connect = (world & 1) != 0 ? RESULT_OK : RESULT_NEED_MORE;
	script.inject = (world & 2) != 0 ? RESULT_CLOSED : RESULT_OK;
	script.inject_sent = (world & 4) != 0;
	for (size_t turn = 0; turn < 512; turn++) {
		to = to + piece < size ? to + piece : size;
		from += lane_script_give(
		    &script, (const char *)data + from, to - from);
		fuzz_key_lane_apart(&script.lane);
		if (from > to || (script.has_connection &&
				     script.lane.state == KEY_LANE_FREE))
			abort();
		script.trace[0] = '\0';
		fuzz_key_lane_happen(&script, world, turn);
	}
	key_lane_gone(&script.lane, "the end");
	if (script.has_connection || script.lane.state != KEY_LANE_CLOSED ||
	    script.deadline_ms != 0)
		abort();
	return 0;
}
