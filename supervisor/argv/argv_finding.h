/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list of what was found: each code and subject once, with the places
 * it was found in. Filled by the judges, read by whoever prints.
 */
#ifndef SUPERVISOR_ARGV_ARGV_FINDING_H
#define SUPERVISOR_ARGV_ARGV_FINDING_H

#include <stdbool.h>
#include <stddef.h>

#include "common/result.h"
#include "supervisor/argv/argv_code.h"
#include "supervisor/argv/argv_items.h"

#define ARGV_FINDINGS_MAX 512U
#define ARGV_PLACES_MAX 16U
#define ARGV_SUBJECT_MAX 4200U

struct argv_finding {
	enum argv_code code;
	char *subject; /* owned; "" for none */
	const struct argv_item *places[ARGV_PLACES_MAX];
	size_t place_count; /* may be more than are kept; 0: it is absent */
};

struct argv_findings {
	struct argv_finding *list; /* owned */
	size_t count;
	enum result result; /* not OK: the list is not whole */
};

/* The sentence with its subject, as text of at most size bytes. */
void argv_finding_says(
    const struct argv_finding *finding, char *text_r, size_t size);

/* One more; the same code and subject again gets one more place (item NULL:
 * something is absent). What goes wrong stays in findings->result. */
void argv_finding_add(struct argv_findings *findings, enum argv_code code,
    const char *subject, const struct argv_item *item);
/* By the order of the codes, then as they came. */
void argv_finding_sort(struct argv_findings *findings);
void argv_finding_clear(struct argv_findings *findings);

#endif
