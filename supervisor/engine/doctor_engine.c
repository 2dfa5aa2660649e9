/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks of the engine, the image and, last, a sandbox that is really
 * started. Called by doctor.c; leaves nothing behind.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"
#include "supervisor/engine/doctor.h"
#include "supervisor/engine/engine.h"
#include "supervisor/engine/engine_call.h"
#include "supervisor/engine/engine_gc.h"
#include "supervisor/engine/image_check.h"
#include "supervisor/engine/run_argv.h"
#include "supervisor/engine/selftest.h"
#include "supervisor/policy/config.h"

/* The oldest with everything the command line uses. */
#define DOCTOR_ENGINE_OLDEST 4003
#define DOCTOR_ENGINE_OLDEST_DOCKER 20010
/* Fixed upstream: CVE-2024-21626 and CVE-2025-31133, 52565, 52881. A
 * distribution fixes them in older numbers, which only it can say. */
#define DOCTOR_ENGINE_RUNC "1.2.8"

static bool
doctor_engine_is_docker(const struct doctor *doctor)
{
	return doctor->host.memory.kind == ENGINE_MEMORY_DOCKER;
}

/* Why one engine is, or is not, the one that is used. */
static void
doctor_engine_why(const struct doctor *doctor, enum engine_memory_kind kind,
    char *text_r, size_t size)
{
	const char *choice = config_text(doctor->config, "sandbox.engine");
	bool docker = kind == ENGINE_MEMORY_DOCKER;
	const char *name = docker ? "docker" : "podman";
	struct engine_host_fault fault;

	if (doctor->has_host && doctor->host.memory.kind == kind)
		(void)snprintf(text_r, size, "%s is taken%s", name,
		    strcmp(choice, "oci") == 0 ? ", for its images" : "");
	else if (strcmp(choice, "auto") != 0 && strcmp(choice, name) != 0)
		(void)snprintf(text_r, size,
		    "%s is not taken: sandbox.engine is %s", name, choice);
	else if (engine_host_look(doctor->config, kind, &fault) != RESULT_OK)
		(void)snprintf(text_r, size, "%s is not taken: %.150s", name,
		    fault.detail);
	else
		(void)snprintf(text_r, size, "%s answers, but is not taken: %s",
		    name,
		    docker ? "podman comes first"
			   : "it can start no sandbox here");
}

static void
doctor_engine_choice(struct doctor *doctor, struct doctor_finding *finding)
{
	char podman[240], docker[240];

	doctor_engine_why(doctor, ENGINE_MEMORY_PODMAN, podman, sizeof(podman));
	doctor_engine_why(doctor, ENGINE_MEMORY_DOCKER, docker, sizeof(docker));
	doctor_say(finding, doctor->has_host, "%s; %s", podman, docker);
	doctor_fix(finding, "install podman 4.3 or newer");
}

static void
doctor_engine_client(struct doctor *doctor, struct doctor_finding *finding)
{
	struct engine_host_fault fault;
	unsigned major = 0, minor = 0;

	if (engine_host_find(doctor->config, &doctor->host, &fault) !=
	    RESULT_OK) {
		doctor_say(finding, false, "%s", fault.detail);
		doctor_fix(finding, "install podman 4.3 or newer");
		return;
	}
	doctor->has_host = true;
	(void)sscanf(doctor->host.memory.version, "%u.%u", &major, &minor);
	if (major * 1000 + minor < (doctor_engine_is_docker(doctor)
					   ? DOCTOR_ENGINE_OLDEST_DOCKER
					   : DOCTOR_ENGINE_OLDEST)) {
		doctor_say(finding, false, "%s %s is too old",
		    doctor->host.memory.client, doctor->host.memory.version);
		doctor_fix(
		    finding, "install podman 4.3 or docker 20.10, or newer");
		return;
	}
	doctor_say(finding, true, "%s %s, %s, cgroup %s",
	    doctor->host.memory.client, doctor->host.memory.version,
	    doctor->host.memory.rootless ? "rootless" : "rootful",
	    doctor->host.memory.cgroup_v2 ? "v2" : "v1");
}

