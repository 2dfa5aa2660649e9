/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From spec and configuration to a plan (see the header). Called by
 * host_run_start alone. It must never let a package through that is not of
 * a tier for the host, whatever its verdict says, and adds nothing to the
 * environment.
 */
#include "supervisor/host/host_plan.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/log.h"
#include "supervisor/engine/go_memfd.h"
#include "supervisor/init/init_go.h"
#include "supervisor/package/run_secret.h"
#include "supervisor/policy/boundary.h"
#include "supervisor/policy/config.h"

#define HOST_PLAN_FILES 4096U

static enum result host_plan_fail(struct host_plan_fault *fault,
    enum result result, const char *code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static enum result
host_plan_fail(struct host_plan_fault *fault, enum result result,
    const char *code, const char *format, ...)
{
	va_list list;

	(void)snprintf(fault->code, sizeof(fault->code), "%s", code);
	va_start(list, format);
	(void)vsnprintf(fault->detail, sizeof(fault->detail), format, list);
	va_end(list);
	return result;
}

static bool
host_plan_copy(char *text_r, size_t size, const char *text)
{
	int len = snprintf(text_r, size, "%s", text != NULL ? text : "");

	return len >= 0 && (size_t)len < size;
}

/* No package, or one of a tier that may and a verdict that says so: two
 * answers, of which each alone keeps it away. */
static enum result
host_plan_allowed(const struct host_spec *spec, struct host_plan_fault *fault)
{
	enum tier tier = tier_parse(spec->tier);

	if (spec->package == NULL) {
		if (strcmp(spec->kind, "exec") == 0)
			return RESULT_OK;
		return host_plan_fail(fault, RESULT_REFUSED, "host_refused",
		    "only the operator's own command is of no package");
	}
	if (spec->verdict != NULL && spec->verdict->place == BOUNDARY_HOST &&
	    (tier == TIER_CURATED || tier == TIER_TRUSTED))
		return RESULT_OK;
	return host_plan_fail(fault, RESULT_REFUSED, "host_refused",
	    "%.60s is %s: it never runs on the host", spec->package,
	    tier_name(tier));
}

/* That a package's run lives is seen by its locked file: nothing of it is
 * removed then. */
static enum result
host_plan_identity(struct host_plan *plan, const struct host_spec *spec,
    struct host_plan_fault *fault)
{
	enum result result;

	if (spec->package == NULL) {
		result = run_lock_id(plan->lock.id);
	} else {
		result = engine_files_prepare(
		    &plan->files, fault->detail, sizeof(fault->detail));
		if (result == RESULT_OK)
			result = run_lock_new(&plan->files, &plan->lock);
	}
	if (result == RESULT_OK)
		memcpy(plan->setup.id, plan->lock.id, sizeof(plan->lock.id));
	else if (fault->detail[0] != '\0')
		(void)snprintf(fault->code, sizeof(fault->code), "internal");
	else
		(void)host_plan_fail(fault, result, "internal",
		    "the file of the run cannot be made: %s", strerror(errno));
	return result;
}

static enum result
host_plan_names(struct host_plan *plan, const struct host_spec *spec,
    struct host_plan_fault *fault)
{
	if (host_plan_copy(plan->kind, sizeof(plan->kind), spec->kind) &&
	    host_plan_copy(
		plan->package, sizeof(plan->package), spec->package) &&
	    host_plan_copy(
		plan->version, sizeof(plan->version), spec->version) &&
	    host_plan_copy(plan->tier, sizeof(plan->tier), spec->tier))
		return RESULT_OK;
	return host_plan_fail(fault, RESULT_TOO_LONG, "bad_spec",
	    "kind, package or version of the run is too long");
}

/* A spec may ask for less; the configuration alone gives more. */
static uint64_t
host_plan_least(uint64_t wanted, uint64_t most)
{
	return wanted != 0 && wanted < most ? wanted : most;
}

static void
host_plan_limits(struct host_setup *setup, const struct config *config,
    const struct host_spec *spec)
{
	setup->memory = host_plan_least(spec->limits.memory,
	    (uint64_t)config_int(config, "sandbox.memory"));
	setup->pids = (uint32_t)host_plan_least(
	    spec->limits.pids, (uint64_t)config_int(config, "sandbox.pids"));
	setup->cpu_milli = (uint32_t)host_plan_least(spec->limits.cpu_milli,
	    (uint64_t)config_int(config, "sandbox.cpu_milli"));
	setup->wall_s = spec->limits.wall_s;
	setup->files = HOST_PLAN_FILES;
}

static bool
host_plan_is_environment(const char *const *env)
{
	for (; env != NULL && *env != NULL; env++) {
		if (**env == '=' || strchr(*env, '=') == NULL)
			return false;
	}
	return true;
}

static enum result
host_plan_go(struct host_plan *plan, const struct host_spec *spec,
    struct host_plan_fault *fault)
{
	enum result result;

	if (spec->argv == NULL || spec->argv[0] == NULL ||
	    spec->argv[0][0] != '/' || spec->cwd == NULL ||
	    spec->cwd[0] != '/' || !host_plan_is_environment(spec->env))
		return host_plan_fail(fault, RESULT_BAD, "bad_spec",
		    "program and folder are absolute paths, and every word of "
		    "the environment is NAME=VALUE");
	log_escape(spec->argv[0], strlen(spec->argv[0]), plan->program,
	    sizeof(plan->program));
	result = go_memfd_new(spec->argv, spec->env, spec->cwd,
	    spec->has_result ? INIT_GO_RESULT : 0, &plan->go_fd);
	if (result != RESULT_OK)
		return host_plan_fail(fault, result, "bad_spec",
		    "the command and its environment are too long");
	if (spec->secret == NULL || !spec->secret->has_block)
		return RESULT_OK;
	plan->secrets = json_incref(spec->secret->names);
	plan->secret_sources = json_incref(spec->secret->sources);
	plan->setup.flags |= HOST_HAS_SECRET;
	plan->secret_fd = fcntl(spec->secret->block_fd, F_DUPFD_CLOEXEC, 3);
	if (plan->secret_fd < 0)
		return host_plan_fail(fault, RESULT_SYSTEM, "internal",
		    "the secrets cannot be handed over");
	return RESULT_OK;
}

static enum result
host_plan_streams(struct host_plan *plan, const struct host_spec *spec,
    struct host_plan_fault *fault)
{
	const int streams[3] = {
	    spec->stdin_fd, spec->stdout_fd, spec->stderr_fd};

	for (size_t i = 0; i < 3; i++) {
		if (streams[i] < 0)
			continue;
		plan->streams[i] = fcntl(streams[i], F_DUPFD_CLOEXEC, 3);
		if (plan->streams[i] < 0)
			return host_plan_fail(fault, RESULT_SYSTEM, "bad_spec",
			    "a stream of the run cannot be used: %s",
			    strerror(errno));
	}
	return RESULT_OK;
}

static enum result
host_plan_tree(struct host_plan *plan, const struct host_spec *spec,
    struct host_plan_fault *fault)
{
	struct volume_check_one *one = &plan->tree;
	const char *name;

	if (spec->tree_path == NULL && spec->package == NULL)
		return RESULT_OK;
	if (spec->tree_path == NULL || spec->tree_hash == NULL)
		return host_plan_fail(fault, RESULT_REFUSED, "integrity_volume",
		    "%.60s has no sealed content hash", spec->package);
	name = strrchr(spec->tree_path, '/');
	if (name == NULL ||
	    !host_plan_copy(one->volume, sizeof(one->volume), name + 1) ||
	    !host_plan_copy(one->hash, sizeof(one->hash), spec->tree_hash) ||
	    !host_plan_copy(plan->place, sizeof(plan->place), spec->tree_path))
		return host_plan_fail(fault, RESULT_BAD, "bad_spec",
		    "folder or content hash is malformed");
	one->dir_fd = open(
	    spec->tree_path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	/* Ours holds the inode, so that its number is of no other one. */
	if (one->dir_fd >= 0)
		plan->place_fd = fcntl(one->dir_fd, F_DUPFD_CLOEXEC, 3);
	if (plan->place_fd >= 0)
		return RESULT_OK;
	return host_plan_fail(fault, RESULT_NOT_FOUND, "integrity_volume",
	    "%.300s is not there (%s): install the package again",
	    spec->tree_path, strerror(errno));
}

static void
host_plan_init(struct host_plan *plan)
{
	memset(plan, 0, sizeof(*plan));
	plan->go_fd = plan->secret_fd = plan->tree.dir_fd = plan->lock.fd = -1;
	plan->place_fd = -1;
	for (size_t i = 0; i < 3; i++)
		plan->streams[i] = -1;
	plan->setup.record = (struct host_record){
	    HOST_MAGIC, HOST_PROTOCOL_VERSION, HOST_SETUP, 0};
}

enum result
host_plan_make(const struct config *config, const struct host_spec *spec,
    struct host_plan *plan_r, struct host_plan_fault *fault_r)
{
	enum result result;

	memset(fault_r, 0, sizeof(*fault_r));
	host_plan_init(plan_r);
	plan_r->record = json_incref((json_t *)(uintptr_t)spec->record);
	plan_r->no_landlock = config_override(config, "no_landlock");
	host_plan_limits(&plan_r->setup, config, spec);
	result = host_plan_identity(plan_r, spec, fault_r);
	if (result == RESULT_OK)
		result = host_plan_names(plan_r, spec, fault_r);
	if (result == RESULT_OK)
		result = host_plan_allowed(spec, fault_r);
	if (result == RESULT_OK)
		result = host_plan_go(plan_r, spec, fault_r);
	if (result == RESULT_OK)
		result = host_plan_streams(plan_r, spec, fault_r);
	if (result == RESULT_OK)
		result = host_plan_tree(plan_r, spec, fault_r);
	if (result != RESULT_OK) {
		run_lock_end(&plan_r->files, &plan_r->lock);
		host_plan_clear(plan_r);
	}
	return result;
}

void
host_plan_clear(struct host_plan *plan)
{
	run_lock_leave(&plan->lock);
	fd_close(&plan->go_fd);
	fd_close(&plan->secret_fd);
	fd_close(&plan->tree.dir_fd);
	fd_close(&plan->place_fd);
	for (size_t i = 0; i < 3; i++)
		fd_close(&plan->streams[i]);
	json_decref(plan->secrets);
	json_decref(plan->secret_sources);
	json_decref(plan->record);
	plan->secrets = plan->secret_sources = plan->record = NULL;
}

bool
host_plan_is_there(const struct host_plan *plan)
{
	struct stat was, is;

	if (plan->place_fd < 0)
		return true;
	return fstat(plan->place_fd, &was) == 0 &&
	       lstat(plan->place, &is) == 0 && was.st_dev == is.st_dev &&
	       was.st_ino == is.st_ino;
}

json_t *
host_plan_record(const struct host_plan *plan, bool is_grouped)
{
	const struct host_setup *setup = &plan->setup;
	json_t *record = json_pack(
	    "{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:I, s:i, s:i, s:I}", "run",
	    setup->id, "kind", plan->kind, "package", plan->package, "version",
	    plan->version, "boundary", "policy", "boundary_words",
	    HOST_RUN_WORDS, "limits",
	    is_grouped ? "control group" : "rlimits only", "memory",
	    (json_int_t)setup->memory, "pids", (int)setup->pids, "cpu_milli",
	    (int)setup->cpu_milli, "wall_s", (json_int_t)setup->wall_s);
	bool good = record != NULL;

	if (good && plan->tier[0] != '\0')
		good = json_object_set_new(
			   record, "tier", json_string(plan->tier)) == 0;
	if (good && plan->tree.hash[0] != '\0')
		good = json_object_set_new(record, "content_hash",
			   json_string(plan->tree.hash)) == 0;
	if (good && plan->secrets != NULL)
		good = json_object_set(record, "secrets", plan->secrets) == 0 &&
		       json_object_set(
			   record, "secret_sources", plan->secret_sources) == 0;
	/* It adds, and replaces nothing. */
	if (good && plan->record != NULL)
		good = json_object_update_missing(record, plan->record) == 0;
	if (good)
		return record;
	json_decref(record);
	return NULL;
}
