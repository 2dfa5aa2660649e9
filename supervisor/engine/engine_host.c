/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Put together what a start needs to know about the engine. Called once
 * per run; must never remember a failure (the next start tries again).
 */
#include "supervisor/engine/engine_host.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/json_field.h"
#include "common/log.h"
#include "supervisor/engine/docker_info.h"
#include "supervisor/engine/engine_call.h"
#include "supervisor/engine/image_check.h"
#include "supervisor/engine/run_argv.h"
#include "supervisor/engine/runtime_probe.h"
#include "supervisor/policy/config.h"

#define ENGINE_HOST_INFO_MAX (1U << 20)
#define ENGINE_HOST_TIMEOUT_MS 60000U

static enum result engine_host_fail(struct engine_host_fault *fault,
    enum result result, const char *code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static enum result
engine_host_fail(struct engine_host_fault *fault, enum result result,
    const char *code, const char *format, ...)
{
	va_list list;

	(void)snprintf(fault->code, sizeof(fault->code), "%s", code);
	va_start(list, format);
	(void)vsnprintf(fault->detail, sizeof(fault->detail), format, list);
	va_end(list);
	return result;
}

static void
engine_host_text(const json_t *info, const char *part, const char *key,
    char *text_r, size_t size, struct json_fault *fault)
{
	const json_t *object = NULL;
	const char *text = NULL;

	json_field_object(info, "info", part, &object, fault);
	json_field_string(object, part, key, size - 1, &text, fault);
	if (text != NULL)
		(void)snprintf(text_r, size, "%s", text);
}

/* What podman's `info` says about version and storage. */
static void
engine_host_take_info(
    struct engine_memory *memory, const json_t *info, struct json_fault *fault)
{
	char version[8] = "";

	engine_host_text(info, "version", "Version", memory->version,
	    sizeof(memory->version), fault);
	engine_host_text(info, "store", "graphRoot", memory->graph_root,
	    sizeof(memory->graph_root), fault);
	engine_host_text(info, "store", "graphDriverName", memory->graph_driver,
	    sizeof(memory->graph_driver), fault);
	engine_host_text(info, "store", "volumePath", memory->volume_path,
	    sizeof(memory->volume_path), fault);
	engine_host_text(
	    info, "host", "cgroupVersion", version, sizeof(version), fault);
	engine_host_text(info, "host", "cgroupManager", memory->cgroup_manager,
	    sizeof(memory->cgroup_manager), fault);
	memory->cgroup_v2 = strcmp(version, "v2") == 0;
	memory->rootless = geteuid() != 0;
}

/* What `info` prints, as an object. Caller decrefs. */
static enum result
engine_host_info(struct engine_host *host, const char *format, json_t **info_r,
    struct engine_host_fault *fault_r)
{
	const char *argv[] = {host->memory.client, "info", format, NULL};
	struct engine_call_spec call = {.files = &host->files,
	    .argv = argv,
	    .stdin_fd = -1,
	    .stdout_fd = -1,
	    .output_max = ENGINE_HOST_INFO_MAX,
	    .timeout_ms = ENGINE_HOST_TIMEOUT_MS};
	struct json_fault fault = {""};
	char *output = NULL, detail[400] = "";
	size_t len = 0;
	enum result result = engine_call_wait(
	    &call, &output, &len, NULL, detail, sizeof(detail));

	if (result != RESULT_OK)
		return engine_host_fail(fault_r, result, "engine_failed",
		    "%s does not work: %s", host->memory.client, detail);
	result = json_field_parse(output, len, info_r, &fault);
	free(output);
	if (result != RESULT_OK)
		return engine_host_fail(fault_r, RESULT_BAD, "engine_failed",
		    "the answer of %s to `info` is not understood: %s",
		    host->memory.client, fault.text);
	return RESULT_OK;
}

static enum result
engine_host_ask(struct engine_host *host, struct engine_host_fault *fault_r)
{
	bool docker = host->memory.kind == ENGINE_MEMORY_DOCKER;
	struct json_fault fault = {""};
	json_t *info = NULL;
	enum result result = engine_host_info(host,
	    docker ? "--format={{json .}}" : "--format=json", &info, fault_r);

	if (result != RESULT_OK)
		return result;
	if (docker)
		result = docker_info_take(&host->memory, info, &fault);
	else
		engine_host_take_info(&host->memory, info, &fault);
	json_decref(info);
	if (result == RESULT_OK && fault.text[0] != '\0')
		result = RESULT_BAD;
	if (result != RESULT_OK)
		return engine_host_fail(fault_r, result, "engine_failed",
		    "%s cannot be used: %s", host->memory.client, fault.text);
	return result;
}

/* Docker's client is told which daemon and which configuration are its
 * own; podman would read some of that too. */
static enum result
engine_host_daemon(const struct config *config, struct engine_host *host)
{
	char socket[ENGINE_FILES_PATH_MAX];
	int len = snprintf(socket, sizeof(socket), "unix://%s",
	    config_text(config, "sandbox.docker_socket"));

	if (len < 0 || (size_t)len >= sizeof(socket))
		return RESULT_TOO_LONG;
	return engine_files_docker(&host->files, socket);
}

/* One of the engines: its client, and does it answer? */
static enum result
engine_host_client(const struct config *config, struct engine_host *host,
    enum engine_memory_kind kind, struct engine_host_fault *fault_r)
{
	struct engine_memory *memory = &host->memory;
	const char *name = kind == ENGINE_MEMORY_DOCKER ? "docker" : "podman";

	memory->kind = kind;
	memory->known = false;
	if (engine_call_find(name, memory->client, sizeof(memory->client)) !=
	    RESULT_OK)
		return engine_host_fail(fault_r, RESULT_NOT_FOUND,
		    "engine_missing", "%s is not installed", name);
	if (kind == ENGINE_MEMORY_DOCKER &&
	    engine_host_daemon(config, host) != RESULT_OK)
		return engine_host_fail(fault_r, RESULT_TOO_LONG,
		    "engine_failed", "sandbox.docker_socket is too long");
	return engine_host_ask(host, fault_r);
}

/* What sandbox.engine allows, in this order. oci has podman's store. */
static size_t
engine_host_kinds(
    const struct config *config, enum engine_memory_kind kinds_r[2])
{
	const char *choice = config_text(config, "sandbox.engine");
	size_t count = 0;

	if (strcmp(choice, "docker") != 0)
		kinds_r[count++] = ENGINE_MEMORY_PODMAN;
	if (strcmp(choice, "docker") == 0 || strcmp(choice, "auto") == 0)
		kinds_r[count++] = ENGINE_MEMORY_DOCKER;
	return count;
}

/* An engine before this one was not taken: said once, to everybody. */
static void
engine_host_pass(struct engine_host *host, enum engine_memory_kind kind,
    const struct engine_host_fault *fault)
{
	const char *name = kind == ENGINE_MEMORY_DOCKER ? "docker" : "podman";

	(void)snprintf(host->passed, sizeof(host->passed),
	    "%s was not taken: %.200s", name, fault->detail);
	log_event(LOG_WARN_LEVEL, "engine_passed", LOG_TEXT("engine", name),
	    LOG_TEXT("code", fault->code), LOG_TEXT("detail", fault->detail));
}

static enum result
engine_host_files(struct engine_host *host, struct engine_host_fault *fault_r)
{
	enum result result = engine_files_prepare(
	    &host->files, fault_r->detail, sizeof(fault_r->detail));

	if (result != RESULT_OK)
		(void)snprintf(
		    fault_r->code, sizeof(fault_r->code), "engine_failed");
	return result;
}

/* What is known of this machine, as far as it still holds. */
static void
engine_host_remember(const struct config *config, struct engine_host *host)
{
	const char *path = config_text(config, "sandbox.docker_socket");
	char choice[ENGINE_FILES_PATH_MAX];

	(void)snprintf(choice, sizeof(choice), "%s:%s",
	    config_text(config, "sandbox.engine"), path);
	engine_memory_load(&host->memory, choice);
	/* A daemon can be gone since; podman has none. */
	if (host->memory.known && host->memory.kind == ENGINE_MEMORY_DOCKER &&
	    (!docker_info_alive(path) ||
		engine_host_daemon(config, host) != RESULT_OK))
		host->memory.known = false;
}

enum result
engine_host_look(const struct config *config, enum engine_memory_kind kind,
    struct engine_host_fault *fault_r)
{
	struct engine_host host = {.passed = ""};
	enum result result;

	memset(fault_r, 0, sizeof(*fault_r));
	result = engine_host_files(&host, fault_r);
	if (result == RESULT_OK)
		result = engine_host_client(config, &host, kind, fault_r);
	engine_host_close(&host);
	return result;
}

/* None works: why, of each. What is wrong is what was wrong first. */
static void
engine_host_none(struct engine_host *host,
    const struct engine_host_fault *first, struct engine_host_fault *fault)
{
	char last[200];

	if (first->code[0] != '\0')
		memcpy(fault->code, first->code, sizeof(fault->code));

	(void)snprintf(last, sizeof(last), "%.199s", fault->detail);
	if (host->passed[0] != '\0')
		(void)snprintf(fault->detail, sizeof(fault->detail),
		    "no container engine was found that works: %s; %s",
		    host->passed, last);
	if (strcmp(fault->code, "engine_missing") == 0)
		(void)snprintf(fault->detail + strlen(fault->detail),
		    sizeof(fault->detail) - strlen(fault->detail),
		    ": install podman (apt install podman)");
	engine_host_close(host);
}

/* A kernel of the sandbox's own was asked for: no engine that would start
 * one on the machine's is an answer to that. */
static enum result
engine_host_kernel(
    const struct config *config, struct engine_host_fault *fault_r)
{
	const char *engine = config_text(config, "sandbox.engine");

	if (strcmp(config_text(config, "sandbox.runtime"), "runsc") != 0 ||
	    strcmp(engine, "oci") == 0)
		return RESULT_OK;
	return engine_host_fail(fault_r, RESULT_UNSUPPORTED, "runtime_unusable",
	    "sandbox.runtime runsc works with sandbox.engine oci alone, which "
	    "is %s: `agentnode config set sandbox.engine oci`, or unset "
	    "sandbox.runtime",
	    engine);
}

enum result
engine_host_find(const struct config *config, struct engine_host *host_r,
    struct engine_host_fault *fault_r)
{
	enum engine_memory_kind kinds[2];
	size_t count = engine_host_kinds(config, kinds);
	struct engine_host_fault first = {.code = ""};
	enum result result;

	memset(host_r, 0, sizeof(*host_r));
	memset(fault_r, 0, sizeof(*fault_r));
	result = engine_host_kernel(config, fault_r);
	if (result == RESULT_OK)
		result = engine_host_files(host_r, fault_r);
	if (result != RESULT_OK)
		return result;
	engine_host_remember(config, host_r);
	for (size_t i = 0; i < count && !host_r->memory.known; i++) {
		result = engine_host_client(config, host_r, kinds[i], fault_r);
		if (result == RESULT_OK)
			break;
		if (i + 1 < count) {
			engine_host_pass(host_r, kinds[i], fault_r);
			first = *fault_r;
		}
	}
	if (result == RESULT_OK)
		engine_memory_look(&host_r->memory);
	else
		engine_host_none(host_r, &first, fault_r);
	return result;
}

static enum result
engine_host_image(struct engine_host *host, const char *image,
    struct engine_host_fault *fault_r)
{
	char detail[400] = "";
	enum result result = image_check(
	    &host->files, &host->memory, image, detail, sizeof(detail));

	if (result == RESULT_NOT_FOUND)
		return engine_host_fail(fault_r, result, "image_missing",
		    "the pinned image is not here (%s): run `agentnode "
		    "sandbox pull`, `load` or `build`",
		    detail);
	if (result != RESULT_OK)
		return engine_host_fail(
		    fault_r, result, "image_refused", "%s", detail);
	return engine_memory_add_image(&host->memory, image);
}

static enum result
engine_host_runtime(struct engine_host *host, const struct config *config,
    const char *image, struct engine_host_fault *fault_r)
{
	char detail[400] = "";
	enum result result = runtime_probe(host, image,
	    (uint32_t)config_int(config, "sandbox.uid_base"), detail,
	    sizeof(detail));

	if (result != RESULT_OK)
		return engine_host_fail(fault_r, result, "runtime_unusable",
		    "%s can start no sandbox: %s (see `agentnode sandbox "
		    "doctor`)",
		    host->memory.kind == ENGINE_MEMORY_DOCKER
			? "docker"
			: "podman, by any OCI runtime,",
		    detail);
	host->memory.known = true;
	return RESULT_OK;
}

/* Image and runtime of the engine that was found. */
static enum result
engine_host_try(struct engine_host *host, const struct config *config,
    const char *image, struct engine_host_fault *fault_r)
{
	struct json_fault fault = {""};
	bool changed = false;
	enum result result = RESULT_OK;

	if (!engine_memory_has_image(&host->memory, image)) {
		result = engine_host_image(host, image, fault_r);
		changed = true;
	}
	if (result == RESULT_OK && !host->memory.known) {
		result = engine_host_runtime(host, config, image, fault_r);
		changed = true;
	}
	/* Not to remember costs the next start time, nothing else. */
	if (result == RESULT_OK && changed &&
	    engine_memory_save(&host->memory, &fault) != RESULT_OK)
		log_event(LOG_WARN_LEVEL, "engine_memory",
		    LOG_TEXT("detail", fault.text));
	return result;
}

/* auto goes on to docker when podman answers, but can start nothing, or
 * when the image is one that docker alone can know. */
static bool
engine_host_is_next(const struct engine_host *host, const struct config *config,
    const char *image, const struct engine_host_fault *fault)
{
	return strcmp(config_text(config, "sandbox.engine"), "auto") == 0 &&
	       host->memory.kind == ENGINE_MEMORY_PODMAN &&
	       (strcmp(fault->code, "runtime_unusable") == 0 ||
		   run_argv_is_image_id(image));
}

/* Podman cannot, for what fault_r says; can docker? */
static enum result
engine_host_next(struct engine_host *host, const struct config *config,
    const char *image, struct engine_host_fault *fault_r)
{
	struct engine_host_fault podman = *fault_r;
	enum result result =
	    engine_host_client(config, host, ENGINE_MEMORY_DOCKER, fault_r);

	if (result != RESULT_OK && !run_argv_is_image_id(image)) {
		*fault_r = podman;
		return result;
	}
	if (result != RESULT_OK)
		return result;
	engine_host_pass(host, ENGINE_MEMORY_PODMAN, &podman);
	engine_memory_look(&host->memory);
	return engine_host_try(host, config, image, fault_r);
}

enum result
engine_host_open(const struct config *config, const char *image,
    struct engine_host *host_r, struct engine_host_fault *fault_r)
{
	enum result result = engine_host_find(config, host_r, fault_r);

	if (result != RESULT_OK)
		return result;
	if (image == NULL || image[0] == '\0')
		result =
		    engine_host_fail(fault_r, RESULT_NOT_FOUND, "image_unset",
			"no sandbox image is pinned: run `agentnode sandbox "
			"build`, `load` or `pull`");
	else
		result = engine_host_try(host_r, config, image, fault_r);
	if (result != RESULT_OK && image != NULL &&
	    engine_host_is_next(host_r, config, image, fault_r))
		result = engine_host_next(host_r, config, image, fault_r);
	if (result != RESULT_OK)
		engine_host_close(host_r);
	else
		(void)snprintf(
		    host_r->image, sizeof(host_r->image), "%s", image);
	return result;
}

void
engine_host_close(struct engine_host *host)
{
	engine_memory_clear(&host->memory);
}
