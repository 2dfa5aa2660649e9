/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The expected outcomes of the walls, and the comparison of a whole report
 * (see the header). The mounts and texts are in wall_place.c. Must never
 * accept what it does not know.
 */
#include "supervisor/engine/wall_table.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "supervisor/engine/wall_place.h"

#define WALL_TABLE_ABI_SIGNALS 6
#define WALL_TABLE_OUTCOMES 3U
#define WALL_TABLE_TEXT_MAX 512U

static const struct {
	const char *name, *text;
} wall_table_words[INIT_WALL_COUNT] = {
#define WALL_TABLE_WORDS(name, text) {#name, text},
    INIT_WALL_LIST(WALL_TABLE_WORDS)
#undef WALL_TABLE_WORDS
};

/* Outcomes that differ from EPERM, the filter's usual answer; 0 in the
 * second and third place means "no other". Walls that depend on Landlock or
 * the launch are in wall_table_special(). */
struct wall_table_row {
	enum init_wall wall;
	int32_t outcomes[WALL_TABLE_OUTCOMES];
};

static const struct wall_table_row wall_table_rows[] = {
    {INIT_WALL_CLONE_USER, {ENOSYS}},
    {INIT_WALL_CLONE3, {ENOSYS}},
    {INIT_WALL_PERSONALITY, {ENOSYS}},
    {INIT_WALL_VSOCK, {EAFNOSUPPORT}},
    {INIT_WALL_PACKET, {EAFNOSUPPORT}},
    {INIT_WALL_ALG, {EAFNOSUPPORT}},
    {INIT_WALL_NETLINK_AUDIT, {EAFNOSUPPORT}},
    {INIT_WALL_SCTP, {EPROTONOSUPPORT}},
    {INIT_WALL_ROUTE4, {ENETUNREACH}},
    {INIT_WALL_ROUTE6, {ENETUNREACH, EAFNOSUPPORT, EADDRNOTAVAIL}},
    {INIT_WALL_METADATA, {ENETUNREACH}},
    {INIT_WALL_RESOLVER, {ECONNREFUSED}},
    {INIT_WALL_INIT_MEMORY, {EACCES}},
    {INIT_WALL_INIT_ENVIRON, {EACCES}},
    {INIT_WALL_INIT_FD, {EACCES}},
    {INIT_WALL_INIT_PIPES, {EACCES}},
    {INIT_WALL_INIT_ROOT, {EACCES}},
    {INIT_WALL_WRITE_ROOT, {EROFS}},
    {INIT_WALL_CONTROL_WRITE, {0}},
    {INIT_WALL_CONTROL_FORK, {0}},
    {INIT_WALL_CONTROL_TCP, {0}},
    {INIT_WALL_CONTROL_UNIX, {0}},
    {INIT_WALL_CONTROL_NETLINK, {0}},
    {INIT_WALL_CONTROL_NULL, {0}},
    {INIT_WALL_CONTROL_SCHED, {0}},
};

/* Where /proc does not even list init. */
static const struct wall_table_row wall_table_hidden[] = {
    {INIT_WALL_INIT_MEMORY, {ENOENT}},
    {INIT_WALL_INIT_ENVIRON, {ENOENT}},
    {INIT_WALL_INIT_FD, {ENOENT}},
    {INIT_WALL_INIT_PIPES, {ENOENT}},
    {INIT_WALL_INIT_ROOT, {ENOENT}},
};

/* Without an engine there is no root in the user namespace to become. */
static const struct wall_table_row wall_table_native[] = {
    {INIT_WALL_SETUID, {EINVAL}},
};

/* In a guest kernel (gVisor). Its devices are its own: null, zero, random and
 * the like, whatever number is asked for. It has no routes, and says so
 * otherwise. It shows everybody what init was started with, which is
 * nothing, and which numbers init has open, but (the next wall) not what is
 * behind them. init is another user there. */
static const struct wall_table_row wall_table_guest[] = {
    {INIT_WALL_MKNOD, {0}},
    {INIT_WALL_ROUTE4, {EHOSTUNREACH}},
    {INIT_WALL_ROUTE6, {EHOSTUNREACH}},
    {INIT_WALL_METADATA, {EHOSTUNREACH}},
    {INIT_WALL_INIT_ENVIRON, {0}},
    {INIT_WALL_INIT_FD, {0}},
    {INIT_WALL_INIT_PIPES, {EACCES}},
    {INIT_WALL_WRITE_ROOT, {EACCES}},
    {INIT_WALL_WRITE_PROC, {0}},
    {INIT_WALL_WRITE_SOCKETS, {EACCES}},
    {INIT_WALL_SIGNAL_INIT, {EPERM}},
};

