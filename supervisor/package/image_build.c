/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds the sandbox image; see image_build.h. Must never hand out a
 * reference the engine was not asked about.
 */
#include "supervisor/package/image_build.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "supervisor/package/image_debian.h"
#include "supervisor/package/image_fetch.h"
#include "supervisor/package/image_oci.h"
#include "supervisor/package/image_recipe.h"
#include "supervisor/policy/digest.h"

#define IMAGE_BUILD_RECORD "built.json"
#define IMAGE_BUILD_RECORD_MAX 65536U
#define IMAGE_BUILD_SOURCES_MAX (1U << 20)

/* Sum of the apt sources: another archive or date is another image. */
static enum result
image_build_sources_sum(
    struct image_work *work, const char *path, char hex_r[65])
{
	int fd FD_CLEANUP = open(path, O_RDONLY | O_CLOEXEC);
	char *bytes = NULL;
	size_t len;
	enum result result = RESULT_SYSTEM;

	if (fd >= 0)
		result = fd_read_all(fd, IMAGE_BUILD_SOURCES_MAX, &bytes, &len);
	if (result == RESULT_OK)
		result = digest_sha256(bytes, len, hex_r);
	free(bytes);
	if (result != RESULT_OK)
		return image_work_fail(work, result, "%s cannot be read", path);
	return RESULT_OK;
}

/* One sum over everything that decides the image. */
static enum result
image_build_inputs(
    struct image_work *work, const struct image_debian *debian, char hex_r[65])
{
	const struct image_recipe_npm *const *rows = image_recipe_npm_rows();
	json_t *npm = json_array(), *inputs;
	char sources[65];
	enum result result =
	    image_build_sources_sum(work, debian->sources, sources);

	for (; rows != NULL && *rows != NULL; rows++)
		(void)json_array_append_new(
		    npm, json_string((*rows)->integrity));
	inputs = json_pack("{s:i,s:s,s:s,s:s,s:s,s:o}", "format",
	    IMAGE_RECIPE_FORMAT, "suite", debian->suite, "packages",
	    debian->packages, "sources", result == RESULT_OK ? sources : "",
	    "architecture", image_recipe_architecture(), "npm", npm);
	if (result == RESULT_OK)
		result = inputs == NULL ? RESULT_NO_MEMORY
					: digest_json(inputs, hex_r);
	json_decref(inputs);
	return result;
}

/* The record {inputs: reference}; an unusable one is an empty one. */
static json_t *
image_build_record(struct image_work *work)
{
	struct json_fault fault = {""};
	json_t *record = NULL;
	char *bytes = NULL;
	size_t len = 0;

	if (state_dir_read(&work->dir, IMAGE_BUILD_RECORD, STATE_DIR_OURS,
		IMAGE_BUILD_RECORD_MAX, &bytes, &len, &fault) == RESULT_OK)
		(void)json_field_parse(bytes, len, &record, &fault);
	free(bytes);
	if (!json_is_object(record)) {
		json_decref(record);
		record = json_object();
	}
	return record;
}

/* Is there a result for these inputs that the engine still has? */
static bool
image_build_reuse(struct image_work *work, const struct engine_host *host,
    const char *inputs, struct image_build_result *result_r)
{
	json_t *record = image_build_record(work);
	const char *reference =
	    json_string_value(json_object_get(record, inputs));
	char detail[256];

	result_r->reused = reference != NULL &&
			   strlen(reference) < sizeof(result_r->reference) &&
			   image_engine_check(host, reference, detail,
			       sizeof(detail)) == RESULT_OK;
	if (result_r->reused)
		(void)snprintf(result_r->reference, sizeof(result_r->reference),
		    "%s", reference);
	json_decref(record);
	return result_r->reused;
}

static enum result
image_build_remember(
    struct image_work *work, const char *inputs, const char *reference)
{
	json_t *record = image_build_record(work);
	struct json_fault fault = {""};
	int lock FD_CLEANUP = -1;
	char *text = NULL;
	enum result result = state_dir_lock(&work->dir, &lock, &fault);

	(void)json_object_set_new(record, inputs, json_string(reference));
	if (result == RESULT_OK)
		text = json_dumps(record, JSON_INDENT(1) | JSON_SORT_KEYS);
	json_decref(record);
	if (result == RESULT_OK && text != NULL)
		result = state_dir_write(&work->dir, IMAGE_BUILD_RECORD, 0600,
		    text, strlen(text), &fault);
	free(text);
	if (result != RESULT_OK)
		return image_work_fail(work, result, "%s", fault.text);
	return RESULT_OK;
}

