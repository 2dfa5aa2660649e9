/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The jobs of agentnode-unpack and what each is made of; unpack_jobs.h is
 * the contract. Called by job_table.c. Must never keep anything from one
 * job to the next.
 */
#include "supervisor/unpack/job_rows.h"

#include <string.h>

#include "supervisor/unpack/archive_source.h"
#include "supervisor/unpack/collect.h"
#include "supervisor/unpack/describe.h"
#include "supervisor/unpack/job_options.h"
#include "supervisor/unpack/layer_source.h"
#include "supervisor/unpack/pack_judge.h"
#include "supervisor/unpack/tar_write.h"
#include "supervisor/unpack/tree_digest.h"
#include "supervisor/unpack/tree_source.h"
#include "supervisor/unpack/tree_walk.h"
#include "supervisor/unpack/tree_write.h"
#include "supervisor/unpack/unpack_jobs.h"

static struct unpack_out job_rows_out;

static enum result
job_rows_check(struct job_options *job, const struct tree_sink *sink,
    const struct tree_check_spec *how, struct tree_check **check_r)
{
	struct tree_check_spec spec = *how;

	spec.io = job->io;
	spec.sink = sink;
	spec.max_bytes = job->max_bytes;
	spec.max_files = job->max_files;
	return tree_check_new(&spec, check_r);
}

static enum result
job_rows_total(
    struct job_options *job, struct tree_check *check, enum result result)
{
	struct tree_check_total total;

	if (result == RESULT_OK)
		result = tree_check_end(check, &total);
	if (result == RESULT_OK) {
		job->result = json_pack("{s:s,s:I,s:I}", "hash", total.hash,
		    "files", (json_int_t)total.files, "bytes",
		    (json_int_t)total.bytes);
		if (job->result == NULL)
			result = RESULT_NO_MEMORY;
	}
	tree_check_free(&check);
	return result;
}

static enum result
job_rows_walk(struct job_options *job, const struct tree_sink *sink,
    const struct tree_check_spec *how, struct tree_seal *seal)
{
	struct tree_check *check = NULL;
	enum result result = job_rows_check(job, sink, how, &check);

	if (result != RESULT_OK)
		return result;
	return job_rows_total(job, check,
	    tree_walk_read(job->io, job->root_fd, check, job->max_files, seal));
}

static enum result
job_rows_hash_tree(struct job_options *job)
{
	static const struct tree_check_spec how = {
	    .is_directory = true, .keep_mode = true};
	char stat[UNPACK_HASH_SIZE] = "";
	struct tree_seal seal;
	enum result result;

	if (!job->seal)
		return job_rows_walk(job, NULL, &how, NULL);
	result = tree_seal_begin(&seal, job->io, job->root_fd, job->max_files);
	if (result == RESULT_OK)
		result = job_rows_walk(job, NULL, &how, &seal);
	if (result == RESULT_OK)
		result = tree_seal_end(&seal, stat);
	if (result == RESULT_OK &&
	    json_object_set_new(job->result,
		stat[0] != '\0' ? "stat" : "unsealed",
		json_string(stat[0] != '\0' ? stat : seal.unsealed)) != 0)
		result = RESULT_NO_MEMORY;
	return result;
}

static enum result
job_rows_stat_tree(struct job_options *job)
{
	struct tree_stat_total total;
	enum result result =
	    tree_stat_read(job->io, job->root_fd, job->max_files, &total);

	if (result != RESULT_OK)
		return result;
	job->result = json_pack("{s:s,s:I}", "stat", total.stat, "files",
	    (json_int_t)total.entries);
	return job->result != NULL ? RESULT_OK : RESULT_NO_MEMORY;
}

static enum result
job_rows_send_tree(struct job_options *job)
{
	static const struct tree_check_spec how = {.is_directory = true};
	struct tree_sink sink;

	unpack_out_init(&job_rows_out, job->io, job->fds[0]);
	tree_write_sink(&sink, &job_rows_out);
	return job_rows_walk(job, &sink, &how, NULL);
}

