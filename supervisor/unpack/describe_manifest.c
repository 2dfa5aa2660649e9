/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the manifest of a folder; see describe.h. Everything of it is
 * checked in here, so that the supervisor gets fields and no file.
 */
#include <stdlib.h>
#include <string.h>

#include "common/fd.h"
#include "supervisor/package/manifest.h"
#include "supervisor/unpack/describe.h"
#include "supervisor/unpack/tree_walk.h"
#include "supervisor/unpack/unpack_jobs.h"
#include "supervisor/unpack/yaml_json.h"

/* What an answer may be long, so that it fits one message. */
#define DESCRIBE_MANIFEST_MAX (48U * 1024U)

static enum result
describe_manifest_read(
    struct unpack_io *io, int root_fd, char **bytes_r, size_t *len_r)
{
	int fd FD_CLEANUP = -1;
	enum result result = tree_walk_open(
	    io, root_fd, MANIFEST_FILE, YAML_JSON_BYTES_MAX, &fd);

	if (result == RESULT_NOT_FOUND)
		return unpack_io_fault(
		    io, UNPACK_PACKAGE, "the folder has no " MANIFEST_FILE);
	if (result != RESULT_OK)
		return result;
	return fd_read_all(fd, YAML_JSON_BYTES_MAX, bytes_r, len_r);
}

static enum result
describe_manifest_judge(
    struct unpack_io *io, json_t *manifest, json_t **result_r)
{
	struct json_fault fault = {""};

	manifest_check(manifest, &fault);
	if (fault.text[0] != '\0')
		return unpack_io_fault(
		    io, UNPACK_PACKAGE, MANIFEST_FILE ": %s", fault.text);
	if (json_dumpb(manifest, NULL, 0, JSON_COMPACT) > DESCRIBE_MANIFEST_MAX)
		return unpack_io_fault(io, UNPACK_TOO_BIG,
		    MANIFEST_FILE " holds more than %u bytes of fields",
		    DESCRIBE_MANIFEST_MAX);
	*result_r = json_pack("{s:O}", "manifest", manifest);
	return *result_r == NULL ? RESULT_NO_MEMORY : RESULT_OK;
}

enum result
describe_manifest(struct unpack_io *io, int root_fd, json_t **result_r)
{
	struct json_fault fault = {""};
	json_t *manifest = NULL;
	char *bytes = NULL;
	size_t len = 0;
	enum result result = describe_manifest_read(io, root_fd, &bytes, &len);

	if (result == RESULT_OK) {
		result = yaml_json_parse(bytes, len, &manifest, &fault);
		if (result == RESULT_BAD)
			result = unpack_io_fault(io, UNPACK_PACKAGE,
			    MANIFEST_FILE ": %s", fault.text);
	}
	free(bytes);
	if (result == RESULT_OK)
		result = describe_manifest_judge(io, manifest, result_r);
	json_decref(manifest);
	return result;
}
