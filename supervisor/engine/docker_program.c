/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See docker_program.h. Called once per start; must never call a volume
 * filled that was not filled to its end since this machine started.
 */
#include "supervisor/engine/docker_program.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/fd.h"
#include "supervisor/engine/docker_volume.h"
#include "supervisor/engine/wiring_way.h"
#include "supervisor/policy/digest.h"

#define DOCKER_PROGRAM_FILE "init"
#define DOCKER_PROGRAM_MAX (16U << 20)
#define DOCKER_PROGRAM_BLOCK 512U

/* The hash of a tree that has nothing but this file (tree_hash.h). */
static enum result
docker_program_hash(
    const char *bytes, size_t len, char hash_r[VOLUME_CHECK_HASH_MAX])
{
	char sum[DIGEST_HEX + 1], record[8 + 256];
	int size;
	enum result result = digest_sha256(bytes, len, sum);

	if (result != RESULT_OK)
		return result;
	size = snprintf(record + 8, sizeof(record) - 8,
	    "{\"mode\":\"0555\",\"path\":\"" DOCKER_PROGRAM_FILE
	    "\",\"sha256\":\"%s\",\"type\":\"f\"}",
	    sum);
	for (unsigned i = 0; i < 8; i++)
		record[7 - i] = (char)((uint64_t)size >> (8 * i));
	result = digest_sha256(record, 8 + (size_t)size, sum);
	(void)snprintf(hash_r, VOLUME_CHECK_HASH_MAX, "sha256:%s", sum);
	return result;
}

/* A ustar header: root's, 0555, of no time. */
static void
docker_program_header(size_t len, char block_r[DOCKER_PROGRAM_BLOCK])
{
	unsigned sum = 0;

	memset(block_r, 0, DOCKER_PROGRAM_BLOCK);
	(void)snprintf(block_r, 100, "%s", DOCKER_PROGRAM_FILE);
	(void)snprintf(block_r + 100, 8, "%07o", 0555U);
	(void)snprintf(block_r + 108, 8, "%07o", 0U);
	(void)snprintf(block_r + 116, 8, "%07o", 0U);
	(void)snprintf(block_r + 124, 12, "%011lo", (unsigned long)len);
	(void)snprintf(block_r + 136, 12, "%011o", 0U);
	memset(block_r + 148, ' ', 8);
	block_r[156] = '0';
	memcpy(block_r + 257, "ustar\00000", 8); /* NOLINT: bytes */
	for (unsigned i = 0; i < DOCKER_PROGRAM_BLOCK; i++)
		sum += (unsigned char)block_r[i];
	(void)snprintf(block_r + 148, 8, "%06o", sum);
}

/* As a tar, at its begin. */
static enum result
docker_program_tar(const char *bytes, size_t len, int *fd_r)
{
	static const char end[3 * DOCKER_PROGRAM_BLOCK];
	char block[DOCKER_PROGRAM_BLOCK];
	size_t odd = len % DOCKER_PROGRAM_BLOCK;
	enum result result;

	*fd_r = memfd_create("agentnode-init", MFD_CLOEXEC);
	if (*fd_r < 0)
		return RESULT_SYSTEM;
	docker_program_header(len, block);
	result = fd_write_all(*fd_r, block, sizeof(block));
	if (result == RESULT_OK)
		result = fd_write_all(*fd_r, bytes, len);
	if (result == RESULT_OK)
		result = fd_write_all(*fd_r, end,
		    2 * DOCKER_PROGRAM_BLOCK +
			(odd > 0 ? DOCKER_PROGRAM_BLOCK - odd : 0));
	if (result == RESULT_OK && lseek(*fd_r, 0, SEEK_SET) != 0)
		result = RESULT_SYSTEM;
	return result;
}

/* slots/<name>, locked in this way. */
static enum result
docker_program_lock(
    const struct engine_host *host, const char *name, int how, int *fd_r)
{
	char path[sizeof(host->files.slots) + 64];

	(void)snprintf(path, sizeof(path), "%s/%s", host->files.slots, name);
	*fd_r = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (*fd_r < 0)
		return RESULT_SYSTEM;
	while (flock(*fd_r, how) != 0) {
		if (errno != EINTR) {
			fd_close(fd_r);
			return RESULT_SYSTEM;
		}
	}
	return RESULT_OK;
}

