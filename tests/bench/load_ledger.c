/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Budgets as fast as they go:
 *   load_ledger file BATCH SECONDS      usage.db alone, BATCH calls in one
 *                                       transaction, in this process
 *   load_ledger process OPEN SECONDS    the real, confined ledger over its
 *                                       pair, OPEN reservations at one time
 * One call is a reservation and its settlement. Prints one JSON object:
 * calls per second, and how long a reservation took. For benches only.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/ipc.h"
#include "supervisor/ledger/budget.h"
#include "supervisor/ledger/budget_wire.h"
#include "supervisor/ledger/ledger_confine.h"
#include "tests/support/budget_one.h"

#define LOAD_LEDGER_OPEN_MAX 256
#define LOAD_LEDGER_TIMES 4000000U

static uint32_t *load_ledger_times; /* of reservations, nanoseconds / 16 */
static size_t load_ledger_count;
static char load_ledger_path[] = "/tmp/load_ledger_XXXXXX";
static int load_ledger_dir = -1;

static _Noreturn void
load_ledger_fail(const char *what)
{
	fprintf(stderr, "load_ledger: %s: %s\n", what, strerror(errno));
	exit(1);
}

static uint64_t
load_ledger_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

static void
load_ledger_note(uint64_t begin)
{
	if (load_ledger_count < LOAD_LEDGER_TIMES)
		load_ledger_times[load_ledger_count++] =
		    (uint32_t)((load_ledger_now() - begin) / 16);
}

static int
load_ledger_compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static double
load_ledger_share(unsigned per_mille)
{
	size_t at = load_ledger_count * per_mille / 1000;

	if (at >= load_ledger_count)
		at = load_ledger_count - 1;
	return load_ledger_times[at] * 16 / 1000.0;
}

static void
load_ledger_print(const char *mode, int open, double seconds, double cpu)
{
	if (load_ledger_count == 0)
		load_ledger_fail("not one call");
	qsort(load_ledger_times, load_ledger_count, sizeof(uint32_t),
	    load_ledger_compare);
	printf("{\"mode\": \"%s\", \"open\": %d, \"calls_per_s\": %.0f,"
	       " \"calls_per_cpu_s\": %.0f, \"reserve_us\": {\"p50\": %.1f,"
	       " \"p99\": %.1f, \"max\": %.1f}}\n",
	    mode, open, (double)load_ledger_count / seconds,
	    (double)load_ledger_count / cpu, load_ledger_share(500),
	    load_ledger_share(990), load_ledger_share(1000));
}

