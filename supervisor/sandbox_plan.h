/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everything about one sandbox that is decided before anything of it runs:
 * the engine, its id and uid, the engine's command line, init's setup, what
 * `go` will carry, the volumes to hash, the egress policy. Made once from
 * the spec and the configuration; the story only reads it.
 */
#ifndef SUPERVISOR_SANDBOX_PLAN_H
#define SUPERVISOR_SANDBOX_PLAN_H

#include "common/result.h"
#include "supervisor/engine/cgroup.h"
#include "supervisor/engine/control_slot.h"
#include "supervisor/engine/egress_plan.h"
#include "supervisor/engine/engine_host.h"
#include "supervisor/engine/mount_check.h"
#include "supervisor/engine/run_argv.h"
#include "supervisor/engine/run_lock.h"
#include "supervisor/engine/sandbox_uid.h"
#include "supervisor/engine/volume_check.h"
#include "supervisor/engine/wiring.h"
#include "supervisor/init/init_protocol.h"
#include "supervisor/sandbox.h"

struct engine;      /* supervisor/engine/engine.h */
struct native_plan; /* supervisor/engine/native_plan.h */
struct oci_plan;    /* supervisor/engine/oci_plan.h */

#define SANDBOX_PLAN_TEXT_MAX 256U

struct sandbox_plan_tree {
	char path[INIT_PATH_MAX];
	int fd; /* owned */
	bool is_export, is_results;
	uint64_t max_bytes, max_files, max_file;
};

/* A volume with a content hash: where it is seen, and the directory that
 * is hashed for it. */
struct sandbox_plan_seal {
	const char *target; /* in mount_targets */
	struct mount_check_place place;
};

struct sandbox_plan {
	const struct engine *engine; /* what starts it */
	enum wiring_kind wiring;     /* and the way in */
	char kind[32], package[128], version[64];
	char tier[16]; /* "" : no package of a tier */
	char image[512];
	struct engine_host host;
	bool host_open;
	struct run_lock lock;
	char id_file[RUN_LOCK_ID_FILE_MAX];
	struct run_lock_facts facts; /* as noted in the lock's file */
	struct sandbox_uid uid;
	struct cgroup_limits limits;
	unsigned wall_s;
	bool no_landlock, no_limits; /* named overrides that are in force */
	bool volume_fast;            /* sandbox.volume_check */
	bool has_egress;
	struct egress_plan egress;
	struct init_setup setup; /* listeners: egress, then ports */
	size_t port_first, port_count;
	/* Targets are ours, since the report is compared with them; other
	 * texts point into spec and are for the start only. */
	struct run_argv_input input;
	char tmpfs_targets[RUN_ARGV_TMPFS_MAX][INIT_PATH_MAX];
	char mount_targets[SANDBOX_MOUNTS_MAX][INIT_PATH_MAX];
	char mount_volumes[SANDBOX_MOUNTS_MAX][SANDBOX_PLAN_TEXT_MAX];
	struct run_argv *argv;      /* owned; of a container */
	struct control_slot slot;   /* the volume init comes by */
	struct wiring_place place;  /* points into slot */
	struct native_plan *native; /* owned; of a native sandbox */
	struct oci_plan *oci;       /* owned; of an OCI runtime's */
	int go_fd, secret_fd;       /* owned; secret_fd -1: no secrets */
	json_t *secrets;            /* owned; their names, for the record */
	int streams[3];             /* owned duplicates */
	json_t *secret_sources;     /* owned; name -> a word, likewise */
	struct volume_check_one volumes[VOLUME_CHECK_MAX];
	size_t volume_count;
	struct sandbox_plan_seal seals[SANDBOX_MOUNTS_MAX];
	size_t seal_count;
	struct sandbox_plan_tree trees[SANDBOX_TREES_MAX];
	size_t tree_count;
	char seccomp[ENGINE_FILES_PATH_MAX];
	json_t *record; /* owned: the caller's part of the launch record */
};

/* Why there is no plan: code from the documented list. */
struct sandbox_plan_fault {
	char code[SANDBOX_CODE_MAX];
	char detail[512];
};

enum result sandbox_plan_fail(struct sandbox_plan_fault *fault,
    enum result result, const char *code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* On failure the plan is cleared (but for kind, package and version, which
 * the record of the refusal needs). */
enum result sandbox_plan_make(const struct config *config,
    const struct sandbox_spec *spec, struct sandbox_plan *plan_r,
    struct sandbox_plan_fault *fault_r);
/* The engine's client ends while the sandbox lives. */
bool sandbox_plan_is_detached(const struct sandbox_plan *plan);
/* Closes and frees; a run lock that is still held is left as a leftover. */
void sandbox_plan_clear(struct sandbox_plan *plan);

/* The fields of the launch record, and of a refusal. Caller decrefs. */
json_t *sandbox_plan_record(const struct sandbox_plan *plan);

#endif
