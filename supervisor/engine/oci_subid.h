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

/* How many ids the user has, by name or number, of such lines. Pure. */
uint64_t oci_subid_count(const char *text, const char *name, uint32_t uid);

/* The first range of so many ids from 100000 on, at a multiple of as many
 * from there, that no line of either text has a part of; 0: none. Pure. */
uint32_t oci_subid_free(const char *uids, const char *gids, uint32_t count);

/* The whole of such a file for the caller, "" when it is not there. Caller
 * frees. */
enum result oci_subid_read(const char *path, char **text_r);

/* The same as oci_subid_in, out of a file, for the caller. */
enum result oci_subid(const char *path, uint32_t inside, uint32_t *outside_r);

#endif
