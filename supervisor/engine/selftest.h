/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sandbox selftest`: agentnode-probe run as the workload of an ordinary
 * sandbox, its records gathered, and what the supervisor itself saw. Used
 * by the command and by doctor.
 */
#ifndef SUPERVISOR_ENGINE_SELFTEST_H
#define SUPERVISOR_ENGINE_SELFTEST_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/result.h"

struct config; /* supervisor/policy/config.h */

enum selftest_boundary {
	SELFTEST_CONTAINER,
	SELFTEST_NATIVE, /* the operating system's walls, read-only */
};

/* *report_r (caller decrefs): {"ok":bool,"probes":[{"name","ok",
 * "detail"}]}. probe false: only start and end a sandbox, which shows
 * init's walls and the limits. RESULT_OK whenever there is a report. */
enum result selftest_run(const struct config *config,
    enum selftest_boundary boundary, bool probe, json_t **report_r,
    char *detail_r, size_t detail_size);

/* `probe`: run agentnode-probe with these words (argv[0] is replaced, must
 * ask for records) behind a boundary of its own that reaches what egress allows
 * (as in sandbox_spec; NULL nothing). *rows_r (caller decrefs): [{"name",
 * "ok","detail"}]. RESULT_REFUSED: it did not start, detail_r says why. */
enum result selftest_facts(const struct config *config,
    enum selftest_boundary boundary, const char **argv, const json_t *egress,
    json_t **rows_r, char *detail_r, size_t detail_size);

/* Take the records in bytes (foreign: a container wrote them) into probes;
 * false when they are not exactly what a probe writes. Pure. */
bool selftest_take(const void *bytes, size_t len, json_t *probes);

/* Append one result; a text that is no UTF-8 makes it a failed one. */
void selftest_row(
    json_t *probes, const char *name, bool ok, const char *detail);

#endif
