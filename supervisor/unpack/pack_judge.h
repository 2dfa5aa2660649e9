/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Judges a package that passed by (pack_view.h): its manifest, the files
 * that it names, and its dependencies. Used by the pack jobs.
 */
#ifndef SUPERVISOR_UNPACK_PACK_JUDGE_H
#define SUPERVISOR_UNPACK_PACK_JUDGE_H

#include <jansson.h>

#include "supervisor/unpack/pack_view.h"

/* {"manifest":{...}|null,"strip":0|1,"faults":[{"path","message"}],
 *  "warnings":[...],"dependencies":{"manager":"none|pip|npm|vendored",
 *  "wheels":bool,"requirements":[{"name","version","hashes"}],
 *  "packages":[{"name","version","integrity"}],"scripts":bool}}
 * requirements are pip's, packages npm's; scripts: some package has install
 * scripts, which do not run unless that is allowed. Caller owns it. */
json_t *pack_judge(struct pack_view *view, struct manifest_report *report);

/* The dependencies of a checked manifest, or what is wrong with them
 * (pack_plan.c). Caller owns it. */
json_t *pack_plan(const struct pack_view *view, const json_t *manifest,
    struct manifest_report *report);

#endif
