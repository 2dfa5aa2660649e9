/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files a command is given: read once, into a sealed tree stream
 * (supervisor/init/tree_stream.h) that init unpacks and that results are
 * compared with. Used by exec_run.
 */
#ifndef SUPERVISOR_EXEC_EXEC_INPUT_H
#define SUPERVISOR_EXEC_EXEC_INPUT_H

#include "common/result.h"
#include "supervisor/exec/exec_request.h"

struct exec_input {
	int fd;           /* owned; the stream, at its begin */
	uint64_t largest; /* bytes of the largest file */
	uint64_t bytes;   /* of all */
	size_t count;     /* files */
};

/* Opens regular files only (no link, no wait) and reads at most max_bytes
 * of them together. fault_r names the file. */
enum result exec_input_read(const struct exec_request *request,
    uint64_t max_bytes, struct exec_input *input_r,
    struct exec_request_fault *fault_r);
void exec_input_close(struct exec_input *input);

#endif
