/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where mmdebstrap makes its root file system: a folder of ours below
 * /var/tmp, which apt's own user can reach (AGENTNODE_HOME it cannot). Its
 * name is noted in AGENTNODE_HOME/image before it is made, so that the next
 * build and `sandbox gc` find what a killed build left. Used by image_work
 * and image_debian, which hold the lock of builds, and by `sandbox gc`.
 */
#ifndef SUPERVISOR_PACKAGE_IMAGE_SCRATCH_H
#define SUPERVISOR_PACKAGE_IMAGE_SCRATCH_H

#include "common/result.h"
#include "supervisor/policy/state_dir.h"

#define IMAGE_SCRATCH_PATH_MAX 64U

/* Note a name and make the folder; dir is AGENTNODE_HOME/image, locked. */
enum result image_scratch_make(const struct state_dir *dir,
    char path_r[IMAGE_SCRATCH_PATH_MAX], struct json_fault *fault);

/* Remove what is noted, and the note. RESULT_NOT_FOUND: there is nothing
 * (path_r is empty, the fault untouched). After another failure the note
 * stays, and path_r names what is still there. */
enum result image_scratch_sweep(const struct state_dir *dir,
    char path_r[IMAGE_SCRATCH_PATH_MAX], struct json_fault *fault);

/* The same for `sandbox gc`, which holds nothing: RESULT_NOT_FOUND also
 * while a build lives. */
enum result image_scratch_gc(
    char path_r[IMAGE_SCRATCH_PATH_MAX], struct json_fault *fault);

#endif
