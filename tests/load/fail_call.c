/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a command and fails one system call somewhere below it: the Nth call
 * of a kind that processes of one program make, with an errno. Nobody is
 * traced and no process of ours knows of it: a seccomp filter, inherited by
 * everything the command starts, asks here about calls of that kind, and all
 * but one are let through. Used by tests/load/fault_calls.py. It must never
 * fail a call of anything that the command did not start.
 *
 *   fail_call --calls NAME[,NAME...] [--program P --nth N --errno E]
 *       [--timeout S] [--linger S] [--report FILE] -- COMMAND...
 *
 * The report has a line for each program and kind of call ("count P NAME N"),
 * "injected 0|1", "hung 0|1", "left 0|1" (something the command started was
 * alive `linger` seconds after its end; it is killed then) and "status N".
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	CALLS_MAX = 200,
	ROWS_MAX = 2048,
	LEFT_MAX = 512,
	NAME_SIZE = 64
};

struct row {
	char program[NAME_SIZE];
	int call;
	unsigned long count;
};

struct fail_call {
	int calls[CALLS_MAX];
	size_t call_count;
	const char *program, *report;
	unsigned long nth;
	int error;
	double timeout, linger;
	char **command;
	int listener;
	pid_t child;
	int status;
	bool ended, injected, hung, left;
	struct row rows[ROWS_MAX];
	size_t row_count;
	pid_t seen[LEFT_MAX]; /* the last pids that asked */
	size_t seen_count;
};

static void
fail_call_die(const char *what)
{
	fprintf(stderr, "fail_call: %s: %s\n", what, strerror(errno));
	exit(2);
}

static double
fail_call_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int
fail_call_errno(const char *name)
{
	static const struct {
		const char *name;
		int value;
	} table[] = {{"ENOMEM", ENOMEM}, {"EMFILE", EMFILE}, {"ENFILE", ENFILE},
	    {"ENOSPC", ENOSPC}, {"EIO", EIO}, {"EINTR", EINTR},
	    {"EAGAIN", EAGAIN}, {"EPERM", EPERM}, {"EACCES", EACCES},
	    {"ENOBUFS", ENOBUFS}, {"EINVAL", EINVAL}};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (strcmp(table[i].name, name) == 0)
			return table[i].value;
	fprintf(stderr, "fail_call: no errno %s in its table\n", name);
	exit(2);
}

static void
fail_call_names(struct fail_call *self, char *list)
{
	for (char *name = strtok_r(list, ",", &list); name != NULL;
	     name = strtok_r(NULL, ",", &list)) {
		int number = seccomp_syscall_resolve_name(name);

		if (number < 0 || self->call_count == CALLS_MAX) {
			fprintf(stderr, "fail_call: no system call %s\n", name);
			exit(2);
		}
		self->calls[self->call_count++] = number;
	}
}

/* Ask about the listed calls, allow the others. */
static int
fail_call_filter(const struct fail_call *self)
{
	struct sock_filter code[CALLS_MAX + 6];
	struct sock_fprog program = {.filter = code};
	size_t n = 0;

	code[n++] = (struct sock_filter)BPF_STMT(
	    BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < self->call_count; i++)
		code[n++] = (struct sock_filter)BPF_JUMP(
		    BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)self->calls[i],
		    (uint8_t)(self->call_count - i), 0);
	code[n++] =
	    (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	code[n++] = (struct sock_filter)BPF_STMT(
	    BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF);
	program.len = (unsigned short)n;
	return (int)syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER,
	    SECCOMP_FILTER_FLAG_NEW_LISTENER |
		SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV,
	    &program);
}

/* The child shares the table of descriptors until it execs, so that no call
 * of its own is needed to hand the listener over. */
