/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The only place a key or passphrase may live: memory that is locked, kept
 * out of core dumps and of children, surrounded by guard pages, and wiped
 * on free. memfd_secret(2) backs it where the kernel offers that.
 * Used by the processes that hold or forward secrets.
 */
#ifndef COMMON_SECRET_H
#define COMMON_SECRET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/result.h"

struct secret; /* opaque */

/* Longest secret accepted, bytes. */
#define SECRET_MAX 16384U

/* Allocate room for capacity bytes (1..SECRET_MAX). RESULT_UNSUPPORTED when
 * the memory cannot be locked: a secret never lives in swappable memory.
 * Caller frees with secret_free. Makes these system calls, which a process
 * that calls it after confinement must list: memfd_secret, ftruncate, mmap,
 * close, madvise, munmap, and mlock as the fallback. */
enum result secret_new(size_t capacity, struct secret **secret_r);

/* Wipe, unlock, unmap; accepts NULL, clears the pointer. */
void secret_free(struct secret **secret);

/* Copy bytes in; RESULT_TOO_LONG when over the capacity. */
enum result secret_set(struct secret *secret, const void *bytes, size_t len);

/* Read from a descriptor until EOF; more than the capacity is
 * RESULT_TOO_LONG and leaves an empty secret. The descriptor blocks. */
enum result secret_read_fd(struct secret *secret, int fd);

/* Make it len bytes long, wiping all behind; where its bytes are, for
 * writing in place (a key as it is read or deciphered), or NULL when over
 * the capacity. */
uint8_t *secret_resize(struct secret *secret, size_t len);

const uint8_t *secret_bytes_borrow(const struct secret *secret);
size_t secret_len(const struct secret *secret);

/* Comparison whose time does not depend on the content. */
bool secret_equal(const struct secret *a, const struct secret *b);

/* Overwrite memory in a way the compiler keeps. */
void secret_wipe(void *bytes, size_t len);

#endif