const char *
wall_table_name(enum init_wall wall)
{
	return (unsigned)wall < INIT_WALL_COUNT ? wall_table_words[wall].name
						: "UNKNOWN";
}

const char *
wall_table_text(enum init_wall wall)
{
	return (unsigned)wall < INIT_WALL_COUNT ? wall_table_words[wall].text
						: "unknown";
}

void
wall_table_tell(struct wall_table_state *state, const char *format, ...)
{
	char text[WALL_TABLE_TEXT_MAX];
	va_list list;

	state->differences++;
	if (state->told == NULL)
		return;
	va_start(list, format);
	(void)vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	state->told(text, state->context);
}

/* True when the wall's outcome depends on the kernel's Landlock or on the
 * launch; outcome_r is then what it must be. */
static bool
wall_table_special(const struct init_report *report, enum init_wall wall,
    const struct wall_table_expected *expected, int32_t *outcome_r)
{
	bool landlock = report->landlock_abi > 0;

	if (expected->open_root &&
	    (wall == INIT_WALL_WRITE_ROOT || wall == INIT_WALL_WRITE_SOCKETS))
		*outcome_r = -1; /* not tried */
	else if (wall == INIT_WALL_MKNOD)
		*outcome_r = landlock ? EACCES : EPERM;
	else if (expected->open_root && wall == INIT_WALL_WRITE_PROC)
		*outcome_r = 0;
	else if (wall == INIT_WALL_WRITE_PROC ||
		 (wall == INIT_WALL_WRITE_SOCKETS && expected->sockets))
		*outcome_r = landlock ? EACCES : 0;
	else if (wall == INIT_WALL_EXEC_WRITABLE)
		*outcome_r = expected->writable_exec ? ENOEXEC : EACCES;
	else if (wall == INIT_WALL_SET_UID)
		*outcome_r = expected->host_written ? EPERM : 0;
	else if (wall == INIT_WALL_SIGNAL_INIT)
		*outcome_r =
		    report->landlock_abi >= WALL_TABLE_ABI_SIGNALS ? EPERM : 0;
	else
		return false;
	return true;
}

static const struct wall_table_row *
wall_table_row(
    enum init_wall wall, const struct wall_table_row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (rows[i].wall == wall)
			return &rows[i];
	}
	return NULL;
}

bool
wall_table_outcome(const struct init_report *report, enum init_wall wall,
    const struct wall_table_expected *expected)
{
	int32_t outcome, got = report->walls[wall];
	const struct wall_table_row *row = NULL;

	if (expected->guest)
		row = wall_table_row(wall, wall_table_guest,
		    sizeof(wall_table_guest) / sizeof(*row));
	if (row != NULL)
		return got == row->outcomes[0];
	if (wall_table_special(report, wall, expected, &outcome))
		return got == outcome;
	/* Not mounted: the root is read-only or has no such folder. */
	if (wall == INIT_WALL_WRITE_SOCKETS)
		return got == EROFS || got == ENOENT;
	if (expected->native)
		row = wall_table_row(wall, wall_table_native,
		    sizeof(wall_table_native) / sizeof(*row));
	if (row == NULL && (expected->native || expected->hides_init))
		row = wall_table_row(wall, wall_table_hidden,
		    sizeof(wall_table_hidden) / sizeof(*row));
	if (row == NULL)
		row = wall_table_row(wall, wall_table_rows,
		    sizeof(wall_table_rows) / sizeof(*row));
	if (row == NULL)
		return got == EPERM;
	if (got == row->outcomes[0])
		return true;
	for (unsigned n = 1; n < WALL_TABLE_OUTCOMES; n++) {
		if (got != 0 && got == row->outcomes[n])
			return true;
	}
	return false;
}

static void
wall_table_walls(struct wall_table_state *state)
{
	const struct init_report *report = state->report;

	if (report->landlock_abi == 0 && state->expected->landlock_required)
		wall_table_tell(state,
		    "Landlock is not available in this kernel; it must be, "
		    "or sandbox.overrides must name no_landlock");
	for (unsigned i = 0; i < INIT_WALL_COUNT; i++) {
		enum init_wall wall = (enum init_wall)i;
		int32_t got = report->walls[i];

		if (wall_table_outcome(report, wall, state->expected))
			continue;
		wall_table_tell(state,
		    "wall %s: the attempt to %s ended with %s, which is not "
		    "the expected outcome",
		    wall_table_name(wall), wall_table_text(wall),
		    got == 0    ? "success"
		    : got == -1 ? "no answer"
				: strerror(got));
	}
}

