/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A workload that attacks its init: one attack per word on the command
 * line, facts on standard output. Static; used by the scenarios init_*.py
 * inside a container; never installed.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SPINNERS 52
#define LINGER_SECONDS 8

static const char *
word(int error)
{
	return error == 0 ? "success" : strerrorname_np(error);
}

/* Patches nothing: opening for writing and reading one byte of init's code
 * is enough to show that it could. */
static int
attack_memory(void)
{
	char line[256] = "";
	unsigned long from = 0;
	FILE *maps = fopen("/proc/1/maps", "re");
	int fd = open("/proc/1/mem", O_RDWR | O_CLOEXEC);
	unsigned char byte;

	printf("mem %s\n", fd < 0 ? word(errno) : "opened");
	printf("maps %s\n", maps == NULL ? word(errno) : "opened");
	if (fd < 0 || maps == NULL)
		return 1;
	if (fgets(line, sizeof(line), maps) != NULL)
		from = strtoul(line, NULL, 16);
	printf("read %s\n",
	    pread(fd, &byte, 1, (off_t)from) == 1 ? "success" : word(errno));
	printf("write %s\n",
	    pwrite(fd, &byte, 1, (off_t)from) == 1 ? "success" : word(errno));
	return 0;
}

static void
spin(void)
{
	for (volatile unsigned turn = 0;; turn++)
		;
}

/* Makes pid 1 wait behind everybody, then keeps every CPU busy. */
static int
attack_scheduling(void)
{
	const struct sched_param param = {0};
	cpu_set_t first;
	int error;

	CPU_ZERO(&first);
	CPU_SET(0, &first);
	error = sched_setaffinity(1, sizeof(first), &first) != 0 ? errno : 0;
	printf("affinity %s\n", word(error));
	(void)sched_setaffinity(0, sizeof(first), &first);
	error = sched_setscheduler(1, SCHED_IDLE, &param) != 0 ? errno : 0;
	printf("idle %s\n", word(error));
	error = setpriority(PRIO_PROCESS, 1, 19) != 0 ? errno : 0;
	printf("nice %s\n", word(error));
	fflush(stdout);
	for (int i = 0; i < SPINNERS; i++) {
		if (fork() == 0)
			spin();
	}
	printf("spinning\n");
	fflush(stdout);
	spin();
	return 0;
}

/* Forks for ever, up to whatever limit there is, and forks again when one
 * dies; every process ignores what can be ignored and stops itself. */
static int
attack_bomb(void)
{
	for (int number = 1; number < 32; number++)
		(void)signal(number, SIG_IGN);
	printf("bomb\n");
	fflush(stdout);
	for (;;) {
		pid_t child = fork();

		if (child == 0)
			(void)setsid();
		if (child < 0)
			sched_yield();
	}
	return 0;
}

/* Children that stop, continue and stop each other. */
static int
attack_stop(void)
{
	printf("stopping\n");
	fflush(stdout);
	for (int i = 0; i < 20; i++) {
		if (fork() == 0) {
			for (;;)
				(void)kill(getpid(), SIGSTOP);
		}
	}
	for (;;) {
		(void)kill(-1, SIGCONT);
		(void)kill(-1, SIGSTOP);
		(void)kill(1, SIGSTOP);
		(void)kill(1, SIGKILL);
		(void)kill(1, SIGCHLD);
	}
	return 0;
}

static int
attack_signal(void)
{
	const int numbers[] = {0, SIGKILL, SIGSTOP, SIGTERM, SIGCHLD, SIGSEGV};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		printf("signal %d %s\n", numbers[i],
		    word(kill(1, numbers[i]) != 0 ? errno : 0));
	return 0;
}

/* A descriptor of its own, sent and never received, again and again. */
static int
attack_flood(void)
{
	unsigned long sent = 0;
	int error = 0, pair[2];

	for (int round = 0; round < 2000 && error == 0; round++) {
		if (socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) != 0)
			break;
		for (int i = 0; i < 64; i++) {
			char room[CMSG_SPACE(sizeof(int) * 250)] = {0};
			struct iovec part = {(char[1]){'x'}, 1};
			struct msghdr header = {.msg_iov = &part,
			    .msg_iovlen = 1,
			    .msg_control = room,
			    .msg_controllen = sizeof(room)};
			struct cmsghdr *c = CMSG_FIRSTHDR(&header);

			c->cmsg_level = SOL_SOCKET;
			c->cmsg_type = SCM_RIGHTS;
			c->cmsg_len = CMSG_LEN(sizeof(int) * 250);
			for (int n = 0; n < 250; n++)
				memcpy(CMSG_DATA(c) + (size_t)n * sizeof(int),
				    &pair[0], sizeof(int));
			if (sendmsg(pair[0], &header,
				MSG_DONTWAIT | MSG_NOSIGNAL) != 1) {
				error = errno == EAGAIN ? 0 : errno;
				break;
			}
			sent += 250;
		}
	}
	printf("in flight %lu, then %s\n", sent, word(error));
	fflush(stdout);
	pause();
	return 0;
}

static int
connect_relay(const char *name)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	snprintf(address.sun_path, sizeof(address.sun_path),
	    "/run/agentnode/%s.sock", name);
	if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) !=
	    0)
		return -1;
	return fd;
}

