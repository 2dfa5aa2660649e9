/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fetches pinned npm packages with curl; see image_fetch.h. Must never
 * unpack a byte before the whole file's sum is the pinned one.
 */
#include "supervisor/package/image_fetch.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "supervisor/package/tool_run.h"
#include "supervisor/package/unpack_call.h"

#define IMAGE_FETCH_MAX "268435456" /* bytes of one package */
#define IMAGE_FETCH_UNPACKED_MAX (1LL << 30)
#define IMAGE_FETCH_TIMEOUT_S 900U

/* The file of a package in the registry. */
static enum result
image_fetch_url(struct image_work *work, const struct image_recipe_npm *row,
    char *url_r, size_t size)
{
	const char *registry = config_text(work->config, "build.npm_registry");
	size_t len = strlen(registry);
	int written = snprintf(url_r, size, "%s%s%s/-/%s-%s.tgz", registry,
	    len > 0 && registry[len - 1] == '/' ? "" : "/", row->package,
	    row->package, row->version);

	return written > 0 && (size_t)written < size
		   ? RESULT_OK
		   : image_work_fail(work, RESULT_TOO_LONG,
			 "build.npm_registry is too long");
}

static enum result
image_fetch_curl(struct image_work *work, const char *url, int fd)
{
	const char *ca = config_text(work->config, "build.ca_bundle");
	const char *proxy = config_text(work->config, "egress.upstream_proxy");
	char proxy_url[300];
	/* -q first: no configuration of the user's. */
	const char *argv[24] = {"curl", "-q", "--fail", "--silent",
	    "--show-error", "--globoff", "--proto", "=http,https",
	    "--max-filesize", IMAGE_FETCH_MAX, "--connect-timeout", "20",
	    "--speed-limit", "1000", "--speed-time", "30"};
	const char *const envp[] = {"LC_ALL=C", NULL};
	struct tool_run_spec spec = {.name = "curl",
	    .argv = argv,
	    .envp = envp,
	    .stdin_fd = -1,
	    .stdout_fd = fd,
	    .timeout_s = IMAGE_FETCH_TIMEOUT_S};
	size_t count = 16;

	if (ca != NULL) {
		argv[count++] = "--cacert";
		argv[count++] = ca;
	}
	if (proxy != NULL) {
		(void)snprintf(
		    proxy_url, sizeof(proxy_url), "http://%s", proxy);
		argv[count++] = "--proxy";
		argv[count++] = proxy_url;
	}
	argv[count++] = "--";
	argv[count++] = url;
	argv[count] = NULL;
	return tool_run(&spec, work->detail, sizeof(work->detail));
}

static enum result
image_fetch_verify(struct image_work *work, const struct image_recipe_npm *row,
    const char *file)
{
	char want[129], sha256[65], sha512[129];
	uint64_t size;
	enum result result;

	if (!image_recipe_sum(row->integrity, want))
		return image_work_fail(work, RESULT_INTERNAL,
		    "the integrity of %s is malformed", row->package);
	result = image_work_sums(work, file, sha256, sha512, &size);
	if (result != RESULT_OK || strcmp(sha512, want) == 0)
		return result;
	return image_work_fail(work, RESULT_MISMATCH,
	    "%s@%s from the registry is not what is pinned (%s): nothing was "
	    "unpacked",
	    row->package, row->version, row->integrity);
}

/* The options of archive_to_tar for this row. */
static json_t *
image_fetch_options(const struct image_recipe_npm *row)
{
	json_t *only = json_array(), *links = json_array();

	for (size_t i = 0; row->only[i] != NULL; i++)
		(void)json_array_append_new(only, json_string(row->only[i]));
	for (size_t i = 0;
	     i < IMAGE_RECIPE_LINKS_MAX && row->links[i].path != NULL; i++)
		(void)json_array_append_new(
		    links, json_pack("{s:s,s:s}", "path", row->links[i].path,
			       "target", row->links[i].target));
	if (json_array_size(only) == 0) {
		json_decref(only);
		only = NULL;
	}
	return json_pack("{s:i,s:s,s:o*,s:o,s:I}", "strip", 1, "prefix",
	    row->prefix, "only", only, "links", links, "max_bytes",
	    (json_int_t)IMAGE_FETCH_UNPACKED_MAX);
}

static enum result
image_fetch_unpack(struct image_work *work, const struct image_recipe_npm *row,
    const char *from, const char *to)
{
	struct unpack_call_spec spec = {.job = UNPACK_JOB_ARCHIVE_TO_TAR,
	    .fd_count = 2,
	    .timeout_s = IMAGE_FETCH_TIMEOUT_S};
	int in FD_CLEANUP = -1, out FD_CLEANUP = -1;
	enum result result = image_work_read(work, from, &in);
	const int *fds;
	json_t *total = NULL;

	if (result == RESULT_OK)
		result = image_work_create(work, to, &out);
	if (result != RESULT_OK)
		return result;
	fds = (const int[]){in, out};
	spec.fds = fds;
	spec.options = image_fetch_options(row);
	result = unpack_call_wait(
	    work->config, &spec, &total, work->detail, sizeof(work->detail));
	json_decref(total);
	return result;
}

enum result
image_fetch_layer(
    struct image_work *work, const struct image_recipe_npm *row, unsigned index)
{
	char url[1400], packed[32], layer[32], why[IMAGE_WORK_DETAIL_MAX];
	int fd FD_CLEANUP = -1;
	enum result result = image_fetch_url(work, row, url, sizeof(url));

	(void)snprintf(packed, sizeof(packed), "npm-%u.tgz", index);
	(void)snprintf(layer, sizeof(layer), "npm-%u.tar", index);
	if (result == RESULT_OK)
		result = image_work_create(work, packed, &fd);
	if (result != RESULT_OK)
		return result;
	image_work_say(work, "npm: fetching %s@%s", row->package, row->version);
	result = image_fetch_curl(work, url, fd);
	if (result == RESULT_REFUSED) {
		(void)snprintf(why, sizeof(why), "%s", work->detail);
		return image_work_fail(work, RESULT_UNSUPPORTED,
		    "%s@%s could not be fetched: %.300s", row->package,
		    row->version, why);
	}
	if (result == RESULT_OK)
		result = image_fetch_verify(work, row, packed);
	if (result == RESULT_OK)
		result = image_fetch_unpack(work, row, packed, layer);
	if (result == RESULT_OK)
		result = image_work_add_layer(work, layer, false);
	return result;
}
