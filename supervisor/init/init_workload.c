/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From fork to exec of the workload (see the header). Order: session and
 * limits, streams, directory, then the Landlock domain, then the filter
 * (which would refuse none of the former, but comes last so that it need
 * not allow more), then every other descriptor goes at exec.
 */
#include "supervisor/init/init_workload.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "supervisor/init/init_child.h"
#include "supervisor/init/init_filter.h"
#include "supervisor/init/init_go.h"
#include "supervisor/init/init_landlock.h"

#define INIT_WORKLOAD_PATH \
	"/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#define INIT_WORKLOAD_EXIT 127
#define INIT_WORKLOAD_CLOSE_ON_EXEC 4U /* CLOSE_RANGE_CLOEXEC */

int
init_workload_become(const struct init_setup *setup)
{
	int error = init_landlock_workload(setup);

	return error != 0 ? error : init_filter_enter(setup->host_written != 0);
}

static const char *
init_workload_search_path(char *const *env)
{
	for (; *env != NULL; env++) {
		if (strncmp(*env, "PATH=", 5) == 0)
			return *env + 5;
	}
	return INIT_WORKLOAD_PATH;
}

/* execvp with the workload's own PATH. Returns errno. */
static int
init_workload_exec(char *const *argv, char *const *env)
{
	const char *at = init_workload_search_path(env);
	char path[INIT_PATH_MAX + INIT_PATH_MAX];
	size_t name = strlen(argv[0]), len;
	int error = ENOENT;

	if (strchr(argv[0], '/') != NULL) {
		(void)execve(argv[0], argv, env);
		return errno;
	}
	for (; *at != '\0'; at += len + (at[len] == ':')) {
		len = strcspn(at, ":");
		if (at[0] != '/' || len + 1 + name >= sizeof(path))
			continue;
		memcpy(path, at, len);
		path[len] = '/';
		memcpy(path + len + 1, argv[0], name + 1);
		(void)execve(path, argv, env);
		if (errno != ENOENT && errno != ENOTDIR)
			error = errno;
	}
	return error;
}

static int
init_workload_prepare(const struct init_go *go)
{
	static const int streams[] = {
	    INIT_STDIN_FD, INIT_STDOUT_FD, INIT_STDERR_FD};
	const struct rlimit no_core = {0, 0};

	if (setsid() < 0 || setrlimit(RLIMIT_CORE, &no_core) != 0)
		return errno;
	for (int i = 0; i < 3; i++) {
		if (dup2(streams[i], i) < 0)
			return errno;
	}
	(void)umask(S_IWGRP | S_IWOTH);
	return chdir(init_go_cwd_borrow(go)) != 0 ? errno : 0;
}

/* Does not return. */
static void
init_workload_child(const struct init_setup *setup, const struct init_go *go,
    int secret_fd, int report_fd)
{
	const struct init_go *secret = NULL;
	char **argv, **env;
	int error = init_workload_prepare(go);

	if (error == 0 && secret_fd >= 0) {
		secret = init_go_map(secret_fd, INIT_GO_SECRET);
		error = secret == NULL ? errno : 0;
	}
	if (error == 0)
		error = init_go_lists(go, secret, &argv, &env);
	if (error == 0)
		error = init_workload_become(setup);
	if (error == 0 && syscall(SYS_close_range, 3, INT_MAX,
			      INIT_WORKLOAD_CLOSE_ON_EXEC) != 0)
		error = errno;
	if (error == 0)
		error = init_go_result(go);
	if (error == 0)
		error = init_workload_exec(argv, env);
	if (write(report_fd, &error, sizeof(error)) != sizeof(error))
		_exit(INIT_WORKLOAD_EXIT - 1);
	_exit(INIT_WORKLOAD_EXIT);
}

int
init_workload_start(const struct init_setup *setup, int go_fd, int secret_fd,
    struct init_workload *workload_r)
{
	const struct init_go *go = init_go_map(go_fd, INIT_GO_WORKLOAD);
	int ends[2], error = 0;

	if (go == NULL)
		return errno;
	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
		error = errno;
		init_go_unmap(go);
		return error;
	}
	workload_r->pid = init_child_fork();
	if (workload_r->pid == 0)
		init_workload_child(setup, go, secret_fd, ends[1]);
	if (workload_r->pid < 0)
		error = errno;
	close(ends[1]);
	init_go_unmap(go);
	if (error != 0)
		close(ends[0]);
	else
		workload_r->report_fd = ends[0];
	return error;
}

int
init_workload_failure(struct init_workload *workload)
{
	int error = 0;
	ssize_t got;

	if (workload->report_fd < 0)
		return 0;
	do
		got = read(workload->report_fd, &error, sizeof(error));
	while (got < 0 && errno == EINTR);
	close(workload->report_fd);
	workload->report_fd = -1;
	return got == (ssize_t)sizeof(error) ? error : 0;
}
