/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plays the supervisor for agentnode-init: starts a real container with
 * podman, speaks init_protocol.h, and prints one JSON object per event.
 * Used by the scenarios init_*.py; never installed.
 *
 *   init_harness --image I [options] -- WORD...
 *
 * With --echo it serves every listener it gets by sending bytes back. It
 * keeps no deadline: its caller does.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "supervisor/init/init_protocol.h"
#include "tests/support/init_harness_option.h"

#define POLL_MAX 512

static int control = -1, stream_in[2], stream_out[2], stream_err[2];
static struct timespec started;

static void
die(const char *what)
{
	printf("{\"event\":\"harness\",\"failed\":\"%s: %s\"}\n", what,
	    strerror(errno));
	fflush(stdout);
	_exit(99);
}

static long
elapsed_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (now.tv_sec - started.tv_sec) * 1000 +
	       (now.tv_nsec - started.tv_nsec) / 1000000;
}

static void
print_text(const char *bytes, size_t len)
{
	putchar('"');
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)bytes[i];

		if (c < 0x20 || c >= 0x7f || c == '"' || c == '\\')
			printf("\\u%04x", c);
		else
			putchar(c);
	}
	putchar('"');
}

static int
sealed(const void *bytes, size_t size)
{
	int fd = memfd_create("go", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0 || write(fd, bytes, size) != (ssize_t)size ||
	    fcntl(fd, F_ADD_SEALS,
		F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) != 0)
		die("memfd");
	return fd;
}

static int
sealed_file(const char *path)
{
	static char bytes[8 << 20];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t size = fd < 0 ? -1 : read(fd, bytes, sizeof(bytes));

	if (size <= 0)
		die(path);
	close(fd);
	return sealed(bytes, (size_t)size);
}

static uint32_t
put_words(char *bytes, uint32_t *used, const char *const *words, uint32_t count)
{
	uint32_t table = *used;

	*used += count * (uint32_t)sizeof(uint32_t);
	for (uint32_t i = 0; i < count; i++) {
		memcpy(
		    bytes + table + i * sizeof(uint32_t), used, sizeof(*used));
		memcpy(bytes + *used, words[i], strlen(words[i]) + 1);
		*used += (uint32_t)strlen(words[i]) + 1;
	}
	return table;
}

static int
go_memfd(const struct init_harness_list *env, char **argv)
{
	static char bytes[INIT_GO_MAX];
	struct init_go go = {
	    .magic = INIT_MAGIC, .version = INIT_PROTOCOL_VERSION};
	uint32_t used = sizeof(go);

	memset(bytes, 0, sizeof(bytes));
	while (argv != NULL && argv[go.argc] != NULL)
		go.argc++;
	go.envc = env->count;
	go.argv_offset =
	    put_words(bytes, &used, (const char *const *)argv, go.argc);
	go.env_offset = put_words(bytes, &used, env->words, go.envc);
	go.cwd_offset = used;
	memcpy(bytes + used, init_harness_option.cwd,
	    strlen(init_harness_option.cwd) + 1);
	used += (uint32_t)strlen(init_harness_option.cwd) + 1;
	go.size = used;
	memcpy(bytes, &go, sizeof(go));
	return sealed(bytes, used);
}

static void
send_record(const void *body, size_t size, const int *fds, unsigned count)
{
	union {
		char bytes[CMSG_SPACE(2 * sizeof(int))];
		struct cmsghdr align;
	} room = {{0}};
	struct iovec part = {(void *)(uintptr_t)body, size};
	struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1};

	if (count > 0) {
		header.msg_control = room.bytes;
		header.msg_controllen = CMSG_SPACE(count * sizeof(int));
		room.align.cmsg_level = SOL_SOCKET;
		room.align.cmsg_type = SCM_RIGHTS;
		room.align.cmsg_len = CMSG_LEN(count * sizeof(int));
		memcpy(CMSG_DATA(&room.align), fds, count * sizeof(int));
	}
	if (sendmsg(control, &header, MSG_NOSIGNAL) != (ssize_t)size)
		die("sendmsg");
}

static struct init_record
record_of(enum init_type type)
{
	return (struct init_record){.magic = INIT_MAGIC,
	    .version = INIT_PROTOCOL_VERSION,
	    .type = (uint32_t)type};
}

static void
send_bare(enum init_type type)
{
	struct init_record record = record_of(type);

	send_record(&record, sizeof(record), NULL, 0);
}

