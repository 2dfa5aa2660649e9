/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The workload's environment is ours plus what the spec adds; streams and
 * trees are duplicated, so that the caller may close its own. Called by
 * sandbox_plan.c; must never let a spec replace a proxy variable.
 */
#include "supervisor/sandbox_plan_go.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/fd.h"
#include "common/log.h"
#include "supervisor/engine/go_memfd.h"
#include "supervisor/init/init_go.h"
#include "supervisor/native/native_view.h"
#include "supervisor/package/run_secret.h"

#define SANDBOX_PLAN_GO_ENV_MAX 1024U
#define SANDBOX_PLAN_GO_PROXY "http://127.0.0.1:3128"

/* Always. A spec may say another value for these. */
static const char *const sandbox_plan_go_base[] = {
    "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME=/sandbox-home",
    "TMPDIR=/tmp",
    "LANG=C.UTF-8",
    NULL,
};

/* With egress. A spec may not say these. */
static const char *const sandbox_plan_go_proxy[] = {
    "HTTPS_PROXY=" SANDBOX_PLAN_GO_PROXY,
    "https_proxy=" SANDBOX_PLAN_GO_PROXY,
    "HTTP_PROXY=" SANDBOX_PLAN_GO_PROXY,
    "http_proxy=" SANDBOX_PLAN_GO_PROXY,
    "ALL_PROXY=" SANDBOX_PLAN_GO_PROXY,
    "all_proxy=" SANDBOX_PLAN_GO_PROXY,
    "NO_PROXY=127.0.0.1,localhost,::1",
    "no_proxy=127.0.0.1,localhost,::1",
    "NODE_USE_ENV_PROXY=1",
    NULL,
};

struct sandbox_plan_go_env {
	const char *words[SANDBOX_PLAN_GO_ENV_MAX + 1];
	size_t count;
};

/* entry "": the sentence is about all of it. */
static enum result
sandbox_plan_go_fail(struct sandbox_plan_fault *fault, enum result result,
    const char *entry, const char *what)
{
	char shown[64];

	log_escape(entry, strcspn(entry, "="), shown, sizeof(shown));
	(void)snprintf(fault->code, sizeof(fault->code), "bad_spec");
	(void)snprintf(fault->detail, sizeof(fault->detail), "%s%s%s", shown,
	    shown[0] != '\0' ? " " : "", what);
	return result;
}

/* Two entries with the same name? */
static bool
sandbox_plan_go_same(const char *a, const char *b)
{
	size_t len = strcspn(a, "=");

	return strncmp(a, b, len) == 0 && b[len] == '=';
}

static bool
sandbox_plan_go_in(const char *const *list, const char *entry)
{
	for (size_t i = 0; list[i] != NULL; i++) {
		if (sandbox_plan_go_same(list[i], entry))
			return true;
	}
	return false;
}

static enum result
sandbox_plan_go_add(struct sandbox_plan_go_env *env, const char *entry)
{
	if (env->count >= SANDBOX_PLAN_GO_ENV_MAX)
		return RESULT_TOO_LONG;
	env->words[env->count++] = entry;
	env->words[env->count] = NULL;
	return RESULT_OK;
}

static bool
sandbox_plan_go_has_pack(const struct sandbox_spec *spec)
{
	for (size_t i = 0; i < SANDBOX_MOUNTS_MAX; i++) {
		if (spec->mounts[i].target != NULL &&
		    strcmp(spec->mounts[i].target, "/pack") == 0)
			return true;
	}
	return false;
}

static enum result
sandbox_plan_go_ours(struct sandbox_plan_go_env *env,
    const struct sandbox_plan *plan, const struct sandbox_spec *spec)
{
	static const char *const none[] = {NULL};
	const char *const *given = spec->env != NULL ? spec->env : none;
	enum result result = RESULT_OK;

	for (size_t i = 0; sandbox_plan_go_base[i] != NULL; i++) {
		if (!sandbox_plan_go_in(given, sandbox_plan_go_base[i]))
			result =
			    sandbox_plan_go_add(env, sandbox_plan_go_base[i]);
	}
	if (sandbox_plan_go_has_pack(spec) &&
	    !sandbox_plan_go_in(given, "PYTHONPATH=/pack"))
		result = sandbox_plan_go_add(env, "PYTHONPATH=/pack");
	for (size_t i = 0; plan->has_egress && sandbox_plan_go_proxy[i] != NULL;
	     i++)
		result = sandbox_plan_go_add(env, sandbox_plan_go_proxy[i]);
	return result;
}

