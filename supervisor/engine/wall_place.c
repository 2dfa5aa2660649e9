/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares the place with what was launched (see the header). Engines add
 * mounts of their own; those are in a table here, and whatever is neither
 * there nor asked for is a difference.
 */
#include "supervisor/engine/wall_place.h"

#include <string.h>

#define WALL_PLACE_RO INIT_REPORT_RDONLY
#define WALL_PLACE_SUID INIT_REPORT_NOSUID
#define WALL_PLACE_DEV (INIT_REPORT_NOSUID | INIT_REPORT_NODEV)
#define WALL_PLACE_SIZED UINT64_MAX /* any size, but one */
#define WALL_PLACE_ALL (WALL_PLACE_DEV | INIT_REPORT_NOEXEC)

/* Mounts of the engines. A point that ends in '/' stands for everything
 * below it. */
static const struct wall_table_mount wall_place_engine[] = {
    {"/", NULL, WALL_PLACE_RO, 0},
    {"/proc", "proc", WALL_PLACE_ALL, 0},
    /* Parts of /proc hidden or made read-only; /proc/keys and the like are
     * covered by the null device. */
    {"/proc/", "proc", WALL_PLACE_RO, 0},
    {"/proc/", "tmpfs", WALL_PLACE_RO, 0},
    {"/proc/", "tmpfs", INIT_REPORT_NOSUID | INIT_REPORT_NOEXEC, 0},
    {"/proc/", "devtmpfs", 0, 0},
    {"/dev", "tmpfs", WALL_PLACE_SUID, 0},
    {"/dev/pts", "devpts", INIT_REPORT_NOSUID | INIT_REPORT_NOEXEC, 0},
    {"/dev/mqueue", "mqueue", WALL_PLACE_ALL, 0},
    {"/dev/shm", "tmpfs", WALL_PLACE_ALL, WALL_PLACE_SIZED},
    /* Rootless engines bind the six harmless devices one by one. */
    {"/dev/null", "devtmpfs", 0, 0},
    {"/dev/zero", "devtmpfs", 0, 0},
    {"/dev/full", "devtmpfs", 0, 0},
    {"/dev/tty", "devtmpfs", 0, 0},
    {"/dev/random", "devtmpfs", 0, 0},
    {"/dev/urandom", "devtmpfs", 0, 0},
    {"/sys", "sysfs", WALL_PLACE_ALL | WALL_PLACE_RO, 0},
    {"/sys/", "tmpfs", WALL_PLACE_RO, 0},
    {"/sys/fs/cgroup", "tmpfs", WALL_PLACE_ALL, 0},
    {"/sys/fs/cgroup", "cgroup2", WALL_PLACE_ALL | WALL_PLACE_RO, 0},
    {"/sys/fs/cgroup/", "cgroup", WALL_PLACE_ALL | WALL_PLACE_RO, 0},
    {"/sys/fs/cgroup/", "cgroup2", WALL_PLACE_ALL | WALL_PLACE_RO, 0},
    /* Files the engine writes for this container. */
    {"/etc/hosts", NULL, WALL_PLACE_RO, 0},
    {"/etc/hostname", NULL, WALL_PLACE_RO, 0},
    {"/etc/resolv.conf", NULL, WALL_PLACE_RO, 0},
    {"/etc/passwd", NULL, WALL_PLACE_RO, 0},
    {"/etc/group", NULL, WALL_PLACE_RO, 0},
    {"/run/.containerenv", NULL, WALL_PLACE_RO, 0},
};

/* Docker's own besides: the null device over files of /proc. */
static const struct wall_table_mount wall_place_docker[] = {
    {"/proc/", "tmpfs", INIT_REPORT_NOSUID, 0},
};

