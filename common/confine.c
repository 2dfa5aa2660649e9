/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes every right from the calling process, in the order of confine_steps
 * with the reason of each place. Called once by each confined main between
 * config and ready; must never continue half-way: any failure ends the
 * process.
 */
#define CONFINE_INTERNAL
#include "common/confine.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common/json_field.h"

#define CONFINE_READ_WRITE (PROT_READ | PROT_WRITE)

const struct confine_syscall confine_base[] = {
    /* memory: malloc; never executable */
    {SCMP_SYS(brk), CONFINE_ALLOW, 0, "malloc"},
    {SCMP_SYS(mmap), CONFINE_ALLOW_ARG2_MASKED, CONFINE_READ_WRITE, "malloc"},
    {SCMP_SYS(mprotect), CONFINE_ALLOW_ARG2_MASKED, CONFINE_READ_WRITE,
	"malloc"},
    {SCMP_SYS(munmap), CONFINE_ALLOW, 0, "free"},
    {SCMP_SYS(mremap), CONFINE_ALLOW, 0, "realloc"},
    {SCMP_SYS(madvise), CONFINE_ALLOW, 0, "free, secret_new"},
    /* the loop and its clock (the vDSO falls back to system calls) */
    {SCMP_SYS(epoll_wait), CONFINE_ALLOW, 0, "event_loop_run"},
    {SCMP_SYS(epoll_pwait), CONFINE_ALLOW, 0, "event_loop_run (arm64)"},
    {SCMP_SYS(epoll_ctl), CONFINE_ALLOW, 0, "event_add, event_del"},
    {SCMP_SYS(clock_gettime), CONFINE_ALLOW, 0, "event_loop_now_ms, log"},
    {SCMP_SYS(gettimeofday), CONFINE_ALLOW, 0, "libevent"},
    {SCMP_SYS(restart_syscall), CONFINE_ALLOW, 0, "the kernel, after a stop"},
    /* descriptors that are there */
    {SCMP_SYS(read), CONFINE_ALLOW, 0, "fd_read_all, libevent"},
    {SCMP_SYS(write), CONFINE_ALLOW, 0, "log"},
    {SCMP_SYS(readv), CONFINE_ALLOW, 0, "streams"},
    {SCMP_SYS(writev), CONFINE_ALLOW, 0, "streams"},
    {SCMP_SYS(lseek), CONFINE_ALLOW, 0, "stdio, at exit"},
    {SCMP_SYS(close), CONFINE_ALLOW, 0, "fd_close"},
    {SCMP_SYS(sendmsg), CONFINE_ALLOW, 0, "peer_send"},
    {SCMP_SYS(recvmsg), CONFINE_ALLOW, 0, "peer_read"},
    {SCMP_SYS(fcntl), CONFINE_ALLOW_ARG1, F_GETFL, "fd_set_nonblocking"},
    {SCMP_SYS(fcntl), CONFINE_ALLOW_ARG1, F_SETFL, "fd_set_nonblocking"},
    {SCMP_SYS(fcntl), CONFINE_ALLOW_ARG1, F_GETFD, "fd_set_cloexec"},
    {SCMP_SYS(fcntl), CONFINE_ALLOW_ARG1, F_SETFD, "fd_set_cloexec"},
    {SCMP_SYS(fcntl), CONFINE_ALLOW_ARG1, F_DUPFD_CLOEXEC, "peer_queue_fds"},
    {SCMP_SYS(fcntl), CONFINE_ALLOW_ARG1, F_GET_SEALS, "fd_is_sealed"},
    /* ending, and ending by abort() under its own name */
    {SCMP_SYS(exit), CONFINE_ALLOW, 0, "exit"},
    {SCMP_SYS(exit_group), CONFINE_ALLOW, 0, "exit"},
    {SCMP_SYS(rt_sigreturn), CONFINE_ALLOW, 0, "signal handlers"},
    {SCMP_SYS(rt_sigprocmask), CONFINE_ALLOW, 0, "abort, libevent"},
    {SCMP_SYS(rt_sigaction), CONFINE_ALLOW, 0, "abort, libevent"},
    {SCMP_SYS(getpid), CONFINE_ALLOW, 0, "abort"},
    {SCMP_SYS(gettid), CONFINE_ALLOW, 0, "abort"},
    {SCMP_SYS(tgkill), CONFINE_ALLOW_SELF, 0, "abort"},
    {SCMP_SYS(getrandom), CONFINE_ALLOW, 0, "malloc, ids"},
    {SCMP_SYS(futex), CONFINE_ALLOW, 0, "once-only starts of libraries"},
#if CONFINE_SANITIZED
    /* the sanitizers' own run time, in sanitizer builds only */
    {SCMP_SYS(sigaltstack), CONFINE_ALLOW, 0, "sanitizer"},
    {SCMP_SYS(sched_yield), CONFINE_ALLOW, 0, "sanitizer"},
    {SCMP_SYS(prctl), CONFINE_ALLOW, 0, "sanitizer"},
    {SCMP_SYS(prlimit64), CONFINE_ALLOW, 0, "sanitizer"},
    {SCMP_SYS(getrusage), CONFINE_ALLOW, 0, "sanitizer"},
    {SCMP_SYS(ioctl), CONFINE_EACCES, 0, "sanitizer"},
#endif
    {-1, CONFINE_EACCES, 0, NULL},
};

