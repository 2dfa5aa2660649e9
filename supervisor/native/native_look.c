/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks at what a repository names (see the header). Called by
 * native_repository and native_listing; must never follow a link below the
 * root, nor take what it cannot read for what is not there.
 */
#include "supervisor/native/native_look.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/fd.h"

bool
native_look_outside(const char *path)
{
	return strncmp(path, "../", 3) == 0;
}

int
native_look_open(const struct native_given *root, const char *path, int flags)
{
	struct open_how how = {
	    .flags = (unsigned)flags | O_NOFOLLOW | O_CLOEXEC,
	    .resolve =
		RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};

	if ((flags & O_PATH) == 0)
		how.flags |= O_NONBLOCK;
	if (native_look_outside(path))
		how.resolve = RESOLVE_NO_MAGICLINKS;
	return (int)syscall(SYS_openat2, root->fd, path[0] != '\0' ? path : ".",
	    &how, sizeof(how));
}

enum result
native_look_read(struct native_step_plan *plan, const struct native_given *root,
    const char *path, size_t max, char **text_r, size_t *len_r)
{
	int fd FD_CLEANUP = native_look_open(root, path, O_RDONLY);
	struct stat info;
	enum result result;

	*text_r = NULL;
	if (fd < 0 && errno != EACCES && errno != EPERM &&
	    !(native_look_outside(path) && errno == ELOOP))
		return RESULT_NOT_FOUND;
	if (fd < 0 || fstat(fd, &info) != 0)
		return native_step_fault(plan, RESULT_REFUSED,
		    "%s/%s: it cannot be read for what it makes git run",
		    root->path, path);
	if (!S_ISREG(info.st_mode))
		return RESULT_NOT_FOUND;
	result = fd_read_all(fd, max, text_r, len_r);
	if (result != RESULT_OK)
		return native_step_fault(plan, result,
		    "%s/%s: it cannot be read for what it makes git run (at "
		    "most %zu bytes)",
		    root->path, path, max);
	return RESULT_OK;
}

bool
native_look_real(const char *named, char real_r[NATIVE_VIEW_PATH_MAX])
{
	char link[64];
	int fd FD_CLEANUP = open(named, O_PATH | O_CLOEXEC);
	ssize_t len;

	real_r[0] = '\0';
	if (fd < 0)
		return false;
	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, real_r, NATIVE_VIEW_PATH_MAX - 1);
	if (len < 0 || (size_t)len >= NATIVE_VIEW_PATH_MAX - 1)
		len = 0;
	real_r[len] = '\0';
	return true;
}

enum result
native_look_certain(struct native_step_plan *plan,
    const struct native_given *root, const struct native_gitplace *place,
    const char *who)
{
	char real[NATIVE_VIEW_PATH_MAX], want[NATIVE_VIEW_PATH_MAX];

	if (!native_look_real(place->named, real))
		return RESULT_OK; /* not there: links in it are refused */
	if (place->inside && place->path[0] == '\0')
		memcpy(want, root->path, sizeof(want));
	else if (native_step_join(want, root->path, place->path) != RESULT_OK)
		return RESULT_TOO_LONG;
	if (place->inside
		? strcmp(real, want) == 0
		: real[0] != '\0' && !native_step_below(real, root->path))
		return RESULT_OK;
	return native_step_fault(plan, RESULT_REFUSED,
	    "%s/%s names %s through a link, which the command could turn; "
	    "name the real place, or use --mode read-only",
	    root->path, who, place->named);
}

enum result
native_look_out(const struct native_given *root, const char *absolute,
    char path_r[NATIVE_VIEW_PATH_MAX])
{
	size_t len = 0, more = strlen(absolute);

	for (const char *at = root->path; *at != '\0'; at++) {
		if (*at != '/')
			continue;
		if (len + 4 > NATIVE_VIEW_PATH_MAX)
			return RESULT_TOO_LONG;
		memcpy(path_r + len, "../", 4);
		len += 3;
	}
	/* The path brings its slash. */
	len = len > 0 ? len - 1 : 0;
	if (len + more >= NATIVE_VIEW_PATH_MAX)
		return RESULT_TOO_LONG;
	memcpy(path_r + len, absolute, more + 1);
	return RESULT_OK;
}