static void
fail_call_start(struct fail_call *self)
{
	volatile int *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (shared == MAP_FAILED)
		fail_call_die("mmap");
	*shared = -1;
	self->child =
	    (pid_t)syscall(__NR_clone, CLONE_FILES | SIGCHLD, 0, 0, 0, 0);
	if (self->child < 0)
		fail_call_die("clone");
	if (self->child == 0) {
		int fd;

		if (geteuid() != 0)
			prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
		fd = fail_call_filter(self);
		*shared = fd < 0 ? -2 - errno : fd;
		execvp(self->command[0], self->command);
		_exit(127);
	}
	while (*shared == -1)
		usleep(200);
	self->listener = *shared;
	if (self->listener < 0) {
		errno = -2 - self->listener;
		fail_call_die("seccomp");
	}
}

/* The base name of what the process executes; "?" when it is gone. */
static void
fail_call_program(pid_t pid, char name_r[NAME_SIZE])
{
	char path[64], target[512];
	ssize_t size;
	char *base, *end;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	size = readlink(path, target, sizeof(target) - 1);
	if (size <= 0) {
		snprintf(name_r, NAME_SIZE, "?");
		return;
	}
	target[size] = '\0';
	base = strrchr(target, '/');
	base = base == NULL ? target : base + 1;
	if (strncmp(base, "memfd:", 6) == 0)
		base += 6;
	end = strchr(base, ' ');
	if (end != NULL)
		*end = '\0';
	snprintf(name_r, NAME_SIZE, "%.60s", *base == '\0' ? "?" : base);
}

static unsigned long
fail_call_count(struct fail_call *self, const char *program, int call)
{
	struct row *row = self->rows, *end = row + self->row_count;

	while (row < end &&
	       (row->call != call || strcmp(row->program, program) != 0))
		row++;
	if (row == end) {
		if (self->row_count == ROWS_MAX)
			return 0;
		self->row_count++;
		snprintf(row->program, NAME_SIZE, "%s", program);
		row->call = call;
	}
	return ++row->count;
}

static void
fail_call_remember(struct fail_call *self, pid_t pid)
{
	for (size_t i = 0; i < self->seen_count; i++)
		if (self->seen[i] == pid)
			return;
	if (self->seen_count < LEFT_MAX)
		self->seen[self->seen_count++] = pid;
}

