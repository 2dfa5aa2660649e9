/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A layer stream (supervisor/unpack/layer_stream.h) put on the disk below
 * one directory. No link is ever followed and nothing outside is reached:
 * each name is opened by the kernel's own rules (openat2). Used by
 * oci_root.c for a root that nobody uses yet.
 */
#ifndef SUPERVISOR_ENGINE_OCI_APPLY_H
#define SUPERVISOR_ENGINE_OCI_APPLY_H

#include <stddef.h>

#include "common/result.h"

/* stream_fd is a whole regular file: what the layer removes goes first,
 * whatever the order, then what it brings comes. detail_r is a sentence
 * that names the entry. */
enum result oci_apply(
    int root_fd, int stream_fd, char *detail_r, size_t detail_size);

/* name below dir_fd and all in it, whatever it is. */
enum result oci_apply_remove(int dir_fd, const char *name);

#endif
