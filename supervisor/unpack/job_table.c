/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the row of a job, reads its options, runs it. Called by
 * unpack_serve.c once per `work`. Must never keep anything from one job to
 * the next.
 */
#include "supervisor/unpack/job_table.h"

#include <string.h>

#include "common/event_loop.h"
#include "supervisor/unpack/collect.h"

static const struct job_table_row *
job_table_find(const struct job_table_row *rows, const char *name)
{
	for (const struct job_table_row *row = rows; row->name != NULL; row++)
		if (strcmp(row->name, name) == 0)
			return row;
	return NULL;
}

enum result
job_table_run(const struct job_table_row *rows,
    const struct unpack_config *config, struct unpack_io *io, const char *name,
    const json_t *options, const int *fds, size_t fd_count, json_t **result_r,
    struct json_fault *fault)
{
	const struct job_table_row *row = job_table_find(rows, name);
	struct job_options job = {
	    .io = io, .config = config, .fds = fds, .root_fd = -1};
	enum result result;

	if (row == NULL || row->fd_count != fd_count) {
		json_field_fault(fault,
		    "job \"%s\" with %zu descriptors is not "
		    "in the table",
		    name, fd_count);
		return RESULT_REFUSED;
	}
	job_options_read(&job, options, row->flags, fault);
	if (fault->text[0] != '\0')
		return RESULT_REFUSED;
	io->deadline_ms = event_loop_now_ms() + 1000ULL * config->timeout_s;
	result = row->run(&job);
	if (result == RESULT_OK)
		*result_r = job.result;
	else
		json_decref(job.result);
	return result;
}

enum result
job_table_collect(struct job_options *job)
{
	const struct collect_bound bound = {
	    job->max_bytes, job->max_files, job->max_total};

	return collect_run(job->io, job->fds, &bound, &job->result);
}