static enum result
job_rows_stream(struct job_options *job, const struct tree_sink *sink)
{
	static const struct tree_check_spec how = {.is_directory = false};
	struct tree_check *check = NULL;
	enum result result = job_rows_check(job, sink, &how, &check);

	if (result != RESULT_OK)
		return result;
	return job_rows_total(
	    job, check, tree_source_read(job->io, job->fds[0], check));
}

static enum result
job_rows_check_tree(struct job_options *job)
{
	struct tree_sink sink;

	unpack_out_init(&job_rows_out, job->io, job->fds[1]);
	tree_write_sink(&sink, &job_rows_out);
	return job_rows_stream(job, &sink);
}

static enum result
job_rows_tree_to_tar(struct job_options *job)
{
	struct tar_write writer;
	struct tree_sink sink;

	unpack_out_init(&job_rows_out, job->io, job->fds[1]);
	tar_write_sink(&sink, &writer, &job_rows_out);
	return job_rows_stream(job, &sink);
}

static enum result
job_rows_archive_how(struct job_options *job, const struct tree_sink *sink,
    const struct tree_check_spec *how)
{
	struct tree_check *check = NULL;
	enum result result = job_rows_check(job, sink, how, &check);

	if (result != RESULT_OK)
		return result;
	return job_rows_total(job, check,
	    archive_source_read(job->io, job->fds[0], &job->archive, check));
}

static enum result
job_rows_archive(struct job_options *job, const struct tree_sink *sink)
{
	static const struct tree_check_spec how = {.make_parents = true};

	return job_rows_archive_how(job, sink, &how);
}

static enum result
job_rows_hash_archive(struct job_options *job)
{
	static const struct tree_check_spec how = {.keep_mode = true};

	return job_rows_archive_how(job, NULL, &how);
}

static enum result
job_rows_archive_to_tar(struct job_options *job)
{
	struct tar_write writer;
	struct tree_sink sink;

	unpack_out_init(&job_rows_out, job->io, job->fds[1]);
	tar_write_sink(&sink, &writer, &job_rows_out);
	return job_rows_archive(job, &sink);
}

static enum result
job_rows_archive_to_tree(struct job_options *job)
{
	struct tree_sink sink;

	unpack_out_init(&job_rows_out, job->io, job->fds[1]);
	tree_write_sink(&sink, &job_rows_out);
	return job_rows_archive(job, &sink);
}

/* What passed by, judged; to the list as JSON. */
static enum result
job_rows_pack(struct job_options *job, int list_fd, bool is_folder)
{
	static const struct tree_check_spec folder = {.is_directory = true};
	struct manifest_report report;
	struct pack_view *view = NULL;
	struct tree_sink sink;
	enum result result;
	json_t *answer;

	manifest_report_init(&report);
	result = pack_view_new(&report, &view);
	if (result == RESULT_OK) {
		pack_view_sink(view, &sink);
		result = is_folder ? job_rows_walk(job, &sink, &folder, NULL)
				   : job_rows_archive(job, &sink);
	}
	if (result == RESULT_OK) {
		answer = pack_judge(view, &report);
		result = describe_write_list(job->io, list_fd, answer);
		json_decref(answer);
	}
	pack_view_free(&view);
	manifest_report_clear(&report);
	return result;
}

static enum result
job_rows_pack_folder(struct job_options *job)
{
	return job_rows_pack(job, job->fds[0], true);
}

static enum result
job_rows_pack_archive(struct job_options *job)
{
	return job_rows_pack(job, job->fds[1], false);
}