/* Libraries probe for files; they get EACCES rather than the end. */
static const int confine_families[] = {SCMP_SYS(open), SCMP_SYS(openat),
    SCMP_SYS(openat2), SCMP_SYS(creat), SCMP_SYS(stat), SCMP_SYS(lstat),
    SCMP_SYS(fstat), SCMP_SYS(newfstatat), SCMP_SYS(statx), SCMP_SYS(statfs),
    SCMP_SYS(access), SCMP_SYS(faccessat), SCMP_SYS(faccessat2),
    SCMP_SYS(readlink), SCMP_SYS(readlinkat), SCMP_SYS(mkdir),
    SCMP_SYS(mkdirat), -1};

static bool confine_is_entered;

/* LeakSanitizer asks before it looks; it would need ptrace and /proc, which
 * a confined process does not have. */
int confine_leaks_off(void) __asm__("__lsan_is_turned_off");
int
confine_leaks_off(void)
{
	return confine_is_entered ? 1 : 0;
}

void
confine_preload(void)
{
	struct tm broken_down;
	time_t now = 0;

	tzset();
	(void)gmtime_r(&now, &broken_down);
	json_field_seed();
}

static enum result
confine_one_thread(struct confine_run *run)
{
	DIR *tasks = opendir("/proc/self/task");
	const struct dirent *entry;
	unsigned count = 0;

	if (tasks == NULL)
		return RESULT_SYSTEM;
	while ((entry = readdir(tasks)) != NULL)
		if (entry->d_name[0] != '.')
			count++;
	(void)closedir(tasks);
	errno = EBUSY;
	run->layers.one_thread = count == 1;
	return count == 1 ? RESULT_OK : RESULT_REFUSED;
}

static enum result
confine_limit(int what, rlim_t most)
{
	struct rlimit limit;

	if (getrlimit((__rlimit_resource_t)what, &limit) != 0)
		return RESULT_SYSTEM;
	if (limit.rlim_max > most)
		limit.rlim_max = most;
	if (limit.rlim_cur > limit.rlim_max || most != 0)
		limit.rlim_cur = limit.rlim_max;
	return setrlimit((__rlimit_resource_t)what, &limit) == 0
		   ? RESULT_OK
		   : RESULT_SYSTEM;
}

static enum result
confine_limits(struct confine_run *run)
{
	enum result result = confine_limit(RLIMIT_CORE, 0);

	if (result == RESULT_OK && run->spec->files_max > 0)
		result = confine_limit(RLIMIT_NOFILE, run->spec->files_max);
	/* A sanitizer reserves terabytes of addresses. */
	if (result == RESULT_OK && run->spec->memory_max > 0 &&
	    !CONFINE_SANITIZED)
		result = confine_limit(RLIMIT_AS, run->spec->memory_max);
	return result;
}

static enum result
confine_not_dumpable(struct confine_run *run)
{
	(void)run;
	return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0 ? RESULT_OK
						       : RESULT_SYSTEM;
}

