/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From spec and configuration to a plan. Called by sandbox_start alone;
 * must never start anything, and refuses what it does not understand. The
 * environment and streams are made in sandbox_plan_go.c.
 */
#include "supervisor/sandbox_plan.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "supervisor/engine/engine.h"
#include "supervisor/engine/native_plan.h"
#include "supervisor/engine/oci_plan.h"
#include "supervisor/policy/config.h"
#include "supervisor/sandbox_plan_go.h"

#define SANDBOX_PLAN_FILES 4096U
#define SANDBOX_PLAN_SOCKETS_SIZE (1U << 20)
#define SANDBOX_PLAN_BACKLOG 256U

enum result
sandbox_plan_fail(struct sandbox_plan_fault *fault, enum result result,
    const char *code, const char *format, ...)
{
	va_list list;

	(void)snprintf(fault->code, sizeof(fault->code), "%s", code);
	va_start(list, format);
	(void)vsnprintf(fault->detail, sizeof(fault->detail), format, list);
	va_end(list);
	return result;
}

static enum result
sandbox_plan_copy(char *text_r, size_t size, const char *text)
{
	int len = snprintf(text_r, size, "%s", text != NULL ? text : "");

	return len < 0 || (size_t)len >= size ? RESULT_TOO_LONG : RESULT_OK;
}

static enum result
sandbox_plan_names(struct sandbox_plan *plan, const struct sandbox_spec *spec,
    struct sandbox_plan_fault *fault)
{
	if (sandbox_plan_copy(plan->kind, sizeof(plan->kind), spec->kind) !=
		RESULT_OK ||
	    sandbox_plan_copy(plan->package, sizeof(plan->package),
		spec->package) != RESULT_OK ||
	    sandbox_plan_copy(plan->version, sizeof(plan->version),
		spec->version) != RESULT_OK ||
	    sandbox_plan_copy(plan->tier, sizeof(plan->tier), spec->tier) !=
		RESULT_OK ||
	    sandbox_plan_copy(plan->image, sizeof(plan->image), spec->image) !=
		RESULT_OK)
		return sandbox_plan_fail(fault, RESULT_TOO_LONG, "bad_spec",
		    "kind, package, version or image of the sandbox is too "
		    "long");
	return RESULT_OK;
}

/* sandbox.wiring; where there is no container there is one way only. */
static enum result
sandbox_plan_wiring(struct sandbox_plan *plan, const struct config *config,
    struct sandbox_plan_fault *fault)
{
	const char *word = config_text(config, "sandbox.wiring");

	plan->wiring = plan->engine->wiring;
	if (strcmp(word, "auto") == 0 || plan->image[0] == '\0')
		return RESULT_OK;
	if (strcmp(word, "mux") == 0 && plan->engine->may_mux) {
		plan->wiring = WIRING_MUX;
		return RESULT_OK;
	}
	if (strcmp(word, wiring_name(plan->wiring)) == 0)
		return RESULT_OK;
	return sandbox_plan_fail(fault, RESULT_UNSUPPORTED,
	    "wiring_unavailable",
	    "sandbox.wiring %s is not for this engine: `agentnode config "
	    "unset sandbox.wiring` takes its best",
	    word);
}

static enum result
sandbox_plan_engine(struct sandbox_plan *plan, const struct config *config,
    const struct sandbox_spec *spec, struct sandbox_plan_fault *fault)
{
	enum result result;

	plan->no_landlock = config_override(config, "no_landlock");
	plan->volume_fast =
	    strcmp(config_text(config, "sandbox.volume_check"), "fast") == 0;
	plan->engine = engine_of(config, spec);
	result = plan->engine->open(config, plan, fault);
	return result == RESULT_OK ? sandbox_plan_wiring(plan, config, fault)
				   : result;
}

static enum result
sandbox_plan_identity(struct sandbox_plan *plan, const struct config *config,
    struct sandbox_plan_fault *fault)
{
	const struct engine_files *files = &plan->host.files;

	if (run_lock_new(files, &plan->lock) != RESULT_OK)
		return sandbox_plan_fail(fault, RESULT_SYSTEM, "internal",
		    "cannot make a run file in %s: %s", files->runs,
		    strerror(errno));
	if (sandbox_uid_take(files,
		(uint32_t)config_int(config, "sandbox.uid_base"),
		plan->host.memory.rootless, &plan->uid) != RESULT_OK)
		return sandbox_plan_fail(fault, RESULT_SYSTEM, "internal",
		    "no user id is free for the sandbox in %s", files->uids);
	return RESULT_OK;
}

