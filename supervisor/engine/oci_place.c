/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See oci_place.h. Between fork and exec, so nothing but system calls; must
 * never go on after one that failed. What is seen of it inside: an overlay
 * of "own" and a descriptor's name, no path of the host.
 */
#include "supervisor/engine/oci_place.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/magic.h>
#include <sched.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "supervisor/init/init_guest.h"

#define OCI_PLACE_UNIFIED "/sys/fs/cgroup/unified"
#define OCI_PLACE_DIGITS 24

enum result
oci_place_dir(struct oci_place *place, const char *path, mode_t mode)
{
	for (const char *at = path; *at == '/'; at += strcspn(at, "/")) {
		const char *end = at + 1 + strcspn(at + 1, "/");
		size_t len = (size_t)(end - path);
		char *dir;

		if (place->dir_count >= OCI_PLACE_DIRS_MAX ||
		    strlen(OCI_PLACE_OWN) + len >= OCI_PLACE_DIR_MAX)
			return RESULT_TOO_LONG;
		dir = place->dirs[place->dir_count].path;
		memcpy(dir, OCI_PLACE_OWN, strlen(OCI_PLACE_OWN));
		memcpy(dir + strlen(OCI_PLACE_OWN), path, len);
		dir[strlen(OCI_PLACE_OWN) + len] = '\0';
		place->dirs[place->dir_count++].mode =
		    *end == '\0' ? mode : 0755;
		at++;
	}
	return RESULT_OK;
}

/* ---- what follows runs in the child ---- */

static int
oci_place_write(const char *path, int flags, const char *text, size_t len)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | flags, 0444);
	int error = 0;

	if (fd < 0)
		return errno;
	while (len > 0 && error == 0) {
		ssize_t put = write(fd, text, len);

		if (put < 0 && errno != EINTR)
			error = errno;
		if (put > 0) {
			text += put;
			len -= (size_t)put;
		}
	}
	(void)close(fd);
	return error;
}

static int
oci_place_groups(const struct oci_place *place)
{
	int error = 0;

	for (size_t i = 0; i < place->join_count && error == 0; i++)
		error = oci_place_write(place->joins[i], 0, "0", 1);
	return error;
}

static const char *
oci_place_number(pid_t number, char text[OCI_PLACE_DIGITS])
{
	char *at = text + OCI_PLACE_DIGITS - 1;

	*at = '\0';
	do {
		*--at = (char)('0' + number % 10);
		number /= 10;
	} while (number > 0 && at > text);
	return at;
}

/* Runs newuidmap or newgidmap for pid; 0: it did what it was told. */
static int
oci_place_map(const struct oci_place_map *map, pid_t target)
{
	char digits[OCI_PLACE_DIGITS];
	const char *pid = oci_place_number(target, digits);
	const char *const words[] = {map->program, pid, "0", map->own, "1",
	    map->inside, map->outside, "1", NULL};
	const char *const none[] = {NULL};
	pid_t child = fork();
	int status = 0;

	if (child == 0) {
		(void)execve(
		    map->program, (char *const *)words, (char *const *)none);
		_exit(127);
	}
	while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
		continue;
	return child > 0 && status == 0 ? 0 : EPERM;
}

/* A helper, which waits until target has its namespace. */
static _Noreturn void
oci_place_helper(const struct oci_place *place, pid_t target, int ready)
{
	char byte;

	if (read(ready, &byte, 1) != 1 ||
	    oci_place_map(&place->maps[0], target) != 0 ||
	    oci_place_map(&place->maps[1], target) != 0)
		_exit(1);
	_exit(0);
}

static int
oci_place_user(const struct oci_place *place)
{
	pid_t self = getpid(), helper;
	int ends[2], status = -1;

	if (pipe2(ends, O_CLOEXEC) != 0)
		return errno;
	helper = fork();
	if (helper == 0) {
		(void)close(ends[1]);
		oci_place_helper(place, self, ends[0]);
	}
	(void)close(ends[0]);
	if (helper > 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0)
		(void)!write(ends[1], "", 1);
	(void)close(ends[1]);
	while (helper > 0 && waitpid(helper, &status, 0) < 0 && errno == EINTR)
		continue;
	if (helper < 0 || status != 0)
		return EPERM;
	if (setgroups(0, NULL) != 0 || setresgid(0, 0, 0) != 0 ||
	    setresuid(0, 0, 0) != 0)
		return errno;
	return 0;
}

/* crun refuses to start where it sees v1 and v2 side by side. */
static int
oci_place_hide(void)
{
	struct statfs info;

	if (statfs(OCI_PLACE_UNIFIED, &info) != 0 ||
	    info.f_type != CGROUP2_SUPER_MAGIC)
		return 0;
	return mount("none", OCI_PLACE_UNIFIED, "tmpfs", MS_RDONLY,
		   "size=4k") == 0
		   ? 0
		   : errno;
}

