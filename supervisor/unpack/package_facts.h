/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an installed package tree says of itself: which command it brings
 * and which packages with which hashes it is made of. Works on parsed JSON
 * that foreign code wrote (package-lock.json, package.json, pip's report).
 * Used by the describe jobs of agentnode-unpack. Pure, fuzzed.
 */
#ifndef SUPERVISOR_UNPACK_PACKAGE_FACTS_H
#define SUPERVISOR_UNPACK_PACKAGE_FACTS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/json_field.h"
#include "common/result.h"
#include "supervisor/package/manifest_report.h"

#define PACKAGE_FACTS_NAME_MAX 214U
#define PACKAGE_FACTS_VERSION_MAX 128U
#define PACKAGE_FACTS_BINS_MAX 256U

/* The dependency list of package-lock.json (lockfileVersion 2 or 3): every
 * package of the tree with its integrity; one without, or with a hash
 * weaker than SHA-256, is a fault by name, as is a tree whose top package
 * is not package@version. Caller owns *list_r. */
enum result package_facts_npm_lock(const json_t *lock, const char *package,
    const char *version, json_t **list_r, struct json_fault *fault);

/* The same of a project's own package-lock.json before anything is fetched:
 * every package that npm ci would install (not those for development) goes
 * to list; each fault to report. *scripts_r: one has an install script. */
void package_facts_npm_project(const json_t *lock, json_t *list,
    bool *scripts_r, struct manifest_report *report);

/* The path of the command in package.json, relative to the package: bin
 * equal to the name without scope, else the only bin, else the first that
 * contains the name, else the first; main when there is no bin and
 * may_main. Borrowed from manifest. */
enum result package_facts_npm_entry(const json_t *manifest, const char *package,
    int may_main, const char **path_borrow_r, struct json_fault *fault);

/* The same from pip's installation report (version 1); package NULL: every
 * package of it, whichever they are. */
enum result package_facts_pip_report(const json_t *report, const char *package,
    const char *version, json_t **list_r, struct json_fault *fault);

/* The index of the command for a package among count > 0 sorted names. */
size_t package_facts_choose(
    const char *const *names, size_t count, const char *package);

#endif
