/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table walker behind manifest.c and manifest_agent.c: one row per
 * field. A key that has no row is refused with its path. Pure.
 */
#ifndef SUPERVISOR_PACKAGE_MANIFEST_FIELD_H
#define SUPERVISOR_PACKAGE_MANIFEST_FIELD_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "supervisor/package/manifest_report.h"

enum manifest_kind {
	MANIFEST_TEXT,   /* min..max bytes, one printable line */
	MANIFEST_LINES,  /* the same over several lines */
	MANIFEST_WORD,   /* one of words */
	MANIFEST_NUMBER, /* min..max */
	MANIFEST_FLAG,
	MANIFEST_TEXTS,      /* a list of at most max texts */
	MANIFEST_LIST,       /* a list of at most max of anything */
	MANIFEST_OBJECTS,    /* a list of at most max mappings with fields */
	MANIFEST_OBJECT,     /* fields */
	MANIFEST_ANY_OBJECT, /* any mapping */
	MANIFEST_ANY
};

struct manifest_field {
	const char *name; /* NULL ends a table */
	enum manifest_kind kind;
	bool required;
	int64_t min, max;
	const char *const *words;
	const struct manifest_field *fields;
};

/* The actions of Guard (supervisor/policy/guard.h), ended by NULL; "unknown"
 * is nothing that a manifest declares. */
extern const char *const manifest_field_actions[];

void manifest_field_check(const json_t *object, const char *path,
    const struct manifest_field *fields, struct manifest_report *report);

/* A field that is null is one that is not there: NULL for both. Borrowed. */
json_t *manifest_field_get(const json_t *object, const char *key);
/* Take out the fields that are null, of the object and of its parts. */
void manifest_field_drop_null(
    json_t *object, const struct manifest_field *fields);

#endif
