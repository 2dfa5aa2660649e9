/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One agentnode-unpack that hashes one volume after the other. Called by
 * the sandbox's story; must never say OK before every hash was compared.
 */
#include "supervisor/engine/volume_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/fd.h"
#include "supervisor/child.h"
#include "supervisor/unpack/unpack_jobs.h"

struct volume_check {
	struct child *child;
	struct volume_check_one volumes[VOLUME_CHECK_MAX];
	size_t count, next;
	bool finished;
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

/* Ask for the hash of the next volume. */
static void
volume_check_ask(struct volume_check *check)
{
	struct ipc_message message;
	enum result result;

	ipc_message_init(&message, IPC_WORK, check->next + 1);
	message.body = json_pack("{s:s, s:{s:i, s:I, s:I}}", "job",
	    UNPACK_JOB_HASH_TREE, "options", "root", (int)check->next,
	    "max_bytes", (json_int_t)UNPACK_BYTES_MAX, "max_files",
	    (json_int_t)UNPACK_FILES_MAX);
	result = message.body == NULL ? RESULT_NO_MEMORY
				      : child_send(check->child, &message);
	ipc_message_clear(&message);
	if (result != RESULT_OK)
		volume_check_finish(
		    check, result, "agentnode-unpack cannot be asked");
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
	const char *hash = json_string_value(
	    json_object_get(json_object_get(body, "result"), "hash"));
	char detail[512];

	if (hash == NULL || strcmp(hash, volume->hash) != 0) {
		(void)snprintf(detail, sizeof(detail),
		    "volume %s has hash %.71s, not the sealed %s: install the "
		    "package again",
		    volume->volume, hash != NULL ? hash : "none", volume->hash);
		volume_check_finish(check, RESULT_MISMATCH, detail);
		return;
	}
	check->next++;
	if (check->next < check->count)
		volume_check_ask(check);
	else
		volume_check_finish(check, RESULT_OK, "");
}

static void
volume_check_on_message(
    struct child *child, struct ipc_message *message, void *context)
{
	struct volume_check *check = context;
	const char *text;
	char detail[512];

	(void)child;
	if (check->finished || message->id != check->next + 1)
		return;
	if (message->type == IPC_DONE) {
		volume_check_on_hash(check, message->body);
		return;
	}
	text = json_string_value(json_object_get(message->body, "detail"));
	(void)snprintf(detail, sizeof(detail), "volume %s cannot be hashed: %s",
	    check->volumes[check->next].volume, text != NULL ? text : "");
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
	struct child_spec spec = {.role = IPC_UNPACK,
	    .config_fds = fds,
	    .config_fd_count = check->count + 1};
	enum result result;

	for (size_t i = 0; i < check->count; i++)
		fds[i + 1] = check->volumes[i].dir_fd;
	spec.config = json_pack("{s:{s:i, s:b}}", "options", "roots",
	    (int)check->count, "no_landlock", no_landlock);
	if (spec.config == NULL)
		return RESULT_NO_MEMORY;
	result = child_start(base, &spec, &handlers, check, &check->child);
	json_decref(spec.config);
	return result;
}

enum result
volume_check_start(struct event_base *base,
    const struct volume_check_one *volumes, size_t count, int log_fd,
    bool no_landlock, volume_check_done *done, void *context,
    struct volume_check **check_r)
{
	struct volume_check *check = calloc(1, sizeof(*check));
	enum result result;

	*check_r = NULL;
	if (check == NULL || count == 0 || count > VOLUME_CHECK_MAX) {
		free(check);
		return check == NULL ? RESULT_NO_MEMORY : RESULT_INTERNAL;
	}
	memcpy(check->volumes, volumes, count * sizeof(*volumes));
	check->count = count;
	check->done = done;
	check->context = context;
	result = volume_check_spawn(check, base, log_fd, no_landlock);
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
	child_free(&gone->child);
	for (size_t i = 0; i < gone->count; i++)
		fd_close(&gone->volumes[i].dir_fd);
	free(gone);
}