struct docker_program {
	const struct engine_host *host;
	const char *volume;
	char filled[ENGINE_FILES_PATH_MAX + 128]; /* a mark, for this boot */
	char *bytes;
	size_t len;
};

/* It is there, and was filled. */
static enum result
docker_program_look(
    const struct docker_program *program, char *detail_r, size_t size)
{
	if (access(program->filled, F_OK) != 0)
		return RESULT_NOT_FOUND;
	return docker_volume_find(
	    program->host, program->volume, detail_r, size);
}

static enum result
docker_program_make(const struct docker_program *program, const char *image,
    const char *run, char *detail_r, size_t size)
{
	static const char *const labels[] = {
	    CONTROL_SLOT_LABEL "=" DOCKER_PROGRAM_SLOT, NULL};
	int tar FD_CLEANUP = -1, mark FD_CLEANUP = -1, lock FD_CLEANUP = -1;
	enum result result;

	/* One at a time: the next finds it filled. */
	result =
	    docker_program_lock(program->host, "init.make", LOCK_EX, &lock);
	if (result == RESULT_OK &&
	    docker_program_look(program, detail_r, size) == RESULT_OK)
		return RESULT_OK;
	if (result == RESULT_OK)
		result = docker_program_tar(program->bytes, program->len, &tar);
	if (result == RESULT_OK)
		result = docker_volume_make(
		    program->host, program->volume, labels, detail_r, size);
	if (result == RESULT_OK)
		result = docker_volume_fill(program->host, program->volume,
		    image, run, tar, detail_r, size);
	if (result != RESULT_OK)
		return result;
	mark = open(
	    program->filled, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	return mark < 0 ? RESULT_SYSTEM : RESULT_OK;
}

static enum result
docker_program_read(struct docker_program *program, char *detail_r, size_t size)
{
	int own FD_CLEANUP = -1;
	enum result result = wiring_program(&own, detail_r, size);

	if (result != RESULT_OK)
		return result;
	return fd_read_all(
	    own, DOCKER_PROGRAM_MAX, &program->bytes, &program->len);
}

enum result
docker_program_take(const struct engine_host *host, const char *image,
    const char *run, struct control_slot *slot_r,
    struct volume_check_one *one_r, char *detail_r, size_t detail_size)
{
	struct docker_program program = {
	    .host = host, .volume = slot_r->volume, .bytes = NULL};
	enum result result;

	*slot_r = (struct control_slot){.fd = -1};
	*one_r = (struct volume_check_one){.dir_fd = -1};
	(void)snprintf(detail_r, detail_size,
	    "the volume with init cannot be made ready in %s",
	    host->files.slots);
	result = docker_program_read(&program, detail_r, detail_size);
	if (result == RESULT_OK)
		result = docker_program_hash(
		    program.bytes, program.len, one_r->hash);
	(void)snprintf(slot_r->volume, sizeof(slot_r->volume),
	    "agentnode-init-%.*s-%.12s", (int)strcspn(host->files.owner, "-"),
	    host->files.owner, one_r->hash + strlen("sha256:"));
	(void)snprintf(
	    one_r->volume, sizeof(one_r->volume), "%s", slot_r->volume);
	(void)snprintf(program.filled, sizeof(program.filled), "%s/%s",
	    host->files.slots, slot_r->volume);
	if (result == RESULT_OK)
		result = docker_program_lock(
		    host, DOCKER_PROGRAM_SLOT, LOCK_SH, &slot_r->fd);
	if (result == RESULT_OK)
		result = docker_program_look(&program, detail_r, detail_size);
	if (result == RESULT_NOT_FOUND)
		result = docker_program_make(
		    &program, image, run, detail_r, detail_size);
	free(program.bytes);
	if (result != RESULT_OK)
		control_slot_end(slot_r);
	return result;
}