/* The dependencies that pip's report in the tar of a build names. */
static enum result
job_rows_pip_report(struct job_options *job)
{
	struct manifest_report report;
	struct pack_view *view = NULL;
	struct tree_sink sink;
	enum result result;

	manifest_report_init(&report);
	result = pack_view_new(&report, &view);
	if (result == RESULT_OK) {
		pack_view_sink(view, &sink);
		result = job_rows_archive(job, &sink);
	}
	if (result == RESULT_OK)
		result = describe_report(job->io, view, job->fds[1]);
	pack_view_free(&view);
	manifest_report_clear(&report);
	return result;
}

/* Two clean tars become one; what is in both is a fault by its name. */
static enum result
job_rows_merge(struct job_options *job)
{
	static const struct tree_check_spec how = {
	    .make_parents = true, .merge_folders = true};
	static const struct archive_source_spec all = {.prefix = ""};
	struct tree_check *check = NULL;
	struct tar_write writer;
	struct tree_sink sink;
	enum result result;

	unpack_out_init(&job_rows_out, job->io, job->fds[2]);
	tar_write_sink(&sink, &writer, &job_rows_out);
	result = job_rows_check(job, &sink, &how, &check);
	if (result != RESULT_OK)
		return result;
	result = archive_source_read(job->io, job->fds[0], &all, check);
	if (result == RESULT_OK)
		result = archive_source_read(
		    job->io, job->fds[1], &job->archive, check);
	return job_rows_total(job, check, result);
}

/* Both sums of one descriptor to its end. */
static enum result
job_rows_sums(struct job_options *job, struct tree_digest *small,
    struct tree_digest *large, uint64_t *bytes_r)
{
	static uint8_t bytes[UNPACK_OUT_CHUNK];
	enum result result;
	size_t len;

	*bytes_r = 0;
	for (;;) {
		result = unpack_io_read(
		    job->io, job->fds[0], bytes, sizeof(bytes), &len);
		if (result != RESULT_OK || len == 0)
			return result;
		*bytes_r += len;
		if (*bytes_r > job->max_bytes)
			return unpack_io_fault(job->io, UNPACK_TOO_BIG,
			    "the file is larger than allowed");
		result = tree_digest_put(small, bytes, len);
		if (result == RESULT_OK)
			result = tree_digest_put(large, bytes, len);
		if (result != RESULT_OK)
			return result;
	}
}

static enum result
job_rows_hash_file(struct job_options *job)
{
	struct tree_digest *small = NULL, *large = NULL;
	uint8_t sum[TREE_DIGEST_SHA512];
	char hex256[2 * TREE_DIGEST_SHA256 + 1];
	char hex512[2 * TREE_DIGEST_SHA512 + 1];
	uint64_t bytes;
	enum result result;

	if ((result = tree_digest_new(&small)) != RESULT_OK ||
	    (result = tree_digest_new(&large)) != RESULT_OK ||
	    (result = tree_digest_start(small, TREE_DIGEST_SHA256)) ||
	    (result = tree_digest_start(large, TREE_DIGEST_SHA512)) ||
	    (result = job_rows_sums(job, small, large, &bytes)) ||
	    (result = tree_digest_end(small, sum)) != RESULT_OK)
		goto out;
	tree_digest_hex(sum, TREE_DIGEST_SHA256, hex256);
	result = tree_digest_end(large, sum);
	if (result != RESULT_OK)
		goto out;
	tree_digest_hex(sum, TREE_DIGEST_SHA512, hex512);
	job->result = json_pack("{s:s,s:s,s:I}", "sha256", hex256, "sha512",
	    hex512, "bytes", (json_int_t)bytes);
	if (job->result == NULL)
		result = RESULT_NO_MEMORY;
out:
	tree_digest_free(&small);
	tree_digest_free(&large);
	return result;
}

static enum result
job_rows_npm_describe(struct job_options *job)
{
	return describe_npm(job->io, job->root_fd, job->fds[0], job->package,
	    job->version, &job->result);
}

