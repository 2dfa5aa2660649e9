/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See volume_ask.h. Called by commands; must never ask for a volume that is
 * not there, which Docker would make.
 */
#include "supervisor/engine/volume_ask.h"

#include <stdio.h>

#include "common/event_loop.h"
#include "common/fd.h"
#include "supervisor/engine/docker_volume.h"
#include "supervisor/engine/run_lock.h"
#include "supervisor/engine/volume_check.h"
#include "supervisor/policy/config.h"
#include "supervisor/policy/log_files.h"
#include "supervisor/policy/state_dir.h"

struct volume_ask {
	struct event_base *base;
	enum result result;
	char *detail;
	size_t size;
};

static void
volume_ask_on_done(enum result result, const char *detail, void *context)
{
	struct volume_ask *ask = context;

	ask->result = result;
	(void)snprintf(ask->detail, ask->size, "%s", detail);
	event_loop_stop(ask->base);
}

static enum result
volume_ask_log(int *fd_r)
{
	struct json_fault fault = {""};
	char home[STATE_DIR_PATH_MAX];
	enum result result = config_home(home, sizeof(home), &fault);

	return result == RESULT_OK
		   ? log_files_open(home, "agentnode-unpack", fd_r, &fault)
		   : result;
}

static enum result
volume_ask_check(struct volume_ask *ask, const struct config *config,
    const struct engine_host *host, const struct volume_check_one *one)
{
	struct volume_check_spec spec = {.volumes = one,
	    .count = 1,
	    .host = host,
	    .no_landlock = config_override(config, "no_landlock")};
	struct volume_check *check = NULL;
	int log_fd FD_CLEANUP = -1;
	enum result result = volume_ask_log(&log_fd);

	spec.log_fd = log_fd;
	if (result == RESULT_OK)
		result = event_loop_new(&ask->base);
	if (result != RESULT_OK)
		return result;
	result = volume_check_start(
	    ask->base, &spec, volume_ask_on_done, ask, &check);
	ask->result = RESULT_INTERNAL;
	if (result == RESULT_OK)
		result = event_loop_run(ask->base);
	volume_check_free(&check);
	event_base_free(ask->base);
	return result == RESULT_OK ? ask->result : result;
}

enum result
volume_ask(const struct config *config, const struct engine_host *host,
    const char *image, const char *volume, const char *hash, char *detail_r,
    size_t detail_size)
{
	struct volume_ask ask = {.detail = detail_r, .size = detail_size};
	struct volume_check_one one = {.dir_fd = -1};
	char name[DOCKER_VOLUME_NAME_MAX];
	struct run_lock lock;
	enum result result;

	if (image == NULL || image[0] == '\0') {
		(void)snprintf(detail_r, detail_size,
		    "no sandbox image is pinned, by which a volume is read");
		return RESULT_UNSUPPORTED;
	}
	result = docker_volume_find(host, volume, detail_r, detail_size);
	if (result == RESULT_NOT_FOUND)
		(void)snprintf(detail_r, detail_size,
		    "volume %s is not there: install it again", volume);
	if (result == RESULT_OK)
		result = run_lock_new(&host->files, &lock);
	if (result != RESULT_OK)
		return result;
	result = docker_volume_hold(
	    host, volume, image, lock.id, name, detail_r, detail_size);
	(void)snprintf(one.volume, sizeof(one.volume), "%s", volume);
	(void)snprintf(one.hash, sizeof(one.hash), "%s", hash);
	(void)snprintf(
	    one.place, sizeof(one.place), "%s:" DOCKER_VOLUME_PLACE, name);
	if (result == RESULT_OK)
		result = volume_ask_check(&ask, config, host, &one);
	docker_volume_release(host, name);
	run_lock_end(&host->files, &lock);
	return result;
}