static void
send_setup(void)
{
	static struct init_setup setup;

	setup.record = record_of(INIT_SETUP);
	for (unsigned i = 0; i < init_harness_option.listen.count; i++) {
		char text[64];
		char *colon;

		snprintf(text, sizeof(text), "%s",
		    init_harness_option.listen.words[i]);
		colon = strchr(text, ':');
		if (colon == NULL)
			die("--listen");
		*colon = '\0';
		setup.listeners[i] =
		    (struct init_listener){.address = inet_addr(text),
			.port = htons((uint16_t)atoi(colon + 1)),
			.backlog = 16};
	}
	setup.listener_count = init_harness_option.listen.count;
	for (unsigned i = 0; i < init_harness_option.writable.count; i++)
		snprintf(setup.writable[i], INIT_PATH_MAX, "%s",
		    init_harness_option.writable.words[i]);
	setup.writable_count = init_harness_option.writable.count;
	setup.writable_tried = setup.writable_count;
	setup.writable_exec = (uint32_t)init_harness_option.writable_exec;
	setup.relay_llm_port = (uint16_t)init_harness_option.relay_llm;
	setup.relay_tools_port = (uint16_t)init_harness_option.relay_tools;
	setup.landlock_required = !init_harness_option.no_landlock;
	setup.guest_uid = (uint32_t)init_harness_option.guest_uid;
	send_record(&setup, sizeof(setup), NULL, 0);
}

static void
send_go(void)
{
	struct init_record record = record_of(INIT_GO);
	int fds[2] = {
	    go_memfd(&init_harness_option.env, init_harness_option.argv), -1};
	unsigned count = 1;

	if (init_harness_option.secret.count > 0)
		fds[count++] = go_memfd(&init_harness_option.secret, NULL);
	send_record(&record, sizeof(record), fds, count);
	for (unsigned i = 0; i < count; i++)
		close(fds[i]);
	printf("{\"event\":\"go\",\"ms\":%ld}\n", elapsed_ms());
}

/* "DIR=FILE" */
static void
send_tree(enum init_type type, const char *spec)
{
	struct init_tree tree = {.record = record_of(type),
	    .max_bytes = init_harness_option.tree_bytes,
	    .max_files = init_harness_option.tree_files};
	const char *equals = strchr(spec, '=');
	int fd;

	if (equals == NULL)
		die("--import or --export");
	memcpy(tree.path, spec, (size_t)(equals - spec));
	fd = type == INIT_IMPORT
		 ? open(equals + 1, O_RDONLY | O_CLOEXEC)
		 : open(equals + 1, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
		       0600);
	if (fd < 0)
		die(equals + 1);
	send_record(&tree, sizeof(tree), &fd, 1);
	close(fd);
}

static void
exec_podman(const int *pass)
{
	const char *words[160];
	char user[32], seccomp[512];
	unsigned count = 0;
	static const char *const fixed[] = {"podman",
	    "--cgroup-manager=cgroupfs", "run", "--rm", "--read-only",
	    "--read-only-tmpfs=false", "--cap-drop=ALL",
	    "--security-opt=no-new-privileges", "--ulimit", "nofile=4096:4096",
	    "--ulimit", "nproc=4096:4096", "--ulimit", "core=0:0", "--cpus",
	    "1", "--pull=never", "--http-proxy=false", "--no-healthcheck",
	    "--image-volume=ignore", "--log-driver=none", "--hostname",
	    "sandbox", "--tmpfs",
	    "/tmp:rw,nosuid,nodev,noexec,size=16m,mode=1777", "--tmpfs",
	    "/run/agentnode:rw,nosuid,nodev,noexec,size=64k,mode=1777",
	    "--sysctl", "net.ipv4.ip_unprivileged_port_start=0",
	    "--preserve-fds=5", "--entrypoint", "/proc/self/fd/4"};

	for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++)
		words[count++] = fixed[i];
	snprintf(user, sizeof(user), "%s:%s", init_harness_option.uid,
	    init_harness_option.uid);
	snprintf(seccomp, sizeof(seccomp), "seccomp=%s",
	    init_harness_option.seccomp);
	const char *const more[] = {"--user", user, "--memory",
	    init_harness_option.memory, "--memory-swap",
	    init_harness_option.memory, "--pids-limit",
	    init_harness_option.pids, "--network", init_harness_option.network,
	    "--name", init_harness_option.name, "--runtime",
	    init_harness_option.runtime, "--security-opt", seccomp};
	for (size_t i = 0; i < sizeof(more) / sizeof(more[0]); i++)
		words[count++] = more[i];
	for (unsigned i = 0; i < init_harness_option.podman.count; i++)
		words[count++] = init_harness_option.podman.words[i];
	words[count++] = init_harness_option.image;
	words[count++] = init_harness_option.word; /* NULL: none */
	words[count] = NULL;
	for (int i = 0; i < INIT_FD_COUNT; i++) {
		int high = fcntl(pass[i], F_DUPFD, 100 + i);

		if (high < 0 || dup2(high, INIT_CONTROL_FD + i) < 0)
			die("dup2");
		close(high);
	}
	execvp("podman", (char *const *)(uintptr_t)words);
	die("podman");
}