static enum result
job_rows_pip_describe(struct job_options *job)
{
	return describe_pip(job->io, job->root_fd, job->fds[0], job->package,
	    job->version, &job->result);
}

static enum result
job_rows_dir_describe(struct job_options *job)
{
	return describe_dir(job->io, job->root_fd, job->entry, &job->result);
}

static enum result
job_rows_manifest(struct job_options *job)
{
	return describe_manifest(job->io, job->root_fd, &job->result);
}

static enum result
job_rows_layer(struct job_options *job)
{
	const struct layer_source_spec spec = {job->max_bytes, job->max_files};
	struct layer_source_total total;
	enum result result;

	unpack_out_init(&job_rows_out, job->io, job->fds[1]);
	result = layer_source_read(
	    job->io, job->fds[0], &spec, &job_rows_out, &total);
	if (result != RESULT_OK)
		return result;
	job->result = json_pack("{s:s,s:I,s:I,s:I}", "diff_id", total.diff_id,
	    "entries", (json_int_t)total.entries, "bytes",
	    (json_int_t)total.bytes, "skipped", (json_int_t)total.skipped);
	return job->result != NULL ? RESULT_OK : RESULT_NO_MEMORY;
}

const struct job_table_row job_rows[] = {
    {UNPACK_JOB_HASH_TREE, JOB_OPTIONS_ROOT | JOB_OPTIONS_SEAL, 0,
	job_rows_hash_tree},
    {UNPACK_JOB_STAT_TREE, JOB_OPTIONS_ROOT, 0, job_rows_stat_tree},
    {UNPACK_JOB_SEND_TREE, JOB_OPTIONS_ROOT, 1, job_rows_send_tree},
    {UNPACK_JOB_CHECK_TREE, 0, 2, job_rows_check_tree},
    {UNPACK_JOB_TREE_TO_TAR, 0, 2, job_rows_tree_to_tar},
    {UNPACK_JOB_ARCHIVE_TO_TAR, JOB_OPTIONS_ARCHIVE, 2,
	job_rows_archive_to_tar},
    {UNPACK_JOB_ARCHIVE_TO_TREE, JOB_OPTIONS_ARCHIVE, 2,
	job_rows_archive_to_tree},
    {UNPACK_JOB_HASH_ARCHIVE, JOB_OPTIONS_ARCHIVE, 1, job_rows_hash_archive},
    {UNPACK_JOB_HASH_FILE, 0, 1, job_rows_hash_file},
    {UNPACK_JOB_NPM_DESCRIBE, JOB_OPTIONS_ROOT | JOB_OPTIONS_PACKAGE, 1,
	job_rows_npm_describe},
    {UNPACK_JOB_PIP_DESCRIBE, JOB_OPTIONS_ROOT | JOB_OPTIONS_PACKAGE, 1,
	job_rows_pip_describe},
    {UNPACK_JOB_DIR_DESCRIBE, JOB_OPTIONS_ROOT | JOB_OPTIONS_ENTRY, 0,
	job_rows_dir_describe},
    {UNPACK_JOB_PACK_FOLDER, JOB_OPTIONS_ROOT, 1, job_rows_pack_folder},
    {UNPACK_JOB_PACK_ARCHIVE, JOB_OPTIONS_ARCHIVE, 2, job_rows_pack_archive},
    {UNPACK_JOB_PIP_REPORT, JOB_OPTIONS_ARCHIVE, 2, job_rows_pip_report},
    {UNPACK_JOB_MERGE, JOB_OPTIONS_ARCHIVE, 3, job_rows_merge},
    {UNPACK_JOB_COLLECT, JOB_OPTIONS_TOTAL, COLLECT_FD_COUNT,
	job_table_collect},
    {UNPACK_JOB_LAYER, 0, 2, job_rows_layer},
    {UNPACK_JOB_MANIFEST, JOB_OPTIONS_ROOT, 0, job_rows_manifest},
    {NULL, 0, 0, NULL},
};
