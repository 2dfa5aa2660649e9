/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory for secrets. Called by the processes that hold or forward one. It
 * must never print, copy out or swap what it holds, and never fall back to
 * ordinary memory.
 */
#include "common/secret.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_memfd_secret
#define SYS_memfd_secret 447
#endif

struct secret {
	uint8_t *map;    /* guard page, content pages, guard page */
	size_t map_size; /* bytes of the whole mapping */
	uint8_t *bytes;  /* the last capacity bytes of the content pages */
	size_t capacity;
	size_t len;
};

void
secret_wipe(void *bytes, size_t len)
{
	explicit_bzero(bytes, len);
}

/* Memory that even the kernel's direct map does not show, over place. */
static bool
secret_map_hidden(uint8_t *place, size_t size)
{
	void *map = MAP_FAILED;
	int fd = (int)syscall(SYS_memfd_secret, 0);

	if (fd < 0)
		return false;
	if (ftruncate(fd, (off_t)size) == 0)
		map = mmap(place, size, PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_FIXED, fd, 0);
	close(fd);
	return map != MAP_FAILED;
}

/* Ordinary memory, locked into RAM. */
static bool
secret_map_locked(uint8_t *place, size_t size)
{
	if (mmap(place, size, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
		return false;
	return mlock(place, size) == 0;
}

/* Content pages between two guard pages, kept from dumps and children. */
static enum result
secret_map(struct secret *secret, size_t content, size_t page)
{
	uint8_t *place;

	secret->map_size = content + 2 * page;
	secret->map = mmap(NULL, secret->map_size, PROT_NONE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (secret->map == MAP_FAILED) {
		secret->map = NULL;
		return RESULT_NO_MEMORY;
	}
	place = secret->map + page;
	if (!secret_map_hidden(place, content) &&
	    !secret_map_locked(place, content))
		return RESULT_UNSUPPORTED;
	if (madvise(place, content, MADV_DONTDUMP) != 0 ||
	    madvise(place, content, MADV_DONTFORK) != 0)
		return RESULT_UNSUPPORTED;
	/* Right-aligned, so that one byte too far meets the guard page. */
	secret->bytes = place + content - secret->capacity;
	return RESULT_OK;
}

enum result
secret_new(size_t capacity, struct secret **secret_r)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct secret *secret;
	enum result result;

	*secret_r = NULL;
	if (capacity == 0 || capacity > SECRET_MAX)
		return RESULT_TOO_LONG;
	secret = calloc(1, sizeof(*secret));
	if (secret == NULL)
		return RESULT_NO_MEMORY;
	secret->capacity = capacity;
	result = secret_map(secret, (capacity + page - 1) / page * page, page);
	if (result != RESULT_OK) {
		secret_free(&secret);
		return result;
	}
	*secret_r = secret;
	return RESULT_OK;
}

void
secret_free(struct secret **secret)
{
	struct secret *gone = *secret;

	if (gone == NULL)
		return;
	if (gone->bytes != NULL)
		secret_wipe(gone->bytes, gone->capacity);
	if (gone->map != NULL)
		munmap(gone->map, gone->map_size);
	free(gone);
	*secret = NULL;
}

uint8_t *
secret_resize(struct secret *secret, size_t len)
{
	if (len > secret->capacity)
		return NULL;
	secret_wipe(secret->bytes + len, secret->capacity - len);
	secret->len = len;
	return secret->bytes;
}

enum result
secret_set(struct secret *secret, const void *bytes, size_t len)
{
	if (secret_resize(secret, len) == NULL)
		return RESULT_TOO_LONG;
	if (len > 0)
		memcpy(secret->bytes, bytes, len);
	return RESULT_OK;
}

/* One byte beyond the capacity tells a secret that fits from a longer one.
 * It is part of a secret, too, so it is wiped. */
static enum result
secret_expect_end(int fd)
{
	uint8_t extra = 0;
	ssize_t got;

	do
		got = read(fd, &extra, 1);
	while (got < 0 && errno == EINTR);
	secret_wipe(&extra, sizeof(extra));
	if (got < 0)
		return RESULT_SYSTEM;
	return got == 0 ? RESULT_OK : RESULT_TOO_LONG;
}

enum result
secret_read_fd(struct secret *secret, int fd)
{
	enum result result = RESULT_OK;
	ssize_t got = 1;

	(void)secret_resize(secret, 0);
	while (got > 0 && secret->len < secret->capacity) {
		got = read(fd, secret->bytes + secret->len,
		    secret->capacity - secret->len);
		if (got < 0 && errno == EINTR)
			got = 1;
		else if (got < 0)
			result = RESULT_SYSTEM;
		else
			secret->len += (size_t)got;
	}
	if (result == RESULT_OK && got > 0)
		result = secret_expect_end(fd);
	if (result != RESULT_OK)
		(void)secret_resize(secret, 0);
	return result;
}

const uint8_t *
secret_bytes_borrow(const struct secret *secret)
{
	return secret->bytes;
}

size_t
secret_len(const struct secret *secret)
{
	return secret->len;
}

bool
secret_equal(const struct secret *a, const struct secret *b)
{
	volatile uint8_t difference = 0;
	size_t i;

	if (a->len != b->len)
		return false;
	for (i = 0; i < a->len; i++)
		difference |= a->bytes[i] ^ b->bytes[i];
	return difference == 0;
}
