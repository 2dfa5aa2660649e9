/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `docker inspect` or `podman inspect` printed, as items for argv_judge.
 * The file is the operator's own, so it is read here: JSON without duplicate
 * keys, bounded in bytes, depth, containers and values. Total; opens nothing.
 */
#ifndef SUPERVISOR_ARGV_ARGV_INSPECT_H
#define SUPERVISOR_ARGV_ARGV_INSPECT_H

#include <jansson.h>
#include <stddef.h>

#include "common/result.h"
#include "supervisor/argv/argv_items.h"

#define ARGV_INSPECT_BYTES_MAX (4U << 20)
#define ARGV_INSPECT_CONTAINERS_MAX 64U

struct argv_inspect; /* opaque */

/* RESULT_BAD: not a list of containers; fault_r says where and why. */
enum result argv_inspect_parse(const char *bytes, size_t len,
    struct argv_inspect **inspect_r, struct argv_fault *fault_r);
void argv_inspect_free(struct argv_inspect **inspect); /* clears */

size_t argv_inspect_count(const struct argv_inspect *inspect);
/* The container's name without the leading "/", and its items. */
const char *argv_inspect_name_borrow(
    const struct argv_inspect *inspect, size_t index);
const struct argv_items *argv_inspect_items_borrow(
    const struct argv_inspect *inspect, size_t index);

/* argv_inspect_rows.c: every field that means something. RESULT_BAD: one is
 * of the wrong type. */
enum result argv_inspect_rows_read(const json_t *container, size_t index,
    struct argv_items *items, struct argv_fault *fault_r);

#endif
