/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which records of the audit chain `audit show` and `audit stats` are asked
 * for: their options, and the question to each record.
 */
#ifndef SUPERVISOR_COMMAND_AUDIT_FILTER_H
#define SUPERVISOR_COMMAND_AUDIT_FILTER_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define AUDIT_FILTER_LAST_MAX 100000U
#define AUDIT_FILTER_TIME_MAX 32U

struct audit_filter {
	bool json;
	size_t last;                        /* 0: all */
	const char *event, *code, *package; /* NULL: any; borrowed */
	char since[AUDIT_FILTER_TIME_MAX];  /* "" : from the first */
};

/* Options from "jlecps": --json --last --event --code --package --since.
 * false: one that is unknown, not allowed here or malformed. --since is a
 * time (2026-01-02, 2026-01-02T03:04:05Z) or so long ago (90s, 15m, 24h,
 * 7d). */
bool audit_filter_parse(
    int argc, char **argv, const char *allowed, struct audit_filter *filter_r);

/* The time of --since as the beginning of a record's. false: it is none. */
bool audit_filter_since(const char *text, char since_r[AUDIT_FILTER_TIME_MAX]);

bool audit_filter_takes(
    const struct audit_filter *filter, const json_t *record);

#endif
