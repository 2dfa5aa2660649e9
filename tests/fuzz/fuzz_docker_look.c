/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What docker says of a container, and the header of what it reads out: any
 * bytes. Neither may be called good unless it is.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/json_field.h"
#include "supervisor/engine/docker_layout.h"
#include "supervisor/engine/docker_look.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct run_argv_mount mounts[] = {{"v", "/pack"}};
	static const struct docker_look_expected expected = {.id = "ab",
	    .name = "agentnode-x",
	    .pid = 4711,
	    .uid = 1879048200,
	    .mounts = mounts,
	    .mount_count = 1,
	    .volume_path = "/d/volumes"};
	struct json_fault fault = {""};
	char detail[128], block[DOCKER_LAYOUT_BLOCK];
	json_t *list = NULL;
	size_t skip;
	mode_t type;

	if (json_field_parse((const char *)data, size, &list, &fault) ==
		RESULT_OK &&
	    docker_look_judge(list, &expected, detail, sizeof(detail)) ==
		RESULT_OK &&
	    json_array_size(list) != 2)
		abort();
	json_decref(list);
	if (size < sizeof(block))
		return 0;
	memcpy(block, data, sizeof(block));
	if (docker_layout_header(block, &type, &skip) == RESULT_OK &&
	    type != 0 && skip != 0)
		abort();
	return 0;
}