/* A spec may ask for less; the configuration alone gives more. */
static uint64_t
sandbox_plan_least(uint64_t wanted, uint64_t most)
{
	return wanted != 0 && wanted < most ? wanted : most;
}

static void
sandbox_plan_limits(struct sandbox_plan *plan, const struct config *config,
    const struct sandbox_spec *spec)
{
	bool build = strcmp(plan->kind, "build") == 0;
	const char *memory = build ? "build.memory" : "sandbox.memory";

	plan->limits.memory = sandbox_plan_least(
	    spec->limits.memory, (uint64_t)config_int(config, memory));
	plan->limits.pids = (unsigned)sandbox_plan_least(
	    spec->limits.pids, (uint64_t)config_int(config, "sandbox.pids"));
	plan->limits.cpu_milli =
	    (unsigned)sandbox_plan_least(spec->limits.cpu_milli,
		(uint64_t)config_int(config, "sandbox.cpu_milli"));
	plan->wall_s = spec->limits.wall_s;
}

static enum result
sandbox_plan_writable(struct sandbox_plan *plan, const char *path)
{
	struct init_setup *setup = &plan->setup;

	if (setup->writable_count >= INIT_WRITABLE_MAX)
		return RESULT_TOO_LONG;
	return sandbox_plan_copy(
	    setup->writable[setup->writable_count++], INIT_PATH_MAX, path);
}

static enum result
sandbox_plan_tmpfs(struct sandbox_plan *plan, const char *target, uint64_t size,
    unsigned mode, bool exec)
{
	struct run_argv_input *input = &plan->input;
	char *own;

	if (input->tmpfs_count >= RUN_ARGV_TMPFS_MAX)
		return RESULT_TOO_LONG;
	own = plan->tmpfs_targets[input->tmpfs_count];
	if (sandbox_plan_copy(own, INIT_PATH_MAX, target) != RESULT_OK)
		return RESULT_TOO_LONG;
	input->tmpfs[input->tmpfs_count++] =
	    (struct run_argv_tmpfs){.target = own,
		.size = size,
		.mode = mode,
		.exec = exec,
		.owned = mode == 0700};
	return RESULT_OK;
}

/* No package's code runs in one of these after it was sealed. */
static bool
sandbox_plan_may_exec(const char *kind)
{
	return strcmp(kind, "build") == 0 || strcmp(kind, "selftest") == 0 ||
	       strcmp(kind, "exec") == 0;
}

/* /tmp, HOME, the socket directory, and what the spec asks for. */
static enum result
sandbox_plan_places(struct sandbox_plan *plan, const struct config *config,
    const struct sandbox_spec *spec, struct sandbox_plan_fault *fault)
{
	uint64_t tmp = (uint64_t)config_int(config, "sandbox.tmp_size");
	uint64_t home = (uint64_t)config_int(config, "sandbox.home_size");
	enum result result = RESULT_OK;

	(void)sandbox_plan_tmpfs(plan, "/tmp", tmp, 01777, false);
	(void)sandbox_plan_tmpfs(plan, "/sandbox-home", home, 0700, false);
	(void)sandbox_plan_tmpfs(
	    plan, INIT_SOCKET_DIR, SANDBOX_PLAN_SOCKETS_SIZE, 01777, false);
	(void)sandbox_plan_writable(plan, "/tmp");
	(void)sandbox_plan_writable(plan, "/sandbox-home");
	for (size_t i = 0; i < SANDBOX_TMPFS_MAX && result == RESULT_OK; i++) {
		const struct sandbox_tmpfs *one = &spec->tmpfs[i];

		if (one->target == NULL)
			continue;
		if (one->exec && !sandbox_plan_may_exec(plan->kind))
			return sandbox_plan_fail(fault, RESULT_REFUSED,
			    "bad_spec",
			    "an executable tmpfs is for build and exec "
			    "sandboxes only");
		plan->setup.writable_exec |= one->exec ? 1 : 0;
		result = sandbox_plan_tmpfs(
		    plan, one->target, one->size, 0700, one->exec);
		if (result == RESULT_OK)
			result = sandbox_plan_writable(plan, one->target);
	}
	plan->setup.writable_tried = plan->setup.writable_count;
	if (result != RESULT_OK)
		return sandbox_plan_fail(fault, result, "bad_spec",
		    "a sandbox can have at most %u writable directories",
		    INIT_WRITABLE_MAX);
	return RESULT_OK;
}

