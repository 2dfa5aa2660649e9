/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The attempts at a wall that are more than one system call. Run in the
 * throwaway child only; each returns 0 when it worked, else errno, and
 * judges nothing.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "supervisor/init/init_walls.h"

#define INIT_WALL_TRIES_CLONE_NEWUSER 0x10000000UL
#define INIT_WALL_TRIES_FDS 128 /* of init, from 3 on */
#define INIT_WALL_TRIES_FILE ".agentnode-wall"

/* Documentation addresses: whatever answers, a route exists. */
#define INIT_WALL_TRIES_ADDRESS4 "192.0.2.1"
#define INIT_WALL_TRIES_ADDRESS6 "2001:db8::1"

static int
init_wall_tries_clone_user(const struct init_setup *setup)
{
	long pid;

	(void)setup;
	pid = syscall(
	    SYS_clone, INIT_WALL_TRIES_CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);
	if (pid == 0)
		_exit(0);
	if (pid > 0)
		(void)waitpid((pid_t)pid, NULL, 0);
	return pid < 0 ? errno : 0;
}

static int
init_wall_tries_clone3(const struct init_setup *setup)
{
	/* flags ... exit_signal is the fifth of eleven */
	uint64_t args[11] = {[4] = SIGCHLD};
	long pid;

	(void)setup;
	pid = syscall(SYS_clone3, args, sizeof(args));
	if (pid == 0)
		_exit(0);
	if (pid > 0)
		(void)waitpid((pid_t)pid, NULL, 0);
	return pid < 0 ? errno : 0;
}

static int
init_wall_tries_path(
    char path_r[INIT_PATH_MAX + 32], const char *folder, const char *name)
{
	int len = snprintf(path_r, INIT_PATH_MAX + 32, "%s/%s", folder, name);

	return len < 0 || len >= (int)INIT_PATH_MAX + 32 ? ENAMETOOLONG : 0;
}

static int
init_wall_tries_mknod(const struct init_setup *setup)
{
	char path[INIT_PATH_MAX + 32];
	int error;

	if (setup->writable_tried == 0)
		return -1;
	error = init_wall_tries_path(
	    path, setup->writable[0], INIT_WALL_TRIES_FILE);
	if (error != 0)
		return error;
	error = mknod(path, S_IFCHR | 0600, makedev(1, 3)) != 0 ? errno : 0;
	(void)unlink(path);
	return error;
}

/* A datagram socket's connect only looks for a route. */
static int
init_wall_tries_route(const struct sockaddr *address, socklen_t len)
{
	int fd = socket(address->sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int error;

	if (fd < 0)
		return errno;
	error = connect(fd, address, len) != 0 ? errno : 0;
	close(fd);
	return error;
}

static int
init_wall_tries_route4_to(const char *text, uint16_t port)
{
	struct sockaddr_in address = {
	    .sin_family = AF_INET, .sin_port = htons(port)};

	if (inet_pton(AF_INET, text, &address.sin_addr) != 1)
		return EINVAL;
	return init_wall_tries_route(
	    (const struct sockaddr *)&address, sizeof(address));
}

static int
init_wall_tries_route4(const struct init_setup *setup)
{
	(void)setup;
	return init_wall_tries_route4_to(INIT_WALL_TRIES_ADDRESS4, 443);
}

static int
init_wall_tries_metadata(const struct init_setup *setup)
{
	(void)setup;
	return init_wall_tries_route4_to("169.254.169.254", 80);
}

static int
init_wall_tries_route6(const struct init_setup *setup)
{
	struct sockaddr_in6 address = {
	    .sin6_family = AF_INET6, .sin6_port = htons(443)};

	(void)setup;
	if (inet_pton(AF_INET6, INIT_WALL_TRIES_ADDRESS6, &address.sin6_addr) !=
	    1)
		return EINVAL;
	return init_wall_tries_route(
	    (const struct sockaddr *)&address, sizeof(address));
}

static int
init_wall_tries_resolver(const struct init_setup *setup)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
	    .sin_port = htons(53),
	    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int error;

	(void)setup;
	if (fd < 0)
		return errno;
	error =
	    connect(fd, (const struct sockaddr *)&address, sizeof(address)) != 0
		? errno
		: 0;
	close(fd);
	return error;
}

