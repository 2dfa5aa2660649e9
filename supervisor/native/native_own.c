/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of the sandbox's own over those of the host: names and addresses,
 * users, the host's name and number. Called by native_build.c last, when all
 * of the view is there; must never leave one of them as the host's.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "supervisor/native/native_fail.h"
#include "supervisor/native/native_mount.h"
#include "supervisor/native/native_build.h"

#define NATIVE_OWN_TEXT_MAX 1024U

enum native_own_need {
	NATIVE_OWN_OVER, /* only over one that the view shows */
	NATIVE_OWN_MADE, /* and where there is a place of ours for it */
	NATIVE_OWN_MUST, /* no sandbox without it */
};

/* In the store, read-only, and bound over path. */
static void
native_own_file(struct native_build *build, const char *path, const char *bytes,
    size_t len, enum native_own_need need)
{
	const char *name = strrchr(path, '/') + 1;
	/* Links of the view (resolv.conf often is one) lead inside it. */
	int at = native_mount_open(
	    build->fd, path, O_PATH, RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
	int fd, tree;

	if (at < 0 && need != NATIVE_OWN_OVER)
		at = native_build_target(build, path, false);
	if (at < 0 && need == NATIVE_OWN_MUST)
		native_fail("there is no place for", path, errno);
	if (at < 0)
		return;
	fd = openat(build->store, name,
	    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0444);
	if (fd < 0 || write(fd, bytes, len) != (ssize_t)len)
		native_fail("cannot write its own", path, errno);
	(void)close(fd);
	fd = openat(build->store, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	tree = fd < 0 ? -1 : native_mount_clone(fd, NATIVE_MOUNT_RO);
	if (tree < 0)
		native_fail("cannot place its own", path, errno);
	native_mount_attach(tree, at, path);
	(void)close(at);
	(void)close(tree);
	(void)close(fd);
}

static void
native_own_text(struct native_build *build, const char *path, const char *text,
    enum native_own_need need)
{
	native_own_file(build, path, text, strlen(text), need);
}

/* Placeholders of protected paths are files a "git add --all" would take. */
static bool
native_own_has_held(const struct native_launch *launch)
{
	for (uint32_t i = 0; i < launch->step_count; i++) {
		if (launch->steps[i].step.placeholder)
			return true;
	}
	return false;
}

static void
native_own_git(struct native_build *build)
{
	if (!native_own_has_held(build->launch))
		return;
	native_own_text(build, "/etc/gitconfig",
	    "[core]\n\texcludesFile = /etc/gitexclude\n", NATIVE_OWN_MADE);
	native_own_text(build, "/etc/gitexclude",
	    "/.aider.conf.yml\n/opencode.json\n/opencode.jsonc\n"
	    "/lefthook-local.yml\n/.envrc\n/.mcp.json\n/agentnode.lock\n/"
	    "HEAD\n/commondir\n/refs\n"
	    "!/refs/\n/objects\n!/objects/\n",
	    NATIVE_OWN_MADE);
}

void
native_own_place(struct native_build *build)
{
	const struct native_launch *launch = build->launch;
	char text[NATIVE_OWN_TEXT_MAX];

	native_own_file(build, "/etc/hosts", launch->hosts, launch->hosts_len,
	    NATIVE_OWN_MUST);
	(void)snprintf(text, sizeof(text),
	    "root:x:0:0::/nonexistent:/bin/false\n"
	    "nobody:x:65534:65534::/nonexistent:/bin/false\n"
	    "sandbox:x:%u:%u::%s:/bin/sh\n",
	    launch->uid, launch->gid, launch->home);
	native_own_text(build, "/etc/passwd", text, NATIVE_OWN_MADE);
	(void)snprintf(text, sizeof(text),
	    "root:x:0:\nnogroup:x:65534:\nsandbox:x:%u:\n", launch->gid);
	native_own_text(build, "/etc/group", text, NATIVE_OWN_MADE);
	(void)snprintf(text, sizeof(text), "%s\n", launch->hostname);
	native_own_text(build, "/etc/hostname", text, NATIVE_OWN_OVER);
	native_own_text(build, "/etc/resolv.conf", "", NATIVE_OWN_OVER);
	native_own_text(build, "/etc/machine-id", "", NATIVE_OWN_OVER);
	native_own_git(build);
}
