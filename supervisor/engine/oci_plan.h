/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the supervisor decides about a sandbox that an OCI runtime starts
 * without an engine: runtime, root, place, bundle, command line. Used by
 * engine_oci.c alone; freed with the plan.
 */
#ifndef SUPERVISOR_ENGINE_OCI_PLAN_H
#define SUPERVISOR_ENGINE_OCI_PLAN_H

#include <stdbool.h>

#include "common/result.h"
#include "supervisor/engine/cgroup.h"
#include "supervisor/engine/oci_place.h"

struct sandbox_plan;       /* supervisor/sandbox_plan.h */
struct sandbox_plan_fault; /* supervisor/sandbox_plan.h */

#define OCI_PLAN_WORDS_MAX 16U

enum oci_runtime {
	OCI_RUNTIME_CRUN,  /* leaves control groups alone when told so */
	OCI_RUNTIME_RUNC,  /* joins them by name */
	OCI_RUNTIME_RUNSC, /* leaves them alone; a kernel of its own */
};

struct oci_plan {
	struct oci_place place;
	struct cgroup groups; /* to be made; count 0: none can be had */
	char runtime[OCI_PLACE_PATH_MAX];
	enum oci_runtime kind;
	int root_fd;
	int volume_fds[RUN_ARGV_MOUNTS_MAX]; /* -1: none */
	char cgroup[CGROUP_PATH_MAX];        /* for a runtime that joins */
	char state[OCI_PLACE_PATH_MAX + 16], bundle[OCI_PLACE_PATH_MAX + 16];
	char preserve[16], id[CGROUP_ID_MAX];
	const char *words[OCI_PLAN_WORDS_MAX];
};

enum result oci_plan_new(struct oci_plan **oci_r);
/* Closes and frees. Accepts NULL, clears. */
void oci_plan_free(struct oci_plan **oci);

/* Place, bundle and words out of the decided plan. */
enum result oci_plan_fill(
    struct sandbox_plan *plan, struct sandbox_plan_fault *fault_r);

#endif
