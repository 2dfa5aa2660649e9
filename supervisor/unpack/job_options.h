/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One job while it runs: its descriptors and its checked options. Used by
 * job_table.c.
 */
#ifndef SUPERVISOR_UNPACK_JOB_OPTIONS_H
#define SUPERVISOR_UNPACK_JOB_OPTIONS_H

#include "common/json_field.h"
#include "supervisor/unpack/archive_source.h"
#include "supervisor/unpack/unpack_config.h"
#include "supervisor/unpack/unpack_io.h"

struct job_options {
	struct unpack_io *io;
	const struct unpack_config *config;
	const int *fds; /* borrowed; as many as the job's row says */
	uint64_t max_bytes, max_files, max_total;
	int root_fd; /* borrowed; -1 unless the job works on a root */
	struct archive_source_spec archive;
	const char *package, *version, *entry; /* borrowed, may be NULL */
	bool seal;                             /* a fingerprint is asked for */
	json_t *result;                        /* owned until handed out */
};

/* Which options a job takes besides max_bytes and max_files. */
enum job_options_flag {
	JOB_OPTIONS_ROOT = 1,    /* "root", required */
	JOB_OPTIONS_ARCHIVE = 2, /* "strip", "prefix", "only", "links" */
	JOB_OPTIONS_PACKAGE = 4, /* "package", "version", required */
	JOB_OPTIONS_ENTRY = 8,   /* "entry" */
	JOB_OPTIONS_SEAL = 16,   /* "seal" */
	JOB_OPTIONS_TOTAL = 32,  /* "max_total", required */
};

/* Fill the options part of job (config is set before); everything borrowed
 * from options stays valid as long as they do. */
void job_options_read(struct job_options *job, const json_t *options,
    unsigned flags, struct json_fault *fault);

#endif
