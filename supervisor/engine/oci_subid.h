/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The subordinate ids of a user (/etc/subuid, /etc/subgid): one of them is
 * a rootless sandbox's. Used by oci_plan.c.
 */
#ifndef SUPERVISOR_ENGINE_OCI_SUBID_H
#define SUPERVISOR_ENGINE_OCI_SUBID_H

#include <stddef.h>
#include <stdint.h>

#include "common/result.h"

/* The id outside of the one called inside (1 is the first subordinate one),
 * out of lines "NAME-OR-UID:START:COUNT". Pure. RESULT_NOT_FOUND: the user
 * does not have so many. */
enum result oci_subid_in(const char *text, const char *name, uint32_t uid,
    uint32_t inside, uint32_t *outside_r);

/* The same, out of a file, for the caller. */
enum result oci_subid(const char *path, uint32_t inside, uint32_t *outside_r);

#endif