/* An ordinary user may not drop it; no_new_privs makes it void for him. */
static enum result
confine_bounding_set(struct confine_run *run)
{
	int cap, held;

	(void)run;
	for (cap = 0;; cap++) {
		held = prctl(PR_CAPBSET_READ, cap, 0, 0, 0);
		if (held < 0)
			return errno == EINVAL ? RESULT_OK : RESULT_SYSTEM;
		if (held == 1 && prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) != 0 &&
		    errno != EPERM)
			return RESULT_SYSTEM;
	}
}

static enum result
confine_ids(struct confine_run *run)
{
	const struct confine_spec *spec = run->spec;
	int death_signal = 0;

	if (geteuid() != 0)
		return RESULT_OK;
	errno = EINVAL;
	if (spec->uid == 0 || spec->gid == 0)
		return RESULT_REFUSED;
	/* The kernel forgets the parent-death signal with the old uid. */
	if (prctl(PR_GET_PDEATHSIG, &death_signal, 0, 0, 0) != 0 ||
	    setgroups(0, NULL) != 0 ||
	    setresgid(spec->gid, spec->gid, spec->gid) != 0 ||
	    setresuid(spec->uid, spec->uid, spec->uid) != 0 ||
	    prctl(PR_SET_PDEATHSIG, death_signal, 0, 0, 0) != 0)
		return RESULT_SYSTEM;
	return RESULT_OK;
}

static enum result
confine_capabilities(struct confine_run *run)
{
	struct __user_cap_header_struct header = {
	    _LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct none[2] = {{0, 0, 0}, {0, 0, 0}};

	(void)run;
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0 ||
	    syscall(SYS_capset, &header, none) != 0)
		return RESULT_SYSTEM;
	return RESULT_OK;
}

static enum result
confine_no_new_privs(struct confine_run *run)
{
	(void)run;
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 ? RESULT_OK
							   : RESULT_SYSTEM;
}

/* struct landlock_ruleset_attr as of ABI 6; older headers lack its end. */
struct confine_ruleset {
	uint64_t fs, net, scoped;
};

static size_t
confine_ruleset_fill(
    const struct confine_spec *spec, int abi, struct confine_ruleset *ruleset_r)
{
	static const uint64_t fs_bits[] = {0, 13, 14, 15, 15, 16};

	ruleset_r->fs = (1ULL << fs_bits[abi > 5 ? 5 : abi]) - 1;
	ruleset_r->net = (spec->deny_tcp_bind ? 1U : 0U) |
			 (spec->deny_tcp_connect ? 2U : 0U);
	ruleset_r->scoped = 3; /* abstract unix sockets, signals */
	return abi < 4 ? 8 : abi < 6 ? 16 : 24;
}

static enum result
confine_landlock_paths(const struct confine_spec *spec, int ruleset_fd,
    const struct confine_ruleset *ruleset)
{
	const struct confine_path *path = spec->paths;
	struct landlock_path_beneath_attr rule;

	for (; path != NULL && path->dir_fd >= 0; path++) {
		rule.allowed_access = path->rights & ruleset->fs;
		rule.parent_fd = path->dir_fd;
		if (syscall(SYS_landlock_add_rule, ruleset_fd,
			LANDLOCK_RULE_PATH_BENEATH, &rule, 0) != 0)
			return RESULT_SYSTEM;
	}
	return RESULT_OK;
}

static enum result
confine_landlock(struct confine_run *run)
{
	struct confine_ruleset ruleset;
	enum result result;
	size_t size;
	int fd;
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0,
	    LANDLOCK_CREATE_RULESET_VERSION);

	if (abi < 1) /* not built in, or not among the boot's modules */
		return run->spec->landlock_required ? RESULT_UNSUPPORTED
						    : RESULT_OK;
	size = confine_ruleset_fill(run->spec, (int)abi, &ruleset);
	fd = (int)syscall(SYS_landlock_create_ruleset, &ruleset, size, 0);
	if (fd < 0)
		return RESULT_SYSTEM;
	result = confine_landlock_paths(run->spec, fd, &ruleset);
	if (result == RESULT_OK &&
	    syscall(SYS_landlock_restrict_self, fd, 0) != 0)
		result = RESULT_SYSTEM;
	(void)close(fd);
	run->layers.landlock = result == RESULT_OK;
	run->layers.landlock_abi = (int)abi;
	return result;
}

