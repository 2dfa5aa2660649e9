/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One agentnode-unpack that looks at one volume after the other; see
 * volume_check.h. Called by the sandbox's story; must never say OK before
 * every volume's hash, or the fingerprint that stands for it, was compared.
 */
#include "supervisor/engine/volume_check.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/event_loop.h"
#include "common/fd.h"
#include "common/log.h"
#include "supervisor/child.h"
#include "supervisor/engine/engine_call.h"
#include "supervisor/engine/engine_host.h"
#include "supervisor/engine/volume_seal.h"
#include "supervisor/unpack/unpack_jobs.h"

struct volume_check {
	struct child *child;
	struct volume_check_one volumes[VOLUME_CHECK_MAX];
	size_t count, next;
	bool fast, finished;
	struct event_base *base;
	const struct engine_host *host;
	struct engine_call *reader; /* the engine's client, of a place */
	char said[200];             /* its complaint */
	struct volume_seal seal;
	/* Of the volume that is looked at: the fingerprint it should have,
	 * "" while its content is read. */
	char stat[VOLUME_SEAL_STAT_MAX];
	uint64_t asked_ms;
	volume_check_done *done;
	void *context;
};

static void
volume_check_finish(
    struct volume_check *check, enum result result, const char *detail)
{
	if (check->finished)
		return;
	check->finished = true;
	check->done(result, detail, check->context);
}

/* One line per volume: how it was looked at, and how long that took. */
static void
volume_check_log(
    const struct volume_check *check, const char *how, const char *unsealed)
{
	log_event(LOG_INFO_LEVEL, "volume_check",
	    LOG_TEXT("volume", check->volumes[check->next].volume),
	    LOG_TEXT("how", how), LOG_TEXT("unsealed", unsealed),
	    LOG_UINT("ms", event_loop_now_ms() - check->asked_ms));
}

/* Two ids per volume: its fingerprint first, its content second. */
static uint64_t
volume_check_id(const struct volume_check *check)
{
	return 2 * check->next + (check->stat[0] != '\0' ? 1 : 2);
}

/* What is asked of a folder. */
static json_t *
volume_check_folder(const struct volume_check *check)
{
	bool content = check->stat[0] == '\0';

	return json_pack("{s:s, s:{s:i, s:I, s:I, s:b}}", "job",
	    content ? UNPACK_JOB_HASH_TREE : UNPACK_JOB_STAT_TREE, "options",
	    "root", (int)check->next, "max_bytes", (json_int_t)UNPACK_BYTES_MAX,
	    "max_files", (json_int_t)UNPACK_FILES_MAX, "seal",
	    content && check->fast);
}

static void
volume_check_on_reader(const struct engine_call_end *end, void *context)
{
	struct volume_check *check = context;

	/* What it wrote is judged by what it is; this is for the sentence. */
	if (end->exit_code != 0)
		(void)snprintf(
		    check->said, sizeof(check->said), ": %.190s", end->error);
}

/* What is asked of a place, and its tar on the way to who answers. */
static json_t *
volume_check_place(struct volume_check *check, int *tar_r)
{
	const char *argv[] = {check->host->memory.client, "cp", "--",
	    check->volumes[check->next].place, "-", NULL};
	struct engine_call_spec spec = {.files = &check->host->files,
	    .argv = argv,
	    .stdin_fd = -1,
	    .output_max = 65536};
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) != 0)
		return NULL;
	*tar_r = ends[0];
	spec.stdout_fd = ends[1];
	engine_call_free(&check->reader);
	if (engine_call_start(check->base, &spec, volume_check_on_reader, check,
		&check->reader) != RESULT_OK)
		fd_close(tar_r);
	fd_close(&ends[1]);
	if (*tar_r < 0)
		return NULL;
	/* The first part of each name is the folder's own. */
	return json_pack("{s:s, s:{s:i, s:I, s:I}}", "job",
	    UNPACK_JOB_HASH_ARCHIVE, "options", "strip", 1, "max_bytes",
	    (json_int_t)UNPACK_BYTES_MAX, "max_files",
	    (json_int_t)UNPACK_FILES_MAX);
}

static void
volume_check_send(struct volume_check *check)
{
	struct ipc_message message;
	enum result result;
	int tar = -1;

	check->asked_ms = event_loop_now_ms();
	ipc_message_init(&message, IPC_WORK, volume_check_id(check));
	message.body = check->volumes[check->next].place[0] == '\0'
			   ? volume_check_folder(check)
			   : volume_check_place(check, &tar);
	if (tar >= 0)
		message.fds[message.fd_count++] = tar;
	result = message.body == NULL ? RESULT_NO_MEMORY
				      : child_send(check->child, &message);
	ipc_message_clear(&message);
	if (result != RESULT_OK)
		volume_check_finish(
		    check, result, "agentnode-unpack cannot be asked");
}

/* The next volume: by its fingerprint if it has a seal, else its content. */
static void
volume_check_ask(struct volume_check *check)
{
	const struct volume_check_one *volume = &check->volumes[check->next];

	if (!check->fast || volume->place[0] != '\0' ||
	    volume_seal_read(&check->seal, volume->volume, volume->hash,
		check->stat) != RESULT_OK)
		check->stat[0] = '\0';
	volume_check_send(check);
}

static void
volume_check_next(struct volume_check *check)
{
	check->next++;
	if (check->next < check->count)
		volume_check_ask(check);
	else
		volume_check_finish(check, RESULT_OK, "");
}

/* Another fingerprint, or none: nothing is known, the content decides. */
static void
volume_check_on_stat(struct volume_check *check, const char *stat)
{
	if (stat != NULL && strcmp(stat, check->stat) == 0) {
		volume_check_log(check, "fingerprint", "");
		volume_check_next(check);
		return;
	}
	volume_check_log(check, "other_fingerprint", "");
	check->stat[0] = '\0';
	volume_check_send(check);
}

