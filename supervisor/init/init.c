/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The story of the container's PID 1, from its first act to its exit:
 *
 *   SETUP    record from the supervisor, listeners out, relay, walls, report
 *   READY    imports, then `go`
 *   RUNNING  the workload lives; orphans are reaped
 *   ENDING   it ended, or must: everything else is killed and reaped
 *   ENDED    status was sent; exports, then `bye`
 *
 * When the control socket closes in any state, everything is killed. init
 * parses nothing foreign: what a workload can do to it is to end.
 */
#include "supervisor/init/init.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "supervisor/init/init_channel.h"
#include "supervisor/init/init_connect.h"
#include "supervisor/init/init_filter.h"
#include "supervisor/init/init_guest.h"
#include "supervisor/init/init_layers.h"
#include "supervisor/init/init_listen.h"
#include "supervisor/init/init_look.h"
#include "supervisor/init/init_mux.h"
#include "supervisor/init/init_relay.h"
#include "supervisor/init/init_results.h"
#include "supervisor/init/init_survey.h"
#include "supervisor/init/init_tree.h"
#include "supervisor/init/init_walls.h"
#include "supervisor/init/init_workload.h"

#define INIT_KILL_AGAIN_MS 10
#define INIT_FIRST_FREE_FD 8
#define INIT_CLOSE_ON_EXEC 4U /* CLOSE_RANGE_CLOEXEC */

enum init_state {
	INIT_STATE_SETUP,
	INIT_STATE_READY,
	INIT_STATE_RUNNING,
	INIT_STATE_ENDING,
	INIT_STATE_ENDED,
};

struct init {
	enum init_way way;
	enum init_state state;
	struct init_setup setup;
	struct init_workload workload; /* pid 0: none */
	int workload_status;           /* wait status, once it ended */
	bool workload_ended;
	pid_t tree; /* 0: none */
	enum init_type tree_answer;
	int signal_fd;
};

/* Tells why and goes; the kernel kills the rest of the namespace. */
static void
init_die(enum init_step step, int error, enum init_exit code)
{
	(void)init_channel_fail(step, error);
	init_mux_flush();
	(void)kill(-1, SIGKILL);
	_exit(code);
}

static void
init_enter(struct init *init, enum init_state state)
{
	if (state == INIT_STATE_ENDING)
		(void)kill(-1, SIGKILL); /* ESRCH: nobody left */
	init->state = state;
}

/* Nothing may see inside this process, no core, no stray descriptor. */
static void
init_protect(void)
{
	const struct rlimit no_core = {0, 0};

	if (prctl(PR_SET_DUMPABLE, init_layers.dumpable, 0, 0, 0) != 0 ||
	    setrlimit(RLIMIT_CORE, &no_core) != 0)
		init_die(INIT_STEP_DUMPABLE, errno, INIT_EXIT_START);
	(void)close(INIT_PROGRAM_FD);
	if (syscall(SYS_close_range, INIT_CONTROL_FD, INIT_STDERR_FD,
		INIT_CLOSE_ON_EXEC) != 0 ||
	    syscall(SYS_close_range, INIT_FIRST_FREE_FD, init_mux_lowest() - 1,
		0) != 0)
		init_die(INIT_STEP_DUMPABLE, errno, INIT_EXIT_START);
}

static void
init_signals(struct init *init)
{
	sigset_t child;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	if (sigprocmask(SIG_BLOCK, &child, NULL) != 0)
		init_die(INIT_STEP_DUMPABLE, errno, INIT_EXIT_START);
	init->signal_fd = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
	if (init->signal_fd < 0)
		init_die(INIT_STEP_DUMPABLE, errno, INIT_EXIT_START);
}

static bool
init_setup_valid(const struct init_setup *setup)
{
	if (setup->listener_count > INIT_LISTENERS_MAX ||
	    setup->writable_count > INIT_WRITABLE_MAX ||
	    setup->writable_tried > setup->writable_count)
		return false;
	for (uint32_t i = 0; i < setup->writable_count; i++) {
		const char *path = setup->writable[i];

		/* Walls are never tried in all there is. */
		if (path[0] != '/' ||
		    (path[1] == '\0' && i < setup->writable_tried) ||
		    memchr(path, '\0', INIT_PATH_MAX) == NULL)
			return false;
	}
	for (uint32_t i = 0; i < setup->look_count; i++) {
		if (i >= INIT_LOOK_MAX || setup->look[i][0] != '/' ||
		    memchr(setup->look[i], '\0', INIT_PATH_MAX) == NULL)
			return false;
	}
	return true;
}

