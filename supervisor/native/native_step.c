/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps of a view, appended (see the header). Called by the files that make
 * a view; must never mount, create or follow a link.
 */
#include "supervisor/native/native_step.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/fd.h"

enum result
native_step_fault(
    struct native_step_plan *plan, enum result result, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(plan->fault, plan->fault_size, format, arguments);
	va_end(arguments);
	return result;
}

bool
native_step_below(const char *path, const char *dir)
{
	size_t len = strlen(dir);

	if (strcmp(dir, "/") == 0)
		return true;
	return strncmp(path, dir, len) == 0 &&
	       (path[len] == '/' || path[len] == '\0');
}

enum result
native_step_join(
    char path_r[NATIVE_VIEW_PATH_MAX], const char *dir, const char *name)
{
	int len = snprintf(path_r, NATIVE_VIEW_PATH_MAX, "%s%s%s", dir,
	    strcmp(dir, "/") == 0 ? "" : "/", name);

	return len < 0 || (size_t)len >= NATIVE_VIEW_PATH_MAX ? RESULT_TOO_LONG
							      : RESULT_OK;
}

struct native_step *
native_step_find(const struct native_view *view, const char *target)
{
	for (size_t i = view->count; i > 0; i--) {
		if (strcmp(view->steps[i - 1].target, target) == 0)
			return (struct native_step *)&view->steps[i - 1];
	}
	return NULL;
}

const struct native_step *
native_step_decides(const struct native_view *view, const char *path)
{
	for (size_t i = view->count; i > 0; i--) {
		if (native_step_below(path, view->steps[i - 1].target))
			return &view->steps[i - 1];
	}
	return NULL;
}

static enum result
native_step_append(struct native_step_plan *plan, enum native_step_kind kind,
    const char *target, struct native_step **step_r)
{
	struct native_view *view = plan->view;
	struct native_step *step;

	if (view->count == NATIVE_VIEW_STEPS_MAX)
		return native_step_fault(plan, RESULT_TOO_LONG,
		    "%s: a view has at most %u steps; take fewer --writable "
		    "and --protect",
		    target, NATIVE_VIEW_STEPS_MAX);
	if (strlen(target) >= sizeof(step->target))
		return native_step_fault(plan, RESULT_TOO_LONG,
		    "%.100s...: a path of a view has at most %u bytes", target,
		    NATIVE_VIEW_PATH_MAX - 1);
	step = &view->steps[view->count++];
	memset(step, 0, sizeof(*step));
	step->kind = kind;
	memcpy(step->target, target, strlen(target) + 1);
	if (step_r != NULL)
		*step_r = step;
	return RESULT_OK;
}

/* Whether a directory exists already where the view has got to: a step is
 * there, or what is bound last above brings it along. */
static bool
native_step_has(const struct native_view *view, const char *path)
{
	for (size_t i = view->count; i > 0; i--) {
		const struct native_step *step = &view->steps[i - 1];

		if (strcmp(step->target, path) == 0)
			return true;
		if (step->kind != NATIVE_STEP_DIR &&
		    native_step_below(path, step->target))
			return step->kind == NATIVE_STEP_BIND ||
			       step->kind == NATIVE_STEP_BIND_RW;
	}
	return false;
}

enum result
native_step_add(struct native_step_plan *plan, enum native_step_kind kind,
    const char *target, struct native_step **step_r)
{
	char above[NATIVE_VIEW_PATH_MAX];

	for (size_t i = 1;
	     i < sizeof(above) && target[0] != '\0' && target[i] != '\0'; i++) {
		enum result result;

		if (target[i] != '/')
			continue;
		memcpy(above, target, i);
		above[i] = '\0';
		if (native_step_has(plan->view, above))
			continue;
		result = native_step_append(plan, NATIVE_STEP_DIR, above, NULL);
		if (result != RESULT_OK)
			return result;
	}
	return native_step_append(plan, kind, target, step_r);
}

enum result
native_step_bind(struct native_step_plan *plan, bool writable,
    const char *target, const char *source, const struct stat *info)
{
	struct native_step *step = NULL;
	enum result result = native_step_add(plan,
	    writable ? NATIVE_STEP_BIND_RW : NATIVE_STEP_BIND, target, &step);

	if (result != RESULT_OK || step == NULL)
		return result;
	if (strlen(source) >= sizeof(step->source))
		return native_step_fault(plan, RESULT_TOO_LONG,
		    "%.100s...: a path of a view has at most %u bytes", source,
		    NATIVE_VIEW_PATH_MAX - 1);
	memcpy(step->source, source, strlen(source) + 1);
	step->dev = info->st_dev;
	step->ino = info->st_ino;
	return RESULT_OK;
}

enum result
native_step_look(const char *path, struct stat *info_r, int *fd_r)
{
	struct open_how how = {.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
	    .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
	int fd = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));

	if (fd_r != NULL)
		*fd_r = -1;
	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return RESULT_NOT_FOUND;
	if (fd < 0)
		return errno == ELOOP ? RESULT_REFUSED : RESULT_SYSTEM;
	if (fstat(fd, info_r) != 0) {
		fd_close(&fd);
		return RESULT_SYSTEM;
	}
	if (fd_r != NULL)
		*fd_r = fd;
	else
		fd_close(&fd);
	return RESULT_OK;
}
