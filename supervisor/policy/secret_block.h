/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The block of a run's secrets: what init adds to the workload's environment
 * (init_go.h, INIT_GO_SECRET), built up in locked memory and given away as a
 * sealed memfd. Used by run_secret for the caller's variables and by
 * agentnode-keyring for the keychain's.
 */
#ifndef SUPERVISOR_POLICY_SECRET_BLOCK_H
#define SUPERVISOR_POLICY_SECRET_BLOCK_H

#include "common/result.h"
#include "common/secret.h"

struct secret_block; /* opaque */

#define SECRET_BLOCK_MAX 64U /* variables; SECRET_MAX bytes in all */

enum result secret_block_new(struct secret_block **block_r);
void secret_block_free(struct secret_block **block);

/* RESULT_TOO_LONG: too many, or too long together. RESULT_BAD: the name is
 * there already. */
enum result secret_block_add(
    struct secret_block *block, const char *name, const struct secret *value);
/* All of another sealed block. RESULT_BAD: it is none. */
enum result secret_block_join(struct secret_block *block, int fd);

/* The caller owns *fd_r. */
enum result secret_block_seal(struct secret_block *block, int *fd_r);

#endif
