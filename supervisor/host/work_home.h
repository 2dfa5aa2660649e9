/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The private folders of a package that runs on the host: HOME and TMPDIR
 * below AGENTNODE_HOME/host/SLUG. They stay between its runs. Used by
 * work_place.c.
 */
#ifndef SUPERVISOR_HOST_WORK_HOME_H
#define SUPERVISOR_HOST_WORK_HOME_H

#include "common/result.h"

#define WORK_HOME_PATH_MAX 4352U

/* Entries of an environment. */
struct work_home {
	char home[WORK_HOME_PATH_MAX]; /* "HOME=..." */
	char tmp[WORK_HOME_PATH_MAX];  /* "TMPDIR=..." */
};

/* Made when missing, 0700, ours. */
enum result work_home_make(
    const char *agentnode_home, const char *slug, struct work_home *home_r);

/* Everything below AGENTNODE_HOME/host/SLUG and the folder itself; links are
 * removed, not followed. RESULT_OK also when there is none; RESULT_BAD:
 * something stays. */
enum result work_home_remove(const char *agentnode_home, const char *slug);

#endif
