/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agentnode-init: the one call of its main.
 */
#ifndef SUPERVISOR_INIT_H
#define SUPERVISOR_INIT_H

#define INIT_WORD_FILTER "filter" /* argv[1]: install the filter yourself */

enum init_way {
	INIT_WAY_FD,     /* all is inherited */
	INIT_WAY_FILTER, /* and no runtime has installed a filter: init does,
			    before its first word */
	INIT_WAY_VOLUME, /* init_connect.h */
	INIT_WAY_GUEST   /* as FILTER, over the mux link; init_guest.h */
};

/* Does not return; ends with an init_exit (init_protocol.h). */
int init_run(enum init_way way);

#endif
