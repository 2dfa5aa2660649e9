/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See oci_bundle.h. What every sandbox has is in the tables below, one
 * reason each; must never leave a namespace or a mask out.
 */
#include "supervisor/engine/oci_bundle.h"

#include <stdio.h>
#include <string.h>

#include "supervisor/init/init.h"
#include "supervisor/init/init_guest.h"
#include "supervisor/init/init_protocol.h"

#define OCI_BUNDLE_SHM "size=16777216"

/* Own processes, IPC objects, names, mounts, view of groups; a network with
 * nothing but lo. */
static const char *const oci_bundle_spaces[] = {
    "pid", "network", "ipc", "uts", "mount", "cgroup", NULL};

/* What engines cover of /proc, covered here too. */
static const char *const oci_bundle_masked[] = {"/proc/acpi", "/proc/asound",
    "/proc/cmdline", "/proc/interrupts", "/proc/kcore", "/proc/key-users",
    "/proc/keys", "/proc/latency_stats", "/proc/sched_debug", "/proc/scsi",
    "/proc/timer_list", "/proc/timer_stats", NULL};
static const char *const oci_bundle_frozen[] = {"/proc/bus", "/proc/fs",
    "/proc/irq", "/proc/sys", "/proc/sysrq-trigger", NULL};

/* No capability in any set. */
static const char *const oci_bundle_sets[] = {
    "bounding", "effective", "permitted", "inheritable", "ambient", NULL};
/* Of a guest kernel, not of the host's: who init's children become. */
#define OCI_BUNDLE_GUEST_SETS 3U
static const char *const oci_bundle_guest[] = {
    "CAP_KILL", "CAP_SETGID", "CAP_SETUID", "CAP_SETPCAP", NULL};

/* /proc does not list what may not be looked into, init above all; /sys is
 * not there. */
static const struct {
	const char *target, *type;
	const char *options[6];
} oci_bundle_mounts[] = {
    {"/proc", "proc", {"nosuid", "noexec", "nodev", "hidepid=invisible"}},
    {"/dev", "tmpfs",
	{"nosuid", "noexec", "strictatime", "mode=755", "size=65536k"}},
    {"/dev/pts", "devpts",
	{"nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620"}},
    {"/dev/shm", "tmpfs",
	{"nosuid", "noexec", "nodev", "mode=1777", OCI_BUNDLE_SHM}},
};

/* Without memory there is no list, and so no bundle: never one that lacks
 * an entry. */
static void
oci_bundle_put(json_t **list, json_t *value)
{
	if (json_array_append_new(*list, value) == 0)
		return;
	json_decref(*list);
	*list = NULL;
}

static void
oci_bundle_set(json_t **object, const char *key, json_t *value)
{
	if (json_object_set_new(*object, key, value) == 0)
		return;
	json_decref(*object);
	*object = NULL;
}

static json_t *
oci_bundle_list(const char *const *words)
{
	json_t *list = json_array();

	for (; *words != NULL; words++)
		oci_bundle_put(&list, json_string(*words));
	return list;
}

static void
oci_bundle_mount(json_t **mounts, const char *target, const char *type,
    const char *source, const char *const *options)
{
	oci_bundle_put(mounts,
	    json_pack("{s:s, s:s, s:s, s:o}", "destination", target, "type",
		type, "source", source, "options", oci_bundle_list(options)));
}

