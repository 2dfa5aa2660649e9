/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A variable that the operator hands to a command by `exec --env`: which
 * ones undo what the sandbox is for. One table, which docs/exec.md shows.
 * Pure; used by exec_request.
 */
#ifndef SUPERVISOR_EXEC_EXEC_ENV_H
#define SUPERVISOR_EXEC_EXEC_ENV_H

#include <stdbool.h>
#include <stddef.h>

#define EXEC_ENV_NAME_MAX 128U
#define EXEC_ENV_VALUE_MAX 32768U

enum exec_env_verdict {
	EXEC_ENV_OK,
	EXEC_ENV_FORM,       /* no NAME=VALUE, or a byte that cannot be */
	EXEC_ENV_FORWARD,    /* NAME alone: the value of our own environment */
	EXEC_ENV_CREDENTIAL, /* named like one, or like what leads to some */
	EXEC_ENV_PROXY,      /* where connections go */
	EXEC_ENV_LOADER,     /* what programs load before they begin */
	EXEC_ENV_HOME,       /* where settings and keys are looked for */
	EXEC_ENV_KEY,        /* the value has the shape of a key */
	EXEC_ENV_HOST_HOME   /* the value names the caller's own home */
};

/* entry is "NAME=VALUE"; host_home is the caller's HOME, or NULL. FORM and
 * FORWARD are never to be had; the others only with --i-know, and are told
 * in the result. */
enum exec_env_verdict exec_env_judge(const char *entry, const char *host_home);
bool exec_env_may_be_known(enum exec_env_verdict verdict);

/* A word for JSON, and the end of a sentence that begins with the name. */
const char *exec_env_word(enum exec_env_verdict verdict);
const char *exec_env_text(enum exec_env_verdict verdict);

/* How a row names variables; for the docs' test too. */
enum exec_env_match {
	EXEC_ENV_IS,
	EXEC_ENV_BEGINS,
	EXEC_ENV_ENDS
};
struct exec_env_row {
	enum exec_env_match match;
	const char *text; /* upper case; compared without regard to case */
	enum exec_env_verdict verdict;
};
extern const struct exec_env_row exec_env_rows[]; /* ends with text NULL */

#endif
