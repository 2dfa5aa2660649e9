/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of a registry's folder, which is foreign: nothing in it is
 * followed, waited for or trusted. Used by registry.c and `trust sign`.
 */
#ifndef SUPERVISOR_PACKAGE_REGISTRY_FILE_H
#define SUPERVISOR_PACKAGE_REGISTRY_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "common/json_field.h"
#include "supervisor/package/registry_index.h"

/* A whole small file; caller frees *bytes_r. */
enum registry_code registry_file_read(int folder, const char *name, size_t max,
    char **bytes_r, size_t *len_r, struct json_fault *fault);

/* Copy a file into a sealed memfd, hashing what is copied: what *fd_r (owned,
 * offset 0) holds has this size and hash ("sha256:..."), whatever becomes of
 * the file. */
enum registry_code registry_file_take(int folder, const char *name,
    int64_t size, const char *hash, int *fd_r, struct json_fault *fault);

/* Hash and size of an open file up to its end, for those who sign it;
 * hash_r has 72 bytes. */
enum registry_code registry_file_hash(
    int fd, char *hash_r, int64_t *size_r, struct json_fault *fault);

#endif
