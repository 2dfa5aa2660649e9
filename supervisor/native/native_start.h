/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agentnode-native: the one call of its main.
 */
#ifndef SUPERVISOR_NATIVE_NATIVE_START_H
#define SUPERVISOR_NATIVE_NATIVE_START_H

/* Returns init's exit code, or ends with NATIVE_LAUNCH_EXIT_START. */
int native_start(void);

#endif
