/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine's image store; see image_engine.h. Must never fetch anything
 * but what a digest names, and never pin what was not judged.
 */
#include "supervisor/package/image_engine.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/fd.h"
#include "common/json_field.h"
#include "common/log.h"
#include "supervisor/engine/engine_call.h"
#include "supervisor/engine/image_check.h"
#include "supervisor/engine/run_argv.h"
#include "supervisor/package/image_recipe.h"
#include "supervisor/package/tool_run.h"
#include "supervisor/policy/config.h"
#include "supervisor/policy/state_dir.h"

#define IMAGE_ENGINE_LOAD_MS (900U * 1000U)
#define IMAGE_ENGINE_PULL_S 3600U
#define IMAGE_ENGINE_CA_MAX (4U << 20)
#define IMAGE_ENGINE_OUTPUT_MAX 65536U
#define IMAGE_ENGINE_LOADED "Loaded image: "
#define IMAGE_ENGINE_LOADED_ID "Loaded image ID: " /* Docker, unnamed */

enum result
image_engine_reference(const char *text, char *detail_r, size_t detail_size)
{
	char shown[256];

	if (run_argv_is_pinned(text))
		return RESULT_OK;
	if (run_argv_is_image_id(text)) {
		(void)snprintf(detail_r, detail_size,
		    "%s is Docker's own id of an image, which no registry "
		    "knows: load it (`agentnode sandbox load`)",
		    text);
		return RESULT_BAD;
	}
	log_escape(text, strlen(text), shown, sizeof(shown));
	(void)snprintf(detail_r, detail_size,
	    "'%s' is not pinned by digest: a tag can change what it names; "
	    "use NAME@sha256:<64 hex digits>",
	    shown);
	return RESULT_BAD;
}

/* One engine call whose output is kept. */
static enum result
image_engine_ask(const struct engine_host *host, const char *const *argv,
    char **output_r, char *detail_r, size_t detail_size)
{
	struct engine_call_spec call = {.files = &host->files,
	    .argv = argv,
	    .stdin_fd = -1,
	    .stdout_fd = -1,
	    .output_max = IMAGE_ENGINE_OUTPUT_MAX,
	    .timeout_ms = IMAGE_ENGINE_LOAD_MS};
	size_t len;

	return engine_call_wait(
	    &call, output_r, &len, NULL, detail_r, detail_size);
}

static bool
image_engine_is_docker(const struct engine_host *host)
{
	return host->memory.kind == ENGINE_MEMORY_DOCKER;
}

void
image_engine_pinned(const struct engine_host *host, const char *digest,
    char *reference_r, size_t size)
{
	if (image_engine_is_docker(host))
		(void)snprintf(reference_r, size, "%s", digest);
	else
		(void)snprintf(
		    reference_r, size, "%s@%s", IMAGE_RECIPE_NAME, digest);
}

/* The name in the engine's answer to a load. */
static enum result
image_engine_loaded(const char *output, char *name_r, size_t name_size,
    char *detail_r, size_t detail_size)
{
	const char *name = strstr(output, IMAGE_ENGINE_LOADED), *end;
	size_t before = strlen(IMAGE_ENGINE_LOADED);

	if (name == NULL) {
		name = strstr(output, IMAGE_ENGINE_LOADED_ID);
		before = strlen(IMAGE_ENGINE_LOADED_ID);
	}
	if (name != NULL) {
		name += before;
		end = name + strcspn(name, "\r\n ,");
		if (end > name && (size_t)(end - name) < name_size &&
		    name[0] != '-') {
			memcpy(name_r, name, (size_t)(end - name));
			name_r[end - name] = '\0';
			return RESULT_OK;
		}
	}
	(void)snprintf(
	    detail_r, detail_size, "the engine did not say what it loaded");
	return RESULT_UNSUPPORTED;
}

static enum result
image_engine_digest(const struct engine_host *host, const char *name,
    char digest_r[72], char *detail_r, size_t detail_size)
{
	const char *argv[] = {host->memory.client, "image", "inspect",
	    image_engine_is_docker(host) ? "--format={{.Id}}"
					 : "--format={{.Digest}}",
	    "--", name, NULL};
	char *output = NULL;
	enum result result =
	    image_engine_ask(host, argv, &output, detail_r, detail_size);

	if (result != RESULT_OK) {
		free(output);
		return result;
	}
	output[strcspn(output, "\r\n")] = '\0';
	if (strlen(output) == 71 && strncmp(output, "sha256:", 7) == 0)
		memcpy(digest_r, output, 72);
	else
		result = RESULT_UNSUPPORTED;
	free(output);
	if (result != RESULT_OK)
		(void)snprintf(detail_r, detail_size,
		    "the engine names no digest for %s", name);
	return result;
}

static bool
image_engine_has(const struct engine_host *host, const char *name)
{
	const char *const exists[] = {
	    host->memory.client, "image", "exists", "--", name, NULL};
	const char *const inspect[] = {host->memory.client, "image", "inspect",
	    "--format={{.Id}}", "--", name, NULL};
	const char *const *argv =
	    image_engine_is_docker(host) ? inspect : exists;
	char *output = NULL, detail[256];
	bool has = image_engine_ask(host, argv, &output, detail,
		       sizeof(detail)) == RESULT_OK;

	free(output);
	return has;
}

/* A name of ours for what was loaded under any name or none. */
static enum result
image_engine_tag(const struct engine_host *host, const char *name,
    const char *tag, char *detail_r, size_t detail_size)
{
	const char *argv[] = {
	    host->memory.client, "tag", "--", name, tag, NULL};
	char *output = NULL;
	enum result result =
	    image_engine_ask(host, argv, &output, detail_r, detail_size);

	free(output);
	return result;
}

