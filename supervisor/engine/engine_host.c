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
#include "supervisor/engine/engine_call.h"
#include "supervisor/engine/image_check.h"
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

/* What `info` says about version and storage. */
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

static enum result
engine_host_ask(struct engine_host *host, struct engine_host_fault *fault_r)
{
	const char *argv[] = {
	    host->memory.podman, "info", "--format=json", NULL};
	struct engine_call_spec call = {.files = &host->files,
	    .argv = argv,
	    .stdin_fd = -1,
	    .stdout_fd = -1,
	    .output_max = ENGINE_HOST_INFO_MAX,
	    .timeout_ms = ENGINE_HOST_TIMEOUT_MS};
	struct json_fault fault = {""};
	json_t *info = NULL;
	char *output = NULL, detail[400] = "";
	size_t len = 0;
	enum result result = engine_call_wait(
	    &call, &output, &len, NULL, detail, sizeof(detail));

	if (result != RESULT_OK)
		return engine_host_fail(fault_r, result, "engine_failed",
		    "the container engine does not work: %s", detail);
	result = json_field_parse(output, len, &info, &fault);
	free(output);
	if (result == RESULT_OK)
		engine_host_take_info(&host->memory, info, &fault);
	json_decref(info);
	if (fault.text[0] != '\0')
		return engine_host_fail(fault_r, RESULT_BAD, "engine_failed",
		    "the container engine's `info` is not understood: %s",
		    fault.text);
	return result;
}

static enum result
engine_host_client(struct engine_host *host, struct engine_host_fault *fault_r)
{
	struct engine_memory *memory = &host->memory;

	if (engine_call_find(
		"podman", memory->podman, sizeof(memory->podman)) == RESULT_OK)
		return RESULT_OK;
	return engine_host_fail(fault_r, RESULT_NOT_FOUND, "engine_missing",
	    "no container engine was found: install podman "
	    "(apt install podman)");
}

enum result
engine_host_find(struct engine_host *host_r, struct engine_host_fault *fault_r)
{
	enum result result;

	memset(host_r, 0, sizeof(*host_r));
	memset(fault_r, 0, sizeof(*fault_r));
	result = engine_files_prepare(
	    &host_r->files, fault_r->detail, sizeof(fault_r->detail));
	if (result != RESULT_OK) {
		(void)snprintf(
		    fault_r->code, sizeof(fault_r->code), "engine_failed");
		return result;
	}
	engine_memory_load(&host_r->memory);
	if (!host_r->memory.known) {
		result = engine_host_client(host_r, fault_r);
		if (result == RESULT_OK)
			result = engine_host_ask(host_r, fault_r);
	}
	if (result == RESULT_OK)
		engine_memory_look(&host_r->memory);
	else
		engine_host_close(host_r);
	return result;
}

static enum result
engine_host_image(struct engine_host *host, const char *image,
    struct engine_host_fault *fault_r)
{
	char detail[400] = "";
	enum result result = image_check(
	    &host->files, host->memory.podman, image, detail, sizeof(detail));

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
	enum result result = runtime_probe(&host->files, image,
	    (uint32_t)config_int(config, "sandbox.uid_base"), &host->memory,
	    detail, sizeof(detail));

	if (result != RESULT_OK)
		return engine_host_fail(fault_r, result, "runtime_unusable",
		    "no OCI runtime can start a sandbox: %s (see `agentnode "
		    "sandbox doctor`)",
		    detail);
	host->memory.known = true;
	return RESULT_OK;
}

enum result
engine_host_open(const struct config *config, const char *image,
    struct engine_host *host_r, struct engine_host_fault *fault_r)
{
	struct json_fault fault = {""};
	bool changed = false;
	enum result result = engine_host_find(host_r, fault_r);

	if (result != RESULT_OK)
		return result;
	if (image == NULL || image[0] == '\0')
		result =
		    engine_host_fail(fault_r, RESULT_NOT_FOUND, "image_unset",
			"no sandbox image is pinned: run `agentnode sandbox "
			"build`, `load` or `pull`");
	else if (!engine_memory_has_image(&host_r->memory, image)) {
		result = engine_host_image(host_r, image, fault_r);
		changed = true;
	}
	if (result == RESULT_OK && !host_r->memory.known) {
		result = engine_host_runtime(host_r, config, image, fault_r);
		changed = true;
	}
	/* Not to remember costs the next start time, nothing else. */
	if (result == RESULT_OK && changed &&
	    engine_memory_save(&host_r->memory, &fault) != RESULT_OK)
		log_event(LOG_WARN_LEVEL, "engine_memory",
		    LOG_TEXT("detail", fault.text));
	if (result != RESULT_OK)
		engine_host_close(host_r);
	return result;
}

void
engine_host_close(struct engine_host *host)
{
	engine_memory_clear(&host->memory);
}
