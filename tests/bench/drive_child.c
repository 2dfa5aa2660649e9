/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tools that play the supervisor share. For tests and benches only;
 * the product's supervisor is in supervisor/.
 */
#include "tests/bench/drive_child.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/ipc.h"

#define DRIVE_CHILD_BACKLOG 4096
#define DRIVE_CHILD_TRIES 300 /* 3 seconds */

_Noreturn void
drive_child_fail(const char *what)
{
	fprintf(stderr, "drive: %s: %s\n", what, strerror(errno));
	exit(1);
}

static socklen_t
drive_child_address(
    const char *address, uint16_t port, struct sockaddr_storage *storage)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)storage;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)storage;

	memset(storage, 0, sizeof(*storage));
	if (inet_pton(AF_INET, address, &v4->sin_addr) == 1) {
		v4->sin_family = AF_INET;
		v4->sin_port = htons(port);
		return sizeof(*v4);
	}
	if (inet_pton(AF_INET6, address, &v6->sin6_addr) == 1) {
		v6->sin6_family = AF_INET6;
		v6->sin6_port = htons(port);
		return sizeof(*v6);
	}
	errno = EINVAL;
	drive_child_fail(address);
}

int
drive_child_listen(const char *address, uint16_t port)
{
	struct sockaddr_storage storage;
	socklen_t len = drive_child_address(address, port, &storage);
	int on = 1;
	int fd = socket(
	    storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
	    bind(fd, (struct sockaddr *)&storage, len) != 0 ||
	    listen(fd, DRIVE_CHILD_BACKLOG) != 0)
		drive_child_fail(address);
	return fd;
}

int
drive_child_log_fd(const char *path)
{
	int fd;

	if (path == NULL)
		return fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 10);
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	if (fd < 0)
		drive_child_fail(path);
	return fd;
}

pid_t
drive_child_spawn(const char *program, int *control_r)
{
	char *argv[] = {(char *)(uintptr_t)program, NULL};
	char *envp[] = {NULL, NULL};
	posix_spawn_file_actions_t actions;
	pid_t pid = -1;
	int pair[2];

	if (getenv("ASAN_OPTIONS") != NULL &&
	    asprintf(&envp[0], "ASAN_OPTIONS=%s", getenv("ASAN_OPTIONS")) < 0)
		drive_child_fail("asprintf");
	if (fd_socketpair(pair) != RESULT_OK ||
	    posix_spawn_file_actions_init(&actions) != 0 ||
	    posix_spawn_file_actions_adddup2(
		&actions, pair[1], IPC_CONTROL_FD) != 0)
		drive_child_fail("socketpair");
	if (pair[1] == IPC_CONTROL_FD && fd_set_cloexec(pair[1], false) != 0)
		drive_child_fail("fcntl");
	errno = posix_spawn(&pid, program, &actions, NULL, argv, envp);
	if (errno != 0)
		drive_child_fail(program);
	posix_spawn_file_actions_destroy(&actions);
	free(envp[0]);
	fd_close(&pair[1]);
	*control_r = pair[0];
	return pid;
}

int
drive_child_finish(pid_t pid, const char *program)
{
	const struct timespec pause = {.tv_nsec = 10000000};
	int status = 0, left = DRIVE_CHILD_TRIES;
	pid_t ended;

	while ((ended = waitpid(pid, &status, WNOHANG)) == 0 && left-- > 0)
		(void)nanosleep(&pause, NULL);
	if (ended == 0) { /* as the supervisor would */
		(void)kill(pid, SIGKILL);
		(void)waitpid(pid, &status, 0);
	}
	if (WIFEXITED(status) && (WEXITSTATUS(status) == IPC_EXIT_SUPERVISOR ||
				     WEXITSTATUS(status) == IPC_EXIT_OK))
		return 0;
	fprintf(stderr, "drive: %s %s %d\n", program,
	    WIFEXITED(status) ? "exited with" : "was ended by signal",
	    WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
	return 1;
}

void
drive_child_raise_files(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) != 0)
		return;
	files.rlim_cur = files.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &files);
}