/* Ask the kernel what is in force rather than believe the calls above. */
static enum result
confine_verify(struct confine_run *run)
{
	struct __user_cap_header_struct header = {
	    _LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct caps[2];
	struct confine_layers *layers = &run->layers;
	struct rlimit core;
	uid_t uid[3];
	gid_t gid[3];

	if (getresuid(&uid[0], &uid[1], &uid[2]) != 0 ||
	    getresgid(&gid[0], &gid[1], &gid[2]) != 0 ||
	    getrlimit(RLIMIT_CORE, &core) != 0 ||
	    syscall(SYS_capget, &header, caps) != 0)
		return RESULT_SYSTEM;
	layers->unprivileged = uid[0] != 0 && uid[0] == uid[1] &&
			       uid[1] == uid[2] && gid[0] == gid[1] &&
			       gid[1] == gid[2];
	layers->no_core = core.rlim_max == 0;
	layers->no_capabilities =
	    (caps[0].effective | caps[1].effective | caps[0].permitted |
		caps[1].permitted | caps[0].inheritable |
		caps[1].inheritable) == 0;
	layers->not_dumpable = prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 0;
	layers->no_new_privs = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1;
	errno = EPERM;
	return layers->unprivileged && layers->no_core &&
		       layers->no_capabilities && layers->not_dumpable &&
		       layers->no_new_privs && layers->one_thread
		   ? RESULT_OK
		   : RESULT_MISMATCH;
}

static int
confine_filter_row(scmp_filter_ctx filter, const struct confine_syscall *row)
{
	struct scmp_arg_cmp when = {0, SCMP_CMP_EQ, row->value, 0};
	uint32_t action = SCMP_ACT_ALLOW;
	unsigned conditions = 1;

	switch (row->verdict) {
	case CONFINE_ALLOW:
		conditions = 0;
		break;
	case CONFINE_EACCES:
		conditions = 0;
		action = SCMP_ACT_ERRNO(EACCES);
		break;
	case CONFINE_ENOSYS:
		conditions = 0;
		action = SCMP_ACT_ERRNO(ENOSYS);
		break;
	case CONFINE_ALLOW_ARG0:
	case CONFINE_ALLOW_ARG1:
	case CONFINE_ALLOW_ARG2: /* they follow each other */
		when.arg = (unsigned)(row->verdict - CONFINE_ALLOW_ARG0);
		break;
	case CONFINE_ALLOW_ARG2_MASKED:
		when.arg = 2;
		when.op = SCMP_CMP_MASKED_EQ;
		when.datum_a = ~(scmp_datum_t)row->value; /* these bits */
		when.datum_b = 0;                         /* are all 0 */
		break;
	case CONFINE_ALLOW_SELF:
		when.datum_a = (scmp_datum_t)getpid();
		break;
	}
	return seccomp_rule_add_array(
	    filter, action, row->number, conditions, &when);
}

/* True when the table decides this call by itself. */
static bool
confine_table_has(
    const struct confine_syscall *table, int number, bool only_whole)
{
	for (; table->number != -1; table++)
		if (table->number == number &&
		    (!only_whole || table->verdict == CONFINE_ALLOW ||
			table->verdict == CONFINE_EACCES ||
			table->verdict == CONFINE_ENOSYS))
			return true;
	return false;
}

/* The process's rows first; then the base and the families, each only where
 * the process said nothing (of the base: nothing for the whole call). */
static int
confine_filter_fill(scmp_filter_ctx filter, const struct confine_spec *spec)
{
	const struct confine_syscall *row;
	struct confine_syscall family = {
	    0, spec->may_open ? CONFINE_ALLOW : CONFINE_EACCES, 0, "libraries"};
	const int *number;
	int error = 0;

	for (row = spec->syscalls; row->number != -1 && error == 0; row++)
		error = confine_filter_row(filter, row);
	for (row = confine_base; row->number != -1 && error == 0; row++)
		if (!confine_table_has(spec->syscalls, row->number,
			row->verdict != CONFINE_EACCES))
			error = confine_filter_row(filter, row);
	for (number = confine_families; *number != -1 && error == 0; number++)
		if (!confine_table_has(spec->syscalls, *number, false)) {
			family.number = *number;
			error = confine_filter_row(filter, &family);
		}
	return error;
}

static enum result
confine_seccomp(struct confine_run *run)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_KILL_PROCESS);
	int error = -ENOMEM;

	if (filter == NULL)
		return RESULT_NO_MEMORY;
	/* x32 and foreign architectures die too; calls are found by a tree
	 * rather than one by one; no_new_privs is its own step. */
	error = seccomp_attr_set(
	    filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
	if (error == 0)
		error = seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	if (error == 0)
		error = seccomp_attr_set(filter, SCMP_FLTATR_CTL_NNP, 0);
	if (error == 0) /* the kernel's errno, not a summary */
		error = seccomp_attr_set(filter, SCMP_FLTATR_API_SYSRAWRC, 1);
	if (error == 0)
		error = confine_filter_fill(filter, run->spec);
	if (error == 0)
		error = seccomp_load(filter);
	seccomp_release(filter);
	errno = -error;
	run->layers.seccomp = error == 0;
	confine_is_entered = error == 0;
	return error == 0 ? RESULT_OK : RESULT_SYSTEM;
}

