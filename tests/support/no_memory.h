/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A kernel that is short of memory, for a test in a process of its own. Part
 * of tests alone.
 */
#ifndef TESTS_SUPPORT_NO_MEMORY_H
#define TESTS_SUPPORT_NO_MEMORY_H

#include <stdbool.h>

/* From now on, and for good, sendmsg over fd is ENOMEM. */
bool no_memory_to_send(int fd);

#endif
