/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packs the CA bundle; see install_ca.h. The file is the host's own; its
 * content is passed on, not read.
 */
#include "supervisor/package/install_ca.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "common/fd.h"
#include "supervisor/init/tree_stream.h"

static const char install_ca_name[] = "bundle.pem";

/* header, name, content, end record */
enum result
install_ca_file(const char *name, const char *bytes, size_t len, int *fd_r)
{
	size_t name_len = strlen(name);
	const struct tree_stream_header file = {.magic = TREE_STREAM_MAGIC,
	    .type = TREE_STREAM_FILE,
	    .mode = 0644,
	    .path_len = (uint16_t)name_len,
	    .size = len};
	const struct tree_stream_header end = {
	    .magic = TREE_STREAM_MAGIC, .type = TREE_STREAM_END};
	size_t size = sizeof(file) + name_len + len + sizeof(end);
	char *stream = malloc(size), *at = stream;
	enum result result;

	if (stream == NULL)
		return RESULT_NO_MEMORY;
	memcpy(at, &file, sizeof(file));
	at += sizeof(file);
	memcpy(at, name, name_len);
	at += name_len;
	memcpy(at, bytes, len);
	memcpy(at + len, &end, sizeof(end));
	result = fd_sealed_memfd("agentnode-file", stream, size, fd_r);
	free(stream);
	return result;
}

enum result
install_ca_stream(const char *path, int *fd_r, struct install_fault *fault)
{
	int fd FD_CLEANUP = open(path, O_RDONLY | O_CLOEXEC);
	char *bytes = NULL;
	size_t len = 0;
	enum result result = RESULT_SYSTEM;

	if (fd >= 0)
		result = fd_read_all(fd, INSTALL_CA_MAX, &bytes, &len);
	if (result == RESULT_OK)
		result = install_ca_file(install_ca_name, bytes, len, fd_r);
	else if (result == RESULT_TOO_LONG)
		errno = EFBIG;
	free(bytes);
	if (result != RESULT_OK)
		return install_fault_set(fault, RESULT_BAD, "config_invalid",
		    "build.ca_bundle %s cannot be read: %s", path,
		    strerror(errno));
	return RESULT_OK;
}