/* Mounts of agentnode-native besides the steps of a view. */
static const struct wall_table_mount wall_place_native[] = {
    {"/", NULL, WALL_PLACE_RO, 0},
    {"/proc", "proc", WALL_PLACE_ALL, 0},
    {"/proc/", "proc", WALL_PLACE_RO | WALL_PLACE_ALL, 0},
    {"/proc/", "tmpfs", WALL_PLACE_RO | WALL_PLACE_ALL, 0},
    {"/dev", "tmpfs", WALL_PLACE_SUID | WALL_PLACE_RO, 0},
    {"/dev/pts", "devpts", INIT_REPORT_NOSUID | INIT_REPORT_NOEXEC, 0},
    {"/dev/shm", "tmpfs", WALL_PLACE_ALL, WALL_PLACE_SIZED},
    {"/dev/null", NULL, WALL_PLACE_RO | WALL_PLACE_SUID, 0},
    {"/dev/zero", NULL, WALL_PLACE_RO | WALL_PLACE_SUID, 0},
    {"/dev/full", NULL, WALL_PLACE_RO | WALL_PLACE_SUID, 0},
    {"/dev/random", NULL, WALL_PLACE_RO | WALL_PLACE_SUID, 0},
    {"/dev/urandom", NULL, WALL_PLACE_RO | WALL_PLACE_SUID, 0},
    {"/etc/hosts", "tmpfs", WALL_PLACE_RO | WALL_PLACE_ALL, 0},
    {"/etc/hostname", "tmpfs", WALL_PLACE_RO | WALL_PLACE_ALL, 0},
    {"/etc/passwd", "tmpfs", WALL_PLACE_RO | WALL_PLACE_ALL, 0},
    {"/etc/group", "tmpfs", WALL_PLACE_RO | WALL_PLACE_ALL, 0},
    {"/etc/resolv.conf", "tmpfs", WALL_PLACE_RO | WALL_PLACE_ALL, 0},
    {"/etc/machine-id", "tmpfs", WALL_PLACE_RO | WALL_PLACE_ALL, 0},
    {"/etc/gitconfig", "tmpfs", WALL_PLACE_RO | WALL_PLACE_ALL, 0},
    {"/etc/gitexclude", "tmpfs", WALL_PLACE_RO | WALL_PLACE_ALL, 0},
};

/* All of a guest kernel's (gVisor): it knows neither nosuid nor nodev, and
 * has no set-user-id programs (no_new_privs) nor devices but its own. */
static const struct wall_table_mount wall_place_guest[] = {
    {"/", "9p", WALL_PLACE_RO, 0},
    {"/proc", "proc", INIT_REPORT_NOEXEC, 0},
    {"/dev", "tmpfs", INIT_REPORT_NOEXEC, 0},
    {"/dev/pts", "devpts", INIT_REPORT_NOEXEC, 0},
    {"/dev/shm", "tmpfs", INIT_REPORT_NOEXEC, WALL_PLACE_SIZED},
    {"/sys", "sysfs", WALL_PLACE_RO | INIT_REPORT_NOEXEC, 0},
};

/* What engines put into init's environment. */
static const char *const wall_place_variables[] = {"PATH=", "TERM=", "HOME=",
    "HOSTNAME=", "container=podman", "container=oci", NULL};

static const char *const wall_place_own_names[] = {"localhost",
    "localhost.localdomain", "localhost4", "localhost6", "ip6-localhost",
    "ip6-loopback", NULL};

static bool
wall_place_matches(
    const struct wall_table_mount *want, const struct init_report_mount *mount)
{
	size_t len = strlen(want->point);
	bool below = len > 1 && want->point[len - 1] == '/';

	if (below ? strncmp(mount->point, want->point, len) != 0
		  : strcmp(mount->point, want->point) != 0)
		return false;
	if (want->type != NULL && strcmp(want->type, mount->type) != 0)
		return false;
	if ((mount->flags & want->flags) != want->flags)
		return false;
	if (want->size == WALL_PLACE_SIZED)
		return mount->size != 0;
	return want->size == 0 || want->size == mount->size;
}

static bool
wall_place_in(const struct wall_table_mount *list, size_t count,
    const struct init_report_mount *mount)
{
	for (size_t i = 0; i < count; i++) {
		if (wall_place_matches(&list[i], mount))
			return true;
	}
	return false;
}

static bool
wall_place_known(
    const struct wall_table_state *state, const struct init_report_mount *mount)
{
	const struct wall_table_expected *expected = state->expected;

	if (wall_place_in(expected->mounts, expected->mount_count, mount))
		return true;
	if (!expected->open_root && strcmp(mount->point, "/") == 0 &&
	    (mount->flags & INIT_REPORT_RDONLY) == 0)
		return false; /* whatever else would allow it */
	/* All of the host's, but never a device or a set-uid program. */
	if (expected->open_root &&
	    (mount->flags & WALL_PLACE_DEV) == WALL_PLACE_DEV)
		return true;
	if (expected->docker &&
	    wall_place_in(wall_place_docker,
		sizeof(wall_place_docker) / sizeof(wall_place_docker[0]),
		mount))
		return true;
	if (expected->guest)
		return wall_place_in(wall_place_guest,
		    sizeof(wall_place_guest) / sizeof(wall_place_guest[0]),
		    mount);
	if (!expected->native)
		return wall_place_in(wall_place_engine,
		    sizeof(wall_place_engine) / sizeof(wall_place_engine[0]),
		    mount);
	return wall_place_in(wall_place_native,
		   sizeof(wall_place_native) / sizeof(wall_place_native[0]),
		   mount) ||
	       wall_place_in(expected->allowed, expected->allowed_count, mount);
}

