/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stories of `auth set` and `auth remove`, and of `secret set` and
 * `secret remove`: the helper takes the key or secret, the audit record is
 * synced, the helper stores it, credentials.json or secrets.json says so.
 */
#ifndef SUPERVISOR_COMMAND_AUTH_STORE_H
#define SUPERVISOR_COMMAND_AUTH_STORE_H

#include "supervisor/command/auth_option.h"

#define AUTH_STORE_CANCELLED 130

/* Exit codes; the sentence was printed. The option is open (set) or has its
 * backend (remove). */
int auth_store_set(const struct auth_option *option);
int auth_store_remove(const struct auth_option *option);

/* What a status that is not OK means as an exit code, with its sentence and
 * what to do. */
int auth_store_fault(const struct auth_option *option,
    enum keyring_status status, const char *detail);

#endif