/* The sockets' directory is init's, where init is another user. */
static void
oci_bundle_tmpfs(json_t **mounts, const struct oci_bundle_spec *spec,
    const struct run_argv_tmpfs *tmpfs)
{
	const struct run_argv_input *input = spec->input;
	bool inits = spec->guest && strcmp(tmpfs->target, INIT_SOCKET_DIR) == 0;
	char size[40], mode[16], uid[24], gid[24];
	const char *options[] = {"rw", tmpfs->exec ? "exec" : "noexec",
	    "nosuid", "nodev", size, mode, uid, gid, NULL};

	(void)snprintf(
	    size, sizeof(size), "size=%llu", (unsigned long long)tmpfs->size);
	(void)snprintf(
	    mode, sizeof(mode), "mode=%04o", inits ? 0755 : tmpfs->mode);
	(void)snprintf(uid, sizeof(uid), "uid=%u",
	    inits          ? INIT_GUEST_UID
	    : tmpfs->owned ? input->uid
			   : 0);
	(void)snprintf(gid, sizeof(gid), "gid=%u",
	    inits          ? INIT_GUEST_UID
	    : tmpfs->owned ? input->gid
			   : 0);
	oci_bundle_mount(mounts, tmpfs->target, "tmpfs", "tmpfs", options);
}

static json_t *
oci_bundle_places(const struct oci_bundle_spec *spec)
{
	static const char *const read_only[] = {
	    "bind", "ro", "nosuid", "nodev", "private", NULL};
	static const char *const sys[] = {
	    "ro", "nosuid", "noexec", "nodev", NULL};
	const struct run_argv_input *input = spec->input;
	json_t *mounts = json_array();
	char source[RUN_ARGV_BYTES_MAX / 16];

	for (size_t i = 0;
	     i < sizeof(oci_bundle_mounts) / sizeof(oci_bundle_mounts[0]); i++)
		oci_bundle_mount(&mounts, oci_bundle_mounts[i].target,
		    oci_bundle_mounts[i].type, oci_bundle_mounts[i].type,
		    oci_bundle_mounts[i].options);
	/* Its kernel mounts it in any case. */
	if (spec->guest)
		oci_bundle_mount(&mounts, "/sys", "sysfs", "sysfs", sys);
	for (size_t i = 0; i < input->tmpfs_count; i++)
		oci_bundle_tmpfs(&mounts, spec, &input->tmpfs[i]);
	for (size_t i = 0; i < input->mount_count; i++) {
		(void)snprintf(
		    source, sizeof(source), "%s%zu", spec->volumes, i);
		oci_bundle_mount(&mounts, input->mounts[i].target, "bind",
		    source, read_only);
	}
	return mounts;
}

static void
oci_bundle_limit(json_t **limits, const char *type, uint64_t value)
{
	oci_bundle_put(
	    limits, json_pack("{s:s, s:I, s:I}", "type", type, "hard",
			(json_int_t)value, "soft", (json_int_t)value));
}

static json_t *
oci_bundle_process(const struct oci_bundle_spec *spec)
{
	const struct run_argv_input *input = spec->input;
	json_t *sets = json_object(), *limits = json_array();
	uint32_t uid = spec->guest ? INIT_GUEST_UID : input->uid;
	uint32_t gid = spec->guest ? INIT_GUEST_UID : input->gid;

	/* The first, of a guest, are those that init gives up in it. */
	for (size_t i = 0; oci_bundle_sets[i] != NULL; i++)
		oci_bundle_set(&sets, oci_bundle_sets[i],
		    spec->guest && i < OCI_BUNDLE_GUEST_SETS
			? oci_bundle_list(oci_bundle_guest)
			: json_array());
	oci_bundle_limit(&limits, "RLIMIT_CORE", 0);
	oci_bundle_limit(&limits, "RLIMIT_NOFILE", input->files);
	oci_bundle_limit(&limits, "RLIMIT_NPROC", input->pids);
	oci_bundle_limit(&limits, "RLIMIT_MSGQUEUE", 0);
	oci_bundle_limit(&limits, "RLIMIT_RTPRIO", 0);
	if (spec->data_max != 0)
		oci_bundle_limit(&limits, "RLIMIT_DATA", spec->data_max);
	return json_pack("{s:b, s:{s:I, s:I, s:i, s:[]}, s:[s, s], s:[], s:s, "
			 "s:o, s:b, s:o}",
	    "terminal", 0, "user", "uid", (json_int_t)uid, "gid",
	    (json_int_t)gid, "umask", 022, "additionalGids", "args",
	    input->entrypoint, spec->guest ? INIT_GUEST_WORD : INIT_WORD_FILTER,
	    "env", "cwd", "/", "capabilities", sets, "noNewPrivileges", 1,
	    "rlimits", limits);
}