static void
fail_call_answer(struct fail_call *self)
{
	struct seccomp_notif ask;
	struct seccomp_notif_resp answer;
	char program[NAME_SIZE];
	unsigned long number;

	memset(&ask, 0, sizeof(ask));
	if (ioctl(self->listener, SECCOMP_IOCTL_NOTIF_RECV, &ask) != 0)
		return; /* it was killed meanwhile */
	fail_call_program((pid_t)ask.pid, program);
	fail_call_remember(self, (pid_t)ask.pid);
	number = fail_call_count(self, program, ask.data.nr);
	memset(&answer, 0, sizeof(answer));
	answer.id = ask.id;
	answer.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
	if (self->program != NULL && number == self->nth &&
	    strcmp(program, self->program) == 0) {
		answer.flags = 0;
		answer.error = -self->error;
		self->injected = true;
	}
	(void)ioctl(self->listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
}

/* Is it under the filter, and alive? A pid may be somebody else's by now. */
static bool
fail_call_ours(pid_t pid)
{
	char path[64], line[256];
	bool filtered = false, dead = false;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	file = fopen(path, "re");
	if (file == NULL)
		return false;
	while (fgets(line, sizeof(line), file) != NULL) {
		if (strncmp(line, "State:", 6) == 0)
			dead = strchr(line, 'Z') != NULL ||
			       strchr(line, 'X') != NULL;
		if (strncmp(line, "Seccomp:", 8) == 0)
			filtered = strchr(line, '2') != NULL;
	}
	fclose(file);
	return filtered && !dead;
}

/* End what is still there, by the pids that asked. */
static void
fail_call_kill_left(struct fail_call *self)
{
	for (size_t i = 0; i < self->seen_count; i++) {
		char program[NAME_SIZE];
		int fd = (int)syscall(__NR_pidfd_open, self->seen[i], 0);

		if (fd < 0)
			continue;
		if (fail_call_ours(self->seen[i])) {
			fail_call_program(self->seen[i], program);
			fprintf(stderr, "fail_call: left: %s (%d)\n", program,
			    (int)self->seen[i]);
			syscall(__NR_pidfd_send_signal, fd, SIGKILL, NULL, 0);
		}
		close(fd);
	}
}

static void
fail_call_reap(struct fail_call *self)
{
	if (!self->ended && waitpid(self->child, &self->status, WNOHANG) > 0)
		self->ended = true;
}

/* Until nobody is left under the filter. */
static void
fail_call_serve(struct fail_call *self)
{
	double begin = fail_call_now(), end = 0, killed = 0;

	for (;;) {
		struct pollfd one = {.fd = self->listener, .events = POLLIN};
		double now = fail_call_now();

		if (poll(&one, 1, 50) > 0) {
			if ((one.revents & POLLIN) != 0)
				fail_call_answer(self);
			else
				break;
		}
		fail_call_reap(self);
		if (self->ended && end == 0)
			end = now;
		if (!self->ended && !self->hung &&
		    now > begin + self->timeout) {
			self->hung = true;
			kill(self->child, SIGKILL);
		}
		if (end != 0 && killed == 0 && now > end + self->linger) {
			self->left = true;
			killed = now;
			fail_call_kill_left(self);
		}
		if (killed != 0 && now > killed + 5)
			break;
	}
	if (!self->ended)
		waitpid(self->child, &self->status, 0);
}

static void
fail_call_report(const struct fail_call *self)
{
	FILE *out = self->report == NULL ? stderr : fopen(self->report, "we");

	if (out == NULL)
		fail_call_die(self->report);
	for (size_t i = 0; i < self->row_count; i++) {
		const struct row *row = self->rows + i;
		char *name = seccomp_syscall_resolve_num_arch(
		    SCMP_ARCH_NATIVE, row->call);

		fprintf(
		    out, "count %s %s %lu\n", row->program, name, row->count);
		free(name);
	}
	fprintf(out, "injected %d\nhung %d\nleft %d\nstatus %d\n",
	    self->injected, self->hung, self->left,
	    WIFEXITED(self->status) ? WEXITSTATUS(self->status)
				    : 128 + WTERMSIG(self->status));
	if (out != stderr)
		fclose(out);
}

static void
fail_call_options(struct fail_call *self, int argc, char **argv)
{
	static const struct option options[] = {{"calls", 1, NULL, 'c'},
	    {"program", 1, NULL, 'p'}, {"nth", 1, NULL, 'n'},
	    {"errno", 1, NULL, 'e'}, {"timeout", 1, NULL, 't'},
	    {"linger", 1, NULL, 'l'}, {"report", 1, NULL, 'r'},
	    {NULL, 0, NULL, 0}};
	int option;

	while ((option = getopt_long(argc, argv, "+", options, NULL)) != -1) {
		switch (option) {
		case 'c':
			fail_call_names(self, optarg);
			break;
		case 'p':
			self->program = optarg;
			break;
		case 'n':
			self->nth = strtoul(optarg, NULL, 10);
			break;
		case 'e':
			self->error = fail_call_errno(optarg);
			break;
		case 't':
			self->timeout = strtod(optarg, NULL);
			break;
		case 'l':
			self->linger = strtod(optarg, NULL);
			break;
		case 'r':
			self->report = optarg;
			break;
		default:
			exit(2);
		}
	}
	self->command = argv + optind;
	if (self->call_count == 0 || optind >= argc) {
		fprintf(stderr, "fail_call: --calls and a command\n");
		exit(2);
	}
}

int
main(int argc, char **argv)
{
	static struct fail_call self = {
	    .timeout = 30, .linger = 6, .listener = -1};

	fail_call_options(&self, argc, argv);
	fail_call_start(&self);
	fail_call_serve(&self);
	fail_call_report(&self);
	return WIFEXITED(self.status) ? WEXITSTATUS(self.status)
				      : 128 + WTERMSIG(self.status);
}