/* The directory that the engine will mount for this volume, opened; it is
 * what must be seen at target later. */
static enum result
sandbox_plan_volume(struct sandbox_plan *plan,
    const struct sandbox_mount *mount, const char *target,
    struct sandbox_plan_fault *fault)
{
	struct volume_check_one *one = &plan->volumes[plan->volume_count];
	struct sandbox_plan_seal *seal = &plan->seals[plan->volume_count];
	char path[ENGINE_MEMORY_PATH_MAX + 160];
	int len = snprintf(path, sizeof(path), "%s/%s/_data",
	    plan->host.memory.volume_path, mount->volume);

	if (len < 0 || (size_t)len >= sizeof(path) ||
	    strchr(mount->volume, '/') != NULL ||
	    sandbox_plan_copy(
		one->volume, sizeof(one->volume), mount->volume) != RESULT_OK ||
	    sandbox_plan_copy(
		one->hash, sizeof(one->hash), mount->content_hash) != RESULT_OK)
		return sandbox_plan_fail(fault, RESULT_BAD, "bad_spec",
		    "volume name or content hash of a mount is malformed");
	if (mount->host_path != NULL && strcmp(mount->host_path, path) != 0)
		return sandbox_plan_fail(fault, RESULT_MISMATCH,
		    "integrity_volume",
		    "volume %s is recorded at %s, but the engine mounts %s: "
		    "install the package again",
		    mount->volume, mount->host_path, path);
	plan->volume_count++;
	seal->target = target;
	plan->seal_count++;
	if (plan->engine->asks_engine)
		return RESULT_OK;
	one->dir_fd =
	    open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (one->dir_fd < 0)
		return sandbox_plan_fail(fault, RESULT_NOT_FOUND,
		    "integrity_volume",
		    "volume %s is not there (%s: %s): install the package "
		    "again",
		    mount->volume, path, strerror(errno));
	if (mount_check_remember(one->dir_fd, &seal->place) != RESULT_OK)
		return sandbox_plan_fail(fault, RESULT_SYSTEM,
		    "volume_check_failed", "volume %s cannot be looked at",
		    mount->volume);
	return RESULT_OK;
}

static enum result
sandbox_plan_mounts(struct sandbox_plan *plan, const struct sandbox_spec *spec,
    struct sandbox_plan_fault *fault)
{
	enum result result = RESULT_OK;

	for (size_t i = 0; i < SANDBOX_MOUNTS_MAX && result == RESULT_OK; i++) {
		const struct sandbox_mount *mount = &spec->mounts[i];

		if (mount->volume == NULL)
			continue;
		if (sandbox_plan_copy(plan->mount_targets[i], INIT_PATH_MAX,
			mount->target) != RESULT_OK ||
		    sandbox_plan_copy(plan->mount_volumes[i],
			sizeof(plan->mount_volumes[i]),
			mount->volume) != RESULT_OK)
			return sandbox_plan_fail(fault, RESULT_TOO_LONG,
			    "bad_spec",
			    "name or target of volume %s is too long",
			    mount->volume);
		plan->input.mounts[plan->input.mount_count++] =
		    (struct run_argv_mount){
			plan->mount_volumes[i], plan->mount_targets[i]};
		if (mount->content_hash != NULL)
			result = sandbox_plan_volume(
			    plan, mount, plan->mount_targets[i], fault);
		else if (strcmp(plan->kind, "build") != 0)
			result = sandbox_plan_fail(fault, RESULT_REFUSED,
			    "integrity_volume",
			    "volume %s has no sealed content hash",
			    mount->volume);
	}
	return result;
}

static void
sandbox_plan_listener(
    struct init_setup *setup, const char *address, uint16_t port)
{
	struct init_listener *one = &setup->listeners[setup->listener_count++];

	one->address = inet_addr(address);
	one->port = htons(port);
	one->backlog = SANDBOX_PLAN_BACKLOG;
}

