/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a build sandbox; see install_build.h. Three things go on at once:
 * the sandbox, agentnode-gate reading what it says, and agentnode-unpack
 * reading what it exports. Must never take a tree of a build that did not
 * end well, nor read a byte of either stream.
 */
#include "supervisor/package/install_build.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/event_loop.h"
#include "common/fd.h"
#include "supervisor/package/build_gate.h"
#include "supervisor/package/install_ca.h"
#include "supervisor/package/unpack_call.h"
#include "supervisor/policy/state_dir.h"
#include "supervisor/sandbox.h"

#define INSTALL_BUILD_FILES_MAX 500000U
#define INSTALL_BUILD_UNPACK_EXTRA_S 300U

struct install_build {
	struct install *install;
	struct sandbox *sandbox;
	struct unpack_call *unpack;
	struct build_gate *gate;
	struct install_tree *tree;
	struct event *later; /* what must not be done in a callback */
	struct sandbox_outcome outcome;
	int ca_fd, tar_fd; /* owned */
	int reader_fd;     /* of the output; ours until the gate has it */
	int stdin_fd, output_fd, export_fd; /* ours until the start */
	bool sandbox_ended, unpack_ended, gate_ended;
	bool judged; /* sandbox and gate ended, and it is known how */
};

enum result
install_build_spool(struct install *install, int *fd_r)
{
	struct state_dir home = {.fd = -1};
	struct json_fault fault = {""};
	enum result result = state_dir_home(true, &home, &fault);

	if (result != RESULT_OK)
		return install_fault_set(
		    &install->fault, result, "home_unusable", "%s", fault.text);
	*fd_r = openat(home.fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (*fd_r < 0)
		result = install_fault_set(&install->fault, RESULT_SYSTEM,
		    "home_unusable", "%s cannot hold a temporary file: %m",
		    home.path);
	state_dir_close(&home);
	return result;
}

enum result
install_build_take(struct install *install, const json_t *total, int tar_fd,
    struct install_tree *tree_r)
{
	const char *hash = json_string_value(json_object_get(total, "hash"));

	if (hash == NULL || strlen(hash) + 1 != sizeof(tree_r->hash) ||
	    lseek(tar_fd, 0, SEEK_SET) != 0)
		return install_fault_set(&install->fault, RESULT_INTERNAL,
		    "unpack_failed", "agentnode-unpack gave no tree hash");
	memcpy(tree_r->hash, hash, sizeof(tree_r->hash));
	tree_r->files =
	    (uint64_t)json_integer_value(json_object_get(total, "files"));
	tree_r->bytes =
	    (uint64_t)json_integer_value(json_object_get(total, "bytes"));
	tree_r->tar_fd = tar_fd;
	return RESULT_OK;
}

void
install_build_plan_clear(struct install_build_plan *plan)
{
	json_decref(plan->egress);
	plan->egress = NULL;
}

/* All of them must have ended. */
static void
install_build_settle(struct install_build *build)
{
	if (build->judged && build->unpack_ended)
		event_loop_stop(build->install->base);
}

static void
install_build_on_unpack(
    const json_t *result, const char *code, const char *detail, void *context)
{
	struct install_build *build = context;
	struct install *install = build->install;

	build->unpack_ended = true;
	if (result != NULL) {
		if (install_build_take(install, result, build->tar_fd,
			build->tree) == RESULT_OK)
			build->tar_fd = -1;
	} else {
		/* A cut stream only says that the build did not get there;
		 * the sandbox's own end has the reason. */
		if (strcmp(code, UNPACK_CUT) != 0)
			(void)install_fault_unpack(
			    &install->fault, code, detail);
		if (!build->sandbox_ended)
			sandbox_stop(build->sandbox, code, detail);
	}
	install_build_settle(build);
}

/* The sentence for a build that did not work. */
static void
install_build_fault(struct install_build *build)
{
	const struct sandbox_outcome *outcome = &build->outcome;
	struct install_fault *fault = &build->install->fault;
	const char *why =
	    build->gate != NULL ? build_gate_reason(build->gate) : "";

	if (strcmp(outcome->code, "timeout") == 0)
		(void)install_fault_set(fault, RESULT_TIMEOUT, "build_timeout",
		    "the build took longer than build.timeout_s%s%s",
		    why[0] == '\0' ? "" : ": ", why);
	else if (outcome->code[0] != '\0')
		(void)install_fault_set(fault, RESULT_UNSUPPORTED,
		    outcome->code, "%s", outcome->detail);
	else if (outcome->oom_kills > 0)
		(void)install_fault_set(fault, RESULT_REFUSED, "build_memory",
		    "the build needed more than build.memory: raise it with "
		    "'agentnode config set build.memory SIZE'");
	else if (build->gate != NULL && build_gate_full(build->gate))
		(void)install_fault_set(fault, RESULT_REFUSED, "build_full",
		    "the build needed more than build.size: raise it with "
		    "'agentnode config set build.size SIZE'");
	else
		(void)install_fault_set(fault, RESULT_NOT_FOUND, "build_failed",
		    "the build exited with %d%s%s",
		    outcome->signal != 0 ? 128 + outcome->signal
					 : outcome->exit_code,
		    why[0] == '\0' ? "" : ": ", why);
}

/* The sandbox is gone and the gate has said what there was to say. */
static void
install_build_judge(struct install_build *build)
{
	const struct sandbox_outcome *outcome = &build->outcome;

	build->judged = true;
	if (outcome->code[0] != '\0' || outcome->exit_code != 0 ||
	    outcome->signal != 0)
		install_build_fault(build);
	if (build->install->fault.code[0] != '\0') {
		/* Nothing more comes. */
		unpack_call_free(&build->unpack);
		build->unpack_ended = true;
	}
	install_build_settle(build);
}

static void
install_build_on_gate(const char *fault, void *context)
{
	struct install_build *build = context;

	build->gate_ended = true;
	if (fault != NULL && !build->sandbox_ended)
		sandbox_stop(build->sandbox, "gate_died", fault);
	else if (fault != NULL)
		(void)install_fault_set(&build->install->fault, RESULT_INTERNAL,
		    "gate_died", "%s", fault);
	if (build->sandbox_ended)
		event_active(build->later, EV_TIMEOUT, 0);
}

/* Its copies of the pipe go with the sandbox: the gate sees the end. */
static void
install_build_on_later(evutil_socket_t fd, short what, void *context)
{
	struct install_build *build = context;

	(void)fd;
	(void)what;
	sandbox_free(&build->sandbox);
	if (build->gate != NULL && !build->gate_ended)
		build_gate_workload_ended(build->gate, &build->outcome);
	else if (!build->judged)
		install_build_judge(build);
}

static void
install_build_on_end(struct sandbox *sandbox,
    const struct sandbox_outcome *outcome, void *context)
{
	struct install_build *build = context;

	(void)sandbox;
	build->sandbox_ended = true;
	build->outcome = *outcome;
	event_active(build->later, EV_TIMEOUT, 0);
}

static enum result
install_build_pipe(struct install *install, int *read_r, int *write_r)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) != 0)
		return install_fault_set(&install->fault, RESULT_SYSTEM,
		    "no_descriptors", "pipe: %m");
	*read_r = ends[0];
	*write_r = ends[1];
	return RESULT_OK;
}