static double
load_ledger_cpu(int who)
{
	struct rusage usage;

	if (getrusage(who, &usage) != 0)
		load_ledger_fail("getrusage");
	return (double)usage.ru_utime.tv_sec + (double)usage.ru_stime.tv_sec +
	       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static void
load_ledger_ok(enum result result, const char *what)
{
	if (result == RESULT_OK)
		return;
	fprintf(stderr, "load_ledger: %s: %s\n", what, result_text(result));
	exit(1);
}

static void
load_ledger_file(int batch, double seconds)
{
	const struct budget_amounts most = {{1, 900, 4000, 1200, 900}};
	struct json_fault fault = {""};
	struct budget_refusal refusal;
	struct budget_limits limits;
	struct budget_run *run;
	struct budget *budget;
	uint64_t begin, first = load_ledger_now();
	double cpu;
	int i;

	memset(&limits, 0xff, sizeof(limits));
	limits.values[BUDGET_HOST_DAY][BUDGET_TOKENS] = BUDGET_LIMIT_MAX;
	load_ledger_ok(budget_prepare(), "prepare");
	load_ledger_ok(budget_open(load_ledger_dir, &budget, &fault), "open");
	load_ledger_ok(budget_begin(budget, time(NULL)), "begin");
	load_ledger_ok(
	    budget_run_open(budget, "run", "agent", &limits, &run), "run");
	load_ledger_ok(budget_commit(budget), "commit");
	cpu = load_ledger_cpu(RUSAGE_SELF);
	while ((double)(load_ledger_now() - first) < seconds * 1e9) {
		begin = load_ledger_now();
		load_ledger_ok(budget_begin(budget, time(NULL)), "begin");
		for (i = 1; i <= batch; i++)
			load_ledger_ok(
			    budget_one_reserve(budget, run, i, "openai",
				"gpt-4o-mini", &most, &refusal),
			    "reserve");
		load_ledger_ok(budget_commit(budget), "commit");
		for (i = 1; i <= batch; i++)
			load_ledger_note(begin);
		load_ledger_ok(budget_begin(budget, time(NULL)), "begin");
		for (i = 1; i <= batch; i++)
			load_ledger_ok(budget_one_settle(
					   budget, run, i, &most, true, false),
			    "settle");
		load_ledger_ok(budget_commit(budget), "commit");
	}
	load_ledger_print("file", batch,
	    (double)(load_ledger_now() - first) / 1e9,
	    load_ledger_cpu(RUSAGE_SELF) - cpu);
	budget_run_free(&run);
	budget_free(&budget);
}

static void
load_ledger_send(int fd, const char *text, const int *fds, size_t count)
{
	enum result result;

	do
		result = fd_send(fd, text, strlen(text), fds, count);
	while (result == RESULT_NEED_MORE);
	load_ledger_ok(result, "send");
}

/* One datagram, which must hold the word. */
static void
load_ledger_expect(int fd, const char *word, char *text, size_t size)
{
	int fds[IPC_FDS_MAX];
	size_t len = 0, count;

	load_ledger_ok(
	    fd_receive(fd, text, size - 1, &len, fds, IPC_FDS_MAX, &count),
	    "receive");
	text[len] = '\0';
	if (strstr(text, word) != NULL)
		return;
	fprintf(stderr, "load_ledger: %s\n", text);
	exit(1);
}

static pid_t
load_ledger_start(int pair[2])
{
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0 ||
	    (pid = fork()) < 0)
		load_ledger_fail("start");
	if (pid == 0) {
		if (dup2(pair[1], IPC_CONTROL_FD) != IPC_CONTROL_FD)
			_exit(1);
		execl(AGENTNODE_BUILD_DIR "/libexec/agentnode/agentnode-ledger",
		    "agentnode-ledger", (char *)NULL);
		_exit(1);
	}
	close(pair[1]);
	return pid;
}

/* A started ledger with one run; the broker's end of its pair. */
static int
load_ledger_open(int control)
{
	int fds[2] = {STDERR_FILENO, load_ledger_dir};
	int pair[2];
	char text[4096];

	load_ledger_send(control,
	    "{\"v\":1,\"type\":\"config\",\"id\":0,\"options\":{}}", fds, 2);
	load_ledger_expect(control, "\"ready\"", text, sizeof(text));
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
		load_ledger_fail("socketpair");
	load_ledger_send(control,
	    "{\"v\":1,\"type\":\"budget_open\",\"id\":1,\"sandbox\":\"run\","
	    "\"package\":\"agent\",\"limits\":{\"host_day\":"
	    "{\"tokens\":1000000000000000}}}",
	    &pair[1], 1);
	load_ledger_expect(control, "\"synced\"", text, sizeof(text));
	close(pair[1]);
	return pair[0];
}

static struct budget_wire_ask load_ledger_asks[BUDGET_WIRE_BATCH];
static size_t load_ledger_asked;

/* What was asked since the last answers came, in one datagram. */
static void
load_ledger_flush(int fd)
{
	size_t len = load_ledger_asked * sizeof(load_ledger_asks[0]);

	if (len > 0 && send(fd, load_ledger_asks, len, 0) != (ssize_t)len)
		load_ledger_fail("send");
	load_ledger_asked = 0;
}

