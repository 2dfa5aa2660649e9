/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text and raw mode: what the client says goes to the workload as it is,
 * what the workload says comes back filtered for a terminal (text) or as it
 * is (raw), up to a cap. Leaf of gate.c.
 */
#ifndef SUPERVISOR_GATE_GATE_COPY_H
#define SUPERVISOR_GATE_GATE_COPY_H

#include <stdbool.h>
#include <stdint.h>

#include "common/buffer.h"
#include "supervisor/gate/gate_text.h"

#define GATE_COPY_BUFFER (512U * 1024U)

struct gate_copy {
	bool raw;
	uint64_t max, passed; /* bytes of the workload; max 0: no cap */
	bool capped;          /* more came than may pass */
	struct gate_text text;
	struct buffer to_client, to_workload;
};

void gate_copy_init(struct gate_copy *copy, bool raw, uint64_t max);
void gate_copy_free(struct gate_copy *copy);
/* Room for one read of each side. */
bool gate_copy_may_take_client(const struct gate_copy *copy);
bool gate_copy_may_take_workload(const struct gate_copy *copy);
enum result gate_copy_client(
    struct gate_copy *copy, const char *bytes, size_t len);
enum result gate_copy_workload(
    struct gate_copy *copy, const char *bytes, size_t len);
enum result gate_copy_finish(struct gate_copy *copy);

#endif
