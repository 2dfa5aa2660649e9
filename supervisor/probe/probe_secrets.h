/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where credentials are looked for: below HOME, below every home that the
 * password database names, and in the environment. Each answer is one line
 * of names; a value is read to see that it can be, and never told.
 */
#ifndef SUPERVISOR_PROBE_SECRETS_H
#define SUPERVISOR_PROBE_SECRETS_H

#include <stddef.h>

/* Files and keys below $HOME: "2 of 28: .aws/credentials .netrc". */
void probe_secrets_home(char *text_r, size_t size);
/* The same below the homes of /etc/passwd, with their paths. */
void probe_secrets_database(char *text_r, size_t size);
/* Variables that look like a credential, by name or by value. */
void probe_secrets_environment(char *text_r, size_t size);
/* Homes of /etc/passwd where a file can be made (it is removed again). */
void probe_secrets_write(char *text_r, size_t size);

#endif