/* How often a mount the launcher asked for is there, counting each mount at
 * that point whatever it is: a second one would hide the first. */
static void
wall_place_mount_found(
    struct wall_table_state *state, const struct wall_table_mount *want)
{
	const struct init_report *report = state->report;
	unsigned at_point = 0, right = 0;

	for (uint32_t i = 0; i < report->mount_count; i++) {
		const struct init_report_mount *mount = &report->mounts[i];

		if (strcmp(mount->point, want->point) != 0)
			continue;
		at_point++;
		if (wall_place_matches(want, mount))
			right++;
	}
	if (at_point != 1 || right != 1)
		wall_table_tell(state,
		    "the mount %s is there %u times, as asked for %u times",
		    want->point, at_point, right);
}

void
wall_place_mounts(struct wall_table_state *state)
{
	const struct init_report *report = state->report;

	if (report->mount_count > INIT_REPORT_MOUNTS_MAX) {
		wall_table_tell(state,
		    "%u mounts are there, at most %u expected",
		    report->mount_count, INIT_REPORT_MOUNTS_MAX);
		return;
	}
	for (uint32_t i = 0; i < report->mount_count; i++) {
		const struct init_report_mount *mount = &report->mounts[i];

		if (memchr(mount->point, '\0', sizeof(mount->point)) == NULL ||
		    memchr(mount->type, '\0', sizeof(mount->type)) == NULL) {
			wall_table_tell(state, "a mount has no end of name");
			return;
		}
		if (!wall_place_known(state, mount))
			wall_table_tell(state,
			    "the mount %s (%s, flags %u, size %llu) is not "
			    "expected",
			    mount->point, mount->type, mount->flags,
			    (unsigned long long)mount->size);
	}
	for (size_t i = 0; i < state->expected->mount_count; i++)
		wall_place_mount_found(state, &state->expected->mounts[i]);
}

static bool
wall_place_is(const char *word, size_t len, const char *text)
{
	return text != NULL && strlen(text) == len &&
	       memcmp(word, text, len) == 0;
}

/* A name of the container's own, which only a loopback address may have. */
static bool
wall_place_own_name(
    const struct wall_table_state *state, const char *name, size_t len)
{
	for (unsigned i = 0; wall_place_own_names[i] != NULL; i++) {
		if (wall_place_is(name, len, wall_place_own_names[i]))
			return true;
	}
	return wall_place_is(name, len, state->expected->hostname) ||
	       wall_place_is(name, len, state->expected->container_name);
}

static bool
wall_place_loopback(const char *address, size_t len)
{
	return wall_place_is(address, len, "::1") ||
	       (len > 4 && memcmp(address, "127.", 4) == 0);
}

/* Index of the expected host with this address and name, or host_count. */
static size_t
wall_place_host(const struct wall_table_state *state, const char *address,
    size_t address_len, const char *name, size_t name_len)
{
	size_t i;

	for (i = 0; i < state->expected->host_count; i++) {
		const struct wall_table_host *host = &state->expected->hosts[i];

		if (wall_place_is(address, address_len, host->address) &&
		    wall_place_is(name, name_len, host->name))
			break;
	}
	return i;
}

/* The next word of a line, up to a comment; false at its end. */
static bool
wall_place_word(
    const char **at, const char *end, const char **word_r, size_t *len_r)
{
	const char *from = *at;

	while (from < end && (*from == ' ' || *from == '\t' || *from == '\r'))
		from++;
	*word_r = from;
	while (from < end && strchr(" \t\r#", *from) == NULL)
		from++;
	*len_r = (size_t)(from - *word_r);
	*at = from;
	return *len_r > 0;
}

/* The lines Docker writes for IPv6 multicast: they lead nowhere. */
static bool
wall_place_docker_host(const struct wall_table_state *state, const char *name,
    size_t name_len, const char *address, size_t address_len)
{
	static const struct wall_table_host lines[] = {
	    {"fe00::0", "ip6-localnet"}, {"ff00::0", "ip6-mcastprefix"},
	    {"fe00::", "ip6-localnet"}, {"ff00::", "ip6-mcastprefix"},
	    {"ff02::1", "ip6-allnodes"}, {"ff02::2", "ip6-allrouters"}};

	if (!state->expected->docker)
		return false;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		if (wall_place_is(address, address_len, lines[i].address) &&
		    wall_place_is(name, name_len, lines[i].name))
			return true;
	}
	return false;
}

