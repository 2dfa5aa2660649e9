/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sandbox doctor`: what a sandbox needs of this machine, one check each,
 * with what to do where it is missing. A table of checks; used by the
 * command alone.
 */
#ifndef SUPERVISOR_ENGINE_DOCTOR_H
#define SUPERVISOR_ENGINE_DOCTOR_H

#include <jansson.h>
#include <stdbool.h>

#include "supervisor/engine/engine_host.h"

struct config;    /* supervisor/policy/config.h */
struct run_entry; /* supervisor/package/run_entry.h */

#define DOCTOR_TEXT_MAX 512U

/* What the checks share; each adds what it found. */
struct doctor {
	const struct config *config;
	struct engine_host host;
	bool has_host; /* files, client and storage are known */
	bool has_image;
	bool deep;        /* start a sandbox too */
	const char *slug; /* of a package to look at, or NULL */
	/* Of it, opened and judged as for a run; NULL: not installed. */
	struct run_entry *package;
};

struct doctor_finding {
	bool ok;
	char detail[DOCTOR_TEXT_MAX]; /* what is there */
	char fix[DOCTOR_TEXT_MAX];    /* what to do; "" when ok */
};

struct doctor_check {
	const char *name;
	void (*run)(struct doctor *doctor, struct doctor_finding *finding);
};

/* NULL-terminated tables (name NULL). */
extern const struct doctor_check doctor_engine_checks[];
extern const struct doctor_check doctor_kernel_checks[];
extern const struct doctor_check doctor_keys_checks[];
extern const struct doctor_check doctor_native_checks[];
/* The first of them opens doctor.package. */
extern const struct doctor_check doctor_package_checks[];
void doctor_package_close(struct doctor *doctor);

void doctor_say(struct doctor_finding *finding, bool ok, const char *format,
    ...) __attribute__((format(printf, 3, 4)));
void doctor_fix(struct doctor_finding *finding, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* slug may be NULL. {"ok":bool,"checks":[{"check","ok","detail","fix"}]};
 * caller decrefs. */
json_t *doctor_run(const struct config *config, bool deep, const char *slug);

#endif