static enum result
install_build_unpack(struct install_build *build)
{
	struct install *install = build->install;
	struct unpack_call_spec spec = {.job = UNPACK_JOB_TREE_TO_TAR,
	    .fd_count = 2,
	    .timeout_s =
		(unsigned)config_int(install->config, "build.timeout_s") +
		INSTALL_BUILD_UNPACK_EXTRA_S};
	int in FD_CLEANUP = -1;
	int fds[2];
	enum result result =
	    install_build_pipe(install, &in, &build->export_fd);

	if (result == RESULT_OK)
		result = install_build_spool(install, &build->tar_fd);
	if (result != RESULT_OK)
		return result;
	fds[0] = in;
	fds[1] = build->tar_fd;
	spec.fds = fds;
	spec.options = json_pack("{s:I,s:I}", "max_bytes",
	    (json_int_t)config_int(install->config, "build.size"), "max_files",
	    (json_int_t)INSTALL_BUILD_FILES_MAX);
	result = unpack_call_start(install->base, install->config, &spec,
	    install_build_on_unpack, build, &build->unpack);
	if (result != RESULT_OK)
		(void)install_fault_set(&install->fault, result,
		    "unpack_failed", "agentnode-unpack could not be started");
	return result;
}

/* Streams of the workload: an empty input, and one pipe for what it says. */
static enum result
install_build_streams(struct install_build *build)
{
	struct install *install = build->install;
	int writer FD_CLEANUP = -1;
	enum result result =
	    install_build_pipe(install, &build->stdin_fd, &writer);

	if (result == RESULT_OK)
		result = install_build_pipe(
		    install, &build->reader_fd, &build->output_fd);
	build->later =
	    event_new(install->base, -1, 0, install_build_on_later, build);
	if (result == RESULT_OK && build->later == NULL)
		result = install_fault_set(&install->fault, RESULT_NO_MEMORY,
		    "internal", "out of memory");
	return result;
}

