/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One run on the host and what is around it; see host_world.h. It holds a
 * launch record back by stopping the ledger, which is a process of its own.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/event_loop.h"
#include "common/fd.h"
#include "supervisor/host/host_run_state.h"
#include "tests/support/host_world.h"
#include "tests/support/test_folder.h"

char host_world_home[64];

static const char *const host_world_env[] = {
    "PATH=/usr/bin:/bin", "HOME=/tmp", "ONLY=this", NULL};

static int
host_world_remove(
    const char *path, const struct stat *status, int kind, struct FTW *walk)
{
	(void)status;
	(void)kind;
	(void)walk;
	return remove(path);
}

int
host_world_setup(void **state)
{
	const char *place = getenv("TMPDIR");

	(void)state;
	(void)snprintf(host_world_home, sizeof(host_world_home),
	    "%.40s/test_host_run_XXXXXX", place != NULL ? place : "/tmp");
	return test_folder_new(host_world_home) == NULL ||
		       setenv("AGENTNODE_HOME", host_world_home, 1) != 0 ||
		       chdir(host_world_home) != 0
		   ? -1
		   : 0;
}

int
host_world_teardown(void **state)
{
	(void)state;
	return nftw(
	    host_world_home, host_world_remove, 16, FTW_DEPTH | FTW_PHYS);
}

static void
host_world_on_go(struct host_run *run, void *context)
{
	struct host_world *test = context;

	(void)run;
	if (test->at_go != NULL)
		test->at_go(test);
}

static void
host_world_on_end(
    struct host_run *run, const struct sandbox_outcome *outcome, void *context)
{
	struct host_world *test = context;

	(void)run;
	test->ends++;
	test->outcome = *outcome;
	event_loop_stop(test->base);
}

pid_t
host_world_child(pid_t parent, const char *name)
{
	char path[64], text[64];
	FILE *list, *comm;
	int pid, found = 0;

	(void)snprintf(path, sizeof(path), "/proc/%d/task/%d/children",
	    (int)parent, (int)parent);
	list = fopen(path, "re");
	assert_non_null(list);
	while (found == 0 && fscanf(list, "%d", &pid) == 1) {
		(void)snprintf(path, sizeof(path), "/proc/%d/comm", pid);
		comm = fopen(path, "re");
		if (comm == NULL)
			continue;
		if (fgets(text, sizeof(text), comm) != NULL &&
		    strncmp(text, name, strlen(name)) == 0)
			found = pid;
		(void)fclose(comm);
	}
	(void)fclose(list);
	return (pid_t)found;
}

/* Once its record is on the way, to a ledger that stands still. */
static void
host_world_on_look(evutil_socket_t fd, short what, void *context)
{
	static const struct timeval soon = {0, 20000}, later = {0, 300000};
	struct host_world *test = context;

	(void)fd;
	(void)what;
	if (test->at_audit == NULL) {
		assert_int_equal(kill(test->ledger, SIGCONT), 0);
	} else if (test->run->state != HOST_RUN_AUDIT) {
		assert_int_equal(test->ends, 0);
		(void)event_add(test->look, &soon);
	} else {
		test->at_audit(test);
		test->at_audit = NULL;
		(void)event_add(test->look, &later);
	}
}

static void
host_world_hold(struct host_world *test)
{
	static const struct timeval now = {0, 0};

	test->ledger = host_world_child(getpid(), "agentnode-ledge");
	assert_true(test->ledger > 1);
	assert_int_equal(kill(test->ledger, SIGSTOP), 0);
	test->look = evtimer_new(test->base, host_world_on_look, test);
	assert_non_null(test->look);
	assert_int_equal(event_add(test->look, &now), 0);
}

static void
host_world_on_ledger(enum result result, const char *detail, void *context)
{
	static const struct host_run_handlers handlers = {
	    host_world_on_go, host_world_on_end};
	struct host_world *test = context;

	(void)detail;
	assert_int_equal(result, RESULT_OK);
	assert_int_equal(host_run_start(test->base, test->config, test->audit,
			     &test->spec, &handlers, test, &test->run),
	    RESULT_OK);
	assert_int_equal(test->ends, 0);
	if (test->at_audit != NULL)
		host_world_hold(test);
}

void
host_world_open(struct host_world *test)
{
	struct json_fault fault = {""};

	memset(test, 0, sizeof(*test));
	assert_int_equal(event_loop_new(&test->base), RESULT_OK);
	assert_int_equal(config_load(&test->config, &fault), RESULT_OK);
	test->spec = (struct host_spec){.kind = "exec",
	    .env = host_world_env,
	    .cwd = host_world_home,
	    .stdin_fd = -1,
	    .stdout_fd = -1,
	    .stderr_fd = -1};
}

void
host_world_loop(struct host_world *test)
{
	struct json_fault fault = {""};
	int out = memfd_create("output", MFD_CLOEXEC);
	ssize_t got;

	test->spec.stdout_fd = out;
	assert_int_equal(audit_start(test->base, host_world_home,
			     host_world_on_ledger, test, &test->audit, &fault),
	    RESULT_OK);
	assert_int_equal(event_loop_run(test->base), RESULT_OK);
	assert_int_equal(test->ends, 1);
	got = pread(out, test->output, sizeof(test->output) - 1, 0);
	assert_true(got >= 0);
	test->output[got] = '\0';
	close(out);
}

void
host_world_close(struct host_world *test)
{
	if (test->look != NULL)
		event_free(test->look);
	host_run_free(&test->run);
	audit_free(&test->audit);
	config_free(&test->config);
	event_base_free(test->base);
}

/* Run `sh -c script` to its end. */
void
host_world_shell(struct host_world *test, const char *script)
{
	const char *const argv[] = {"/bin/sh", "-c", script, NULL};

	test->spec.argv = argv;
	host_world_loop(test);
	test->spec.argv = NULL;
}

bool
host_world_is_dead(pid_t pid)
{
	char path[64], text[512] = "";
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return true;
	if (read(fd, text, sizeof(text) - 1) < 0)
		text[0] = '\0';
	close(fd);
	return text[0] == '\0' || strstr(text, ") Z") != NULL;
}