static enum result
sandbox_plan_egress(struct sandbox_plan *plan, const struct config *config,
    const struct sandbox_spec *spec, struct sandbox_plan_fault *fault)
{
	enum result result;

	if (spec->egress == NULL)
		return RESULT_OK;
	result = egress_plan_make(config, spec->egress, &plan->egress,
	    fault->detail, sizeof(fault->detail));
	if (result != RESULT_OK) {
		(void)snprintf(
		    fault->code, sizeof(fault->code), "egress_policy");
		return result;
	}
	plan->has_egress = true;
	sandbox_plan_listener(
	    &plan->setup, "127.0.0.1", EGRESS_PLAN_PROXY_PORT);
	for (size_t i = 0; i < plan->egress.direct_count; i++) {
		const struct egress_plan_direct *one = &plan->egress.direct[i];

		sandbox_plan_listener(&plan->setup, one->address, one->port);
		if (one->is_first)
			plan->input.hosts[plan->input.host_count++] =
			    (struct run_argv_host){one->name, one->address};
	}
	return RESULT_OK;
}

static enum result
sandbox_plan_ports(struct sandbox_plan *plan, const struct sandbox_spec *spec,
    struct sandbox_plan_fault *fault)
{
	plan->port_first = plan->setup.listener_count;
	for (size_t i = 0; i < SANDBOX_PORTS_MAX; i++) {
		const struct sandbox_port *one = &spec->ports[i];

		if (one->kind == NULL)
			break;
		sandbox_plan_listener(&plan->setup, "127.0.0.1", one->port);
		plan->port_count++;
		if (strcmp(one->kind, "llm") == 0)
			plan->setup.relay_llm_port = one->port;
		else if (strcmp(one->kind, "tools") == 0)
			plan->setup.relay_tools_port = one->port;
		else
			return sandbox_plan_fail(fault, RESULT_BAD, "bad_spec",
			    "a port of a sandbox is llm or tools");
	}
	return RESULT_OK;
}

/* Whatever starts it; the run's file tells its name from here on. */
static enum result
sandbox_plan_start(struct sandbox_plan *plan, const struct sandbox_spec *spec,
    struct sandbox_plan_fault *fault)
{
	struct run_argv_input *input = &plan->input;
	enum result result;

	input->uid = plan->uid.uid;
	input->gid = plan->uid.uid;
	input->pids = plan->limits.pids;
	input->files = SANDBOX_PLAN_FILES;
	result = plan->engine->prepare(plan, spec, fault);
	if (result != RESULT_OK)
		return result;
	if (run_lock_note(&plan->lock, &plan->facts) != RESULT_OK)
		return sandbox_plan_fail(fault, RESULT_SYSTEM, "internal",
		    "cannot write the run file: %s", strerror(errno));
	return RESULT_OK;
}

static void
sandbox_plan_init(struct sandbox_plan *plan)
{
	memset(plan, 0, sizeof(*plan));
	plan->lock.fd = -1;
	plan->uid.fd = -1;
	plan->slot.fd = -1;
	plan->go_fd = plan->secret_fd = -1;
	for (size_t i = 0; i < 3; i++)
		plan->streams[i] = -1;
	for (size_t i = 0; i < VOLUME_CHECK_MAX; i++)
		plan->volumes[i].dir_fd = -1;
	plan->setup.record = (struct init_record){.magic = INIT_MAGIC,
	    .version = INIT_PROTOCOL_VERSION,
	    .type = INIT_SETUP};
}

enum result
sandbox_plan_make(const struct config *config, const struct sandbox_spec *spec,
    struct sandbox_plan *plan_r, struct sandbox_plan_fault *fault_r)
{
	enum result result;

	memset(fault_r, 0, sizeof(*fault_r));
	sandbox_plan_init(plan_r);
	plan_r->record = json_incref((json_t *)(uintptr_t)spec->record);
	result = sandbox_plan_names(plan_r, spec, fault_r);
	if (result == RESULT_OK)
		result = sandbox_plan_engine(plan_r, config, spec, fault_r);
	if (result == RESULT_OK)
		result = sandbox_plan_identity(plan_r, config, fault_r);
	if (result == RESULT_OK) {
		sandbox_plan_limits(plan_r, config, spec);
		plan_r->setup.landlock_required = !plan_r->no_landlock;
		result = sandbox_plan_places(plan_r, config, spec, fault_r);
	}
	if (result == RESULT_OK)
		result = sandbox_plan_mounts(plan_r, spec, fault_r);
	if (result == RESULT_OK)
		result = sandbox_plan_egress(plan_r, config, spec, fault_r);
	if (result == RESULT_OK)
		result = sandbox_plan_ports(plan_r, spec, fault_r);
	if (result == RESULT_OK)
		result = sandbox_plan_start(plan_r, spec, fault_r);
	if (result == RESULT_OK)
		result = sandbox_plan_go_make(plan_r, spec, fault_r);
	if (result != RESULT_OK) {
		run_lock_end(&plan_r->host.files, &plan_r->lock);
		sandbox_plan_clear(plan_r);
	}
	return result;
}

