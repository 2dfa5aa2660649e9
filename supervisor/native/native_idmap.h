/* SPDX-License-Identifier: Apache-2.0 */
/*
 * User namespaces of the launcher: the maps of the sandbox's, and throwaway
 * ones whose maps a mount takes over.
 */
#ifndef SUPERVISOR_NATIVE_NATIVE_IDMAP_H
#define SUPERVISOR_NATIVE_NATIVE_IDMAP_H

#include <stdbool.h>
#include <sys/types.h>

/* The maps of the user namespace pid lives in: one id inside, one outside.
 * deny: no setgroups inside, which the kernel asks of ordinary users. */
void native_idmap_write(pid_t pid, uid_t inside, uid_t outside,
    gid_t group_inside, gid_t group_outside, bool deny);

/* A namespace in which uid and gid on disk become to_uid and to_gid. */
int native_idmap_new(uid_t uid, gid_t gid, uid_t to_uid, gid_t to_gid);

#endif
