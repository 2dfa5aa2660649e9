/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One record of comma-separated values with quotes, as the engines read
 * `--mount` and their lists (RFC 4180; a quote inside an unquoted field is a
 * fault). Pure; used by argv_items and argv_mount.
 */
#ifndef SUPERVISOR_ARGV_ARGV_CSV_H
#define SUPERVISOR_ARGV_ARGV_CSV_H

#include <stddef.h>

#include "common/result.h"

#define ARGV_CSV_FIELDS_MAX 1024U

struct argv_csv; /* opaque */

/* An empty text has no field. RESULT_BAD: not one record. */
enum result argv_csv_new(const char *text, struct argv_csv **csv_r);
void argv_csv_free(struct argv_csv **csv); /* accepts NULL, clears */

size_t argv_csv_count(const struct argv_csv *csv);
const char *argv_csv_field_borrow(const struct argv_csv *csv, size_t index);

#endif
