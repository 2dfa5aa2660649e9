/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See oci_plan.h. Makes nothing outside of the plan but an empty directory
 * in the engine's private one; what is mounted there is seen by the runtime
 * alone.
 */
#include "supervisor/engine/oci_plan.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "supervisor/engine/cgroup_make.h"
#include "supervisor/engine/engine_call.h"
#include "supervisor/engine/oci_subid.h"
#include "supervisor/init/init_guest.h"
#include "supervisor/sandbox_plan.h"

#define OCI_PLAN_PLACE "oci"
#define OCI_PLAN_ENTRYPOINT "/proc/self/fd/4"
#define OCI_PLAN_TOP "/sys/fs/cgroup"

enum result
oci_plan_new(struct oci_plan **oci_r)
{
	struct oci_plan *oci = calloc(1, sizeof(*oci));

	*oci_r = oci;
	if (oci == NULL)
		return RESULT_NO_MEMORY;
	oci->root_fd = -1;
	oci->place.program = -1;
	for (size_t i = 0; i < RUN_ARGV_MOUNTS_MAX; i++)
		oci->volume_fds[i] = -1;
	return RESULT_OK;
}

void
oci_plan_free(struct oci_plan **oci)
{
	struct oci_plan *gone = *oci;

	if (gone == NULL)
		return;
	*oci = NULL;
	fd_close(&gone->root_fd);
	for (size_t i = 0; i < RUN_ARGV_MOUNTS_MAX; i++)
		fd_close(&gone->volume_fds[i]);
	fd_close(&gone->place.program);
	free(gone->place.config);
	free(gone);
}

static void
oci_plan_source(struct oci_place_source *source, int fd)
{
	source->fd = fd;
	(void)snprintf(
	    source->name, sizeof(source->name), "/proc/self/fd/%d", fd);
}

/* The volumes as the engine that holds them has them; those with a hash
 * are compared with what is seen inside (mount_check.h). */
