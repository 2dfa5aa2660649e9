/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The describe jobs: read the few files of an installed tree that say what
 * it is. Used by unpack_jobs.c.
 */
#ifndef SUPERVISOR_UNPACK_DESCRIBE_H
#define SUPERVISOR_UNPACK_DESCRIBE_H

#include <jansson.h>

#include "supervisor/unpack/pack_view.h"
#include "supervisor/unpack/unpack_io.h"

/* Where `mcp install` keeps pip's report inside of the tree. */
#define DESCRIBE_PIP_REPORT ".agentnode-report.json"

/* Result object of the job, caller owns; the dependency list goes to
 * list_fd as JSON. */
enum result describe_npm(struct unpack_io *io, int root_fd, int list_fd,
    const char *package, const char *version, json_t **result_r);
enum result describe_pip(struct unpack_io *io, int root_fd, int list_fd,
    const char *package, const char *version, json_t **result_r);
/* entry: path of the command, NULL: found out. */
enum result describe_dir(
    struct unpack_io *io, int root_fd, const char *entry, json_t **result_r);
/* The dependency list of pip's report in a view. */
enum result describe_report(
    struct unpack_io *io, struct pack_view *view, int list_fd);
/* Write JSON to the memfd of the supervisor, bounded. */
enum result describe_write_list(
    struct unpack_io *io, int list_fd, const json_t *list);
/* agentnode.yaml as JSON, checked: {"manifest":{...}}. */
enum result describe_manifest(
    struct unpack_io *io, int root_fd, json_t **result_r);

#endif
