/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Becomes the command (see the header). Called by host_keep.c once. Words,
 * environment and folder come in a sealed memfd; the program is an absolute
 * path. It must never leave a descriptor open but the streams.
 */
#include "supervisor/host/host_workload.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <unistd.h>

#include "supervisor/host/host_limit.h"
#include "supervisor/init/init_child.h"
#include "supervisor/init/init_go.h"

#define HOST_WORKLOAD_EXIT 127

static int
host_workload_streams(const struct init_go *go)
{
	static const int streams[] = {
	    HOST_STDIN_FD, HOST_STDOUT_FD, HOST_STDERR_FD};

	for (int i = 0; i < 3; i++) {
		if (dup2(streams[i], i) < 0)
			return errno;
	}
	if (close_range(3, ~0U, CLOSE_RANGE_CLOEXEC) != 0)
		return errno;
	return init_go_result(go);
}

static int
host_workload_prepare(const struct host_setup *setup,
    const struct host_group *group, const struct init_go *go)
{
	int error = setsid() < 0 ? errno : host_group_enter(group);

	if (error == 0)
		error = host_limit_workload(setup, group->count > 0);
	if (error == 0 && chdir(init_go_cwd_borrow(go)) != 0)
		error = errno;
	return error;
}

/* Does not return. */
static void
host_workload_child(const struct host_setup *setup,
    const struct host_group *group, const struct init_go *go, int report_fd)
{
	const struct init_go *secret = NULL;
	char **argv, **env;
	int error = host_workload_prepare(setup, group, go);

	if (error == 0 && (setup->flags & HOST_HAS_SECRET) != 0) {
		secret = init_go_map(HOST_SECRET_FD, INIT_GO_SECRET);
		error = secret == NULL ? errno : 0;
	}
	if (error == 0)
		error = init_go_lists(go, secret, &argv, &env);
	if (error == 0)
		error = host_workload_streams(go);
	if (error == 0) {
		(void)execve(argv[0], argv, env);
		error = errno;
	}
	if (write(report_fd, &error, sizeof(error)) != sizeof(error))
		_exit(HOST_WORKLOAD_EXIT - 1);
	_exit(HOST_WORKLOAD_EXIT);
}

int
host_workload_start(const struct host_setup *setup,
    const struct host_group *group, struct host_workload *workload_r)
{
	const struct init_go *go = init_go_map(HOST_GO_FD, INIT_GO_WORKLOAD);
	int ends[2], error = 0;

	if (go == NULL)
		return errno;
	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
		error = errno;
		init_go_unmap(go);
		return error;
	}
	/* Out of the way of what it gets. */
	workload_r->report_fd = fcntl(ends[1], F_DUPFD_CLOEXEC, 64);
	close(ends[1]);
	ends[1] = workload_r->report_fd;
	workload_r->report_fd = ends[0];
	workload_r->pid = init_child_fork();
	if (workload_r->pid == 0)
		host_workload_child(setup, group, go, ends[1]);
	if (workload_r->pid < 0) {
		error = errno;
		workload_r->pid = 0;
	}
	close(ends[1]);
	init_go_unmap(go);
	return error;
}

int
host_workload_failure(struct host_workload *workload)
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
