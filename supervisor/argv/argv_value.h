/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small questions about one value of an option, asked as the engines would
 * read it. Pure and total.
 */
#ifndef SUPERVISOR_ARGV_ARGV_VALUE_H
#define SUPERVISOR_ARGV_ARGV_VALUE_H

#include <stdbool.h>
#include <stddef.h>

/* USER[:GROUP] is root: empty, "root", or a number that is 0. */
bool argv_value_is_root(const char *user);

/* Podman's user namespace is keep-id and its user is not root: the caller's
 * own id, or a uid= above 0; false when an option is not understood. */
bool argv_value_keeps_id(const char *userns);

/* A size ("512m", "1.5 GiB", "268435456") or a count above 0; a value that
 * cannot be read, 0 and less are no limit. */
bool argv_value_is_size(const char *text);
bool argv_value_is_count(const char *text);

/* The image names its content: NAME@sha256:<64 hex>, sha256:<64 hex>, or an
 * image's whole id. */
bool argv_value_is_pinned(const char *image);

/* A kernel setting that belongs to the container's own namespaces. */
bool argv_value_is_own_sysctl(const char *setting);

/* KEY=VALUE or KEY:VALUE (what older lines have): the part behind KEY, or
 * NULL when the text is about another key. "" for KEY alone. */
const char *argv_value_behind(const char *text, const char *key);

/* text is one of the words, case ignored; the list ends with NULL. */
bool argv_value_is_one_of(const char *text, const char *const *words);

#endif