static json_t *
oci_bundle_linux(const struct oci_bundle_spec *spec)
{
	json_t *spaces = json_array(), *all;

	for (size_t i = 0; oci_bundle_spaces[i] != NULL; i++)
		oci_bundle_put(
		    &spaces, json_pack("{s:s}", "type", oci_bundle_spaces[i]));
	/* Ports from 0 in this namespace: direct mode listens on 443. */
	all = json_pack("{s:o, s:{s:s}, s:o, s:o, s:s}", "namespaces", spaces,
	    "sysctl", "net.ipv4.ip_unprivileged_port_start", "0", "maskedPaths",
	    oci_bundle_list(oci_bundle_masked), "readonlyPaths",
	    oci_bundle_list(oci_bundle_frozen), "rootfsPropagation", "private");
	if (spec->cgroup != NULL)
		oci_bundle_set(&all, "cgroupsPath", json_string(spec->cgroup));
	return all;
}

enum result
oci_bundle_make(const struct oci_bundle_spec *spec, json_t **config_r)
{
	const struct run_argv_input *input = spec->input;

	*config_r = NULL;
	if (input->uid == 0 || input->gid == 0 || input->files == 0 ||
	    input->pids == 0 || input->entrypoint == NULL)
		return RESULT_BAD;
	*config_r = json_pack("{s:s, s:o, s:{s:s, s:b}, s:s, s:o, s:o}",
	    "ociVersion", "1.0.2", "process", oci_bundle_process(spec), "root",
	    "path", spec->root, "readonly", 1, "hostname", OCI_BUNDLE_HOSTNAME,
	    "mounts", oci_bundle_places(spec), "linux", oci_bundle_linux(spec));
	return *config_r != NULL ? RESULT_OK : RESULT_BAD;
}

static enum result
oci_bundle_hosts(const struct run_argv_input *input, char *text_r, size_t size)
{
	int len = snprintf(text_r, size,
	    "127.0.0.1 localhost " OCI_BUNDLE_HOSTNAME "\n::1 localhost\n");
	size_t used = (size_t)len;

	for (size_t i = 0; i < input->host_count; i++) {
		len = snprintf(text_r + used, size - used, "%s %s\n",
		    input->hosts[i].address, input->hosts[i].name);
		if (len < 0 || (size_t)len >= size - used)
			return RESULT_TOO_LONG;
		used += (size_t)len;
	}
	return RESULT_OK;
}

enum result
oci_bundle_texts(const struct run_argv_input *input,
    struct oci_bundle_text texts_r[OCI_BUNDLE_TEXTS])
{
	static const char *const paths[OCI_BUNDLE_TEXTS] = {"etc/hosts",
	    "etc/passwd", "etc/group", "etc/hostname", "etc/resolv.conf"};

	for (size_t i = 0; i < OCI_BUNDLE_TEXTS; i++) {
		texts_r[i].path = paths[i];
		texts_r[i].text[0] = '\0';
	}
	(void)snprintf(texts_r[1].text, sizeof(texts_r[1].text),
	    "root:x:0:0::/nonexistent:/bin/false\n"
	    "nobody:x:65534:65534::/nonexistent:/bin/false\n"
	    "sandbox:x:%u:%u:sandbox:/sandbox-home:/usr/sbin/nologin\n",
	    input->uid, input->gid);
	(void)snprintf(texts_r[2].text, sizeof(texts_r[2].text),
	    "root:x:0:\nnogroup:x:65534:\nsandbox:x:%u:\n", input->gid);
	(void)snprintf(
	    texts_r[3].text, sizeof(texts_r[3].text), OCI_BUNDLE_HOSTNAME "\n");
	return oci_bundle_hosts(
	    input, texts_r[0].text, sizeof(texts_r[0].text));
}