static void
doctor_engine_storage(struct doctor *doctor, struct doctor_finding *finding)
{
	const struct engine_memory *memory = &doctor->host.memory;

	if (!doctor->has_host)
		return;
	if (strcmp(memory->graph_driver, "vfs") == 0) {
		doctor_say(finding, false,
		    "driver vfs copies the whole image at each start");
		doctor_fix(finding,
		    "set driver = \"overlay\" in storage.conf and load the "
		    "image again");
		return;
	}
	doctor_say(finding, true,
	    "driver %s in %s (a container's mountinfo shows this path; it "
	    "cannot be reached)",
	    memory->graph_driver, memory->graph_root);
}

static void
doctor_engine_image(struct doctor *doctor, struct doctor_finding *finding)
{
	const char *image = config_text(doctor->config, "sandbox.image");
	char detail[400] = "";
	enum result result;

	doctor_fix(finding, "agentnode sandbox build (or load, or pull)");
	if (image == NULL || image[0] == '\0') {
		doctor_say(finding, false, "sandbox.image is not set");
		return;
	}
	if (!run_argv_is_pinned(image) && !run_argv_is_image_id(image)) {
		doctor_say(finding, false,
		    "sandbox.image is not NAME@sha256:<64 hex digits>");
		return;
	}
	if (!doctor->has_host)
		return;
	result = image_check(&doctor->host.files, &doctor->host.memory, image,
	    detail, sizeof(detail));
	doctor->has_image = result == RESULT_OK;
	if (result == RESULT_OK)
		doctor_say(finding, true,
		    "%s is here and carries nothing it "
		    "must not",
		    image);
	else
		doctor_say(finding, false, "%s", detail);
}

/* The probe itself is part of engine_host_open. */
static void
doctor_engine_runtime(struct doctor *doctor, struct doctor_finding *finding)
{
	struct engine_host_fault fault;
	const char *image = config_text(doctor->config, "sandbox.image");

	doctor_fix(finding,
	    "install crun or runc; on hybrid cgroups runc, or boot with "
	    "systemd.unified_cgroup_hierarchy=1");
	if (!doctor->has_image) {
		doctor_say(finding, false, "not tried: there is no image");
		return;
	}
	/* In its place: the engine's environment points into it. */
	engine_host_close(&doctor->host);
	doctor->has_host = engine_host_open(doctor->config, image,
			       &doctor->host, &fault) == RESULT_OK;
	if (doctor->has_host)
		doctor_say(finding, true, "%s starts init%s",
		    doctor->host.memory.runtime,
		    doctor->host.memory.hide_unified
			? " (in a view without /sys/fs/cgroup/unified)"
			: "");
	else
		doctor_say(finding, false, "%s", fault.detail);
}

/* First line of `RUNTIME --version`: "runc version 1.1.5+ds1". */
static void
doctor_engine_security(struct doctor *doctor, struct doctor_finding *finding)
{
	const char *argv[] = {doctor->host.memory.runtime, "--version", NULL};
	struct engine_call_spec call = {.files = &doctor->host.files,
	    .argv = argv,
	    .stdin_fd = -1,
	    .stdout_fd = -1,
	    .output_max = 65536,
	    .timeout_ms = 10000};
	char *output = NULL, shown[80] = "", detail[400] = "";
	size_t len = 0;

	doctor_fix(finding, "install the runtime's security updates");
	if (!doctor->has_host || doctor->host.memory.runtime[0] == '\0') {
		doctor_say(finding, false, "no runtime works");
		return;
	}
	if (doctor_engine_is_docker(doctor)) {
		doctor_say(finding, true,
		    "docker's own %s; runc before " DOCTOR_ENGINE_RUNC
		    " is only safe with a distribution's fixes",
		    doctor->host.memory.runtime);
		return;
	}
	if (engine_call_wait(&call, &output, &len, NULL, detail,
		sizeof(detail)) != RESULT_OK) {
		doctor_say(finding, false, "%s", detail);
		return;
	}
	log_escape(output, strcspn(output, "\n"), shown, sizeof(shown));
	free(output);
	doctor_say(finding, true,
	    "%s; runc before " DOCTOR_ENGINE_RUNC
	    " is only safe with a distribution's fixes",
	    shown);
}