enum result
image_engine_load(const struct engine_host *host, const char *path,
    char digest_r[72], char *tag_r, size_t tag_size, char *detail_r,
    size_t detail_size)
{
	const char *argv[] = {
	    host->memory.client, "load", "--quiet", "--input", path, NULL};
	char *output = NULL, name[IMAGE_ENGINE_REF_MAX];
	char reference[IMAGE_ENGINE_REF_MAX];
	enum result result =
	    image_engine_ask(host, argv, &output, detail_r, detail_size);

	if (result == RESULT_OK)
		result = image_engine_loaded(
		    output, name, sizeof(name), detail_r, detail_size);
	free(output);
	if (result == RESULT_OK)
		result = image_engine_digest(
		    host, name, digest_r, detail_r, detail_size);
	if (result != RESULT_OK)
		return result;
	(void)snprintf(
	    tag_r, tag_size, "%s:%.12s", IMAGE_RECIPE_NAME, digest_r + 7);
	image_engine_pinned(host, digest_r, reference, sizeof(reference));
	/* Docker's id is known now in any case; a name of ours may not be. */
	if (image_engine_has(
		host, image_engine_is_docker(host) ? tag_r : reference)) {
		tag_r[0] = '\0';
		return RESULT_OK;
	}
	return image_engine_tag(host, name, tag_r, detail_r, detail_size);
}

static void
image_engine_on_line(const char *line, void *context)
{
	void (*const *progress)(const char *) = context;

	if (*progress != NULL)
		(*progress)(line);
}

/* A folder of AGENTNODE_HOME in which the engine finds the CA bundle under
 * the one name it takes for a CA. */
static enum result
image_engine_certificates(
    const char *ca, char *path_r, size_t size, struct json_fault *fault)
{
	struct state_dir home = {.fd = -1}, dir = {.fd = -1};
	int file FD_CLEANUP = open(ca, O_RDONLY | O_CLOEXEC);
	int lock FD_CLEANUP = -1;
	char *bytes = NULL;
	size_t len = 0;
	enum result result = RESULT_SYSTEM;

	if (file >= 0)
		result = fd_read_all(file, IMAGE_ENGINE_CA_MAX, &bytes, &len);
	if (result != RESULT_OK)
		json_field_fault(fault, "build.ca_bundle cannot be read");
	if (result == RESULT_OK)
		result = state_dir_home(true, &home, fault);
	if (result == RESULT_OK)
		result = state_dir_sub(&home, "certificates", &dir, fault);
	if (result == RESULT_OK)
		result = state_dir_lock(&dir, &lock, fault);
	if (result == RESULT_OK)
		result = state_dir_write(
		    &dir, "bundle.crt", 0600, bytes, len, fault);
	if (result == RESULT_OK)
		(void)snprintf(path_r, size, "--cert-dir=%s", dir.path);
	free(bytes);
	state_dir_close(&dir);
	state_dir_close(&home);
	return result;
}

enum result
image_engine_pull(const struct engine_host *host, const char *reference,
    const char *ca, void (*progress)(const char *line), char *detail_r,
    size_t detail_size)
{
	char certificates[STATE_DIR_PATH_MAX + 32] = "";
	const char *name = image_engine_is_docker(host) ? "docker" : "podman";
	bool has_ca = ca != NULL && !image_engine_is_docker(host);
	const char *argv[] = {
	    name, "pull", certificates, "--", reference, NULL};
	const char *argv_plain[] = {name, "pull", "--", reference, NULL};
	struct tool_run_spec spec = {.name = name,
	    .argv = has_ca ? argv : argv_plain,
	    .envp = host->files.envp,
	    .stdin_fd = -1,
	    .stdout_fd = -1,
	    .timeout_s = IMAGE_ENGINE_PULL_S,
	    .on_line = image_engine_on_line,
	    .context = &progress};
	struct json_fault fault = {""};
	enum result result = RESULT_OK;

	if (ca != NULL && !has_ca && progress != NULL)
		progress("docker takes a registry's CA from /etc/docker/"
			 "certs.d, not from build.ca_bundle");
	if (has_ca)
		result = image_engine_certificates(
		    ca, certificates, sizeof(certificates), &fault);
	if (result != RESULT_OK) {
		(void)snprintf(detail_r, detail_size, "%s", fault.text);
		return result;
	}
	result = tool_run(&spec, detail_r, detail_size);
	return result == RESULT_REFUSED ? RESULT_UNSUPPORTED : result;
}

enum result
image_engine_check(const struct engine_host *host, const char *reference,
    char *detail_r, size_t detail_size)
{
	return image_check(
	    &host->files, &host->memory, reference, detail_r, detail_size);
}

void
image_engine_forget(const struct engine_host *host, const char *name)
{
	const char *argv[] = {
	    host->memory.client, "image", "rm", "--", name, NULL};
	char *output = NULL, detail[256];

	if (name[0] == '\0')
		return;
	(void)image_engine_ask(host, argv, &output, detail, sizeof(detail));
	free(output);
}

enum result
image_engine_pin(const char *reference, char *detail_r, size_t detail_size)
{
	struct json_fault fault = {""};
	enum result result = config_set("sandbox.image", reference, &fault);

	if (result != RESULT_OK)
		(void)snprintf(detail_r, detail_size, "%s", fault.text);
	return result;
}