bool
sandbox_plan_is_detached(const struct sandbox_plan *plan)
{
	return plan->engine->client_detaches &&
	       (plan->wiring != WIRING_MUX || plan->input.made);
}

void
sandbox_plan_clear(struct sandbox_plan *plan)
{
	if (plan->host_open)
		engine_host_close(&plan->host);
	plan->host_open = false;
	run_lock_leave(&plan->lock);
	sandbox_uid_end(&plan->uid);
	control_slot_end(&plan->slot);
	egress_plan_clear(&plan->egress);
	plan->has_egress = false;
	free(plan->argv);
	plan->argv = NULL;
	native_plan_free(&plan->native);
	oci_plan_free(&plan->oci);
	fd_close(&plan->go_fd);
	fd_close(&plan->secret_fd);
	json_decref(plan->secrets);
	json_decref(plan->secret_sources);
	plan->secrets = plan->secret_sources = NULL;
	for (size_t i = 0; i < 3; i++)
		fd_close(&plan->streams[i]);
	for (size_t i = 0; i < plan->volume_count; i++)
		fd_close(&plan->volumes[i].dir_fd);
	plan->volume_count = 0;
	for (size_t i = 0; i < plan->tree_count; i++)
		fd_close(&plan->trees[i].fd);
	plan->tree_count = 0;
	json_decref(plan->record);
	plan->record = NULL;
}

json_t *
sandbox_plan_record(const struct sandbox_plan *plan)
{
	json_t *overrides = json_array();
	json_t *record = json_pack(
	    "{s:s, s:s, s:s, s:s, s:s, s:i, s:I, s:i, s:i, s:o}", "run",
	    plan->lock.id, "kind", plan->kind, "package", plan->package,
	    "version", plan->version, "image", plan->image, "uid",
	    (int)plan->uid.uid, "memory", (json_int_t)plan->limits.memory,
	    "pids", (int)plan->limits.pids, "cpu_milli",
	    (int)plan->limits.cpu_milli, "overrides", overrides);

	if (record == NULL)
		return NULL;
	if (plan->image[0] != '\0')
		(void)json_object_set_new(
		    record, "wiring", json_string(wiring_name(plan->wiring)));
	(void)json_object_set_new(record, "engine",
	    json_string(plan->engine != NULL ? plan->engine->name : ""));
	if (plan->engine != NULL && plan->engine->boundary != NULL)
		(void)json_object_set_new(
		    record, "boundary", json_string(plan->engine->boundary));
	/* By whose word: what is not ours to see. */
	if (plan->engine != NULL && plan->engine->asks_engine)
		(void)json_object_set_new(
		    record, "checked_by", json_string(plan->engine->name));
	if (plan->tier[0] != '\0')
		(void)json_object_set_new(
		    record, "tier", json_string(plan->tier));
	native_plan_record(plan->native, record);
	if (plan->no_landlock)
		(void)json_array_append_new(
		    overrides, json_string("no_landlock"));
	if (plan->no_limits)
		(void)json_array_append_new(
		    overrides, json_string("no_cgroup_limits"));
	if (plan->secrets != NULL)
		(void)json_object_set(record, "secrets", plan->secrets);
	if (plan->secret_sources != NULL)
		(void)json_object_set(
		    record, "secret_sources", plan->secret_sources);
	if (plan->has_egress)
		(void)json_object_set(record, "egress",
		    json_object_get(plan->egress.policy, "allow"));
	/* It adds, and replaces nothing. */
	if (plan->record != NULL &&
	    json_object_update_missing(record, plan->record) != 0) {
		json_decref(record);
		return NULL;
	}
	return record;
}