static pid_t
start(void)
{
	int pair[2], on = 1, null;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0 ||
	    pipe2(stream_in, O_CLOEXEC) != 0 ||
	    pipe2(stream_out, O_CLOEXEC) != 0 ||
	    pipe2(stream_err, O_CLOEXEC) != 0 ||
	    setsockopt(pair[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) != 0)
		die("descriptors");
	control = pair[0];
	send_setup();
	pid = fork();
	if (pid < 0)
		die("fork");
	if (pid == 0) {
		int pass[INIT_FD_COUNT] = {pair[1],
		    sealed_file(init_harness_option.init), stream_in[0],
		    stream_out[1], stream_err[1]};

		null = open("/dev/null", O_RDWR);
		setsid();
		dup2(null, 0);
		dup2(null, 1);
		exec_podman(pass);
	}
	close(pair[1]);
	close(stream_in[0]);
	close(stream_out[1]);
	close(stream_err[1]);
	return pid;
}

static int
receive(void *bytes, size_t size, int *fd_r, pid_t *pid_r)
{
	char room[CMSG_SPACE(sizeof(int) * 8) +
		  CMSG_SPACE(sizeof(struct ucred))];
	struct iovec part = {bytes, size};
	struct msghdr header = {.msg_iov = &part,
	    .msg_iovlen = 1,
	    .msg_control = room,
	    .msg_controllen = sizeof(room)};
	ssize_t got = recvmsg(control, &header, MSG_CMSG_CLOEXEC);

	*fd_r = -1;
	if (got <= 0)
		return 0;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&header); c != NULL;
	     c = CMSG_NXTHDR(&header, c)) {
		struct ucred who;

		if (c->cmsg_type == SCM_RIGHTS)
			memcpy(fd_r, CMSG_DATA(c), sizeof(int));
		if (c->cmsg_type == SCM_CREDENTIALS) {
			memcpy(&who, CMSG_DATA(c), sizeof(who));
			*pid_r = who.pid;
		}
	}
	return (int)got;
}

