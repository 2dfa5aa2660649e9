/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Judges the directories a user hands over (see the header). Called by
 * native_view; must never follow a link, and compares directories by device
 * and inode, so that a second name of a home is a home.
 */
#include "supervisor/native/native_given.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "common/fd.h"
#include "supervisor/native/native_homes.h"
#include "supervisor/native/native_system.h"

/* Below a home: what holds credentials, or what runs when its user starts a
 * shell, an editor, an agent or a compiler. */
static const char *const native_given_private[] = {".agents", ".antigen",
    ".asdf", ".aws", ".azure", ".bash_it", ".bashrc.d", ".bun", ".cargo",
    ".claude", ".codex", ".config", ".cursor", ".deno", ".docker", ".emacs.d",
    ".fzf", ".gemini", ".githooks", ".gnupg", ".gradle", ".kube", ".local/bin",
    ".local/lib", ".local/share/keyrings", ".local/share/mise", ".m2",
    ".mozilla", ".npm-global", ".nvm", ".oh-my-bash", ".oh-my-zsh", ".opencode",
    ".password-store", ".pyenv", ".rbenv", ".rustup", ".sdkman", ".ssh",
    ".terraform.d", ".thunderbird", ".vim", ".volta", ".vscode",
    ".vscode-server", ".zinit", ".zplug", ".zprezto", ".zsh", "bin", "go/bin",
    "snap"};

#define NATIVE_GIVEN_COUNT(list) (sizeof(list) / sizeof((list)[0]))

/* Which part of the path is the link, for the sentence. */
static enum result
native_given_link(
    struct native_step_plan *plan, const char *given, const char *flag)
{
	char part[NATIVE_VIEW_PATH_MAX], *real;
	size_t len = strlen(given);
	enum result result;

	memcpy(part, given, len + 1);
	for (size_t i = 1; i <= len; i++) {
		struct stat info;

		if (given[i] != '/' && given[i] != '\0')
			continue;
		part[i] = '\0';
		if (lstat(part, &info) == 0 && S_ISLNK(info.st_mode))
			break;
		part[i] = given[i];
	}
	real = realpath(given, NULL);
	result = native_step_fault(plan, RESULT_REFUSED,
	    "%s %s: %s is a link, and a link can be turned; the real path is "
	    "%s",
	    flag, given, part, real != NULL ? real : "not there");
	free(real);
	return result;
}

static enum result
native_given_at(struct native_step_plan *plan, const char *given,
    const char *flag, struct native_given *root)
{
	struct open_how how = {.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
	    .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};

	if (given[0] == '\0' || strlen(given) >= sizeof(root->path))
		return native_step_fault(plan, RESULT_TOO_LONG,
		    "%s takes the path of a directory, 1 to %u bytes", flag,
		    NATIVE_VIEW_PATH_MAX - 1);
	root->fd =
	    (int)syscall(SYS_openat2, AT_FDCWD, given, &how, sizeof(how));
	if (root->fd < 0 && errno == ELOOP)
		return native_given_link(plan, given, flag);
	if (root->fd < 0 && errno == ENOENT)
		return native_step_fault(plan, RESULT_NOT_FOUND,
		    "%s %s: there is no such directory", flag, given);
	if (root->fd < 0 || fstat(root->fd, &root->info) != 0)
		return native_step_fault(plan,
		    errno == ENOTDIR || errno == EACCES ? RESULT_REFUSED
							: RESULT_SYSTEM,
		    "%s %s: it must be a directory you can enter: %s", flag,
		    given, strerror(errno));
	return RESULT_OK;
}

/* The name the kernel has for it, and that it leads there again. */
static enum result
native_given_name(struct native_step_plan *plan, const char *given,
    const char *flag, struct native_given *root)
{
	char at[64];
	struct stat again;
	ssize_t len;

	(void)snprintf(at, sizeof(at), "/proc/self/fd/%d", root->fd);
	len = readlink(at, root->path, sizeof(root->path) - 1);
	if (len <= 0)
		return native_step_fault(plan, RESULT_SYSTEM,
		    "%s %s: its name cannot be read from /proc", flag, given);
	root->path[len] = '\0';
	if ((size_t)len == sizeof(root->path) - 1 || root->path[0] != '/' ||
	    native_step_look(root->path, &again, NULL) != RESULT_OK ||
	    again.st_dev != root->info.st_dev ||
	    again.st_ino != root->info.st_ino)
		return native_step_fault(plan, RESULT_REFUSED,
		    "%s %s: it has no path of its own (removed, or hidden "
		    "by a mount)",
		    flag, given);
	for (const char *at_byte = root->path; *at_byte != '\0'; at_byte++) {
		if ((unsigned char)*at_byte < 0x20 || *at_byte == 0x7f)
			return native_step_fault(plan, RESULT_REFUSED,
			    "%s: the path has a control byte", flag);
	}
	return RESULT_OK;
}

static bool
native_given_same(const struct stat *one, const struct stat *other)
{
	return one->st_dev == other->st_dev && one->st_ino == other->st_ino;
}

/* True when the directory is one of those path goes through, or its end.
 * Links in path are followed: a home may be reached by one. */
static bool
native_given_above(const struct native_given *root, const char *path)
{
	char *real = realpath(path, NULL);
	const char *from = real != NULL ? real : path;
	char part[NATIVE_VIEW_PATH_MAX];
	bool found = false;

	for (size_t i = 0; i < sizeof(part) - 1 && !found; i++) {
		struct stat info;

		part[i] = from[i];
		part[i + 1] = '\0';
		if (from[i] == '\0')
			break;
		if (from[i + 1] == '/' || from[i + 1] == '\0' || i == 0)
			found = stat(part, &info) == 0 &&
				native_given_same(&info, &root->info);
	}
	free(real);
	return found;
}