static void
init_receive_setup(struct init *init)
{
	struct init_channel_message message;

	struct pollfd control = {INIT_CONTROL_FD, POLLIN, 0};

	if (init_channel_tell(INIT_HELLO, 0, -1) != 0)
		_exit(INIT_EXIT_ALONE);
	while (init_mux_poll(&control, 1, -1) < 0 && errno == EINTR)
		continue;
	if (init_channel_receive(&message) != INIT_CHANNEL_MESSAGE)
		init_die(INIT_STEP_SETUP, EPROTO, INIT_EXIT_ALONE);
	if (message.body.record.type != INIT_SETUP ||
	    !init_setup_valid(&message.body.setup)) {
		init_channel_drop(&message);
		init_die(INIT_STEP_SETUP, EINVAL, INIT_EXIT_PROTOCOL);
	}
	init->setup = message.body.setup;
	/* A guest is told whom its children become, and nobody else is. It
	 * has no Landlock; where it had, that would be entered as well. */
	if ((init->way == INIT_WAY_GUEST) != (init->setup.guest_uid != 0))
		init_die(INIT_STEP_SETUP, EINVAL, INIT_EXIT_PROTOCOL);
	init_guest_children(init->setup.guest_uid);
	if (init->setup.guest_uid != 0)
		init->setup.landlock_required = 0;
}

/* The child tries its walls while this looks around: neither of the two
 * fills what the other does. */
static void
init_report_fill(const struct init_setup *setup, struct init_report *report)
{
	struct init_walls walls;
	int error = init_walls_start(setup, report, &walls);
	int seen;

	if (error != 0)
		init_die(INIT_STEP_WALLS, error, INIT_EXIT_START);
	seen = init_survey_fill(report);
	error = init_walls_finish(&walls);
	if (error != 0)
		init_die(INIT_STEP_WALLS, error, INIT_EXIT_START);
	if (seen != 0)
		init_die(INIT_STEP_REPORT, seen, INIT_EXIT_START);
}