/* One line of hosts; marks what it found in seen. */
static void
wall_place_hosts_line(struct wall_table_state *state, const char *line,
    const char *end, uint64_t *seen)
{
	const char *address, *name;
	size_t address_len, name_len;

	if (!wall_place_word(&line, end, &address, &address_len))
		return;
	while (wall_place_word(&line, end, &name, &name_len)) {
		size_t found = wall_place_host(
		    state, address, address_len, name, name_len);

		if (found < state->expected->host_count)
			*seen |= 1ULL << found;
		else if ((!wall_place_own_name(state, name, name_len) ||
			     !wall_place_loopback(address, address_len)) &&
			 !wall_place_docker_host(
			     state, name, name_len, address, address_len))
			wall_table_tell(state,
			    "the hosts file names %.*s as %.*s, which is not "
			    "expected",
			    (int)name_len, name, (int)address_len, address);
	}
}

static void
wall_place_hosts(struct wall_table_state *state)
{
	const struct init_report *report = state->report;
	const char *at = report->hosts;
	const char *end = at + report->hosts_len;
	uint64_t seen = 0;

	if (report->hosts_len > sizeof(report->hosts) ||
	    state->expected->host_count > 64) {
		wall_table_tell(state, "the hosts file is too long");
		return;
	}
	while (at < end) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));

		if (stop == NULL)
			stop = end;
		wall_place_hosts_line(state, at, stop, &seen);
		at = stop + 1;
	}
	for (size_t i = 0; i < state->expected->host_count; i++) {
		if ((seen & (1ULL << i)) == 0)
			wall_table_tell(state,
			    "the hosts file has no line for %s at %s",
			    state->expected->hosts[i].name,
			    state->expected->hosts[i].address);
	}
}

/* No resolver: nothing but comments, or name servers at a loopback address,
 * where nobody answers. */
static void
wall_place_resolver(struct wall_table_state *state)
{
	const struct init_report *report = state->report;
	const char *at = report->resolv;
	const char *end = at + report->resolv_len;

	if (report->resolv_len > sizeof(report->resolv)) {
		wall_table_tell(state, "resolv.conf is too long");
		return;
	}
	while (at < end) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));
		const char *word, *value, *line = at;
		size_t len, value_len;

		if (stop == NULL)
			stop = end;
		at = stop + 1;
		if (!wall_place_word(&line, stop, &word, &len) ||
		    word[0] == ';')
			continue;
		if (!wall_place_is(word, len, "nameserver") ||
		    !wall_place_word(&line, stop, &value, &value_len) ||
		    !wall_place_loopback(value, value_len))
			wall_table_tell(state,
			    "resolv.conf has the line \"%.*s\"; it must name "
			    "no resolver",
			    (int)(stop - word), word);
	}
}

void
wall_place_names(struct wall_table_state *state)
{
	char hostname[INIT_REPORT_HOST_MAX] = "";
	const char *domain = state->report->domainname;
	size_t len = strlen(state->expected->hostname);

	if (len < sizeof(hostname))
		memcpy(hostname, state->expected->hostname, len);
	if (memcmp(hostname, state->report->hostname, sizeof(hostname)) != 0)
		wall_table_tell(state, "the host name is not %s", hostname);
	/* The report's field may lack its end, so the bound is the field's.
	 * NOLINTNEXTLINE(bugprone-not-null-terminated-result) */
	if (strncmp(domain, "(none)", INIT_REPORT_HOST_MAX) != 0 &&
	    domain[0] != '\0' &&
	    (!state->expected->guest || /* its host name once more */
		memcmp(hostname, domain, sizeof(hostname)) != 0))
		wall_table_tell(state, "a domain name is set");
	wall_place_hosts(state);
	wall_place_resolver(state);
}

/* entry is "NAME=value"; want the same, or "NAME=" for any value. */
static bool
wall_place_variable(const char *const *list, const char *entry)
{
	for (; list != NULL && *list != NULL; list++) {
		size_t len = strlen(*list);

		if (strcmp(*list, entry) == 0 ||
		    (len > 0 && (*list)[len - 1] == '=' &&
			strncmp(*list, entry, len) == 0))
			return true;
	}
	return false;
}

void
wall_place_environment(struct wall_table_state *state)
{
	const struct init_report *report = state->report;

	if (report->env_count > INIT_REPORT_ENV_MAX) {
		wall_table_tell(state,
		    "%u variables are set, at most %u expected",
		    report->env_count, INIT_REPORT_ENV_MAX);
		return;
	}
	for (uint32_t i = 0; i < report->env_count; i++) {
		const char *entry = report->env[i];

		if (memchr(entry, '\0', INIT_REPORT_ENV_LEN) == NULL ||
		    ((state->expected->native ||
			 !wall_place_variable(wall_place_variables, entry)) &&
			!wall_place_variable(state->expected->env, entry)))
			wall_table_tell(state,
			    "the variable %.*s is in the container's "
			    "environment",
			    (int)strcspn(entry, "="), entry);
	}
}
