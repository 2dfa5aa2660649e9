/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The check of a launch record (see the header). Called by the launcher
 * before it uses a byte of it, and by tests; must never accept what the
 * launcher would have to guess about.
 */
#include "supervisor/native/native_launch.h"

#include <string.h>

bool
native_launch_path_valid(const char *path, size_t size)
{
	const char *part = path;

	if (memchr(path, '\0', size) == NULL || path[0] != '/')
		return false;
	if (path[1] == '\0')
		return true;
	while (*part == '/') {
		size_t len = strcspn(++part, "/");
		size_t dots = strspn(part, ".");

		if (len == 0 || (dots == len && len <= 2))
			return false;
		part += len;
	}
	return true;
}

/* A source is a path for what is mounted from one. */
static bool
native_launch_source_valid(const struct native_step *step)
{
	if (memchr(step->source, '\0', sizeof(step->source)) == NULL)
		return false;
	switch (step->kind) {
	case NATIVE_STEP_BIND:
	case NATIVE_STEP_BIND_RW:
		return native_launch_path_valid(
		    step->source, sizeof(step->source));
	case NATIVE_STEP_LINK:
		return step->source[0] != '\0';
	case NATIVE_STEP_TMPFS:
		return step->size > 0;
	case NATIVE_STEP_DIR:
	case NATIVE_STEP_MASK:
	case NATIVE_STEP_PROC:
	case NATIVE_STEP_DEV:
		return true;
	}
	return false;
}

static bool
native_launch_is_bind(const struct native_launch_step *one)
{
	return one->step.kind == NATIVE_STEP_BIND ||
	       one->step.kind == NATIVE_STEP_BIND_RW;
}

static bool
native_launch_step_valid(const struct native_launch *launch, uint32_t index)
{
	const struct native_launch_step *one = &launch->steps[index];

	if (!native_launch_path_valid(
		one->step.target, sizeof(one->step.target)) ||
	    !native_launch_source_valid(&one->step))
		return false;
	/* Only a bind may be the root itself, and only as the first. */
	if (one->step.target[1] == '\0' &&
	    (index != 0 || !native_launch_is_bind(one)))
		return false;
	if (one->mode != 0 && one->mode != 0700 && one->mode != 0755 &&
	    one->mode != 01777)
		return false;
	if (one->owner == -1)
		return true;
	return native_launch_is_bind(one) && one->owner >= 0 &&
	       (uint32_t)one->owner < launch->step_count &&
	       native_launch_is_bind(&launch->steps[one->owner]);
}

static bool
native_launch_texts_valid(const struct native_launch *launch)
{
	if (memchr(launch->hostname, '\0', sizeof(launch->hostname)) == NULL ||
	    launch->hostname[0] == '\0' ||
	    !native_launch_path_valid(launch->home, sizeof(launch->home)) ||
	    strpbrk(launch->home, ":\n") != NULL)
		return false;
	for (uint32_t i = 0; i < launch->group_count; i++) {
		if (!native_launch_path_valid(
			launch->groups[i], sizeof(launch->groups[i])))
			return false;
	}
	return true;
}

bool
native_launch_valid(const struct native_launch *launch, size_t size)
{
	if (size < sizeof(*launch) || launch->magic != NATIVE_LAUNCH_MAGIC ||
	    launch->version != NATIVE_LAUNCH_VERSION || launch->size != size ||
	    launch->step_count > NATIVE_LAUNCH_STEPS_MAX ||
	    size != native_launch_size(launch->step_count))
		return false;
	/* Nobody inside is the host's root by number. */
	if (launch->rootless > 1 || launch->uid == 0 || launch->gid == 0 ||
	    launch->uid == UINT32_MAX || launch->gid == UINT32_MAX ||
	    launch->group_count > NATIVE_LAUNCH_GROUPS_MAX ||
	    launch->limit_count > NATIVE_LAUNCH_LIMITS_MAX ||
	    launch->hosts_len > NATIVE_LAUNCH_HOSTS_MAX ||
	    !native_launch_texts_valid(launch))
		return false;
	for (uint32_t i = 0; i < launch->step_count; i++) {
		if (!native_launch_step_valid(launch, i))
			return false;
	}
	return true;
}
