/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plain copying with a filter and a cap. Called by gate.c; it must never
 * pass more than the cap.
 */
#include "supervisor/gate/gate_copy.h"

#include <string.h>

#include "supervisor/gate/mcp_line.h"

void
gate_copy_init(struct gate_copy *copy, bool raw, uint64_t max)
{
	memset(copy, 0, sizeof(*copy));
	copy->raw = raw;
	copy->max = max;
	gate_text_start(&copy->text);
	buffer_init(&copy->to_client, GATE_COPY_BUFFER);
	buffer_init(&copy->to_workload, GATE_COPY_BUFFER);
}

void
gate_copy_free(struct gate_copy *copy)
{
	buffer_free(&copy->to_client);
	buffer_free(&copy->to_workload);
}

bool
gate_copy_may_take_client(const struct gate_copy *copy)
{
	return copy->to_workload.len < MCP_LINE_CHUNK;
}

bool
gate_copy_may_take_workload(const struct gate_copy *copy)
{
	return copy->to_client.len < MCP_LINE_CHUNK && !copy->capped;
}

enum result
gate_copy_client(struct gate_copy *copy, const char *bytes, size_t len)
{
	return buffer_append(&copy->to_workload, bytes, len);
}

enum result
gate_copy_workload(struct gate_copy *copy, const char *bytes, size_t len)
{
	if (copy->max > 0 && len > copy->max - copy->passed) {
		len = (size_t)(copy->max - copy->passed);
		copy->capped = true;
	}
	copy->passed += len;
	if (copy->raw)
		return buffer_append(&copy->to_client, bytes, len);
	return gate_text_feed(&copy->text, bytes, len, &copy->to_client);
}

enum result
gate_copy_finish(struct gate_copy *copy)
{
	return copy->raw ? RESULT_OK
			 : gate_text_finish(&copy->text, &copy->to_client);
}
