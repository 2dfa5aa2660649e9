/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `agentnode exec` was asked for, checked word by word before anything
 * is opened or started. Pure; used by command_exec and exec_run.
 */
#ifndef SUPERVISOR_EXEC_EXEC_REQUEST_H
#define SUPERVISOR_EXEC_EXEC_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "supervisor/exec/exec_env.h"
#include "supervisor/exec/exec_native.h"

#define EXEC_REQUEST_INPUTS_MAX 64U
#define EXEC_REQUEST_ALLOW_MAX 64U
#define EXEC_REQUEST_ENV_MAX 128U
#define EXEC_REQUEST_ENTRY_MAX 320U
#define EXEC_REQUEST_FAULT_MAX 512U
#define EXEC_REQUEST_NAME_MAX 255U
#define EXEC_REQUEST_WORDS_MAX 4096U
#define EXEC_REQUEST_TIMEOUT_MAX_MS (43200ULL * 1000U)
#define EXEC_REQUEST_OUTPUT_MAX (1U << 20)

enum exec_boundary {
	EXEC_CONTAINER,
	EXEC_NATIVE,
	EXEC_POLICY,
	EXEC_VM, /* reserved: not available */
	EXEC_BOUNDARY_COUNT
};

struct exec_request_input {
	const char *path;                     /* borrowed */
	char name[EXEC_REQUEST_NAME_MAX + 1]; /* what it is called inside */
};

struct exec_request {
	enum exec_boundary boundary;
	struct exec_request_input inputs[EXEC_REQUEST_INPUTS_MAX];
	size_t input_count;
	char allow[EXEC_REQUEST_ALLOW_MAX][EXEC_REQUEST_ENTRY_MAX];
	bool granted[EXEC_REQUEST_ALLOW_MAX]; /* a person did, no --allow */
	size_t allow_count;
	const char *env[EXEC_REQUEST_ENV_MAX + 1]; /* borrowed; NULL ends */
	enum exec_env_verdict env_verdicts[EXEC_REQUEST_ENV_MAX];
	size_t env_count;
	uint64_t timeout_ms; /* 0: the configuration's */
	uint64_t max_output; /* 0: the configuration's */
	const char *image;   /* NULL: the configuration's */
	bool json, i_know;
	struct exec_native_choice native;
	enum native_approval_mode approval;
	bool has_approval;       /* it was given */
	const char *const *argv; /* NULL-terminated; borrowed */
};

/* "" or a sentence that names what is wrong and what would be right. */
struct exec_request_fault {
	char text[EXEC_REQUEST_FAULT_MAX];
};

/* Each adds one word of the command line; false: fault_r says why not. */
bool exec_request_boundary(struct exec_request *request, const char *word,
    struct exec_request_fault *fault_r);
/* A plain file name of the current directory, or NAME=PATH. */
bool exec_request_input(struct exec_request *request, const char *path,
    struct exec_request_fault *fault_r);
/* The entry is canonical (config_idn.h). */
bool exec_request_allow(struct exec_request *request, const char *entry,
    struct exec_request_fault *fault_r);
/* The same of a person's answer, now or for good: it opens what it names and
 * nothing else. */
bool exec_request_grant(struct exec_request *request, const char *entry,
    struct exec_request_fault *fault_r);
bool exec_request_env(struct exec_request *request, const char *entry,
    const char *host_home, struct exec_request_fault *fault_r);
/* Of the native boundary alone. */
bool exec_request_mode(struct exec_request *request, const char *word,
    struct exec_request_fault *fault_r);
bool exec_request_approval(struct exec_request *request, const char *word,
    struct exec_request_fault *fault_r);
bool exec_request_protect(struct exec_request *request, const char *path,
    struct exec_request_fault *fault_r);
bool exec_request_writable(struct exec_request *request, const char *path,
    struct exec_request_fault *fault_r);
/* "10s", "250ms", "2m", "1h", "10" (seconds); not 0, at most 12h. */
bool exec_request_timeout(struct exec_request *request, const char *word,
    struct exec_request_fault *fault_r);
/* "8k", "1m", "8192"; not 0, at most 1 MiB. */
bool exec_request_output(struct exec_request *request, const char *word,
    struct exec_request_fault *fault_r);

/* All of it together: what --i-know is needed for, and what the boundary
 * cannot do. RESULT-like: NULL fine, else the code ("env_refused",
 * "boundary_unavailable", "bad_args") with fault_r. */
const char *exec_request_check(
    const struct exec_request *request, struct exec_request_fault *fault_r);

/* True: every entry was granted, there is no --allow. */
bool exec_request_only_granted(const struct exec_request *request);

const char *exec_request_boundary_name(enum exec_boundary boundary);

#endif
