/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is remembered of a volume whose content was read and found to be the
 * sealed one: its fingerprint (supervisor/unpack/tree_stat.h), in a file of
 * AGENTNODE_HOME/seals that only we may write. A record is of one boot; one
 * that is missing, damaged, foreign or from the future is none, and then the
 * content is read again. Used by volume_check.c and `agentnode remove`.
 */
#ifndef SUPERVISOR_ENGINE_VOLUME_SEAL_H
#define SUPERVISOR_ENGINE_VOLUME_SEAL_H

#include "common/result.h"
#include "supervisor/policy/state_dir.h"

#define VOLUME_SEAL_DIR "seals"
#define VOLUME_SEAL_STAT_MAX 72U /* "sha256:" 64 hex NUL */
#define VOLUME_SEAL_BOOT_MAX 40U

struct volume_seal {
	struct state_dir dir; /* fd -1: nothing is remembered */
	char boot[VOLUME_SEAL_BOOT_MAX];
};

/* Opens (makes) the folder and asks which boot this is. RESULT_OK, or no
 * seal can be read or written; the fault says why. */
enum result volume_seal_open(
    struct volume_seal *seal_r, struct json_fault *fault);
void volume_seal_close(struct volume_seal *seal);

/* The fingerprint that this volume had when its content had this hash.
 * Anything but RESULT_OK: read the content. */
enum result volume_seal_read(const struct volume_seal *seal, const char *volume,
    const char *hash, char stat_r[VOLUME_SEAL_STAT_MAX]);

/* Remember it. A half-written record is a damaged one, hence no sync. */
enum result volume_seal_write(const struct volume_seal *seal,
    const char *volume, const char *hash, const char *stat);

/* The volume is gone or is not what it was. */
void volume_seal_forget(const struct volume_seal *seal, const char *volume);

#ifdef VOLUME_SEAL_INTERNAL
#include <stdint.h>
#define VOLUME_SEAL_LINE_MAX 512U

struct volume_seal_clock {
	int64_t wall_ns, boot_ns;
};

/* The whole content of a record (a text), judged. */
enum result volume_seal_parse(const char *line, const char *boot,
    const char *hash, const struct volume_seal_clock *now,
    char stat_r[VOLUME_SEAL_STAT_MAX]);
#endif

#endif