static void
wall_table_ids(struct wall_table_state *state)
{
	const struct init_report_status *status = &state->report->status;

	for (unsigned i = 0; i < 4; i++) {
		if (status->uid[i] != state->expected->uid ||
		    status->gid[i] != state->expected->gid) {
			wall_table_tell(state,
			    "the workload would run as %u:%u instead of %u:%u",
			    status->uid[i], status->gid[i],
			    state->expected->uid, state->expected->gid);
			break;
		}
	}
	if (status->group_count > state->expected->groups_max)
		wall_table_tell(state, "%u supplementary groups are left",
		    status->group_count);
}

static void
wall_table_rights(struct wall_table_state *state)
{
	const struct init_report_status *status = &state->report->status;

	if ((status->inheritable | status->permitted | status->effective |
		status->bounding | status->ambient) != 0)
		wall_table_tell(state,
		    "capabilities are left: permitted %llx, effective %llx, "
		    "bounding %llx",
		    (unsigned long long)status->permitted,
		    (unsigned long long)status->effective,
		    (unsigned long long)status->bounding);
	if (status->no_new_privs != 1)
		wall_table_tell(state, "no_new_privs is not set");
	if (status->seccomp != 2)
		wall_table_tell(state, "no system call filter is in force");
	if (status->init_dumpable != 0)
		wall_table_tell(state, "init's memory can be opened");
}

static void
wall_table_limits(struct wall_table_state *state)
{
	const struct wall_table_expected *expected = state->expected;
	const struct init_report_limit *limits = state->report->limits;

	if (limits[RLIMIT_CORE].hard != 0)
		wall_table_tell(state, "core dumps are possible");
	if (expected->files_max != 0 &&
	    limits[RLIMIT_NOFILE].hard > expected->files_max)
		wall_table_tell(state,
		    "%llu open files are possible, at most %llu expected",
		    (unsigned long long)limits[RLIMIT_NOFILE].hard,
		    (unsigned long long)expected->files_max);
	if (expected->processes_max != 0 &&
	    limits[RLIMIT_NPROC].hard > expected->processes_max)
		wall_table_tell(state,
		    "%llu processes are possible, at most %llu expected",
		    (unsigned long long)limits[RLIMIT_NPROC].hard,
		    (unsigned long long)expected->processes_max);
}

static void
wall_table_network(struct wall_table_state *state)
{
	const struct init_report *report = state->report;
	static const char lo[INIT_REPORT_NAME_MAX] = "lo";

	if (report->interface_count != 1 ||
	    memcmp(report->interfaces[0], lo, sizeof(lo)) != 0)
		wall_table_tell(state,
		    "%u network interfaces are there; only lo may be",
		    report->interface_count);
	if (report->route_count != 0)
		wall_table_tell(state, "%u routes lead out of the container",
		    report->route_count);
}

/* Of a sealed volume that init alone can look into. */
static void
wall_table_look(struct wall_table_state *state)
{
	const struct init_report_look *look = &state->report->look;

	if (look->places != state->expected->looks)
		wall_table_tell(state,
		    "init looked into %u sealed places instead of %u",
		    look->places, state->expected->looks);
	if (look->odd != 0)
		wall_table_tell(state,
		    "a sealed volume has %.*s, which is no file, folder or "
		    "link that can be read (%u such)",
		    (int)sizeof(look->path) - 1, look->path, look->odd);
}

unsigned
wall_table_compare(const struct init_report *report, size_t size,
    const struct wall_table_expected *expected, wall_table_difference *told,
    void *context)
{
	struct wall_table_state state = {.report = report,
	    .expected = expected,
	    .told = told,
	    .context = context};

	if (size != sizeof(*report) || report->magic != INIT_REPORT_MAGIC ||
	    report->version != INIT_REPORT_VERSION ||
	    report->size != sizeof(*report)) {
		wall_table_tell(&state,
		    "init's report is not one of this version; agentnode and "
		    "agentnode-init must be from one build");
		return state.differences;
	}
	wall_table_walls(&state);
	wall_table_ids(&state);
	wall_table_rights(&state);
	wall_table_limits(&state);
	wall_table_network(&state);
	wall_table_look(&state);
	wall_place_mounts(&state);
	wall_place_names(&state);
	wall_place_environment(&state);
	return state.differences;
}
