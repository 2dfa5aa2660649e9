/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The supervisor's client with the real, confined agentnode-ledger: records
 * are on disk when it says so; a ledger that dies, a chain that was changed
 * and a full or foreign folder are told, once; budgets and their ends.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/event_loop.h"
#include "common/fd.h"
#include "common/ipc.h"
#include "supervisor/ledger/audit_verify.h"
#include "supervisor/ledger/ledger_confine.h"
#include "supervisor/ledger/budget_wire.h"
#include "supervisor/policy/audit.h"
#include "supervisor/policy/audit_key.h"
#include "tests/support/test_folder.h"

static char test_audit_home[64];

struct test_audit_told {
	int count;
	enum result result;
	char detail[256];
	struct audit **free_inside; /* free the audit in the callback */
};

static void
test_audit_on_done(enum result result, const char *detail, void *context)
{
	struct test_audit_told *told = context;

	told->count++;
	told->result = result;
	snprintf(told->detail, sizeof(told->detail), "%s", detail);
	if (told->free_inside != NULL)
		audit_free(told->free_inside);
}

static int
test_audit_remove(
    const char *path, const struct stat *status, int kind, struct FTW *walk)
{
	(void)status;
	(void)kind;
	(void)walk;
	return remove(path);
}

static int
test_audit_setup(void **state)
{
	snprintf(test_audit_home, sizeof(test_audit_home),
	    "/tmp/test_audit_home_XXXXXX");
	if (test_folder_new(test_audit_home) == NULL ||
	    setenv("AGENTNODE_HOME", test_audit_home, 1) != 0)
		return -1;
	return event_loop_new((struct event_base **)state) == RESULT_OK ? 0
									: -1;
}

static int
test_audit_teardown(void **state)
{
	event_base_free(*state);
	return nftw(
	    test_audit_home, test_audit_remove, 8, FTW_DEPTH | FTW_PHYS);
}