static int
oci_place_space(const struct oci_place *place)
{
	int error = place->rootless             ? oci_place_user(place)
		    : unshare(CLONE_NEWNS) == 0 ? 0
						: errno;

	if (error != 0)
		return error;
	if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
		return errno;
	error = oci_place_hide();
	if (error != 0)
		return error;
	if (mount("none", place->dir, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC,
		"size=8m,mode=0700") != 0 ||
	    chdir(place->dir) != 0)
		return errno;
	return 0;
}

/* init itself, where it cannot be passed. */
static int
oci_place_program(int program)
{
	off_t at = 0;
	struct stat info;
	int error = 0;
	int fd = open(&INIT_GUEST_PATH[1],
	    O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0555);

	if (fd < 0 || fstat(program, &info) != 0)
		return errno;
	while (at < info.st_size && error == 0) {
		ssize_t put =
		    sendfile(fd, program, &at, (size_t)(info.st_size - at));

		if (put == 0 || (put < 0 && errno != EINTR))
			error = put == 0 ? EIO : errno;
	}
	(void)close(fd);
	return error;
}

static int
oci_place_fill(const struct oci_place *place)
{
	static const char *const dirs[] = {
	    OCI_PLACE_ROOT, OCI_PLACE_STATE, OCI_PLACE_BUNDLE, OCI_PLACE_OWN};
	int error = 0;

	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++) {
		if (mkdir(dirs[i], 0755) != 0)
			return errno;
	}
	for (size_t i = 0; i < place->dir_count; i++) {
		const char *path = place->dirs[i].path;

		if (mkdir(path, 0755) != 0 && errno != EEXIST)
			return errno;
		if (place->dirs[i].mode != 0755 &&
		    chmod(path, place->dirs[i].mode) != 0)
			return errno;
	}
	if (chdir(OCI_PLACE_OWN) != 0)
		return errno;
	for (size_t i = 0; i < OCI_BUNDLE_TEXTS && error == 0; i++)
		error = oci_place_write(place->texts[i].path, O_CREAT | O_EXCL,
		    place->texts[i].text, strlen(place->texts[i].text));
	if (error == 0 && place->program >= 0)
		error = oci_place_program(place->program);
	if (chdir("..") != 0)
		return errno;
	if (error == 0)
		error = oci_place_write(OCI_PLACE_BUNDLE "/config.json",
		    O_CREAT | O_EXCL, place->config, place->config_len);
	return error;
}

/* fd becomes the same directory as this mount namespace has it: one that
 * was opened outside cannot be mounted. */
static int
oci_place_reopen(int fd, const char *name)
{
	char path[PATH_MAX];
	ssize_t len = readlink(name, path, sizeof(path) - 1);
	struct stat before, after;
	int found;

	if (len <= 0)
		return ENOENT;
	path[len] = '\0';
	found = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (found < 0 || fstat(fd, &before) != 0 || fstat(found, &after) != 0)
		return errno;
	if (before.st_ino != after.st_ino || before.st_dev != after.st_dev)
		return ESTALE;
	if (dup3(found, fd, O_CLOEXEC) < 0)
		return errno;
	(void)close(found);
	return 0;
}

/* The directories that were opened and judged, whatever is at their names
 * by now. */
static int
oci_place_reopen_all(const struct oci_place *place)
{
	int error = oci_place_reopen(place->root.fd, place->root.name);

	for (size_t i = 0; i < place->volume_count && error == 0; i++)
		error = oci_place_reopen(
		    place->volumes[i].fd, place->volumes[i].name);
	return error;
}

static int
oci_place_mounts(const struct oci_place *place)
{
	char target[] = OCI_PLACE_VOLUME "0";

	if (mount("overlay", OCI_PLACE_ROOT, "overlay",
		MS_RDONLY | MS_NOSUID | MS_NODEV, place->layers) != 0)
		return errno;
	for (size_t i = 0; i < place->volume_count; i++) {
		target[sizeof(target) - 2] = (char)('0' + i);
		if (mkdir(target, 0755) != 0 ||
		    mount(place->volumes[i].name, target, NULL, MS_BIND,
			NULL) != 0)
			return errno;
	}
	return 0;
}

int
oci_place_enter(const void *context)
{
	const struct oci_place *place = context;
	int error;

	(void)umask(022);
	error = oci_place_groups(place);
	if (error == 0)
		error = oci_place_space(place);
	if (error == 0)
		error = oci_place_fill(place);
	if (error == 0)
		error = oci_place_reopen_all(place);
	if (error == 0)
		error = oci_place_mounts(place);
	return error;
}
