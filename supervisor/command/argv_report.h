/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an audit found, for people and as JSON. Used by audit-argv. The value
 * of a variable that looks like a key is never printed.
 */
#ifndef SUPERVISOR_COMMAND_ARGV_REPORT_H
#define SUPERVISOR_COMMAND_ARGV_REPORT_H

#include <jansson.h>
#include <stdio.h>

#include "supervisor/argv/argv_finding.h"

/* Append the findings of one line or container to the two lists; container
 * is NULL for a command line. RESULT_NO_MEMORY or RESULT_OK. */
enum result argv_report_add(json_t *leaks, json_t *hardening,
    const struct argv_findings *findings, const char *container);

/* A list as people read it: sentence, places, reason, remedy. */
void argv_report_print(FILE *out, const json_t *list);

/* Any text as a JSON value: escaped where it is no UTF-8. */
json_t *argv_report_text(const char *text);

#endif
