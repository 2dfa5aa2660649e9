/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The policy boundary of exec; see exec_policy.h. Called by exec_plan and
 * exec_run; must never take more of our environment than PATH.
 */
#include "supervisor/exec/exec_policy.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"

#define EXEC_POLICY_PATH \
	"/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

/* A port that is ours and closed: nobody else can open it meanwhile. */
static enum result
exec_policy_port(struct exec_policy *policy, uint16_t *port_r)
{
	struct sockaddr_in address = {
	    .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(address);

	policy->closed = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (policy->closed < 0 ||
	    bind(policy->closed, (struct sockaddr *)&address,
		sizeof(address)) != 0 ||
	    getsockname(policy->closed, (struct sockaddr *)&address, &len) != 0)
		return RESULT_SYSTEM;
	*port_r = ntohs(address.sin_port);
	return RESULT_OK;
}

static bool
exec_policy_said(const struct exec_request *request, const char *entry)
{
	size_t len = strcspn(entry, "=") + 1;

	for (size_t i = 0; i < request->env_count; i++) {
		if (strncmp(request->env[i], entry, len) == 0)
			return true;
	}
	return false;
}

/* The caller's, whole or not at all: a shorter one finds other programs. */
static bool
exec_policy_own_path(struct exec_policy *policy)
{
	const char *path = getenv("PATH");
	int len = snprintf(policy->path, sizeof(policy->path), "PATH=%s",
	    path != NULL && path[0] != '\0' ? path : EXEC_POLICY_PATH);

	return len > 0 && (size_t)len < sizeof(policy->path);
}

static void
exec_policy_env(struct exec_policy *policy, const struct exec_request *request,
    uint16_t port)
{
	static const char *const proxies[] = {"HTTP_PROXY", "HTTPS_PROXY",
	    "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"};
	static const char *const fixed[] = {
	    "LANG=C.UTF-8", "NO_PROXY=", "no_proxy="};
	size_t own = 0, count = 0;

	if (!exec_policy_said(request, "PATH="))
		policy->env[count++] = policy->path;
	(void)snprintf(policy->own[own++], sizeof(policy->own[0]), "HOME=%s",
	    policy->scratch.path);
	(void)snprintf(policy->own[own++], sizeof(policy->own[0]), "TMPDIR=%s",
	    policy->scratch.path);
	for (size_t i = 0; i < sizeof(proxies) / sizeof(proxies[0]); i++)
		(void)snprintf(policy->own[own++], sizeof(policy->own[0]),
		    "%s=http://127.0.0.1:%u", proxies[i], port);
	for (size_t i = 0; i < own; i++) {
		if (!exec_policy_said(request, policy->own[i]))
			policy->env[count++] = policy->own[i];
	}
	for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++) {
		if (!exec_policy_said(request, fixed[i]))
			policy->env[count++] = fixed[i];
	}
	for (size_t i = 0; i < request->env_count; i++)
		policy->env[count++] = request->env[i];
}

/* 0, or the errno that execve(2) would have. */
static int
exec_policy_program_fault(const char *path)
{
	struct stat st;

	if (stat(path, &st) != 0)
		return errno;
	return S_ISREG(st.st_mode) && access(path, X_OK) == 0 ? 0 : EACCES;
}

static const char *
exec_policy_path(const struct exec_policy *policy)
{
	for (const char *const *env = policy->env; *env != NULL; env++) {
		if (strncmp(*env, "PATH=", 5) == 0)
			return *env + 5;
	}
	return "";
}

/* As a shell finds it: by PATH, or relative to the scratch directory. 0, or
 * why not; what is there and is no program says more than what is not. */
