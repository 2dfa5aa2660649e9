/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What starts a sandbox, behind one interface: a container engine, or the
 * operating system's own walls. The story of a sandbox (supervisor/sandbox)
 * is the same for each; it calls one of these tables.
 */
#ifndef SUPERVISOR_ENGINE_ENGINE_H
#define SUPERVISOR_ENGINE_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "common/result.h"
#include "supervisor/engine/wiring.h"

struct cgroup;              /* supervisor/engine/cgroup.h */
struct config;              /* supervisor/policy/config.h */
struct container_end;       /* supervisor/engine/container_end.h */
struct engine_start;        /* below */
struct sandbox_plan;        /* supervisor/sandbox_plan.h */
struct sandbox_plan_fault;  /* supervisor/sandbox_plan.h */
struct sandbox_spec;        /* supervisor/sandbox.h */
struct wall_table_expected; /* supervisor/engine/wall_table.h */

/* What is spawned. */
struct engine_start {
	const char *const *argv;        /* NULL: what waits is given (below) */
	int record_fd;                  /* to it, behind init's; borrowed */
	bool hide_unified, die_with_us; /* engine_spawn.h */
	int (*place)(const void *context);
	const void *place_context; /* borrowed from the plan */
};

struct engine {
	const char *name;        /* in records: "container", "native" */
	enum wiring_kind wiring; /* its best */
	bool may_mux;            /* its client carries stdin and stdout */
	/* Mounts, namespaces and volumes of a container are root's to see:
	 * the engine is asked for them, before go. */
	bool asks_engine;
	/* The engine is there and limits can be had; first of all. */
	enum result (*open)(const struct config *config,
	    struct sandbox_plan *plan, struct sandbox_plan_fault *fault_r);
	/* All of the plan is decided: what starts it is put together, and its
	 * name noted in the run's file. Makes nothing outside of the plan. */
	enum result (*prepare)(struct sandbox_plan *plan,
	    const struct sandbox_spec *spec,
	    struct sandbox_plan_fault *fault_r);
	/* The launch is recorded: what start_r says is spawned next. groups_r
	 * is what is known of its control groups before init speaks. */
	enum result (*start)(struct sandbox_plan *plan,
	    struct engine_start *start_r, struct cgroup *groups_r,
	    char *detail_r, size_t detail_size);
	/* The control groups that init (pid) is in, and only its own. */
	enum result (*find)(const struct sandbox_plan *plan, pid_t pid,
	    struct cgroup *groups_r, char *detail_r, size_t detail_size);
	/* What differs from a container: mounts, groups of the user. */
	void (*expect)(const struct sandbox_plan *plan,
	    struct wall_table_expected *expected);
	/* Where init is not a process of this kernel; else NULL: its guest
	 * kernel, what that must be, and who has the volumes. */
	enum result (*locate)(const struct sandbox_plan *plan, pid_t *pid_r,
	    char *detail_r, size_t detail_size);
	enum result (*check)(const struct sandbox_plan *plan, pid_t pid,
	    char *detail_r, size_t detail_size);
	pid_t (*places)(const struct sandbox_plan *plan, pid_t pid);
	/* In records, when it is stronger than a kernel that is shared. */
	const char *boundary;
	/* All is dead: its record, or what is left of it, is removed. */
	enum result (*remove)(struct container_end *end, bool client_clean);
	/* Killing the client ends the sandbox, and nothing needs it alive. */
	bool client_is_launcher;
	/* The client ends as soon as init runs, unless it carries the frames
	 * of mux; that init ended is seen by init itself. */
	bool client_detaches;
	/* What its mounts of volumes do not have (INIT_REPORT_...). */
	uint32_t mounts_lack, tmpfs_lack;
};

extern const struct engine engine_podman;
extern const struct engine engine_docker, engine_docker_group;
extern const struct engine engine_native;
extern const struct engine engine_oci, engine_oci_guest;

/* The one a spec and the configuration ask for. Of the containers' it is
 * podman's, whose open() hands the plan to docker's when that is what
 * works here. */
const struct engine *engine_of(
    const struct config *config, const struct sandbox_spec *spec);

/* Does the configuration ask for a kernel of the sandbox's own? */
bool engine_is_guest(const struct config *config);

/* For tables that start a container: the engine and its image. */
enum result engine_open_host(const struct config *config,
    struct sandbox_plan *plan, struct sandbox_plan_fault *fault_r);
/* For tables whose control groups are ours: their name, which is the run's;
 * and that they are all there is to remove. */
enum result engine_name_groups(struct sandbox_plan *plan, struct cgroup *groups,
    struct sandbox_plan_fault *fault_r);
enum result engine_remove_groups(struct container_end *end, bool client_clean);

#endif
