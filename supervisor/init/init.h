/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agentnode-init: the one call of its main.
 */
#ifndef SUPERVISOR_INIT_H
#define SUPERVISOR_INIT_H

/* Does not return; ends with an init_exit (init_protocol.h). */
int init_run(void);

#endif
