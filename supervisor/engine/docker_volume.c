/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See docker_volume.h. Called with names of our own making; must never start
 * the container through which it looks, nor take silence for an answer.
 */
#include "supervisor/engine/docker_volume.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/engine/engine_call.h"
#include "supervisor/engine/engine_words.h"

#define DOCKER_VOLUME_CALL_MS 60000U
#define DOCKER_VOLUME_FILL_MS (1800U * 1000U)
#define DOCKER_VOLUME_OUTPUT_MAX 65536U
#define DOCKER_VOLUME_LABELS_MAX 8U
#define DOCKER_VOLUME_LABEL_MAX 192U

static enum result
docker_volume_call_of(const struct engine_files *files, const char *const *argv,
    int stdin_fd, unsigned timeout_ms, char *detail_r, size_t size)
{
	struct engine_call_spec call = {.files = files,
	    .argv = argv,
	    .stdin_fd = stdin_fd,
	    .stdout_fd = -1,
	    .output_max = DOCKER_VOLUME_OUTPUT_MAX,
	    .timeout_ms = timeout_ms};

	return engine_call_wait(&call, NULL, NULL, NULL, detail_r, size);
}

static enum result
docker_volume_call(const struct engine_host *host, const char *const *argv,
    int stdin_fd, unsigned timeout_ms, char *detail_r, size_t size)
{
	return docker_volume_call_of(
	    &host->files, argv, stdin_fd, timeout_ms, detail_r, size);
}

enum result
docker_volume_make(const struct engine_host *host, const char *volume,
    const char *const *labels, char *detail_r, size_t detail_size)
{
	char text[DOCKER_VOLUME_LABELS_MAX][DOCKER_VOLUME_LABEL_MAX];
	struct engine_words words;
	size_t i;

	engine_words_begin(&host->memory, &words);
	engine_words_add(&words, "volume");
	engine_words_add(&words, "create");
	for (i = 0; labels[i] != NULL; i++) {
		int len;

		if (i + 1 >= DOCKER_VOLUME_LABELS_MAX)
			return RESULT_INTERNAL;
		len =
		    snprintf(text[i], sizeof(text[i]), "--label=%s", labels[i]);
		if (len < 0 || (size_t)len >= sizeof(text[i]))
			return RESULT_TOO_LONG;
		engine_words_add(&words, text[i]);
	}
	(void)snprintf(text[i], sizeof(text[i]),
	    "--label=" ENGINE_FILES_OWNER "=%s", host->files.owner);
	engine_words_add(&words, text[i]);
	engine_words_add(&words, "--");
	engine_words_add(&words, volume);
	return docker_volume_call(
	    host, words.argv, -1, DOCKER_VOLUME_CALL_MS, detail_r, detail_size);
}

enum result
docker_volume_find(const struct engine_host *host, const char *volume,
    char *detail_r, size_t detail_size)
{
	struct engine_words words;
	struct engine_call_spec call = {.files = &host->files,
	    .argv = words.argv,
	    .stdin_fd = -1,
	    .stdout_fd = -1,
	    .output_max = DOCKER_VOLUME_OUTPUT_MAX,
	    .timeout_ms = DOCKER_VOLUME_CALL_MS};
	char *output = NULL;
	size_t len = 0;
	enum result result;

	engine_words_ask(&host->memory, "volume", volume, &words);
	result =
	    engine_call_wait(&call, &output, &len, NULL, detail_r, detail_size);
	free(output);
	return result == RESULT_OK && len == 0 ? RESULT_NOT_FOUND : result;
}

enum result
docker_volume_still(
    const struct docker_volume_still *still, char *detail_r, size_t detail_size)
{
	char named[DOCKER_VOLUME_NAME_MAX + 16], label[64], owner[64];
	struct engine_words words;
	const char *fixed[] = {"create", named, label, owner, "--pull=never",
	    "--network=none", "--read-only", "--cap-drop=ALL",
	    "--security-opt=no-new-privileges", "--log-driver=none",
	    "--entrypoint=/none"};

	(void)snprintf(named, sizeof(named), "--name=%s", still->name);
	(void)snprintf(
	    label, sizeof(label), "--label=agentnode.tmp=%s", still->run);
	(void)snprintf(owner, sizeof(owner),
	    "--label=" ENGINE_FILES_OWNER "=%s", still->files->owner);
	engine_words_begin(still->memory, &words);
	for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++)
		engine_words_add(&words, fixed[i]);
	if (still->mount != NULL)
		engine_words_add(&words, still->mount);
	engine_words_add(&words, "--");
	engine_words_add(&words, still->image);
	return docker_volume_call_of(still->files, words.argv, -1,
	    DOCKER_VOLUME_CALL_MS, detail_r, detail_size);
}

void
docker_volume_end(const struct docker_volume_still *still)
{
	struct engine_words words;
	char unused[512];

	engine_words_remove(still->memory, still->name, &words);
	/* What stays is gc's. */
	(void)docker_volume_call_of(still->files, words.argv, -1,
	    DOCKER_VOLUME_CALL_MS, unused, sizeof(unused));
}

/* The container that has it. */
static enum result
docker_volume_create(const struct engine_host *host, const char *volume,
    const char *image, const char *run, const char *name, bool readonly,
    char *detail_r, size_t size)
{
	char mount[256];
	struct docker_volume_still still = {
	    &host->files, &host->memory, image, run, name, mount};
	int len = snprintf(mount, sizeof(mount),
	    "--mount=type=volume,src=%s,dst=" DOCKER_VOLUME_PLACE
	    ",volume-nocopy%s",
	    volume, readonly ? ",readonly" : "");

	if (len < 0 || (size_t)len >= sizeof(mount))
		return RESULT_TOO_LONG;
	return docker_volume_still(&still, detail_r, size);
}

void
docker_volume_release(const struct engine_host *host, const char *name)
{
	const struct docker_volume_still still = {
	    &host->files, &host->memory, NULL, NULL, name, NULL};

	docker_volume_end(&still);
}

enum result
docker_volume_fill(const struct engine_host *host, const char *volume,
    const char *image, const char *run, int tar_fd, char *detail_r,
    size_t detail_size)
{
	char name[DOCKER_VOLUME_NAME_MAX], place[DOCKER_VOLUME_NAME_MAX + 16];
	const char *copy[] = {
	    host->memory.client, "cp", "--archive", "-", place, NULL};
	enum result result;

	(void)snprintf(name, sizeof(name), "agentnode-fill-%.16s", run);
	(void)snprintf(place, sizeof(place), "%s:" DOCKER_VOLUME_PLACE, name);
	result = docker_volume_create(
	    host, volume, image, run, name, false, detail_r, detail_size);
	if (result != RESULT_OK)
		return result;
	result = docker_volume_call(
	    host, copy, tar_fd, DOCKER_VOLUME_FILL_MS, detail_r, detail_size);
	docker_volume_release(host, name);
	return result;
}

enum result
docker_volume_hold(const struct engine_host *host, const char *volume,
    const char *image, const char *run, char name_r[DOCKER_VOLUME_NAME_MAX],
    char *detail_r, size_t detail_size)
{
	(void)snprintf(
	    name_r, DOCKER_VOLUME_NAME_MAX, "agentnode-read-%.16s", run);
	return docker_volume_create(
	    host, volume, image, run, name_r, true, detail_r, detail_size);
}
