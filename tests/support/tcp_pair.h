/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two connected TCP sockets on loopback, for unit tests of what moves
 * bytes: pair_r[0] is non-blocking (ours), pair_r[1] blocks (the peer's).
 */
#ifndef TESTS_SUPPORT_TCP_PAIR_H
#define TESTS_SUPPORT_TCP_PAIR_H

void tcp_pair_make(int pair_r[2]);

#endif
