/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tool's answer. The first byte chooses the form, how the rest is cut into
 * reads and how the program ended: whatever the cut, the same comes out, one
 * line that is strict JSON itself and holds no control byte; and without a
 * result there is a code that says so.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/gate/gate_pack.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct mcp_hash_key fuzz_gate_pack_key = {1, 2};

static void
fuzz_gate_pack_run(struct gate_pack *pack, uint8_t how, const uint8_t *data,
    size_t size, size_t step)
{
	const struct gate_pack_limits limits = {
	    .request_max = 16, .result_max = 4096, .json = (how & 1) != 0};
	size_t at, part;

	gate_pack_init(pack, &limits, &fuzz_gate_pack_key);
	for (at = 0; at < size; at += part) {
		part = size - at < step ? size - at : step;
		if (gate_pack_feed(pack, (const char *)data + at, part) !=
		    RESULT_OK)
			abort();
	}
	pack->facts.exit_code = (how & 2) != 0 ? 1 : 0;
	if (gate_pack_judge(pack) != RESULT_OK)
		abort();
}

static void
fuzz_gate_pack_line(const struct gate_pack *pack)
{
	const char *bytes = (const char *)buffer_bytes_borrow(&pack->line);
	size_t len = pack->line.len, position;
	struct mcp_json checker;

	if (len == 0 && pack->code[0] != '\0' && !pack->limits.json)
		return;
	if (len == 0 || bytes[len - 1] != '\n')
		abort();
	for (size_t i = 0; i + 1 < len; i++)
		if ((unsigned char)bytes[i] < 0x20 || bytes[i] == 0x7f)
			abort();
	mcp_json_init(&checker, &fuzz_gate_pack_key);
	if (mcp_json_check(&checker, bytes, len - 1, &position) != MCP_JSON_OK)
		abort();
	mcp_json_free(&checker);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct gate_pack whole, cut;

	if (size < 1)
		return 0;
	fuzz_gate_pack_run(&whole, data[0], data + 1, size - 1, size);
	fuzz_gate_pack_run(
	    &cut, data[0], data + 1, size - 1, (size_t)(data[0] >> 2) + 1);
	if (strcmp(whole.code, cut.code) != 0 ||
	    strcmp(whole.detail, cut.detail) != 0 ||
	    whole.line.len != cut.line.len)
		abort();
	if (whole.line.len > 0 &&
	    memcmp(buffer_bytes_borrow(&whole.line),
		buffer_bytes_borrow(&cut.line), whole.line.len) != 0)
		abort();
	fuzz_gate_pack_line(&whole);
	gate_pack_free(&whole);
	gate_pack_free(&cut);
	return 0;
}
