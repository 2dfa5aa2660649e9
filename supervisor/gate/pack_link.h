/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pack mode's side to the supervisor: `work` {"job":"call","options":{}}
 * brings the request as a sealed memfd, `workload_ended` the numbers of the
 * run besides; a `decision` tells at once that the result is too long; the
 * `done` says {"reason","code","detail"}, code "" for a result. Called by
 * main.c.
 */
#ifndef SUPERVISOR_GATE_PACK_LINK_H
#define SUPERVISOR_GATE_PACK_LINK_H

#include <jansson.h>
#include <stdbool.h>

#include "common/ipc.h"
#include "common/json_field.h"
#include "common/peer.h"
#include "supervisor/gate/gate_io.h"

/* All borrowed; they outlive the link. */
struct pack_link {
	struct gate *gate;
	struct gate_io *io;
	struct peer *peer;
	const char *sandbox;
	bool told; /* that it is too long */
};

/* False when the job is not as it must be. */
bool pack_link_work(struct pack_link *link, struct ipc_message *message);
/* Out of the options of workload_ended; a fault when they are wrong. */
void pack_link_facts(const json_t *options, struct gate_pack_facts *facts_r,
    struct json_fault *fault);
/* At the end of a turn; false when it cannot be told. */
bool pack_link_tell(struct pack_link *link);
/* The result of `done`; the caller owns it. */
json_t *pack_link_result(const struct gate *gate);

#endif
