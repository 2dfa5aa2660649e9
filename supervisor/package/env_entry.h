/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A variable that an installed server is to have at every run: what its
 * name and value may be. It stands in a file that is shared, so it is no
 * place for a key, and it must not be able to say what the sandbox says.
 * Pure; used by mcp install, the lockfile and mcp_package.
 */
#ifndef SUPERVISOR_PACKAGE_ENV_ENTRY_H
#define SUPERVISOR_PACKAGE_ENV_ENTRY_H

#include <stddef.h>

#define ENV_ENTRY_MAX 32U /* of one package */
#define ENV_ENTRY_NAME_MAX 64U
#define ENV_ENTRY_VALUE_MAX 1024U

enum env_entry_verdict {
	ENV_ENTRY_OK,
	ENV_ENTRY_NO_NAME,  /* not A-Z a-z 0-9 _, a digit first, too long */
	ENV_ENTRY_NO_VALUE, /* too long, a control byte, not UTF-8 */
	ENV_ENTRY_OURS,     /* set by the sandbox, or steers how programs
			     * are loaded or connect: refused by name */
	ENV_ENTRY_SECRET    /* named like a key */
};

/* Form alone: what a lockfile may hold. */
enum env_entry_verdict env_entry_form(
    const char *name, size_t name_len, const char *value);
/* Form, and what may be set at all. */
enum env_entry_verdict env_entry_judge(
    const char *name, size_t name_len, const char *value);

/* The end of a sentence that begins with the name. */
const char *env_entry_text(enum env_entry_verdict verdict);

#endif