/* The content is the sealed one: remember its fingerprint, if it may stand
 * for it. */
static void
volume_check_remember(struct volume_check *check, const json_t *answer)
{
	const struct volume_check_one *volume = &check->volumes[check->next];
	const char *stat = json_string_value(json_object_get(answer, "stat"));
	const char *why =
	    json_string_value(json_object_get(answer, "unsealed"));

	if (volume->place[0] != '\0') {
		volume_check_log(check, "content", "by_engine");
		return;
	}
	if (stat != NULL && volume_seal_write(&check->seal, volume->volume,
				volume->hash, stat) != RESULT_OK)
		why = "not_written";
	volume_check_log(check, "content", why != NULL ? why : "");
}

static void
volume_check_on_ready(struct child *child, void *context)
{
	(void)child;
	volume_check_ask(context);
}

static void
volume_check_on_hash(struct volume_check *check, const json_t *body)
{
	const struct volume_check_one *volume = &check->volumes[check->next];
	const json_t *answer = json_object_get(body, "result");
	const char *hash = json_string_value(json_object_get(answer, "hash"));
	char detail[512];

	if (hash == NULL || strcmp(hash, volume->hash) != 0) {
		(void)snprintf(detail, sizeof(detail),
		    "volume %s has hash %.71s, not the sealed %s: install the "
		    "package again%s",
		    volume->volume, hash != NULL ? hash : "none", volume->hash,
		    check->said);
		volume_seal_forget(&check->seal, volume->volume);
		volume_check_finish(check, RESULT_MISMATCH, detail);
		return;
	}
	volume_check_remember(check, answer);
	volume_check_next(check);
}

static void
volume_check_on_message(
    struct child *child, struct ipc_message *message, void *context)
{
	struct volume_check *check = context;
	const char *text;
	char detail[512];

	(void)child;
	if (check->finished || message->id != volume_check_id(check))
		return;
	if (check->stat[0] != '\0') {
		text =
		    message->type == IPC_DONE
			? json_string_value(json_object_get(
			      json_object_get(message->body, "result"), "stat"))
			: NULL;
		volume_check_on_stat(check, text);
		return;
	}
	if (message->type == IPC_DONE) {
		volume_check_on_hash(check, message->body);
		return;
	}
	text = json_string_value(json_object_get(message->body, "detail"));
	(void)snprintf(detail, sizeof(detail),
	    "volume %s cannot be hashed: %s%s",
	    check->volumes[check->next].volume, text != NULL ? text : "",
	    check->said);
	volume_check_finish(check, RESULT_BAD, detail);
}

static void
volume_check_on_end(struct child *child, int exit_code, int number,
    const char *detail, void *context)
{
	(void)child;
	(void)exit_code;
	(void)number;
	volume_check_finish(context, RESULT_CLOSED, detail);
}

static enum result
volume_check_spawn(struct volume_check *check, struct event_base *base,
    int log_fd, bool no_landlock)
{
	static const struct child_handlers handlers = {volume_check_on_ready,
	    volume_check_on_message, volume_check_on_end};
	int fds[VOLUME_CHECK_MAX + 1] = {log_fd};
	struct child_spec spec = {.role = IPC_UNPACK, .config_fds = fds};
	size_t roots = check->host == NULL ? check->count : 0;
	enum result result;

	for (size_t i = 0; i < roots; i++)
		fds[i + 1] = check->volumes[i].dir_fd;
	spec.config_fd_count = roots + 1;
	spec.config = json_pack("{s:{s:i, s:b}}", "options", "roots",
	    (int)roots, "no_landlock", no_landlock);
	if (spec.config == NULL)
		return RESULT_NO_MEMORY;
	result = child_start(base, &spec, &handlers, check, &check->child);
	json_decref(spec.config);
	return result;
}

/* Also where all is read: a seal that turns out wrong is taken away. */
static void
volume_check_seals(struct volume_check *check)
{
	struct json_fault fault = {""};

	if (volume_seal_open(&check->seal, &fault) != RESULT_OK)
		log_event(LOG_WARN_LEVEL, "volume_seal",
		    LOG_TEXT("detail", fault.text));
}

enum result
volume_check_start(struct event_base *base,
    const struct volume_check_spec *spec, volume_check_done *done,
    void *context, struct volume_check **check_r)
{
	struct volume_check *check = calloc(1, sizeof(*check));
	size_t count = spec->count;
	enum result result;

	*check_r = NULL;
	if (check == NULL || count == 0 || count > VOLUME_CHECK_MAX) {
		free(check);
		return check == NULL ? RESULT_NO_MEMORY : RESULT_INTERNAL;
	}
	memcpy(check->volumes, spec->volumes, count * sizeof(*spec->volumes));
	check->count = count;
	check->done = done;
	check->context = context;
	check->fast = spec->fast;
	check->base = base;
	check->host = spec->host;
	volume_check_seals(check);
	result =
	    volume_check_spawn(check, base, spec->log_fd, spec->no_landlock);
	if (result != RESULT_OK) {
		volume_check_free(&check);
		return result;
	}
	/* The child has its own. */
	for (size_t i = 0; i < count; i++)
		fd_close(&check->volumes[i].dir_fd);
	*check_r = check;
	return RESULT_OK;
}

void
volume_check_free(struct volume_check **check)
{
	struct volume_check *gone = *check;

	if (gone == NULL)
		return;
	*check = NULL;
	engine_call_free(&gone->reader);
	child_free(&gone->child);
	volume_seal_close(&gone->seal);
	for (size_t i = 0; i < gone->count; i++)
		fd_close(&gone->volumes[i].dir_fd);
	free(gone);
}
