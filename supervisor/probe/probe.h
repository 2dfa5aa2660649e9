/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agentnode-probe: what a program would try that means harm, run inside a
 * sandbox as its workload. A probe is a name and a function; a table per
 * file. It knows nothing of init's walls: both look at the same wall from
 * their own side.
 */
#ifndef SUPERVISOR_PROBE_H
#define SUPERVISOR_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROBE_DETAIL_MAX 208U

/* From the command line. */
struct probe_options {
	const char *hostname; /* the host name the sandbox should show */
	const char *scratch;  /* a writable directory, normally /tmp */
	const char *url;      /* NULL: none */
	/* Where the report dials and asks; stand-ins when run outside. */
	const char *raw, *metadata, *resolver; /* NULL: the usual ones */
	uint64_t memory_max; /* give up above; the limits must be hit before */
	uint64_t files_max, processes_max, disk_max;
};

struct probe_result {
	bool ok;
	char detail[PROBE_DETAIL_MAX];
};

/* One line; cut at the maximum. */
void probe_say(struct probe_result *result, bool ok, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

struct probe;
typedef void probe_run(const struct probe *probe,
    const struct probe_options *options, struct probe_result *result);

struct probe {
	const char *name; /* under 32 bytes, lower case */
	probe_run *run;
	const void *data; /* what run needs to know, or NULL */
};

struct probe_list {
	const struct probe *probes;
	size_t count;
};

extern const struct probe_list probe_calls_list, probe_guard_list,
    probe_place_list, probe_inside_list, probe_network_list, probe_limits_list;

/* The facts of the how-to (probe_report.c): an object with one text per
 * fact, or with records a record per fact. */
void probe_report_print(const struct probe_options *options, bool records);

/* Ask one DNS server (port 53) for a name: 0 when it answers, else errno. */
int probe_network_ask(const char *server);

#endif
