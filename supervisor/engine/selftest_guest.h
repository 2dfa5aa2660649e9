/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The self test in a guest kernel (gVisor): which of the probe's answers
 * differ there from those on a shared kernel, each with its reason. Used by
 * selftest.c. Pure.
 */
#ifndef SUPERVISOR_ENGINE_SELFTEST_GUEST_H
#define SUPERVISOR_ENGINE_SELFTEST_GUEST_H

#include <jansson.h>

/* In rows ({"name","ok","detail"}): one that failed with exactly the answer
 * that is known becomes good, and its detail names the reason; one that
 * should have failed and did not becomes a failed one, as then the table is
 * wrong. */
void selftest_guest_judge(json_t *rows);

#endif
