/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One tar header block (POSIX ustar, pax for what does not fit). Everything
 * that could differ between two runs is fixed: owner 0, one mtime. Used by
 * tar_write.c and, for the image, by the supervisor. Pure.
 */
#ifndef SUPERVISOR_UNPACK_TAR_HEADER_H
#define SUPERVISOR_UNPACK_TAR_HEADER_H

#include <stddef.h>
#include <stdint.h>

#define TAR_HEADER_SIZE 512U
#define TAR_HEADER_MTIME 1735689600ULL /* 2025-01-01T00:00:00Z */
#define TAR_HEADER_NAME_MAX 100U       /* longer names need a pax record */
#define TAR_HEADER_PAX_MAX 4096U

enum tar_header_type {
	TAR_HEADER_FILE = '0',
	TAR_HEADER_LINK = '2',
	TAR_HEADER_DIR = '5',
	TAR_HEADER_PAX = 'x',
};

/* Fill one block. name and target are cut to what fits: the caller wrote a
 * pax record for longer ones before. size below 8 GiB (see tar_header_pax
 * for more). */
void tar_header_fill(uint8_t block_r[TAR_HEADER_SIZE],
    enum tar_header_type type, const char *name, const char *target,
    uint32_t mode, uint64_t size);

/* The pax records that an entry needs, into text_r; 0 when it needs none. */
size_t tar_header_pax(const char *name, const char *target, uint64_t size,
    char text_r[TAR_HEADER_PAX_MAX]);

/* Zero bytes that follow size bytes of content. */
size_t tar_header_padding(uint64_t size);

#endif