static void
load_ledger_ask(int fd, enum budget_wire_kind kind, unsigned call)
{
	const struct budget_wire_ask ask = {.magic = BUDGET_WIRE_MAGIC,
	    .kind = kind,
	    .call = call,
	    .calls = 1,
	    .amounts = {1, 900, 400, 300, 90},
	    .served = kind == BUDGET_WIRE_SETTLE,
	    .provider = "openai",
	    .model = "gpt-4o-mini"};

	load_ledger_asks[load_ledger_asked++] = ask;
	if (load_ledger_asked == BUDGET_WIRE_BATCH)
		load_ledger_flush(fd);
}

/* The next of the answers, which come several in a datagram. */
static unsigned
load_ledger_answered(int fd)
{
	static struct budget_wire_answer answers[BUDGET_WIRE_BATCH];
	static size_t count, at;
	ssize_t got;

	if (at == count) {
		load_ledger_flush(fd);
		got = recv(fd, answers, sizeof(answers), 0);
		if (got <= 0)
			load_ledger_fail("recv");
		count = (size_t)got / sizeof(answers[0]);
		at = 0;
	}
	if (answers[at].kind != BUDGET_WIRE_RESERVED)
		load_ledger_fail("refused");
	return (unsigned)answers[at++].call;
}

static void
load_ledger_process(int open, double seconds)
{
	uint64_t begins[LOAD_LEDGER_OPEN_MAX], first;
	unsigned call, next = 1;
	int control[2], fd, i, status;
	pid_t pid = load_ledger_start(control);

	fd = load_ledger_open(control[0]);
	first = load_ledger_now();
	for (i = 0; i < open; i++, next++) {
		begins[next % (unsigned)open] = load_ledger_now();
		load_ledger_ask(fd, BUDGET_WIRE_RESERVE, next);
	}
	while ((double)(load_ledger_now() - first) < seconds * 1e9) {
		call = load_ledger_answered(fd);
		load_ledger_note(begins[call % (unsigned)open]);
		load_ledger_ask(fd, BUDGET_WIRE_SETTLE, call);
		call += (unsigned)open;
		begins[call % (unsigned)open] = load_ledger_now();
		load_ledger_ask(fd, BUDGET_WIRE_RESERVE, call);
	}
	seconds = (double)(load_ledger_now() - first) / 1e9;
	close(fd);
	close(control[0]);
	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status) ||
	    WEXITSTATUS(status) != IPC_EXIT_SUPERVISOR)
		load_ledger_fail("the ledger did not end in order");
	load_ledger_print(
	    "process", open, seconds, load_ledger_cpu(RUSAGE_CHILDREN));
}

static void
load_ledger_clean(void)
{
	static const char *const names[] = {"usage.db", "usage.db-wal",
	    "usage.db-shm", "usage.db-journal", "usage.lock", "audit.jsonl",
	    "audit.head"};
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		(void)unlinkat(load_ledger_dir, names[i], 0);
	(void)rmdir(load_ledger_path);
}

int
main(int argc, char **argv)
{
	uid_t owner = geteuid() == 0 ? LEDGER_CONFINE_UID : geteuid();
	int open_calls = argc == 4 ? atoi(argv[2]) : 0;
	bool is_file = argc == 4 && strcmp(argv[1], "file") == 0;

	if (open_calls < 1 || open_calls > LOAD_LEDGER_OPEN_MAX ||
	    (!is_file && strcmp(argv[1], "process") != 0)) {
		fputs("usage: load_ledger file|process OPEN SECONDS\n", stderr);
		return 2;
	}
	load_ledger_times = calloc(LOAD_LEDGER_TIMES, sizeof(uint32_t));
	if (load_ledger_times == NULL || mkdtemp(load_ledger_path) == NULL)
		load_ledger_fail("folder");
	(void)atexit(load_ledger_clean);
	load_ledger_dir =
	    open(load_ledger_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (!is_file && fchown(load_ledger_dir, owner, (gid_t)owner) != 0)
		load_ledger_fail("fchown");
	if (is_file)
		load_ledger_file(open_calls, atof(argv[3]));
	else
		load_ledger_process(open_calls, atof(argv[3]));
	return 0;
}