static enum result
oci_plan_volumes(struct sandbox_plan *plan, struct sandbox_plan_fault *fault_r)
{
	const struct run_argv_input *input = &plan->input;
	struct oci_plan *oci = plan->oci;
	char path[ENGINE_MEMORY_PATH_MAX + 160];

	for (size_t i = 0; i < input->mount_count; i++) {
		const char *volume = input->mounts[i].volume;

		(void)snprintf(path, sizeof(path), "%s/%.128s/_data",
		    plan->host.memory.volume_path, volume);
		oci->volume_fds[i] =
		    strchr(volume, '/') != NULL
			? -1
			: open(path,
			      O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (oci->volume_fds[i] < 0)
			return sandbox_plan_fail(fault_r, RESULT_NOT_FOUND,
			    "integrity_volume",
			    "volume %s is not there (%s): install the package "
			    "again",
			    volume, path);
		oci_plan_source(&oci->place.volumes[i], oci->volume_fds[i]);
	}
	oci->place.volume_count = input->mount_count;
	return RESULT_OK;
}

static enum result
oci_plan_map(struct oci_place_map *map, const char *program, const char *file,
    uint32_t own, uint32_t inside)
{
	uint32_t outside = 0;
	enum result result =
	    engine_call_find(program, map->program, sizeof(map->program));

	if (result == RESULT_OK)
		result = oci_subid(file, inside, &outside);
	(void)snprintf(map->own, sizeof(map->own), "%u", own);
	(void)snprintf(map->inside, sizeof(map->inside), "%u", inside);
	(void)snprintf(map->outside, sizeof(map->outside), "%u", outside);
	return result;
}

static enum result
oci_plan_user(struct sandbox_plan *plan, struct sandbox_plan_fault *fault_r)
{
	struct oci_place *place = &plan->oci->place;
	enum result result = RESULT_OK;

	place->rootless = plan->host.memory.rootless;
	if (!place->rootless)
		return RESULT_OK;
	result = oci_plan_map(&place->maps[0], "newuidmap", "/etc/subuid",
	    (uint32_t)geteuid(), plan->input.uid);
	if (result == RESULT_OK)
		result = oci_plan_map(&place->maps[1], "newgidmap",
		    "/etc/subgid", (uint32_t)getegid(), plan->input.gid);
	if (result == RESULT_OK)
		return RESULT_OK;
	return sandbox_plan_fail(fault_r, result, "runtime_unusable",
	    "no subordinate ids can be used: newuidmap, newgidmap (apt "
	    "install uidmap) and 65536 ids in /etc/subuid and /etc/subgid are "
	    "needed");
}

/* Everything that is mounted on, and the directories of its own files. */
static enum result
oci_plan_dirs(struct oci_place *place, const struct run_argv_input *input)
{
	static const char *const fixed[] = {"/proc", "/dev", "/etc"};
	enum result result = RESULT_OK;

	for (size_t i = 0; i < 3 && result == RESULT_OK; i++)
		result = oci_place_dir(place, fixed[i], 0755);
	if (place->program >= 0 && result == RESULT_OK)
		result = oci_place_dir(place, "/sys", 0755);
	for (size_t i = 0; i < input->tmpfs_count && result == RESULT_OK; i++)
		result = oci_place_dir(place, input->tmpfs[i].target,
		    (mode_t)input->tmpfs[i].mode);
	for (size_t i = 0; i < input->mount_count && result == RESULT_OK; i++)
		result = oci_place_dir(place, input->mounts[i].target, 0755);
	return result;
}

static enum result
oci_plan_groups(struct oci_plan *oci)
{
	struct oci_place *place = &oci->place;
	const char *path = oci->groups.dirs[0].path, *own;

	/* One that joins by itself is told the name; it must not be inside,
	 * as it removes what it has joined. */
	if (oci->kind == OCI_RUNTIME_RUNC) {
		own = oci->groups.dirs[0].controllers[0] == '\0' &&
			      strncmp(
				  path, OCI_PLAN_TOP, strlen(OCI_PLAN_TOP)) == 0
			  ? path + strlen(OCI_PLAN_TOP)
			  : strrchr(path, '/');
		if (oci->groups.count > 0 && own != NULL)
			(void)snprintf(
			    oci->cgroup, sizeof(oci->cgroup), "%s", own);
		return RESULT_OK;
	}
	for (size_t i = 0; i < oci->groups.count; i++)
		cgroup_make_join(&oci->groups.dirs[i], place->joins[i],
		    sizeof(place->joins[i]));
	place->join_count = oci->groups.count;
	return RESULT_OK;
}

static enum result
oci_plan_bundle(struct sandbox_plan *plan)
{
	struct oci_plan *oci = plan->oci;
	char root[OCI_PLACE_PATH_MAX + 16], volumes[OCI_PLACE_PATH_MAX + 16];
	const struct oci_bundle_spec spec = {.input = &plan->input,
	    .root = root,
	    .volumes = volumes,
	    .cgroup = oci->cgroup[0] != '\0' ? oci->cgroup : NULL,
	    .guest = oci->kind == OCI_RUNTIME_RUNSC,
	    .data_max = plan->no_limits ? plan->limits.memory : 0};
	json_t *config = NULL;
	enum result result;

	(void)snprintf(
	    root, sizeof(root), "%s/" OCI_PLACE_ROOT, oci->place.dir);
	(void)snprintf(
	    volumes, sizeof(volumes), "%s/" OCI_PLACE_VOLUME, oci->place.dir);
	result = oci_bundle_make(&spec, &config);
	if (result == RESULT_OK)
		oci->place.config = json_dumps(config, JSON_COMPACT);
	json_decref(config);
	if (result == RESULT_OK && oci->place.config == NULL)
		result = RESULT_NO_MEMORY;
	if (result != RESULT_OK)
		return result;
	oci->place.config_len = strlen(oci->place.config);
	return oci_bundle_texts(&plan->input, oci->place.texts);
}

static void
oci_plan_words(struct oci_plan *oci)
{
	/* No way out of its kernel but the files of its root and the link. */
	static const char *const guest[] = {
	    "--platform=ptrace", "--network=none", "--ignore-cgroups"};
	size_t count = 0;

	(void)snprintf(oci->state, sizeof(oci->state), "%s/" OCI_PLACE_STATE,
	    oci->place.dir);
	(void)snprintf(oci->bundle, sizeof(oci->bundle), "%s/" OCI_PLACE_BUNDLE,
	    oci->place.dir);
	(void)snprintf(
	    oci->preserve, sizeof(oci->preserve), "%d", INIT_FD_COUNT);
	oci->words[count++] = oci->runtime;
	oci->words[count++] = "--root";
	oci->words[count++] = oci->state;
	if (oci->kind == OCI_RUNTIME_CRUN)
		oci->words[count++] = "--cgroup-manager=disabled";
	for (size_t i = 0; oci->kind == OCI_RUNTIME_RUNSC && i < 3; i++)
		oci->words[count++] = guest[i];
	oci->words[count++] = "run";
	oci->words[count++] = "--bundle";
	oci->words[count++] = oci->bundle;
	if (oci->kind != OCI_RUNTIME_RUNSC) {
		oci->words[count++] = "--preserve-fds";
		oci->words[count++] = oci->preserve;
	}
	oci->words[count++] = oci->id;
	oci->words[count] = NULL;
}

static enum result
oci_plan_place(struct sandbox_plan *plan, struct sandbox_plan_fault *fault_r)
{
	struct oci_place *place = &plan->oci->place;

	(void)snprintf(place->dir, sizeof(place->dir), "%s/" OCI_PLAN_PLACE,
	    plan->host.files.dir);
	if (mkdir(place->dir, 0700) != 0 && errno != EEXIST)
		return sandbox_plan_fail(fault_r, RESULT_SYSTEM, "internal",
		    "cannot make %s: %s", place->dir, strerror(errno));
	/* Read-only: our own files over those of the image. */
	oci_plan_source(&place->root, plan->oci->root_fd);
	(void)snprintf(place->layers, sizeof(place->layers),
	    "lowerdir=" OCI_PLACE_OWN ":%s%s", place->root.name,
	    plan->host.memory.rootless ? ",userxattr" : "");
	return RESULT_OK;
}

enum result
oci_plan_fill(struct sandbox_plan *plan, struct sandbox_plan_fault *fault_r)
{
	struct oci_plan *oci = plan->oci;
	enum result result;

	plan->input.entrypoint = oci->kind == OCI_RUNTIME_RUNSC
				     ? INIT_GUEST_PATH
				     : OCI_PLAN_ENTRYPOINT;
	result = oci_plan_place(plan, fault_r);
	if (result == RESULT_OK)
		result = oci_plan_user(plan, fault_r);
	if (result == RESULT_OK)
		result = oci_plan_volumes(plan, fault_r);
	if (result != RESULT_OK)
		return result;
	memcpy(oci->id, oci->groups.id, sizeof(oci->id));
	result = oci_plan_groups(oci);
	if (result == RESULT_OK)
		result = oci_plan_dirs(&oci->place, &plan->input);
	if (result == RESULT_OK)
		result = oci_plan_bundle(plan);
	if (result != RESULT_OK)
		return sandbox_plan_fail(fault_r, result, "bad_spec",
		    "the sandbox has too many places or names, or one that "
		    "cannot be used");
	oci_plan_words(oci);
	return RESULT_OK;
}