/* True when the directory lies in path, by any of its names. */
static bool
native_given_inside(const struct native_given *root, const char *path)
{
	struct stat target, info;
	char part[NATIVE_VIEW_PATH_MAX];
	size_t len = strlen(root->path);

	if (stat(path, &target) != 0)
		return false;
	memcpy(part, root->path, len + 1);
	for (size_t i = len; i > 0; i--) {
		if (part[i] != '/' && part[i] != '\0')
			continue;
		part[i] = '\0';
		if (lstat(part, &info) == 0 &&
		    native_given_same(&info, &target))
			return true;
	}
	return false;
}

/* One that is not there, by the first part of its name: nothing lies in it. */
static bool
native_given_missing(const char *home, const char *name)
{
	char path[NATIVE_VIEW_PATH_MAX], first[NATIVE_VIEW_PATH_MAX];
	size_t len = strcspn(name, "/");
	struct stat info;

	memcpy(first, name, len);
	first[len] = '\0';
	return native_step_join(path, home, first) == RESULT_OK &&
	       lstat(path, &info) != 0 && errno == ENOENT;
}

/* One home: neither it, nor above it, nor what is private below it. */
static enum result
native_given_judge_one(struct native_step_plan *plan, const char *flag,
    const char *home, const struct native_given *root)
{
	char path[NATIVE_VIEW_PATH_MAX];

	if (native_given_above(root, home))
		return native_step_fault(plan, RESULT_REFUSED,
		    "%s %s: a home directory, or one above it, is never "
		    "handed over; name the project's own directory",
		    flag, root->path);
	for (size_t i = 0; i < NATIVE_GIVEN_COUNT(native_given_private); i++) {
		if (native_given_missing(home, native_given_private[i]))
			continue;
		if (native_step_join(path, home, native_given_private[i]) ==
			RESULT_OK &&
		    (native_given_inside(root, path) ||
			native_given_above(root, path)))
			return native_step_fault(plan, RESULT_REFUSED,
			    "%s %s: %s holds credentials or programs of its "
			    "user",
			    flag, root->path, path);
	}
	return RESULT_OK;
}

static enum result
native_given_judge_home(struct native_step_plan *plan, const char *flag,
    const struct native_view_choice *choice, const struct native_given *root)
{
	struct native_homes homes;
	enum result result = native_homes_find(
	    choice->home, root->path, root->info.st_uid, &homes);

	if (result != RESULT_OK)
		return native_step_fault(plan, result,
		    "%s %s: whose home it could be in is not known: the user "
		    "database cannot be read",
		    flag, root->path);
	for (size_t i = 0; i < homes.count && result == RESULT_OK; i++) {
		bool again = false;

		for (size_t j = 0; j < i && !again; j++)
			again = strcmp(homes.paths[j], homes.paths[i]) == 0;
		if (!again)
			result = native_given_judge_one(
			    plan, flag, homes.paths[i], root);
	}
	if (result != RESULT_OK)
		return result;
	if (native_given_above(root, choice->agentnode) ||
	    native_given_inside(root, choice->agentnode))
		return native_step_fault(plan, RESULT_REFUSED,
		    "%s %s: AgentNode's own state (AGENTNODE_HOME) would lie "
		    "inside, or it inside that",
		    flag, root->path);
	return RESULT_OK;
}

/* Pseudo file systems are the kernel, not files. */
static bool
native_given_pseudo(const struct native_given *root)
{
	struct statfs fs;

	if (fstatfs(root->fd, &fs) != 0)
		return true;
	switch ((unsigned long)fs.f_type) {
	case PROC_SUPER_MAGIC:
	case SYSFS_MAGIC:
	case CGROUP_SUPER_MAGIC:
	case CGROUP2_SUPER_MAGIC:
	case DEVPTS_SUPER_MAGIC:
	case SECURITYFS_MAGIC:
	case DEBUGFS_MAGIC:
	case TRACEFS_MAGIC:
	case BPF_FS_MAGIC:
	case NSFS_MAGIC:
		return true;
	}
	return false;
}

static enum result
native_given_judge(struct native_step_plan *plan, const char *flag, bool write,
    const struct native_view_choice *choice, const struct native_given *root)
{
	if (native_system_owns(root->path) || native_given_pseudo(root))
		return native_step_fault(plan, RESULT_REFUSED,
		    "%s %s: a directory of the system, or one that others "
		    "live in too; name the project's own directory",
		    flag, root->path);
	if (geteuid() != 0 && root->info.st_uid != geteuid())
		return native_step_fault(plan, RESULT_REFUSED,
		    "%s %s: it belongs to uid %u and not to you", flag,
		    root->path, (unsigned)root->info.st_uid);
	if (faccessat(root->fd, ".", R_OK | X_OK | (write ? W_OK : 0),
		AT_EACCESS) != 0)
		return native_step_fault(plan, RESULT_REFUSED,
		    "%s %s: you cannot %s it yourself: %s", flag, root->path,
		    write ? "read and write" : "read", strerror(errno));
	return native_given_judge_home(plan, flag, choice, root);
}

enum result
native_given_open(struct native_step_plan *plan, const char *given,
    const char *flag, bool write, const struct native_view_choice *choice,
    struct native_given *root_r)
{
	enum result result;

	root_r->fd = -1;
	result = native_given_at(plan, given, flag, root_r);
	if (result == RESULT_OK)
		result = native_given_name(plan, given, flag, root_r);
	if (result == RESULT_OK)
		result = native_given_judge(plan, flag, write, choice, root_r);
	if (result != RESULT_OK)
		native_given_close(root_r);
	return result;
}

void
native_given_close(struct native_given *root)
{
	fd_close(&root->fd);
}
