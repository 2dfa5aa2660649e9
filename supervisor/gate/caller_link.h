/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Caller mode's side to the supervisor: `work` {"job":"call"|"list",
 * "options":{"tool"?}} with the arguments as a sealed memfd comes in, `done`
 * {"job","result":{"code","detail"}} of the same id goes out, with the
 * result as a sealed memfd. `work` "cancel" of that id: there will be none.
 * Called by main.c.
 */
#ifndef SUPERVISOR_GATE_CALLER_LINK_H
#define SUPERVISOR_GATE_CALLER_LINK_H

#include <stdbool.h>

#include "common/ipc.h"
#include "common/peer.h"
#include "supervisor/gate/gate_io.h"

/* All borrowed; they outlive the link. */
struct caller_link {
	struct gate *gate;
	struct gate_io *io;
	struct peer *peer;
	size_t arguments_max;
};

/* False when the job is not as it must be. */
bool caller_link_work(struct caller_link *link, struct ipc_message *message);
/* Tell what is answered; false when it cannot be told. */
bool caller_link_tell(struct caller_link *link);

#endif