static int
init_wall_tries_open(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC, 0600);

	if (fd < 0)
		return errno;
	close(fd);
	return 0;
}

static int
init_wall_tries_init_memory(const struct init_setup *setup)
{
	(void)setup;
	return init_wall_tries_open("/proc/1/mem", O_RDWR);
}

static int
init_wall_tries_init_environ(const struct init_setup *setup)
{
	(void)setup;
	return init_wall_tries_open("/proc/1/environ", O_RDONLY);
}

static int
init_wall_tries_init_fd(const struct init_setup *setup)
{
	(void)setup;
	return init_wall_tries_open("/proc/1/fd", O_RDONLY | O_DIRECTORY);
}

/* Of the errors that opening one in each way gave, the one that speaks for
 * it: the first that is no refusal, else EACCES where one was that. Sockets
 * and what has no file system refuse everybody. */
static int
init_wall_tries_init_one(int fd)
{
	static const int ways[] = {O_RDONLY, O_WRONLY, O_RDWR};
	int found = ENOENT;
	char path[32];

	(void)snprintf(path, sizeof(path), "/proc/1/fd/%d", fd);
	for (unsigned i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		int error = init_wall_tries_open(path, ways[i] | O_NONBLOCK);

		if (error != EACCES && error != ENOENT && error != ENXIO &&
		    error != ENODEV)
			return error;
		if (error == EACCES)
			found = error;
	}
	return found;
}

/* Each that a number leads to, but those that lead nowhere (0 to 2): this
 * child has a copy of all that init had open at the fork. */
static int
init_wall_tries_init_pipes(const struct init_setup *setup)
{
	int found = ENOENT;

	(void)setup;
	for (int fd = 3; fd < 3 + INIT_WALL_TRIES_FDS; fd++) {
		int error;

		if (fcntl(fd, F_GETFD) < 0)
			continue;
		error = init_wall_tries_init_one(fd);
		if (error != EACCES && error != ENOENT)
			return error;
		if (error == EACCES)
			found = error;
	}
	return found;
}

static int
init_wall_tries_init_root(const struct init_setup *setup)
{
	(void)setup;
	return init_wall_tries_open("/proc/1/root/", O_RDONLY | O_DIRECTORY);
}

static int
init_wall_tries_make(const char *path)
{
	int error = init_wall_tries_open(path, O_WRONLY | O_CREAT | O_EXCL);

	if (error == 0)
		(void)unlink(path);
	return error;
}

/* "/" is the user's own, and to be left as it is. */
static int
init_wall_tries_is_open(const struct init_setup *setup)
{
	for (uint32_t i = 0; i < setup->writable_count; i++) {
		if (setup->writable[i][1] == '\0')
			return 1;
	}
	return 0;
}

static int
init_wall_tries_write_root(const struct init_setup *setup)
{
	if (init_wall_tries_is_open(setup))
		return -1;
	return init_wall_tries_make("/" INIT_WALL_TRIES_FILE);
}

static int
init_wall_tries_write_sockets(const struct init_setup *setup)
{
	if (init_wall_tries_is_open(setup))
		return -1;
	return init_wall_tries_make("/run/agentnode/" INIT_WALL_TRIES_FILE);
}

static int
init_wall_tries_write_proc(const struct init_setup *setup)
{
	(void)setup;
	return init_wall_tries_open("/proc/self/comm", O_WRONLY);
}

/* The content is no program: where executing is allowed, the answer is
 * ENOEXEC, and this process stays what it is. */
static int
init_wall_tries_exec_one(const char *folder, int execute)
{
	char path[INIT_PATH_MAX + 32];
	char *const words[] = {path, NULL};
	int error = init_wall_tries_path(path, folder, INIT_WALL_TRIES_FILE);
	int fd;

	if (error != 0)
		return error;
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
	if (fd < 0)
		return errno;
	error = write(fd, "wall", 4) != 4 ? EIO : 0;
	close(fd);
	if (error == 0 && execute) {
		(void)execve(path, words, &words[1]);
		error = errno;
	}
	if (unlink(path) != 0 && error == 0)
		error = errno;
	return error;
}