static enum result
sandbox_plan_go_environment(struct sandbox_plan_go_env *env,
    const struct sandbox_plan *plan, const struct sandbox_spec *spec,
    struct sandbox_plan_fault *fault)
{
	enum result result = sandbox_plan_go_ours(env, plan, spec);

	for (size_t i = 0;
	     spec->env != NULL && spec->env[i] != NULL && result == RESULT_OK;
	     i++) {
		const char *entry = spec->env[i];

		if (entry[0] == '=' || strchr(entry, '=') == NULL)
			return sandbox_plan_go_fail(fault, RESULT_BAD, entry,
			    "is no NAME=VALUE of an environment");
		if (sandbox_plan_go_in(sandbox_plan_go_proxy, entry))
			return sandbox_plan_go_fail(fault, RESULT_REFUSED,
			    entry, "is set by the sandbox: leave it out");
		result = sandbox_plan_go_add(env, entry);
	}
	if (result != RESULT_OK)
		return sandbox_plan_go_fail(
		    fault, result, "", "the environment has too many entries");
	return RESULT_OK;
}

static enum result
sandbox_plan_go_duplicate(int fd, int *fd_r)
{
	if (fd < 0)
		return RESULT_OK;
	*fd_r = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	return *fd_r >= 0 ? RESULT_OK : RESULT_SYSTEM;
}

static enum result
sandbox_plan_go_trees(
    struct sandbox_plan *plan, const struct sandbox_spec *spec)
{
	enum result result = RESULT_OK;

	for (size_t i = 0; i < SANDBOX_TREES_MAX && result == RESULT_OK; i++) {
		const struct sandbox_tree *from = &spec->trees[i];
		struct sandbox_plan_tree *to = &plan->trees[plan->tree_count];

		if (from->path == NULL)
			continue;
		if (strlen(from->path) >= sizeof(to->path))
			return RESULT_TOO_LONG;
		(void)snprintf(to->path, sizeof(to->path), "%s", from->path);
		to->fd = -1;
		to->is_export = from->is_export;
		to->is_results = from->is_results;
		to->max_file = from->max_file;
		to->max_bytes = from->max_bytes;
		to->max_files = from->max_files;
		plan->tree_count++;
		result = sandbox_plan_go_duplicate(from->fd, &to->fd);
	}
	return result;
}

/* A sealed memfd that init's child alone maps. */
static enum result
sandbox_plan_go_secret(
    struct sandbox_plan *plan, const struct run_secret *secret)
{
	if (secret == NULL || !secret->has_block)
		return RESULT_OK;
	plan->secrets = json_incref(secret->names);
	plan->secret_sources = json_incref(secret->sources);
	return sandbox_plan_go_duplicate(secret->block_fd, &plan->secret_fd);
}

static const char *
sandbox_plan_go_cwd(const struct sandbox_spec *spec)
{
	if (spec->cwd != NULL)
		return spec->cwd;
	return spec->view != NULL && spec->view->cwd[0] == '/' ? spec->view->cwd
							       : "/";
}

enum result
sandbox_plan_go_make(struct sandbox_plan *plan, const struct sandbox_spec *spec,
    struct sandbox_plan_fault *fault_r)
{
	struct sandbox_plan_go_env *env = calloc(1, sizeof(*env));
	const int streams[3] = {
	    spec->stdin_fd, spec->stdout_fd, spec->stderr_fd};
	enum result result = env == NULL ? RESULT_NO_MEMORY : RESULT_OK;

	if (result == RESULT_OK)
		result = sandbox_plan_go_environment(env, plan, spec, fault_r);
	if (result == RESULT_OK) {
		result = spec->argv == NULL || spec->argv[0] == NULL
			     ? RESULT_BAD
			     : go_memfd_new(spec->argv, env->words,
				   sandbox_plan_go_cwd(spec),
				   spec->has_result ? INIT_GO_RESULT : 0,
				   &plan->go_fd);
		if (result != RESULT_OK)
			(void)sandbox_plan_go_fail(fault_r, result, "",
			    "the command is empty, or it and its "
			    "environment are too long");
	}
	free(env);
	if (result == RESULT_OK)
		result = sandbox_plan_go_secret(plan, spec->secret);
	for (size_t i = 0; i < 3 && result == RESULT_OK; i++)
		result =
		    sandbox_plan_go_duplicate(streams[i], &plan->streams[i]);
	if (result == RESULT_OK)
		result = sandbox_plan_go_trees(plan, spec);
	if (result != RESULT_OK && fault_r->code[0] == '\0')
		(void)sandbox_plan_go_fail(fault_r, result, "",
		    "a stream or tree of the sandbox cannot be used");
	return result;
}
