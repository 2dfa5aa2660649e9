/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Client configurations: TOML and JSON with comments, and the judgement of
 * whatever servers come out. No command that is printed may hold a control
 * byte or suggest something that is not pinned.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/command/mcp_import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool
fuzz_mcp_toml_folder(const char *path, void *context)
{
	(void)context;
	return strlen(path) > 4;
}

static void
fuzz_mcp_toml_judge(const char *name, const json_t *server)
{
	struct mcp_import_row row;
	const char *p;

	mcp_import_judge(name, server, fuzz_mcp_toml_folder, NULL, &row);
	if (row.status == MCP_IMPORT_READY &&
	    strstr(row.command, "agentnode mcp install ") != row.command)
		abort();
	for (p = row.command; *p != '\0'; p++) {
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			abort();
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *bytes = malloc(size + 1);
	struct json_fault fault = {""};
	json_t *servers = NULL, *server;
	const char *name;

	if (bytes == NULL)
		abort();
	memcpy(bytes, data, size);
	bytes[size] = '\0';
	if (mcp_import_read(bytes, size, &servers, &fault) == RESULT_OK) {
		json_object_foreach(servers, name, server)
		    fuzz_mcp_toml_judge(name, server);
	} else if (fault.text[0] == '\0') {
		abort();
	}
	json_decref(servers);
	free(bytes);
	return 0;
}
