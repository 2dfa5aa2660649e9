/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A command behind the operating system's own walls: from what was asked
 * to the view it gets, the placeholders held on the host meanwhile, and
 * what is said of it in the result. Used by exec_plan and exec_run.
 */
#ifndef SUPERVISOR_EXEC_EXEC_NATIVE_H
#define SUPERVISOR_EXEC_EXEC_NATIVE_H

#include <jansson.h>
#include <stdbool.h>

#include "common/result.h"
#include "supervisor/native/native_approval.h"
#include "supervisor/native/native_found.h"
#include "supervisor/native/native_place.h"
#include "supervisor/native/native_view.h"

#define EXEC_NATIVE_LIST_MAX 32U

/* As asked on the command line; texts are borrowed. */
struct exec_native_choice {
	enum native_mode mode;
	bool has_mode;         /* --mode was given: a workspace is meant */
	const char *workspace; /* NULL: the current directory, with --mode */
	const char *protect[EXEC_NATIVE_LIST_MAX];
	size_t protect_count;
	const char *writable[EXEC_NATIVE_LIST_MAX];
	size_t writable_count;
};

struct exec_native {
	struct native_view *view; /* owned; NULL: another boundary */
	struct native_place *place;
	struct native_found *before, *after; /* repositories */
	const char *scratch;                 /* inside: HOME and TMPDIR */
	bool ended;                          /* exec_native_end was called */
};

/* "read-only", "workspace-write", "danger-full-access". */
bool exec_native_mode(const char *word, enum native_mode *mode_r);
const char *exec_native_mode_name(enum native_mode mode);

/* Makes view and placeholders; fault_r as of native_view_make. */
enum result exec_native_begin(const struct exec_native_choice *choice,
    const char *agentnode, uint64_t scratch_size, struct exec_native *native_r,
    char *fault_r, size_t fault_size);
/* Nothing of the command lives: placeholders go. Once; then nothing. */
void exec_native_end(struct exec_native *native);
void exec_native_clear(struct exec_native *native);

/* {"mode","workspace","protected_changed":[..],"repositories":[..],
 * "repositories_complete"} after the end. Caller
 * decrefs. */
json_t *exec_native_facts(const struct exec_native *native);

#endif