static int
exec_policy_find(struct exec_policy *policy, const char *word)
{
	const char *path = exec_policy_path(policy);
	size_t size = sizeof(policy->program), part;
	int fault = ENOENT;

	if (strchr(word, '/') != NULL) {
		const char *above = word[0] == '/' ? "" : policy->scratch.path;
		int len = snprintf(policy->program, size, "%s/%s", above, word);

		return len > 0 && (size_t)len < size
			   ? exec_policy_program_fault(policy->program)
			   : ENAMETOOLONG;
	}
	for (; *path != '\0'; path += part + (path[part] == ':' ? 1 : 0)) {
		int one;

		part = strcspn(path, ":");
		/* Longer than a path can be: a shell passes over it too. */
		if (part == 0 || path[0] != '/' ||
		    part + 1 + strlen(word) >= size)
			continue;
		(void)snprintf(
		    policy->program, size, "%.*s/%s", (int)part, path, word);
		one = exec_policy_program_fault(policy->program);
		if (one == 0)
			return 0;
		if (one == EACCES)
			fault = EACCES;
	}
	return fault;
}

static bool
exec_policy_words(
    struct exec_policy *policy, const struct exec_request *request)
{
	size_t count = 0;

	for (; request->argv[count] != NULL; count++) {
		if (count == EXEC_REQUEST_WORDS_MAX)
			return false;
		policy->argv[count] = request->argv[count];
	}
	policy->argv[0] = policy->program;
	return true;
}

static enum result
exec_policy_place(struct exec_policy *policy,
    const struct exec_request *request, int inputs, struct json_fault *fault)
{
	uint16_t port = 0;
	enum result result = exec_scratch_new(&policy->scratch, fault);

	if (result == RESULT_OK)
		result = exec_scratch_fill(&policy->scratch, inputs);
	if (result == RESULT_OK)
		result = exec_policy_port(policy, &port);
	if (result != RESULT_OK) {
		json_field_fault(
		    fault, "inputs or a closed port: %s", strerror(errno));
		return result;
	}
	exec_policy_env(policy, request, port);
	return RESULT_OK;
}

enum result
exec_policy_begin(const struct exec_request *request, int inputs,
    struct exec_policy *policy_r, const char **code_r, struct json_fault *fault)
{
	enum result result;
	int found;

	*code_r = "bad_args";
	if (!exec_policy_own_path(policy_r) &&
	    !exec_policy_said(request, "PATH=")) {
		json_field_fault(fault,
		    "PATH is longer than %u bytes: give the command a shorter "
		    "one with --env PATH=...",
		    EXEC_POLICY_PATH_MAX - (unsigned)sizeof("PATH="));
		return RESULT_TOO_LONG;
	}
	*code_r = "internal";
	policy_r->is = true;
	result = exec_policy_place(policy_r, request, inputs, fault);
	if (result != RESULT_OK)
		return result;
	found = exec_policy_find(policy_r, request->argv[0]);
	if (found != 0) {
		*code_r = "exec_failed";
		json_field_fault(fault, "the command cannot be executed: %s",
		    strerror(found));
		return RESULT_NOT_FOUND;
	}
	if (!exec_policy_words(policy_r, request)) {
		*code_r = "bad_args";
		json_field_fault(fault, "the command has too many words");
		return RESULT_TOO_LONG;
	}
	policy_r->spec = (struct host_spec){.kind = "exec",
	    .argv = policy_r->argv,
	    .env = policy_r->env,
	    .cwd = policy_r->scratch.path,
	    .stdin_fd = -1};
	return RESULT_OK;
}

enum result
exec_policy_results(
    struct exec_policy *policy, const struct init_results_bound *most)
{
	int error;

	if (!policy->is || policy->scratch.fd < 0 || policy->results < 0)
		return RESULT_OK;
	(void)fchmod(policy->scratch.fd, S_IRWXU);
	error = init_results_run(policy->scratch.fd, policy->results, most);
	fd_close(&policy->results);
	return error == 0 ? RESULT_OK : RESULT_SYSTEM;
}

void
exec_policy_end(struct exec_policy *policy)
{
	if (!policy->is)
		return;
	fd_close(&policy->results);
	fd_close(&policy->closed);
	exec_scratch_remove(&policy->scratch);
}