/* What a plan brings goes into places of its own, sized like the build. */
static void
install_build_inputs(const struct install_build_plan *plan, uint64_t size,
    struct sandbox_spec *spec)
{
	size_t place = 3, tree = 2;

	for (size_t i = 0; i < INSTALL_BUILD_INPUTS_MAX; i++) {
		const struct install_build_input *input = &plan->inputs[i];

		if (input->path == NULL || input->fd < 0)
			continue;
		if (strcmp(input->path, INSTALL_BUILD_FOLDER) != 0)
			spec->tmpfs[place++] =
			    (struct sandbox_tmpfs){input->path, size, false};
		spec->trees[tree++] = (struct sandbox_tree){.path = input->path,
		    .fd = input->fd,
		    .max_bytes = size,
		    .max_files = INSTALL_BUILD_FILES_MAX};
	}
}

static void
install_build_spec(struct install_build *build,
    const struct install_build_plan *plan, struct sandbox_spec *spec)
{
	const struct config *config = build->install->config;
	const struct install_request *request = build->install->request;
	uint64_t size = (uint64_t)config_int(config, "build.size");

	spec->kind = "build";
	spec->package = request->slug;
	spec->version = request->pin.version;
	spec->image = config_text(config, "sandbox.image");
	spec->argv = plan->argv;
	spec->cwd = INSTALL_BUILD_FOLDER;
	spec->tmpfs[0] =
	    (struct sandbox_tmpfs){INSTALL_BUILD_FOLDER, size, true};
	spec->tmpfs[1] = (struct sandbox_tmpfs){"/cache", size, true};
	spec->trees[0] = (struct sandbox_tree){.path = INSTALL_BUILD_FOLDER,
	    .fd = build->export_fd,
	    .is_export = true,
	    .max_bytes = size,
	    .max_files = INSTALL_BUILD_FILES_MAX};
	if (build->ca_fd >= 0) {
		spec->tmpfs[2] = (struct sandbox_tmpfs){
		    INSTALL_CA_FOLDER, INSTALL_CA_MAX + 65536, false};
		spec->trees[1] =
		    (struct sandbox_tree){.path = INSTALL_CA_FOLDER,
			.fd = build->ca_fd,
			.max_bytes = INSTALL_CA_MAX,
			.max_files = 1};
	}
	install_build_inputs(plan, size, spec);
	spec->limits = (struct sandbox_limits){
	    .memory = (uint64_t)config_int(config, "build.memory"),
	    .wall_s = (unsigned)config_int(config, "build.timeout_s")};
	spec->egress = plan->egress;
	spec->stdin_fd = build->stdin_fd;
	spec->stdout_fd = spec->stderr_fd = build->output_fd;
}

