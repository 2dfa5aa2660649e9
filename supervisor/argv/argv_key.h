/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does a variable look like a credential: by its name, or by a value of a
 * known shape. Pure and total; used by the audit of a command line and by
 * whatever hands an environment to a sandbox.
 */
#ifndef SUPERVISOR_ARGV_ARGV_KEY_H
#define SUPERVISOR_ARGV_ARGV_KEY_H

#include <stdbool.h>
#include <stddef.h>

/* "AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "DB_PASSWORD" ... */
bool argv_key_is_name(const char *name, size_t len);

/* A provider's key, a signed token, a private key, a URL with a password. */
bool argv_key_is_value(const char *value);

/* NAME=VALUE hands a credential over: the value has the shape of one, or
 * the name is one's and the value is more than a switch, a small number or
 * the path of a file. */
bool argv_key_is_entry(const char *entry);

#endif