/* The first directory that answers otherwise speaks for all. */
static int
init_wall_tries_exec_writable(const struct init_setup *setup)
{
	int error = -1;

	for (uint32_t i = 0; i < setup->writable_tried; i++) {
		error = init_wall_tries_exec_one(setup->writable[i], 1);
		if (error != EACCES)
			break;
	}
	return error;
}

/* On a file of the sandbox's own: the filter alone can refuse it. */
static int
init_wall_tries_set_uid(const struct init_setup *setup)
{
	char path[INIT_PATH_MAX + 32];
	int error, fd;

	if (setup->writable_tried == 0)
		return -1;
	error = init_wall_tries_path(
	    path, setup->writable[0], INIT_WALL_TRIES_FILE);
	if (error != 0)
		return error;
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return errno;
	error = fchmod(fd, S_ISUID | 0700) != 0 ? errno : 0;
	close(fd);
	return unlink(path) != 0 && error == 0 ? errno : error;
}

static int
init_wall_tries_control_write(const struct init_setup *setup)
{
	int error = -1;

	for (uint32_t i = 0; i < setup->writable_tried; i++) {
		error = init_wall_tries_exec_one(setup->writable[i], 0);
		if (error != 0)
			break;
	}
	return error;
}

static int
init_wall_tries_control_fork(const struct init_setup *setup)
{
	int status;
	pid_t child = fork();

	(void)setup;
	if (child < 0)
		return errno;
	if (child == 0)
		_exit(0);
	if (waitpid(child, &status, 0) != child)
		return errno;
	return status == 0 ? 0 : ECHILD;
}

static int
init_wall_tries_control_unix(const struct init_setup *setup)
{
	int ends[2];

	(void)setup;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
		return errno;
	close(ends[0]);
	close(ends[1]);
	return 0;
}

static int
init_wall_tries_control_null(const struct init_setup *setup)
{
	(void)setup;
	return init_wall_tries_open("/dev/null", O_WRONLY);
}

const struct init_wall_tries_row init_wall_tries[] = {
    {INIT_WALL_CLONE_USER, init_wall_tries_clone_user},
    {INIT_WALL_CLONE3, init_wall_tries_clone3},
    {INIT_WALL_MKNOD, init_wall_tries_mknod},
    {INIT_WALL_ROUTE4, init_wall_tries_route4},
    {INIT_WALL_ROUTE6, init_wall_tries_route6},
    {INIT_WALL_METADATA, init_wall_tries_metadata},
    {INIT_WALL_RESOLVER, init_wall_tries_resolver},
    {INIT_WALL_INIT_MEMORY, init_wall_tries_init_memory},
    {INIT_WALL_INIT_ENVIRON, init_wall_tries_init_environ},
    {INIT_WALL_INIT_FD, init_wall_tries_init_fd},
    {INIT_WALL_INIT_PIPES, init_wall_tries_init_pipes},
    {INIT_WALL_INIT_ROOT, init_wall_tries_init_root},
    {INIT_WALL_WRITE_ROOT, init_wall_tries_write_root},
    {INIT_WALL_WRITE_PROC, init_wall_tries_write_proc},
    {INIT_WALL_WRITE_SOCKETS, init_wall_tries_write_sockets},
    {INIT_WALL_EXEC_WRITABLE, init_wall_tries_exec_writable},
    {INIT_WALL_SET_UID, init_wall_tries_set_uid},
    {INIT_WALL_CONTROL_WRITE, init_wall_tries_control_write},
    {INIT_WALL_CONTROL_FORK, init_wall_tries_control_fork},
    {INIT_WALL_CONTROL_UNIX, init_wall_tries_control_unix},
    {INIT_WALL_CONTROL_NULL, init_wall_tries_control_null},
};

const unsigned init_wall_tries_count =
    sizeof(init_wall_tries) / sizeof(init_wall_tries[0]);
