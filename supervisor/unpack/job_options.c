/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the options of a job; see job_options.h. Called by job_table.c.
 * Must never let an unknown or misplaced option pass.
 */
#include "supervisor/unpack/job_options.h"

#include "supervisor/unpack/unpack_jobs.h"

/* Lists of the archive jobs: texts, and objects of two texts. */
static void
job_options_archive_lists(struct job_options *job, struct json_fault *fault)
{
	static const char *const keys[] = {"path", "target", NULL};
	const char *text;
	json_t *item;
	size_t index;

	json_array_foreach((json_t *)job->archive.only, index, item)
	{
		if (!json_is_string(item))
			json_field_fault(
			    fault, "options.only[%zu] is no text", index);
	}
	json_array_foreach((json_t *)job->archive.links, index, item)
	{
		json_field_string(item, "options.links", "path",
		    TREE_STREAM_PATH_MAX, &text, fault);
		json_field_string(item, "options.links", "target",
		    TREE_STREAM_PATH_MAX, &text, fault);
		json_field_only(item, "options.links", keys, fault);
	}
}

static void
job_options_archive(
    struct job_options *job, const json_t *options, struct json_fault *fault)
{
	int64_t strip = 0;

	job->archive.prefix = "";
	json_field_int_opt(options, "options", "strip", 0,
	    TREE_STREAM_DEPTH_MAX, &strip, fault);
	job->archive.strip = (unsigned)strip;
	json_field_string_opt(options, "options", "prefix",
	    TREE_STREAM_PATH_MAX, &job->archive.prefix, fault);
	if (json_object_get(options, "only") != NULL)
		json_field_array(
		    options, "options", "only", 64, &job->archive.only, fault);
	if (json_object_get(options, "links") != NULL)
		json_field_array(options, "options", "links", 64,
		    &job->archive.links, fault);
	job_options_archive_lists(job, fault);
}

void
job_options_read(struct job_options *job, const json_t *options, unsigned flags,
    struct json_fault *fault)
{
	static const char *const keys[] = {"max_bytes", "max_files", "root",
	    "strip", "prefix", "only", "links", "package", "version", "entry",
	    "seal", "max_total", NULL};
	int64_t bytes = (int64_t)UNPACK_BYTES_MAX, files = UNPACK_FILES_MAX;
	int64_t root = 0, total = 0;

	json_field_only(options, "options", keys, fault);
	json_field_int_opt(
	    options, "options", "max_bytes", 0, bytes, &bytes, fault);
	json_field_int_opt(
	    options, "options", "max_files", 1, files, &files, fault);
	job->max_bytes = (uint64_t)bytes;
	job->max_files = (uint64_t)files;
	if ((flags & JOB_OPTIONS_ROOT) != 0)
		json_field_int(options, "options", "root", 0,
		    (int64_t)job->config->root_count - 1, &root, fault);
	if ((flags & JOB_OPTIONS_ARCHIVE) != 0)
		job_options_archive(job, options, fault);
	if ((flags & JOB_OPTIONS_PACKAGE) != 0) {
		json_field_string(
		    options, "options", "package", 214, &job->package, fault);
		json_field_string(
		    options, "options", "version", 128, &job->version, fault);
	}
	if ((flags & JOB_OPTIONS_ENTRY) != 0)
		json_field_string_opt(options, "options", "entry",
		    TREE_STREAM_PATH_MAX, &job->entry, fault);
	if ((flags & JOB_OPTIONS_TOTAL) != 0)
		json_field_int(options, "options", "max_total", 0,
		    (int64_t)UNPACK_BYTES_MAX, &total, fault);
	job->max_total = (uint64_t)total;
	if ((flags & JOB_OPTIONS_SEAL) != 0)
		json_field_bool_opt(
		    options, "options", "seal", &job->seal, fault);
	if (fault->text[0] == '\0' && (flags & JOB_OPTIONS_ROOT) != 0)
		job->root_fd = job->config->roots[root];
}