static void
save_report(int fd)
{
	static char bytes[1 << 20];
	ssize_t size = pread(fd, bytes, sizeof(bytes), 0);
	int to;

	printf("{\"event\":\"report\",\"size\":%zd,\"seals\":%d,\"ms\":%ld}\n",
	    size, fcntl(fd, F_GET_SEALS), elapsed_ms());
	if (init_harness_option.report == NULL)
		return;
	to = open(
	    init_harness_option.report, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (to < 0 || size < 0 || write(to, bytes, (size_t)size) != size)
		die("report");
	close(to);
}

static struct pollfd polls[POLL_MAX];
static unsigned poll_count;

static void
watch(int fd)
{
	if (poll_count == POLL_MAX)
		die("too many descriptors");
	polls[poll_count++] = (struct pollfd){fd, POLLIN, 0};
}

/* Sends the engine's part of a run on its way once init said something. */
static bool
on_record(void)
{
	struct init_status status;
	pid_t pid = -1;
	int fd, size = receive(&status, sizeof(status), &fd, &pid);

	if (size == 0) {
		printf("{\"event\":\"closed\",\"ms\":%ld}\n", elapsed_ms());
		return false;
	}
	switch (status.record.type) {
	case INIT_HELLO:
		printf("{\"event\":\"hello\",\"pid\":%d,\"ms\":%ld}\n", pid,
		    elapsed_ms());
		break;
	case INIT_LISTENER:
		printf("{\"event\":\"listener\",\"index\":%u,\"ms\":%ld}\n",
		    status.record.value, elapsed_ms());
		if (init_harness_option.echo)
			watch(fcntl(fd, F_DUPFD_CLOEXEC, 300));
		else
			(void)fcntl(fd, F_DUPFD_CLOEXEC, 300); /* kept */
		break;
	case INIT_REPORT:
		save_report(fd);
		if (init_harness_option.import != NULL)
			send_tree(INIT_IMPORT, init_harness_option.import);
		else if (!init_harness_option.no_go)
			send_go();
		break;
	case INIT_IMPORTED:
	case INIT_EXPORTED:
		printf("{\"event\":\"%s\",\"error\":%u}\n",
		    status.record.type == INIT_IMPORTED ? "imported"
							: "exported",
		    status.record.value);
		if (status.record.type == INIT_IMPORTED &&
		    !init_harness_option.no_go)
			send_go();
		else
			send_bare(INIT_BYE);
		break;
	case INIT_STATUS:
		printf("{\"event\":\"status\",\"exit\":%d,\"signal\":%d,"
		       "\"exec_errno\":%d,\"ms\":%ld}\n",
		    status.exit_code, status.signal, status.exec_errno,
		    elapsed_ms());
		if (init_harness_option.export != NULL)
			send_tree(INIT_EXPORT, init_harness_option.export);
		else
			send_bare(INIT_BYE);
		break;
	case INIT_FAILED:
		printf("{\"event\":\"failed\",\"step\":%u,\"error\":%u}\n",
		    status.record.step, status.record.value);
		break;
	default:
		printf("{\"event\":\"unknown\",\"type\":%u}\n",
		    status.record.type);
	}
	if (fd >= 0)
		close(fd);
	return true;
}

/* A stream of the workload; false at its end. */
static bool
on_output(int fd, const char *name)
{
	char bytes[4096];
	ssize_t got = read(fd, bytes, sizeof(bytes));

	if (got <= 0)
		return false;
	printf("{\"event\":\"%s\",\"text\":", name);
	print_text(bytes, (size_t)got);
	printf("}\n");
	return true;
}

/* Listeners accept, connections echo; a finished sender is answered with a
 * half-close, after everything came back. */
static void
on_echo(struct pollfd *entry)
{
	char bytes[65536];
	int on = 0;
	socklen_t len = sizeof(on);
	ssize_t got;

	if (getsockopt(entry->fd, SOL_SOCKET, SO_ACCEPTCONN, &on, &len) == 0 &&
	    on) {
		int fd = accept4(entry->fd, NULL, NULL, SOCK_CLOEXEC);

		if (fd >= 0)
			watch(fd);
		return;
	}
	got = read(entry->fd, bytes, sizeof(bytes));
	if (got > 0 && send(entry->fd, bytes, (size_t)got, MSG_NOSIGNAL) == got)
		return;
	close(entry->fd);
	entry->fd = -1;
}

static void
run(void)
{
	bool open = true;

	watch(control);
	watch(stream_out[0]);
	watch(stream_err[0]);
	while (open || polls[1].fd >= 0 || polls[2].fd >= 0) {
		int wait = -1;

		fflush(stdout);
		if (init_harness_option.kill_after >= 0 && elapsed_ms() > 60000)
			die("too long");
		if (init_harness_option.kill_after >= 0)
			wait = 20;
		if (poll(polls, poll_count, wait) < 0 && errno != EINTR)
			die("poll");
		if (open && polls[0].revents != 0 && !on_record()) {
			open = false;
			polls[0].fd = -1;
		}
		for (unsigned i = 1; i < 3; i++) {
			if (polls[i].fd >= 0 && polls[i].revents != 0 &&
			    !on_output(
				polls[i].fd, i == 1 ? "stdout" : "stderr"))
				polls[i].fd = -1;
		}
		for (unsigned i = 3; i < poll_count; i++) {
			if (polls[i].fd >= 0 && polls[i].revents != 0)
				on_echo(&polls[i]);
		}
		if (open && init_harness_option.kill_after >= 0 &&
		    elapsed_ms() >= init_harness_option.kill_after) {
			printf(
			    "{\"event\":\"kill\",\"ms\":%ld}\n", elapsed_ms());
			send_bare(INIT_KILL);
			init_harness_option.kill_after = -1;
		}
	}
}

int
main(int argc, char **argv)
{
	pid_t podman;
	int status;

	if (!init_harness_option_read(argc, argv))
		return 2;
	signal(SIGPIPE, SIG_IGN);
	clock_gettime(CLOCK_MONOTONIC, &started);
	podman = start();
	run();
	if (waitpid(podman, &status, 0) != podman)
		die("waitpid");
	printf("{\"event\":\"engine\",\"exit\":%d,\"ms\":%ld}\n",
	    WIFEXITED(status) ? WEXITSTATUS(status) : -1, elapsed_ms());
	return 0;
}
