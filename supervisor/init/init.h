/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agentnode-init: the one call of its main.
 */
#ifndef SUPERVISOR_INIT_H
#define SUPERVISOR_INIT_H

#include <stdbool.h>

#define INIT_WORD_FILTER "filter" /* argv[1]: install the filter yourself */

/* Does not return; ends with an init_exit (init_protocol.h). own_filter: no
 * runtime has installed a filter, so init does before its first word. */
int init_run(bool own_filter);

#endif