static void
test_audit_wait(struct event_base *base, const struct test_audit_told *told)
{
	uint64_t deadline = event_loop_now_ms() + 5000;

	while (told->count == 0 && event_loop_now_ms() < deadline)
		event_base_loop(base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
	assert_int_equal(told->count, 1);
}

static int
test_audit_open(const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/ledger/%s", test_audit_home, name);
	return open(path, (name[0] == '\0' ? O_DIRECTORY : O_RDWR) | O_CLOEXEC);
}

static uint64_t
test_audit_records(void)
{
	struct json_fault fault = {""};
	int dir_fd = test_audit_open("");
	struct audit_verify_report report;
	struct secret *key = NULL;
	struct state_dir home;

	if (state_dir_open(test_audit_home, STATE_DIR_OURS, &home, &fault) !=
		RESULT_OK ||
	    audit_key_load(&home, &key, &fault) != RESULT_OK ||
	    audit_verify_files(dir_fd, key, NULL, NULL, &report, &fault) !=
		RESULT_OK)
		fail_msg("%s", fault.text);
	assert_true(report.sealed);
	state_dir_close(&home);
	secret_free(&key);
	fd_close(&dir_fd);
	return report.records;
}

static struct audit *
test_audit_begin(struct event_base *base)
{
	struct json_fault fault = {""};
	struct test_audit_told told = {0};
	struct audit *audit;

	assert_int_equal(audit_start(base, test_audit_home, test_audit_on_done,
			     &told, &audit, &fault),
	    RESULT_OK);
	test_audit_wait(base, &told);
	if (told.result != RESULT_OK)
		fail_msg("%s", told.detail);
	return audit;
}

static void
test_audit_writes(void **state)
{
	struct test_audit_told told[40] = {{0}};
	struct audit *audit = test_audit_begin(*state);
	json_t *fields = json_pack("{s:s}", "package", "x");
	int i;

	assert_int_equal(audit_write(audit, "launch", fields), RESULT_OK);
	assert_int_equal(test_audit_records(), 1);
	for (i = 0; i < 40; i++)
		assert_int_equal(audit_submit(audit, "refusal", fields,
				     test_audit_on_done, &told[i]),
		    RESULT_OK);
	assert_int_equal(told[0].count, 0);
	for (i = 0; i < 40; i++) {
		test_audit_wait(*state, &told[i]);
		assert_int_equal(told[i].result, RESULT_OK);
	}
	assert_int_equal(test_audit_records(), 41);
	assert_int_equal(audit_write(audit, "Bad Event", fields), RESULT_BAD);
	assert_int_equal(audit_write(audit, "launch", fields), RESULT_OK);
	assert_int_equal(test_audit_records(), 42);
	json_decref(fields);
	audit_free(&audit);
	assert_null(audit);
	audit_free(&audit);
}

static pid_t
test_audit_ledger_pid(void)
{
	char path[64], name[32] = "";
	pid_t pid = 0, parent;
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	FILE *file;

	assert_non_null(proc);
	while (pid == 0 && (entry = readdir(proc)) != NULL) {
		snprintf(path, sizeof(path), "/proc/%.16s/stat", entry->d_name);
		file = fopen(path, "re");
		if (file == NULL)
			continue;
		parent = 0;
		if (fscanf(file, "%*d (%31[^)]) %*c %d", name, &parent) == 2 &&
		    parent == getpid() &&
		    strncmp(name, "agentnode-ledge", 15) == 0)
			pid = (pid_t)atoi(entry->d_name);
		fclose(file);
	}
	closedir(proc);
	assert_true(pid > 0);
	return pid;
}

static void
test_audit_ledger_dies(void **state)
{
	struct test_audit_told ended = {0}, done = {0};
	struct audit *audit = test_audit_begin(*state);
	json_t *fields = json_object();
	pid_t pid = test_audit_ledger_pid();

	audit_on_end(audit, test_audit_on_done, &ended);
	ended.free_inside = &audit;
	assert_int_equal(kill(pid, SIGSTOP), 0);
	assert_int_equal(
	    audit_submit(audit, "launch", fields, test_audit_on_done, &done),
	    RESULT_OK);
	assert_int_equal(kill(pid, SIGKILL), 0);
	test_audit_wait(*state, &ended);
	assert_int_equal(done.count, 1);
	assert_int_equal(done.result, RESULT_CLOSED);
	assert_int_equal(ended.result, RESULT_CLOSED);
	assert_non_null(strstr(ended.detail, "agentnode-ledger"));
	assert_null(audit);
	json_decref(fields);
}

/* A chain that was changed: no start, and the reason is told. */
static void
test_audit_tampered(void **state)
{
	struct json_fault fault = {""};
	struct audit *audit = test_audit_begin(*state);
	struct test_audit_told told = {0};
	json_t *fields = json_object();
	int fd;

	assert_int_equal(audit_write(audit, "launch", fields), RESULT_OK);
	assert_int_equal(audit_write(audit, "removal", fields), RESULT_OK);
	audit_free(&audit);
	fd = test_audit_open("audit.jsonl");
	assert_int_equal(ftruncate(fd, 150), 0);
	close(fd);
	assert_int_equal(audit_start(*state, test_audit_home,
			     test_audit_on_done, &told, &audit, &fault),
	    RESULT_OK);
	told.free_inside = &audit;
	test_audit_wait(*state, &told);
	assert_int_equal(told.result, RESULT_MISMATCH);
	assert_non_null(strstr(told.detail, "audit.jsonl"));
	assert_null(audit);
	/* Without a callback the first write says it. */
	assert_int_equal(
	    audit_start(*state, test_audit_home, NULL, NULL, &audit, &fault),
	    RESULT_OK);
	assert_int_equal(audit_write(audit, "launch", fields), RESULT_MISMATCH);
	audit_free(&audit);
	json_decref(fields);
}

/* The key is gone: no other one is made, and nothing starts. A chain from
 * before there was a key gets one, in the start that makes it alone. */
static void
test_audit_key_gone(void **state)
{
	struct json_fault fault = {""};
	struct audit *audit = test_audit_begin(*state);
	json_t *fields = json_object();
	struct audit_head head;
	char path[128], block[AUDIT_HEAD_SIZE];
	int fd;

	assert_int_equal(audit_write(audit, "launch", fields), RESULT_OK);
	audit_free(&audit);
	(void)snprintf(path, sizeof(path), "%s/audit.key", test_audit_home);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(
	    audit_start(*state, test_audit_home, NULL, NULL, &audit, &fault),
	    RESULT_OK);
	assert_int_equal(audit_write(audit, "launch", fields), RESULT_MISMATCH);
	audit_free(&audit);
	assert_int_equal(access(path, F_OK), -1);

	fd = test_audit_open(AUDIT_HEAD_FILE);
	assert_int_equal(
	    pread(fd, block, sizeof(block), 0), (ssize_t)sizeof(block));
	assert_int_equal(
	    audit_head_read(block, sizeof(block), &head, &fault), RESULT_OK);
	head.mac[0] = '\0';
	audit_head_write(&head, block);
	assert_int_equal(
	    pwrite(fd, block, sizeof(block), 0), (ssize_t)sizeof(block));
	audit = test_audit_begin(*state);
	assert_int_equal(audit_write(audit, "launch", fields), RESULT_OK);
	audit_free(&audit);
	assert_int_equal(test_audit_records(), 3); /* and chain_unsealed */
	assert_int_equal(
	    pwrite(fd, block, sizeof(block), 0), (ssize_t)sizeof(block));
	close(fd);
	assert_int_equal(
	    audit_start(*state, test_audit_home, NULL, NULL, &audit, &fault),
	    RESULT_OK);
	assert_int_equal(audit_write(audit, "launch", fields), RESULT_MISMATCH);
	audit_free(&audit);
	json_decref(fields);
}

static void
test_audit_bad_home(void **state)
{
	struct json_fault fault = {""};
	struct audit *audit;
	char path[128];

	assert_int_not_equal(audit_start(*state, "/nonexistent/home", NULL,
				 NULL, &audit, &fault),
	    RESULT_OK);
	assert_null(audit);
	assert_non_null(strstr(fault.text, "/nonexistent/home"));
	snprintf(path, sizeof(path), "%s/ledger", test_audit_home);
	assert_int_equal(symlink("/tmp", path), 0);
	assert_int_not_equal(
	    audit_start(*state, test_audit_home, NULL, NULL, &audit, &fault),
	    RESULT_OK);
	assert_null(audit);
}

static void
test_audit_say(int fd, const void *bytes, size_t len)
{
	assert_int_equal(fd_send(fd, bytes, len, NULL, 0), RESULT_OK);
}

/* A run's budget from start to end, by the supervisor's side of it. */
static void
test_audit_budget(void **state)
{
	struct test_audit_told opened = {0}, again = {0}, closed = {0};
	struct audit *audit = test_audit_begin(*state);
	json_t *limits = json_pack("{s:{s:i}}", "run", "requests", 1);
	json_t *query = json_pack("{s:s}", "by", "model"), *rows;
	const struct budget_wire_ask ask = {.magic = BUDGET_WIRE_MAGIC,
	    .kind = BUDGET_WIRE_RESERVE,
	    .call = 1,
	    .calls = 1,
	    .amounts = {1, 5, 6, 7, -1},
	    .provider = "p",
	    .model = "m"};
	struct budget_wire_answer told;
	char detail[256];
	int pair[2];
	size_t len, count;

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	assert_int_equal(audit_budget_open(audit, "r", "agent", limits, pair[1],
			     test_audit_on_done, &opened),
	    RESULT_OK);
	test_audit_wait(*state, &opened);
	assert_int_equal(opened.result, RESULT_OK);
	assert_int_equal(audit_budget_open(audit, "r", "agent", limits, pair[1],
			     test_audit_on_done, &again),
	    RESULT_OK);
	test_audit_wait(*state, &again);
	assert_int_equal(again.result, RESULT_EXISTS);
	close(pair[1]);
	test_audit_say(pair[0], &ask, sizeof(ask));
	assert_int_equal(
	    fd_receive(pair[0], &told, sizeof(told), &len, NULL, 0, &count),
	    RESULT_OK);
	assert_int_equal(len, sizeof(told));
	assert_int_equal(told.kind, BUDGET_WIRE_RESERVED);
	assert_int_equal(
	    audit_budget_close(audit, "r", test_audit_on_done, &closed),
	    RESULT_OK);
	test_audit_wait(*state, &closed);
	assert_int_equal(closed.result, RESULT_OK);
	assert_int_equal(
	    audit_usage(audit, query, &rows, detail, sizeof(detail)),
	    RESULT_OK);
	assert_int_equal(json_array_size(rows), 1);
	assert_int_equal(json_integer_value(json_object_get(
			     json_array_get(rows, 0), "tokens")),
	    7);
	json_decref(rows);
	json_decref(query);
	query = json_pack("{s:s}", "by", "colour");
	assert_int_equal(
	    audit_usage(audit, query, &rows, detail, sizeof(detail)),
	    RESULT_BAD);
	assert_non_null(strstr(detail, "colour"));
	assert_null(rows);
	json_decref(query);
	json_decref(limits);
	close(pair[0]);
	audit_free(&audit);
}

/* A broker that says what it must not: told apart from the run's end. */
static void
test_audit_budget_lost(void **state)
{
	struct test_audit_told opened = {0}, lost = {0}, closed = {0};
	struct audit *audit = test_audit_begin(*state);
	json_t *limits = json_object();
	int pair[2];

	audit_on_budget_lost(audit, test_audit_on_done, &lost);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	assert_int_equal(audit_budget_open(audit, "r", "agent", limits, pair[1],
			     test_audit_on_done, &opened),
	    RESULT_OK);
	test_audit_wait(*state, &opened);
	test_audit_say(pair[0], "{}", 2);
	test_audit_wait(*state, &lost);
	assert_int_equal(lost.result, RESULT_BAD);
	assert_non_null(strstr(lost.detail, "run r"));
	assert_int_equal(
	    audit_budget_close(audit, "r", test_audit_on_done, &closed),
	    RESULT_OK);
	test_audit_wait(*state, &closed);
	assert_int_equal(closed.result, RESULT_OK);
	assert_int_equal(audit_write(audit, "launch", limits), RESULT_OK);
	close(pair[0]);
	close(pair[1]);
	json_decref(limits);
	audit_free(&audit);
}

/* usage.db that is none: no budget, but records. */
static void
test_audit_budget_corrupt(void **state)
{
	struct test_audit_told opened = {0};
	struct audit *audit = test_audit_begin(*state);
	json_t *limits = json_object();
	char path[128];
	int pair[2], fd;

	snprintf(path, sizeof(path), "%s/ledger/usage.db", test_audit_home);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(fd_write_all(fd, path, sizeof(path)), RESULT_OK);
	if (geteuid() == 0)
		assert_int_equal(
		    fchown(fd, LEDGER_CONFINE_UID, LEDGER_CONFINE_UID), 0);
	close(fd);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	assert_int_equal(audit_budget_open(audit, "r", "agent", limits, pair[1],
			     test_audit_on_done, &opened),
	    RESULT_OK);
	test_audit_wait(*state, &opened);
	assert_int_equal(opened.result, RESULT_MISMATCH);
	assert_non_null(strstr(opened.detail, "usage.db"));
	assert_int_equal(audit_write(audit, "launch", limits), RESULT_OK);
	close(pair[0]);
	close(pair[1]);
	json_decref(limits);
	audit_free(&audit);
}

#define TEST(function)                   \
	cmocka_unit_test_setup_teardown( \
	    function, test_audit_setup, test_audit_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(test_audit_writes),
	    TEST(test_audit_ledger_dies),
	    TEST(test_audit_tampered),
	    TEST(test_audit_key_gone),
	    TEST(test_audit_bad_home),
	    TEST(test_audit_budget),
	    TEST(test_audit_budget_lost),
	    TEST(test_audit_budget_corrupt),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