/* A TCP socket that lingers: its peer reads nothing, its buffer is full. */
static int
lingering(void)
{
	struct sockaddr_in address = {
	    .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	const struct linger wait = {1, LINGER_SECONDS};
	static char bytes[65536];
	socklen_t len = sizeof(address);
	int server = socket(AF_INET, SOCK_STREAM, 0), client;

	if (bind(server, (const struct sockaddr *)&address, len) != 0 ||
	    listen(server, 1) != 0 ||
	    getsockname(server, (struct sockaddr *)&address, &len) != 0)
		return -1;
	client = socket(AF_INET, SOCK_STREAM, 0);
	if (connect(client, (const struct sockaddr *)&address, len) != 0)
		return -1;
	while (send(client, bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
		;
	if (setsockopt(client, SOL_SOCKET, SO_LINGER, &wait, sizeof(wait)) != 0)
		return -1;
	return client;
}

static long
since(const struct timespec *from)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (now.tv_sec - from->tv_sec) * 1000 +
	       (now.tv_nsec - from->tv_nsec) / 1000000;
}

/* How long an echo through the relay takes, ms; -1 when it fails. */
static long
echo(void)
{
	struct timespec from;
	struct timeval limit = {20, 0};
	char bytes[5] = "";
	int fd;

	clock_gettime(CLOCK_MONOTONIC, &from);
	fd = connect_relay("llm");
	if (fd < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) !=
		0 ||
	    write(fd, "ping", 4) != 4 || read(fd, bytes, 4) != 4 ||
	    strcmp(bytes, "ping") != 0)
		return -1;
	close(fd);
	return since(&from);
}

/* Sends a lingering socket to the relay and drops its own copy. since: from
 * before that to the echo's answer, so that a machine that was slow in between
 * makes it longer only. */
static int
attack_linger(void)
{
	char room[CMSG_SPACE(sizeof(int))] = {0};
	struct iovec part = {(char[1]){'x'}, 1};
	struct msghdr header = {.msg_iov = &part,
	    .msg_iovlen = 1,
	    .msg_control = room,
	    .msg_controllen = sizeof(room)};
	struct cmsghdr *c = CMSG_FIRSTHDR(&header);
	int relay = connect_relay("llm"), socket = lingering();
	struct timespec from;

	printf("before %ld ms\n", echo());
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &socket, sizeof(int));
	clock_gettime(CLOCK_MONOTONIC, &from);
	printf("send %s\n", sendmsg(relay, &header, MSG_NOSIGNAL) == 1
				? "success"
				: word(errno));
	close(socket);
	usleep(100000);
	printf("after %ld ms\n", echo());
	printf("since %ld ms\n", since(&from));
	return 0;
}

/* Opens descriptors and processes that stay when the main program ends. */
static int
attack_orphans(void)
{
	for (int i = 0; i < 10; i++) {
		if (fork() == 0) {
			(void)setsid();
			(void)signal(SIGTERM, SIG_IGN);
			if (fork() == 0)
				spin();
			_exit(0);
		}
	}
	usleep(200000);
	return 5;
}

/* Binds what init gave away, and replaces the relay's socket. */
static int
attack_names(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
	    .sin_port = htons(3128),
	    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	const int on = 1;
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on));
	printf("bind %s\n", word(bind(fd, (const struct sockaddr *)&address,
				     sizeof(address)) != 0
				     ? errno
				     : 0));
	printf("unlink %s\n",
	    word(unlink("/run/agentnode/llm.sock") != 0 ? errno : 0));
	printf("rename %s\n",
	    word(rename("/run/agentnode/llm.sock", "/run/agentnode/x") != 0
		     ? errno
		     : 0));
	printf("echo %s\n", echo() >= 0 ? "success" : "failed");
	return 0;
}

/* Sends size bytes and reads them back while sending; then closes its half
 * and reads to the end. How many came back, -1 when the end did not. */
static long
half_close(const char *name, long size)
{
	static char bytes[16384];
	struct timeval limit = {10, 0};
	long sent = 0, back = 0;
	ssize_t got;
	int fd = connect_relay(name);

	if (fd < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) != 0)
		return -1;
	while (sent < size) {
		ssize_t put = send(fd, bytes, sizeof(bytes), MSG_DONTWAIT);

		if (put > 0)
			sent += put;
		got = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);
		if (got == 0 || (got < 0 && errno != EAGAIN))
			return -1;
		back += got > 0 ? got : 0;
	}
	if (shutdown(fd, SHUT_WR) != 0)
		return -1;
	while ((got = read(fd, bytes, sizeof(bytes))) > 0)
		back += got;
	close(fd);
	return got == 0 && sent == back ? back : -1;
}

/* What a client may do with the relay, and more connections than it has
 * room for. */
static int
attack_relay(void)
{
	int fds[64], opened = 0;
	long late;

	printf("llm %ld\n", half_close("llm", 4 << 20));
	printf("tools %ld\n", half_close("tools", 16384));
	for (; opened < 64; opened++) {
		fds[opened] = connect_relay("llm");
		if (fds[opened] < 0)
			break;
	}
	printf("opened %d\n", opened);
	usleep(300000);
	if (fork() == 0) {
		usleep(500000);
		for (int i = 0; i < opened; i++)
			shutdown(fds[i], SHUT_RDWR);
		_exit(0);
	}
	late = echo();
	printf("full %s\n", late >= 400 ? "waited" : "did not wait");
	printf("again %s\n", echo() >= 0 ? "success" : "failed");
	return 0;
}

static const struct {
	const char *name;
	int (*run)(void);
} attacks[] = {{"memory", attack_memory}, {"scheduling", attack_scheduling},
    {"bomb", attack_bomb}, {"stop", attack_stop}, {"signal", attack_signal},
    {"flood", attack_flood}, {"linger", attack_linger},
    {"orphans", attack_orphans}, {"names", attack_names},
    {"relay", attack_relay}};

int
main(int argc, char **argv)
{
	for (size_t i = 0; i < sizeof(attacks) / sizeof(attacks[0]); i++) {
		if (argc == 2 && strcmp(argv[1], attacks[i].name) == 0)
			return attacks[i].run();
	}
	fprintf(stderr, "usage: attack_init ATTACK\n");
	return 2;
}
