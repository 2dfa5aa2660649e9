/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /proc of the new pid namespace with what a container may not see of it
 * covered, and a /dev of harmless devices. Called by native_build.c; must
 * never bind a device that is not in the table.
 */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

#include "supervisor/native/native_fail.h"
#include "supervisor/native/native_mount.h"
#include "supervisor/native/native_build.h"

#define NATIVE_KERNEL_ALL \
	(NATIVE_MOUNT_NOSUID | NATIVE_MOUNT_NODEV | NATIVE_MOUNT_NOEXEC)
#define NATIVE_KERNEL_DEV_SIZE 65536U
#define NATIVE_KERNEL_SHM_SIZE (64U << 20)

/* What engines cover in a container, covered here too. */
static const char *const native_kernel_hidden[] = {"acpi", "asound", "cmdline",
    "interrupts", "kcore", "key-users", "keys", "latency_stats", "sched_debug",
    "scsi", "timer_list", "timer_stats", NULL};
static const char *const native_kernel_frozen[] = {
    "bus", "fs", "irq", "sys", "sysrq-trigger", NULL};

static int
native_kernel_part(
    struct native_build *build, const char *target, const char *name)
{
	char path[NATIVE_VIEW_PATH_MAX + 32];

	(void)snprintf(path, sizeof(path), "%s/%s", target, name);
	return native_build_target(build, path, false);
}

static void
native_kernel_freeze(int part, const char *name)
{
	int tree =
	    native_mount_clone(part, NATIVE_MOUNT_RO | NATIVE_KERNEL_ALL);

	if (tree < 0)
		native_fail("cannot make read-only: /proc/", name, errno);
	native_mount_attach(tree, part, name);
	(void)close(tree);
	(void)close(part);
}

void
native_kernel_proc(struct native_build *build, const char *target)
{
	/* Init and what else may not be looked into is not even listed. */
	static const struct native_mount_option options[] = {
	    {"hidepid", "invisible"}};
	int proc = native_mount_new("proc", NATIVE_KERNEL_ALL, options, 1);
	int at = native_build_target(build, target, true), part;

	if (at < 0)
		native_fail("there is no place for", target, errno);
	native_mount_attach(proc, at, target);
	(void)close(at);
	(void)close(proc);
	for (size_t i = 0; native_kernel_hidden[i] != NULL; i++) {
		const char *name = native_kernel_hidden[i];

		part = native_kernel_part(build, target, name);
		if (part >= 0)
			native_build_mask(build, part, name);
	}
	for (size_t i = 0; native_kernel_frozen[i] != NULL; i++) {
		const char *name = native_kernel_frozen[i];

		part = native_kernel_part(build, target, name);
		if (part >= 0)
			native_kernel_freeze(part, name);
	}
}

static void
native_kernel_devices(struct native_build *build, const char *target)
{
	for (unsigned i = 0; i < NATIVE_TREE_DEVICES; i++) {
		const char *name = native_tree_devices[i].name;
		int at = native_kernel_part(build, target, name);

		if (at < 0)
			native_fail(
			    "there is no place for the device", name, errno);
		native_mount_attach(build->trees->devices[i], at, name);
		(void)close(at);
		(void)close(build->trees->devices[i]);
	}
}

static void
native_kernel_links(int dev)
{
	static const struct {
		const char *name, *to;
	} links[] = {{"ptmx", "pts/ptmx"}, {"fd", "/proc/self/fd"},
	    {"stdin", "/proc/self/fd/0"}, {"stdout", "/proc/self/fd/1"},
	    {"stderr", "/proc/self/fd/2"}};

	for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
		if (symlinkat(links[i].to, dev, links[i].name) != 0)
			native_fail("/dev cannot have", links[i].name, errno);
	}
}

static void
native_kernel_below(
    struct native_build *build, const char *target, const char *name, int mount)
{
	char path[NATIVE_VIEW_PATH_MAX + 32];
	int at;

	(void)snprintf(path, sizeof(path), "%s/%s", target, name);
	at = native_build_target(build, path, true);
	if (at < 0)
		native_fail("there is no place for", path, errno);
	native_mount_attach(mount, at, path);
	(void)close(at);
	(void)close(mount);
}

void
native_kernel_dev(struct native_build *build, const char *target)
{
	static const struct native_mount_option terminals[] = {
	    {"ptmxmode", "0666"}, {"mode", "0620"}};
	const struct native_launch *launch = build->launch;
	int dev = native_mount_tmpfs(NATIVE_MOUNT_NOSUID | NATIVE_MOUNT_NOEXEC,
	    NATIVE_KERNEL_DEV_SIZE, 0755, launch->uid, launch->gid);
	int at = native_build_target(build, target, true);

	if (at < 0)
		native_fail("there is no place for", target, errno);
	native_build_note(build, dev);
	native_mount_attach(dev, at, target);
	(void)close(at);
	native_kernel_devices(build, target);
	native_kernel_links(dev);
	native_kernel_below(build, target, "pts",
	    native_mount_new("devpts",
		NATIVE_MOUNT_NOSUID | NATIVE_MOUNT_NOEXEC, terminals, 2));
	native_kernel_below(build, target, "shm",
	    native_mount_tmpfs(NATIVE_KERNEL_ALL, NATIVE_KERNEL_SHM_SIZE, 01777,
		launch->uid, launch->gid));
	native_mount_freeze(dev);
	(void)close(dev);
}