/* What the sandbox's processes run on. */
static void
doctor_engine_boundary(struct doctor *doctor, struct doctor_finding *finding)
{
	char path[ENGINE_MEMORY_PATH_MAX];

	doctor_fix(
	    finding, "apt install runsc, or set sandbox.runtime to auto");
	if (!engine_is_guest(doctor->config) &&
	    strcmp(config_text(doctor->config, "sandbox.runtime"), "runsc") ==
		0)
		doctor_say(finding, false,
		    "sandbox.runtime is runsc, which sandbox.engine oci alone "
		    "starts");
	else if (!engine_is_guest(doctor->config))
		doctor_say(finding, true,
		    "this machine's kernel, behind the walls; sandbox.engine "
		    "oci with sandbox.runtime runsc gives each sandbox one of "
		    "its own");
	else if (engine_call_find("runsc", path, sizeof(path)) != RESULT_OK)
		doctor_say(finding, false,
		    "sandbox.runtime is runsc, which is not installed");
	else
		doctor_say(finding, geteuid() == 0,
		    "%s: a kernel of each sandbox's own (gVisor)%s", path,
		    geteuid() == 0 ? "" : "; it works as root only");
}

static void
doctor_engine_limits(struct doctor *doctor, struct doctor_finding *finding)
{
	bool override = config_override(doctor->config, "no_cgroup_limits");

	if (!doctor->has_host || !doctor->host.memory.known) {
		doctor_say(finding, false, "not tried: no runtime works");
		doctor_fix(finding, "see the check runtime");
		return;
	}
	if (doctor->host.memory.limits) {
		doctor_say(finding, true,
		    "memory, processes and CPU limits are in force");
		return;
	}
	doctor_say(finding, override, "limits are not in force%s",
	    override ? "; accepted by the override no_cgroup_limits" : "");
	doctor_fix(finding,
	    "boot with cgroup v2, or run as root, or accept it with "
	    "`agentnode config set sandbox.overrides no_cgroup_limits`");
}

static void
doctor_engine_leftovers(struct doctor *doctor, struct doctor_finding *finding)
{
	char detail[400] = "";
	size_t count = 0;

	if (!doctor->has_host)
		return;
	if (engine_gc_run_count(
		&doctor->host, &count, detail, sizeof(detail)) != RESULT_OK) {
		doctor_say(finding, false, "%s", detail);
		return;
	}
	doctor_say(finding, count == 0, "%zu leftovers of dead runs", count);
	doctor_fix(finding, "agentnode sandbox gc");
}

/* A sandbox, really: init's walls, the limits, the removal. */
static void
doctor_engine_start(struct doctor *doctor, struct doctor_finding *finding)
{
	char detail[400] = "";
	json_t *report = NULL, *first = NULL;
	const char *text;

	doctor_fix(finding, "see the checks above");
	if (!doctor->has_image || !doctor->host.memory.known) {
		doctor_say(finding, false, "not tried: no image or runtime");
		return;
	}
	if (!doctor->deep) {
		doctor_say(finding, true, "not tried (--quick)");
		return;
	}
	if (selftest_run(doctor->config, SELFTEST_CONTAINER, false, &report,
		detail, sizeof(detail)) != RESULT_OK) {
		doctor_say(finding, false, "%s", detail);
		return;
	}
	first = json_array_get(json_object_get(report, "probes"), 0);
	text = json_string_value(json_object_get(first, "detail"));
	doctor_say(finding, json_is_true(json_object_get(report, "ok")), "%s",
	    text != NULL ? text : "");
	json_decref(report);
}

const struct doctor_check doctor_engine_checks[] = {
    {"engine", doctor_engine_client},
    {"engine_choice", doctor_engine_choice},
    {"storage", doctor_engine_storage},
    {"image", doctor_engine_image},
    {"runtime", doctor_engine_runtime},
    {"security_updates", doctor_engine_security},
    {"boundary", doctor_engine_boundary},
    {"limits", doctor_engine_limits},
    {"leftovers", doctor_engine_leftovers},
    {"start", doctor_engine_start},
    {NULL, NULL},
};