/* Copy the archive to where the caller wants it; a new file only. */
static enum result
image_build_keep(struct image_work *work, const char *path)
{
	int in FD_CLEANUP = -1, out FD_CLEANUP = -1;
	enum result result = image_work_read(work, "image.oci.tar", &in);
	struct stat status;
	off_t left;
	ssize_t sent;

	if (result != RESULT_OK)
		return result;
	out = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (out < 0 || fstat(in, &status) != 0)
		return image_work_fail(
		    work, RESULT_BAD, "%s: %s", path, strerror(errno));
	for (left = status.st_size; left > 0; left -= sent) {
		sent = sendfile(out, in, NULL, 1U << 30);
		if (sent <= 0 && errno != EINTR)
			break;
		if (sent < 0)
			sent = 0;
	}
	if (left == 0 && fsync(out) == 0)
		return RESULT_OK;
	(void)image_work_fail(
	    work, RESULT_SYSTEM, "%s: %s", path, strerror(errno));
	(void)unlink(path);
	return RESULT_SYSTEM;
}

/* Found out before minutes of work: nothing stays of this look. */
static enum result
image_build_keepable(struct image_work *work, const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

	if (fd < 0)
		return image_work_fail(work, RESULT_BAD, "--output: %s: %s",
		    path, strerror(errno));
	(void)unlink(path);
	fd_close(&fd);
	return RESULT_OK;
}

static enum result
image_build_layers(struct image_work *work, const struct image_debian *debian)
{
	const struct image_recipe_npm *const *rows = image_recipe_npm_rows();
	enum result result = RESULT_OK;

	if (rows == NULL)
		return image_work_fail(work, RESULT_UNSUPPORTED,
		    "the recipe has no Node for this processor");
	/* The small ones first: what fails, fails soon. */
	for (unsigned i = 0; result == RESULT_OK && rows[i] != NULL; i++)
		result = image_fetch_layer(work, rows[i], i);
	if (result != RESULT_OK)
		return result;
	image_work_say(
	    work, "debian: %s from %s", debian->suite, debian->sources);
	return image_debian_make(work, debian);
}

static enum result
image_build_load(struct image_work *work, const struct engine_host *host,
    const char *digest, struct image_build_result *result_r)
{
	char path[4200], tag[128], loaded[72];
	enum result result =
	    image_work_path(work, "image.oci.tar", path, sizeof(path));

	if (result == RESULT_OK)
		result = image_engine_load(host, path, loaded, tag, sizeof(tag),
		    work->detail, sizeof(work->detail));
	if (result != RESULT_OK)
		return result;
	if (strcmp(loaded, digest) != 0)
		return image_work_fail(work, RESULT_MISMATCH,
		    "the engine has the image as %s instead of %s", loaded,
		    digest);
	image_engine_pinned(
	    host, digest, result_r->reference, sizeof(result_r->reference));
	return image_engine_check(
	    host, result_r->reference, work->detail, sizeof(work->detail));
}

static enum result
image_build_make(struct image_work *work, const struct engine_host *host,
    const struct image_debian *debian,
    const struct image_build_options *options,
    struct image_build_result *result_r)
{
	char digest[IMAGE_OCI_DIGEST_SIZE], config[IMAGE_OCI_DIGEST_SIZE];
	enum result result = image_build_layers(work, debian);

	if (result == RESULT_OK) {
		image_work_say(work, "image: writing the archive");
		result = image_oci_write(work, digest, config);
	}
	if (result == RESULT_OK && options->output != NULL)
		result = image_build_keep(work, options->output);
	if (result == RESULT_OK) {
		image_work_say(work, "image: loading %s", digest);
		result = image_build_load(work, host,
		    host->memory.kind == ENGINE_MEMORY_DOCKER ? config : digest,
		    result_r);
	}
	return result;
}

enum result
image_build(struct image_work *work, const struct engine_host *host,
    const struct image_build_options *options,
    struct image_build_result *result_r)
{
	struct image_debian debian;
	char inputs[65];
	enum result result;

	*result_r = (struct image_build_result){.reused = false};
	result = image_debian_plan(work, options->sources, options->packages,
	    options->package_count, &debian);
	if (result == RESULT_OK && options->output != NULL)
		result = image_build_keepable(work, options->output);
	if (result == RESULT_OK)
		result = image_build_inputs(work, &debian, inputs);
	if (result != RESULT_OK)
		return result;
	memcpy(result_r->suite, debian.suite, sizeof(result_r->suite));
	if (!options->force && options->output == NULL &&
	    image_build_reuse(work, host, inputs, result_r))
		return RESULT_OK;
	result = image_build_make(work, host, &debian, options, result_r);
	if (result == RESULT_OK)
		result =
		    image_build_remember(work, inputs, result_r->reference);
	return result;
}
