/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The configuration of an OCI bundle, from the same typed fields as an
 * engine's command line (run_argv.h): what an engine would write, and
 * nothing of an engine or of the host. No system call filter: a runtime
 * compiles it at every start, init has it ready. Pure; used by
 * engine_oci.c.
 */
#ifndef SUPERVISOR_ENGINE_OCI_BUNDLE_H
#define SUPERVISOR_ENGINE_OCI_BUNDLE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "supervisor/engine/run_argv.h"

struct oci_bundle_spec {
	const struct run_argv_input *input;
	const char *root; /* absolute: the root file system */
	/* Absolute: where the volumes are, in the order of the input, each
	 * under its index. */
	const char *volumes;
	const char *cgroup; /* NULL: the runtime makes and joins none */
	bool guest;         /* for a guest kernel: init_guest.h */
	uint64_t data_max;  /* RLIMIT_DATA; 0: memory has its own limit */
};

/* The host name inside. */
#define OCI_BUNDLE_HOSTNAME "sandbox"

/* RESULT_BAD: a field is not usable. Caller decrefs. */
enum result oci_bundle_make(
    const struct oci_bundle_spec *spec, json_t **config_r);

/* The files of the sandbox's own, over those of the image; 0444. */
struct oci_bundle_text {
	const char *path; /* relative to the root */
	char text[8192];
};
#define OCI_BUNDLE_TEXTS 5U
enum result oci_bundle_texts(const struct run_argv_input *input,
    struct oci_bundle_text texts_r[OCI_BUNDLE_TEXTS]);

#endif
