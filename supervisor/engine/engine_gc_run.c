/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sandbox gc`: ask the engine by label, remove what no living run holds,
 * verify that it is gone. Called by commands (waited for); must never
 * remove something without one of our labels.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/json_field.h"
#include "supervisor/engine/cgroup_make.h"
#include "supervisor/engine/control_slot.h"
#include "supervisor/engine/docker_list.h"
#include "supervisor/engine/engine_call.h"
#include "supervisor/engine/engine_gc.h"
#include "supervisor/engine/engine_words.h"
#include "supervisor/engine/holder_kill.h"
#include "supervisor/engine/oci_root.h"
#include "supervisor/engine/run_lock.h"
#include "supervisor/policy/config.h"
#include "supervisor/policy/state_dir.h"

#define ENGINE_GC_RUN_OUTPUT_MAX (4U << 20)
#define ENGINE_GC_RUN_TIMEOUT_MS 60000U
#define ENGINE_GC_RUN_NAME "agentnode-"
#define ENGINE_GC_RUN_ID 16U /* digits of a run's id */

/* What is looked for: kind, label, and the key its name stands under. */
struct engine_gc_run_kind {
	const char *kind, *label, *name_key;
};

static const struct engine_gc_run_kind engine_gc_run_kinds[] = {
    {"container", "agentnode.run", "Names"},
    {"container", "agentnode.tmp", "Names"},
    {"volume", "agentnode.tmp", "Name"},
    {"volume", ENGINE_GC_FILLING, "Name"},
    {"volume", CONTROL_SLOT_LABEL, "Name"},
};

static enum result
engine_gc_run_call(const struct engine_host *host, const char *const *argv,
    char **output_r, size_t *len_r, int *code_r, char *detail_r, size_t size)
{
	struct engine_call_spec spec = {.files = &host->files,
	    .argv = argv,
	    .stdin_fd = -1,
	    .stdout_fd = -1,
	    .output_max = ENGINE_GC_RUN_OUTPUT_MAX,
	    .timeout_ms = ENGINE_GC_RUN_TIMEOUT_MS};

	return engine_call_wait(&spec, output_r, len_r, code_r, detail_r, size);
}

/* All of a kind, as the engine lists them. Caller decrefs. */
static enum result
engine_gc_run_list(const struct engine_host *host,
    const struct engine_gc_run_kind *kind, json_t **list_r, char *detail_r,
    size_t size)
{
	char filter[64];
	const char *podman = host->memory.client;
	const char *containers[] = {
	    podman, "container", "ls", "--all", "--format=json", filter, NULL};
	const char *volumes[] = {
	    podman, "volume", "ls", "--format=json", filter, NULL};
	bool volume = strcmp(kind->kind, "volume") == 0;
	struct json_fault fault = {""};
	char *output = NULL;
	size_t len = 0;
	enum result result;

	*list_r = NULL;
	if (host->memory.kind == ENGINE_MEMORY_DOCKER)
		return docker_list(&host->files, podman, kind->kind,
		    kind->label, list_r, detail_r, size);
	(void)snprintf(
	    filter, sizeof(filter), "--filter=label=%s", kind->label);
	result = engine_gc_run_call(host, volume ? volumes : containers,
	    &output, &len, NULL, detail_r, size);
	if (result == RESULT_OK && len > 0) {
		result = json_field_parse(output, len, list_r, &fault);
		if (result != RESULT_OK)
			(void)snprintf(detail_r, size,
			    "the engine's list is not understood: %s",
			    fault.text);
	}
	free(output);
	return result;
}

/* Another user's, or of another of this user's homes: what is alive and
 * needed there is not known here. What root made before there was an owner
 * is root's. */
static bool
engine_gc_run_is_foreign(const struct engine_host *host, const json_t *one)
{
	const char *owner = json_string_value(json_object_get(
	    json_object_get(one, "Labels"), ENGINE_FILES_OWNER));

	if (host->memory.kind != ENGINE_MEMORY_DOCKER)
		return false; /* podman's store is one user's */
	if (owner == NULL || owner[0] == '\0')
		return geteuid() != 0;
	return strcmp(owner, host->files.owner) != 0;
}

/* A sealed volume that some lockfile may name, or that cannot be looked at:
 * only one that is there without the list is known to be nobody's. */
static bool
engine_gc_run_has_users(const struct engine_host *host, const char *name)
{
	char home[STATE_DIR_PATH_MAX];
	char folder[sizeof(home) + 256];
	char list[sizeof(folder) + sizeof(ENGINE_GC_USERS) + 1];
	struct json_fault unused = {""};

	if (!engine_memory_by_group(&host->memory))
		(void)snprintf(folder, sizeof(folder), "%s/%s",
		    host->memory.volume_path, name);
	else if (config_home(home, sizeof(home), &unused) == RESULT_OK)
		(void)snprintf(folder, sizeof(folder),
		    "%s/" ENGINE_GC_USERS_DIR "/%.200s", home, name);
	else
		return true;
	(void)snprintf(list, sizeof(list), "%s/" ENGINE_GC_USERS, folder);
	return access(folder, F_OK) != 0 || access(list, F_OK) == 0 ||
	       errno != ENOENT;
}

/* A container has the labels of its image too, which its author chose; a
 * name is chosen by who made the container. Ours end with their run. */
static bool
engine_gc_run_is_named(const char *name, const char *run)
{
	const char *last = strrchr(name, '-');

	return strncmp(name, ENGINE_GC_RUN_NAME, strlen(ENGINE_GC_RUN_NAME)) ==
		   0 &&
	       strlen(run) == ENGINE_GC_RUN_ID && last != NULL &&
	       strcmp(last + 1, run) == 0;
}

/* The name of one listed thing when it is a leftover, else NULL. lock_r: for
 * a slot the lock that says so, to be kept until it is gone. */
static const char *
engine_gc_run_leftover(const struct engine_host *host,
    const struct engine_gc_run_kind *kind, const json_t *one, int *lock_r)
{
	const json_t *listed = json_object_get(one, kind->name_key);
	const char *run = json_string_value(
	    json_object_get(json_object_get(one, "Labels"), kind->label));
	const char *name = json_string_value(
	    json_is_array(listed) ? json_array_get(listed, 0) : listed);

	if (name == NULL || run == NULL || engine_gc_run_is_foreign(host, one))
		return NULL;
	if (strcmp(kind->label, CONTROL_SLOT_LABEL) == 0)
		return control_slot_claim(&host->files, run, lock_r) ? name
								     : NULL;
	if (strcmp(kind->kind, "container") == 0 &&
	    !engine_gc_run_is_named(name, run))
		return NULL;
	if (run_lock_is_alive(&host->files, run))
		return NULL;
	if (strcmp(kind->label, ENGINE_GC_FILLING) == 0 &&
	    engine_gc_run_has_users(host, name))
		return NULL;
	return name;
}

/* True when the engine does not know it. */
static bool
engine_gc_run_is_gone(const struct engine_host *host, const char *kind,
    const char *name, char *detail_r, size_t size)
{
	struct engine_words words;
	struct engine_call_end answer = {.exit_code = -1};
	char *output = NULL;

	engine_words_ask(&host->memory, kind, name, &words);
	(void)engine_gc_run_call(host, words.argv, &output, &answer.output_len,
	    &answer.exit_code, detail_r, size);
	free(output);
	return engine_words_is_gone(&host->memory, &answer);
}

static void
engine_gc_run_remove(const struct engine_host *host, const char *kind,
    const char *name, json_t *report)
{
	const char *argv[] = {
	    host->memory.client, kind, "rm", "--force", "--", name, NULL};
	char detail[ENGINE_CALL_ERROR_MAX] = "", asked[512] = "";
	bool gone = false;

	/* The first call may only find out that it is dead. */
	for (unsigned tries = 0; tries < 3 && !gone; tries++) {
		(void)engine_gc_run_call(
		    host, argv, NULL, NULL, NULL, detail, sizeof(detail));
		gone = engine_gc_run_is_gone(
		    host, kind, name, asked, sizeof(asked));
	}
	if (gone)
		(void)json_array_append_new(json_object_get(report, "removed"),
		    json_pack("{s:s, s:s}", "kind", kind, "name", name));
	else
		(void)json_array_append_new(json_object_get(report, "left"),
		    json_pack("{s:s, s:s, s:s}", "kind", kind, "name", name,
			"detail", detail));
}

/* Numbers whose sandbox is gone. */
static void
engine_gc_run_uids(const struct engine_files *files)
{
	DIR *dir = opendir(files->uids);
	struct dirent *entry;

	while (dir != NULL && (entry = readdir(dir)) != NULL) {
		int fd FD_CLEANUP = -1;

		if (entry->d_name[0] == '.')
			continue;
		fd = openat(dirfd(dir), entry->d_name,
		    O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
		if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
			(void)unlinkat(dirfd(dir), entry->d_name, 0);
	}
	if (dir != NULL)
		(void)closedir(dir);
}

/* What the runtime may have kept of a container whose monitor died, and
 * its groups; false while one of them is busy. */
static bool
engine_gc_run_state(const struct engine_host *host, const char *id)
{
	const char *podman = host->memory.client;
	const char *argv[] = {podman, "unshare", host->memory.runtime, "delete",
	    "--force", id, NULL};
	char detail[ENGINE_CALL_ERROR_MAX];
	struct cgroup left;

	if (id[0] != '\0' && host->memory.runtime[0] == '/')
		(void)engine_gc_run_call(host,
		    host->memory.rootless ? argv : argv + 2, NULL, NULL, NULL,
		    detail, sizeof(detail));
	cgroup_find_id(id, &left);
	return cgroup_kill_remove(&left) == 0;
}

/* A runtime that stopped before init spoke; the engine would not know. */
static void
engine_gc_run_kill(const struct run_lock_facts *facts)
{
	struct cgroup found;

	holder_kill_all((ino_t)facts->socket, NULL);
	cgroup_find_id(facts->container, &found);
	(void)cgroup_kill(&found);
}

static void
engine_gc_run_holders(const struct engine_files *files)
{
	struct run_lock_stale stale[RUN_LOCK_STALE_MAX];
	size_t count =
	    run_lock_stale(files, RUN_LOCK_ALL, stale, RUN_LOCK_STALE_MAX);

	for (size_t i = 0; i < count; i++)
		engine_gc_run_kill(&stale[i].facts);
}

static void
engine_gc_run_files(const struct engine_host *host)
{
	struct run_lock_stale stale[RUN_LOCK_STALE_MAX];
	size_t count, forgotten;

	do {
		count = run_lock_stale(&host->files, engine_gc_whose(host),
		    stale, RUN_LOCK_STALE_MAX);
		forgotten = 0;
		for (size_t i = 0; i < count; i++) {
			if (cgroup_make_is_ours(stale[i].facts.name) ||
			    !engine_gc_run_state(
				host, stale[i].facts.container))
				continue;
			run_lock_forget(&host->files, stale[i].id);
			forgotten++;
		}
	} while (count == RUN_LOCK_STALE_MAX && forgotten > 0);
}

/* Each leftover of each kind to what. */
static enum result
engine_gc_run_each(const struct engine_host *host,
    void (*what)(const struct engine_host *host, const char *kind,
	const char *name, json_t *report),
    json_t *report, char *detail_r, size_t size)
{
	size_t kinds =
	    sizeof(engine_gc_run_kinds) / sizeof(engine_gc_run_kinds[0]);
	enum result result = RESULT_OK;

	for (size_t i = 0; i < kinds && result == RESULT_OK; i++) {
		const struct engine_gc_run_kind *kind = &engine_gc_run_kinds[i];
		json_t *list = NULL, *one;
		size_t index;

		result = engine_gc_run_list(host, kind, &list, detail_r, size);
		json_array_foreach(list, index, one)
		{
			int lock FD_CLEANUP = -1;
			const char *name =
			    engine_gc_run_leftover(host, kind, one, &lock);

			if (name != NULL)
				what(host, kind->kind, name, report);
		}
		json_decref(list);
	}
	return result;
}

enum result
engine_gc_run(const struct engine_host *host, json_t **report_r, char *detail_r,
    size_t detail_size)
{
	enum result result;

	*report_r = json_pack("{s:[], s:[]}", "removed", "left");
	if (*report_r == NULL)
		return RESULT_NO_MEMORY;
	cgroup_make_gc(&host->files, *report_r);
	oci_root_gc(*report_r);
	engine_gc_run_holders(&host->files);
	result = engine_gc_run_each(
	    host, engine_gc_run_remove, *report_r, detail_r, detail_size);
	if (result == RESULT_OK &&
	    json_array_size(json_object_get(*report_r, "left")) == 0) {
		engine_gc_run_files(host);
		engine_gc_run_uids(&host->files);
	}
	return result;
}

static void
engine_gc_run_note(const struct engine_host *host, const char *kind,
    const char *name, json_t *report)
{
	(void)host;
	(void)json_array_append_new(
	    report, json_pack("{s:s, s:s}", "kind", kind, "name", name));
}

enum result
engine_gc_run_count(const struct engine_host *host, size_t *count_r,
    char *detail_r, size_t detail_size)
{
	json_t *found = json_array();
	enum result result = engine_gc_run_each(
	    host, engine_gc_run_note, found, detail_r, detail_size);

	*count_r = json_array_size(found);
	json_decref(found);
	return result;
}