static enum result
install_build_start(
    struct install_build *build, const struct install_build_plan *plan)
{
	static const struct sandbox_handlers handlers = {
	    .on_end = install_build_on_end};
	/* SOURCE_DATE_EPOCH makes Python's compiled files valid by the hash
	 * of their source, since all times are made equal later. */
	static const char *const env[] = {"SOURCE_DATE_EPOCH=1735689600",
	    "TMPDIR=/cache", "npm_config_update_notifier=false", NULL};
	static const char *const env_ca[] = {"SOURCE_DATE_EPOCH=1735689600",
	    "TMPDIR=/cache", "npm_config_update_notifier=false",
	    "NODE_EXTRA_CA_CERTS=" INSTALL_CA_FILE,
	    "SSL_CERT_FILE=" INSTALL_CA_FILE, "PIP_CERT=" INSTALL_CA_FILE,
	    NULL};
	struct install *install = build->install;
	struct sandbox_spec spec = {.env = build->ca_fd >= 0 ? env_ca : env};
	enum result result;

	install_build_spec(build, plan, &spec);
	result = sandbox_start(install->base, install->config, install->audit,
	    &spec, &handlers, build, &build->sandbox);
	if (result != RESULT_OK)
		return install_fault_set(&install->fault, result, "internal",
		    "the build sandbox could not be started: %s",
		    result_text(result));
	return RESULT_OK;
}

/* Beside the sandbox, which is stopped when there is no gate for it. One
 * that has no id has no plan either: its end says why, and comes soon. */
static void
install_build_gate(
    struct install_build *build, const struct install_build_plan *plan)
{
	struct install *install = build->install;
	const struct build_gate_spec spec = {
	    .sandbox_id = sandbox_id(build->sandbox),
	    .label = plan->label,
	    .output_fd = build->reader_fd,
	    .watch_fd = install->watch_fd};
	struct json_fault fault = {""};

	if (spec.sandbox_id[0] == '\0')
		return;
	build->reader_fd = -1;
	if (build_gate_start(install->base, install->config, &spec,
		install_build_on_gate, build, &build->gate,
		&fault) != RESULT_OK)
		sandbox_stop(build->sandbox, "gate_died",
		    fault.text[0] != '\0' ? fault.text
					  : "agentnode-gate does not start");
}

/* What the sandbox and the unpack process have now is not ours any more:
 * their ends must be the only ones. */
static void
install_build_release(struct install_build *build)
{
	fd_close(&build->stdin_fd);
	fd_close(&build->output_fd);
	fd_close(&build->export_fd);
}

static void
install_build_clear(struct install_build *build)
{
	install_build_release(build);
	unpack_call_free(&build->unpack);
	sandbox_free(&build->sandbox);
	build_gate_free(&build->gate);
	if (build->later != NULL)
		event_free(build->later);
	fd_close(&build->reader_fd);
	fd_close(&build->ca_fd);
	fd_close(&build->tar_fd);
}

enum result
install_build_run(struct install *install,
    const struct install_build_plan *plan, struct install_tree *tree_r)
{
	const char *ca = config_text(install->config, "build.ca_bundle");
	struct install_build build = {.install = install,
	    .tree = tree_r,
	    .ca_fd = -1,
	    .tar_fd = -1,
	    .reader_fd = -1,
	    .stdin_fd = -1,
	    .output_fd = -1,
	    .export_fd = -1};
	enum result result = RESULT_OK;

	tree_r->tar_fd = -1;
	if (ca != NULL)
		result = install_ca_stream(ca, &build.ca_fd, &install->fault);
	if (result == RESULT_OK)
		result = install_build_unpack(&build);
	if (result == RESULT_OK)
		result = install_build_streams(&build);
	if (result == RESULT_OK)
		result = install_build_start(&build, plan);
	if (result == RESULT_OK)
		install_build_gate(&build, plan);
	install_build_release(&build);
	if (result == RESULT_OK)
		result = event_loop_run(install->base);
	install_build_clear(&build);
	if (result == RESULT_OK && tree_r->tar_fd < 0)
		result = install_fault_set(&install->fault, RESULT_INTERNAL,
		    "build_failed", "the build left no tree");
	if (install->fault.code[0] != '\0') {
		fd_close(&tree_r->tar_fd);
		result = install->fault.result;
	}
	return result;
}