const struct confine_step confine_steps[] = {
    /* Landlock and seccomp bind the calling thread only. */
    {"one_thread", confine_one_thread},
    /* Limits before the uid: an override of the hard limit needs none. */
    {"limits", confine_limits},
    /* Needs a capability that the next two take. */
    {"bounding_set", confine_bounding_set},
    /* Before the filter, so that no filter has to allow setuid. */
    {"ids", confine_ids},
    {"capabilities", confine_capabilities},
    /* After the ids, since a change of uid resets it. */
    {"not_dumpable", confine_not_dumpable},
    /* Without it an unprivileged process may enter neither of the next. */
    {"no_new_privs", confine_no_new_privs},
    {"landlock", confine_landlock},
    /* Last moment in which the kernel may be asked. */
    {"verify", confine_verify},
    /* Last: whatever comes after would have to be allowed for ever. */
    {"seccomp", confine_seccomp},
    {NULL, NULL},
};

enum result
confine_enter_steps(const struct confine_spec *spec,
    const struct confine_step *steps, struct confine_layers *layers_r,
    char *detail_r, size_t detail_size)
{
	struct confine_run run = {.spec = spec};
	enum result result;

	memset(layers_r, 0, sizeof(*layers_r));
	for (; steps->name != NULL; steps++) {
		errno = 0;
		result = steps->enter(&run);
		if (result == RESULT_OK)
			continue;
		(void)snprintf(detail_r, detail_size, "%s: %s (%s)",
		    steps->name, result_text(result), strerror(errno));
		return result;
	}
	(void)snprintf(detail_r, detail_size, "in force");
	*layers_r = run.layers;
	return RESULT_OK;
}

enum result
confine_enter(const struct confine_spec *spec, struct confine_layers *layers_r,
    char *detail_r, size_t detail_size)
{
	/* First of all, so that nothing of the same uid looks in meanwhile;
	 * the step of that name looks at the outcome. */
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	return confine_enter_steps(
	    spec, confine_steps, layers_r, detail_r, detail_size);
}

json_t *
confine_ready(const struct confine_layers *layers)
{
	return json_pack("{s:{s:b,s:b,s:b,s:b,s:b,s:b,s:b,s:b,s:i}}", "layers",
	    "no_new_privs", layers->no_new_privs, "seccomp", layers->seccomp,
	    "landlock", layers->landlock, "unprivileged", layers->unprivileged,
	    "not_dumpable", layers->not_dumpable, "no_core", layers->no_core,
	    "no_capabilities", layers->no_capabilities, "one_thread",
	    layers->one_thread, "landlock_abi", layers->landlock_abi);
}
