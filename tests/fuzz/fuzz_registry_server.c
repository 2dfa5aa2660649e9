/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes of an MCP server's file: what is accepted is one exact package with
 * bounded lists, fits itself, and is otherwise refused with a sentence.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/package/registry_server.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct registry_server server;
	struct json_fault fault = {""};
	enum result result = registry_server_parse(
	    (const char *)data, size, "1.2.0", &server, &fault);

	if ((result == RESULT_OK) != (fault.text[0] == '\0') ||
	    (result == RESULT_OK) != (server.root != NULL))
		abort();
	if (result != RESULT_OK)
		return 0;
	if (server.pin.kind == PIN_DIR ||
	    strcmp(server.pin.version, "1.2.0") != 0 ||
	    json_array_size(server.dependencies) == 0 ||
	    json_array_size(server.allow) > REGISTRY_SERVER_LIST_MAX ||
	    registry_server_fits(&server, server.dependencies, &fault) !=
		RESULT_OK)
		abort();
	registry_server_clear(&server);
	return 0;
}