static void
init_report(const struct init_setup *setup)
{
	/* Shared with the child that tries the walls. */
	struct init_report *report = mmap(NULL, sizeof(*report),
	    PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int error, fd;

	if (report == MAP_FAILED)
		init_die(INIT_STEP_REPORT, errno, INIT_EXIT_START);
	init_report_fill(setup, report);
	init_look(setup, report);
	fd = init_survey_seal(report);
	if (fd < 0)
		init_die(INIT_STEP_REPORT, errno, INIT_EXIT_START);
	error = init_channel_tell(INIT_REPORT, 0, fd);
	if (error != 0)
		init_die(INIT_STEP_REPORT, error, INIT_EXIT_ALONE);
	close(fd);
	munmap(report, sizeof(*report));
}

static void
init_prepare(struct init *init)
{
	pid_t relay;
	int error = init_listen_all(&init->setup);

	if (error != 0)
		init_die(INIT_STEP_LISTENER, error, INIT_EXIT_START);
	error = init_relay_start(&init->setup, &relay);
	if (error != 0)
		init_die(INIT_STEP_RELAY, error, INIT_EXIT_START);
	init_report(&init->setup);
	init_enter(init, INIT_STATE_READY);
}

static void
init_go_now(struct init *init, const struct init_channel_message *message)
{
	int error = init_workload_start(&init->setup, message->fds[0],
	    message->fd_count > 1 ? message->fds[1] : -1, &init->workload);

	if (error != 0)
		init_die(INIT_STEP_GO, error, INIT_EXIT_START);
	/* From now on the streams are the workload's alone. */
	close(INIT_STDIN_FD);
	close(INIT_STDOUT_FD);
	close(INIT_STDERR_FD);
	init_enter(init, INIT_STATE_RUNNING);
}

static void
init_move_tree(struct init *init, const struct init_channel_message *message)
{
	const struct init_tree *job = &message->body.tree;

	if (job->path[0] != '/' ||
	    memchr(job->path, '\0', sizeof(job->path)) == NULL)
		init_die(INIT_STEP_TREE, EINVAL, INIT_EXIT_PROTOCOL);
	/* Most commands leave nothing: no child for that. */
	if (job->record.type == INIT_RESULTS &&
	    init_results_none(job->path, message->fds[0])) {
		if (init_channel_tell(INIT_EXPORTED, 0, -1) != 0)
			_exit(INIT_EXIT_ALONE);
		return;
	}
	init->tree_answer =
	    job->record.type == INIT_IMPORT ? INIT_IMPORTED : INIT_EXPORTED;
	init->tree = init_tree_start(
	    job, message->fds[0], (int)init->setup.landlock_required);
	if (init->tree < 0)
		init_die(INIT_STEP_FORK, errno, INIT_EXIT_START);
}

static bool
init_allowed(const struct init *init, uint32_t type)
{
	switch ((enum init_type)type) {
	case INIT_IMPORT:
	case INIT_GO:
		return init->state == INIT_STATE_READY && init->tree == 0;
	case INIT_EXPORT:
	case INIT_RESULTS:
		return init->state == INIT_STATE_ENDED && init->tree == 0;
	case INIT_KILL:
	case INIT_BYE:
		return true;
	case INIT_SETUP:
	case INIT_STREAMS:
	case INIT_HELLO:
	case INIT_LISTENER:
	case INIT_REPORT:
	case INIT_IMPORTED:
	case INIT_STATUS:
	case INIT_EXPORTED:
	case INIT_FAILED:
		break;
	}
	return false;
}

static void
init_on_message(struct init *init)
{
	struct init_channel_message message;
	enum init_channel_result result = init_channel_receive(&message);
	uint32_t type = message.body.record.type;

	if (result == INIT_CHANNEL_CLOSED) {
		(void)kill(-1, SIGKILL);
		_exit(INIT_EXIT_ALONE);
	}
	if (result == INIT_CHANNEL_BAD || !init_allowed(init, type))
		init_die(INIT_STEP_RECORD, EPROTO, INIT_EXIT_PROTOCOL);
	if (type == INIT_IMPORT || type == INIT_EXPORT || type == INIT_RESULTS)
		init_move_tree(init, &message);
	else if (type == INIT_GO)
		init_go_now(init, &message);
	else if (type == INIT_KILL && init->state < INIT_STATE_ENDING)
		init_enter(init, INIT_STATE_ENDING);
	else if (type == INIT_BYE) {
		(void)kill(-1, SIGKILL);
		_exit(INIT_EXIT_OK);
	}
	init_channel_drop(&message);
}

static void
init_tell_status(struct init *init)
{
	struct init_status status = {.record = {.magic = INIT_MAGIC,
					 .version = INIT_PROTOCOL_VERSION,
					 .type = INIT_STATUS},
	    .exit_code = -1,
	    .signal = SIGKILL};

	if (init->workload_ended && WIFEXITED(init->workload_status)) {
		status.exit_code = WEXITSTATUS(init->workload_status);
		status.signal = 0;
	} else if (init->workload_ended)
		status.signal = WTERMSIG(init->workload_status);
	status.exec_errno = init_workload_failure(&init->workload);
	if (init_channel_send(&status, sizeof(status), -1) != 0)
		_exit(INIT_EXIT_ALONE);
	init_enter(init, INIT_STATE_ENDED);
}

static void
init_on_end(struct init *init, pid_t pid, int status)
{
	if (pid == init->workload.pid) {
		init->workload_status = status;
		init->workload_ended = true;
		if (init->state == INIT_STATE_RUNNING)
			init_enter(init, INIT_STATE_ENDING);
	} else if (pid == init->tree) {
		init->tree = 0;
		if (init_channel_tell(init->tree_answer,
			(uint32_t)init_tree_outcome(status), -1) != 0)
			_exit(INIT_EXIT_ALONE);
	}
}

/* The next that ended; interrupted is not ended: the signal that told of it
 * has been read and will not come again. */
static pid_t
init_reap_one(int *status_r)
{
	pid_t pid;

	do
		pid = waitpid(-1, status_r, WNOHANG | __WALL);
	while (pid < 0 && errno == EINTR);
	return pid;
}

/* Everything that ended, orphans too. */
static void
init_reap(struct init *init)
{
	struct signalfd_siginfo told;
	int status;
	pid_t pid;

	while (read(init->signal_fd, &told, sizeof(told)) > 0)
		;
	while ((pid = init_reap_one(&status)) > 0)
		init_on_end(init, pid, status);
	if (init->state != INIT_STATE_ENDING)
		return;
	if (pid < 0 && errno == ECHILD)
		init_tell_status(init);
	else
		(void)kill(-1, SIGKILL);
}

int
init_run(enum init_way way)
{
	static struct init init = {
	    .state = INIT_STATE_SETUP, .workload = {.report_fd = -1}};
	int error;

	init.way = way;
	error = way == INIT_WAY_FILTER || way == INIT_WAY_GUEST
		    ? init_filter_own()
		    : 0;
	if (error != 0)
		init_die(INIT_STEP_FILTER, error, INIT_EXIT_START);
	init_protect();
	error = way == INIT_WAY_VOLUME ? init_connect() : 0;
	if (error != 0)
		init_die(INIT_STEP_CONNECT, error, INIT_EXIT_ALONE);
	init_signals(&init);
	init_receive_setup(&init);
	init_prepare(&init);
	for (;;) {
		struct pollfd polls[2] = {
		    {INIT_CONTROL_FD, POLLIN, 0}, {init.signal_fd, POLLIN, 0}};
		int wait =
		    init.state == INIT_STATE_ENDING ? INIT_KILL_AGAIN_MS : -1;

		if (init_mux_poll(polls, 2, wait) < 0 && errno != EINTR)
			init_die(INIT_STEP_RECORD, errno, INIT_EXIT_START);
		if (polls[0].revents != 0)
			init_on_message(&init);
		init_reap(&init);
	}
}
