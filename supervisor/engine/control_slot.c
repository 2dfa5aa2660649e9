/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lock slots/<n>, see that its volume is there. Called once per start;
 * must never give one slot to two living sandboxes: each would be mounted
 * where the other's init connects.
 */
#include "supervisor/engine/control_slot.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "supervisor/engine/docker_program.h"
#include "supervisor/engine/engine_call.h"

#define CONTROL_SLOT_COUNT 4096U
#define CONTROL_SLOT_TIMEOUT_MS 60000U

/* RESULT_EXISTS: somebody has it. */
static enum result
control_slot_try(const struct engine_files *files, unsigned number, int *fd_r)
{
	char path[sizeof(files->slots) + 16];

	(void)snprintf(path, sizeof(path), "%s/%u", files->slots, number);
	*fd_r = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (*fd_r < 0)
		return RESULT_SYSTEM;
	if (flock(*fd_r, LOCK_EX | LOCK_NB) == 0)
		return RESULT_OK;
	fd_close(fd_r);
	return RESULT_EXISTS;
}

static enum result
control_slot_volume(const struct engine_host *host,
    const struct control_slot *slot, unsigned number, char *detail_r,
    size_t size)
{
	char label[64];
	const char *argv[] = {host->memory.client, "volume", "create", label,
	    "--", slot->volume, NULL};
	struct engine_call_spec call = {.files = &host->files,
	    .argv = argv,
	    .stdin_fd = -1,
	    .stdout_fd = -1,
	    .output_max = 65536,
	    .timeout_ms = CONTROL_SLOT_TIMEOUT_MS};
	struct stat info;

	if (stat(slot->dir, &info) == 0)
		return RESULT_OK;
	(void)snprintf(
	    label, sizeof(label), "--label=" CONTROL_SLOT_LABEL "=%u", number);
	return engine_call_wait(&call, NULL, NULL, NULL, detail_r, size);
}

enum result
control_slot_take(const struct engine_host *host, struct control_slot *slot_r,
    char *detail_r, size_t detail_size)
{
	enum result result = RESULT_EXISTS;
	unsigned number;

	slot_r->fd = -1;
	for (number = 0; number < CONTROL_SLOT_COUNT; number++) {
		result = control_slot_try(&host->files, number, &slot_r->fd);
		if (result != RESULT_EXISTS)
			break;
	}
	if (result != RESULT_OK) {
		(void)snprintf(detail_r, detail_size,
		    "no place for a control socket is free in %s",
		    host->files.slots);
		return result;
	}
	(void)snprintf(slot_r->volume, sizeof(slot_r->volume),
	    "agentnode-slot-%u", number);
	(void)snprintf(slot_r->dir, sizeof(slot_r->dir), "%s/%s/_data",
	    host->memory.volume_path, slot_r->volume);
	result =
	    control_slot_volume(host, slot_r, number, detail_r, detail_size);
	if (result != RESULT_OK)
		control_slot_end(slot_r);
	return result;
}

void
control_slot_end(struct control_slot *slot)
{
	fd_close(&slot->fd);
}

bool
control_slot_claim(
    const struct engine_files *files, const char *number, int *lock_r)
{
	char path[sizeof(files->slots) + 32];

	*lock_r = -1;
	if (strcmp(number, DOCKER_PROGRAM_SLOT) != 0 &&
	    (strlen(number) > 4 || strspn(number, "0123456789") == 0))
		return false; /* not one of ours to judge */
	(void)snprintf(path, sizeof(path), "%s/%s", files->slots, number);
	*lock_r = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (*lock_r >= 0 && flock(*lock_r, LOCK_EX | LOCK_NB) == 0)
		return true;
	fd_close(lock_r);
	return false;
}
