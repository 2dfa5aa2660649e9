/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The volume's wiring, inside: connect to the one socket there is, and
 * receive the workload's streams, so that every descriptor is where an
 * engine that can pass them would have put it. Used by init.c and, for the
 * names, by what starts it.
 */
#ifndef SUPERVISOR_INIT_CONNECT_H
#define SUPERVISOR_INIT_CONNECT_H

/* argv[1] that asks for it, and a folder of a volume, read-only inside, with
 * init itself and the socket. */
#define INIT_WORD_VOLUME "volume"
#define INIT_WIRING_DIR "/run/agentnode-wiring"
#define INIT_WIRING_SOCKET INIT_WIRING_DIR "/control"
#define INIT_WIRING_PROGRAM INIT_WIRING_DIR "/init"

/* 0 or errno; on errno the caller must exit. */
int init_connect(void);

#endif
