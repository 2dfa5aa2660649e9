/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Homes and our state where every command looks: below /usr, through a link,
 * by a bind mount, of others. In a mount namespace with a user database of
 * its own each of them is masked, or the view refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "supervisor/native/native_view.h"

#define SOMEBODY 64112U
#define LOCAL "/usr/local"

static char base[64];
static struct native_view view;

/* Up to 64 at a time. */
static const char *
at(const char *name)
{
	static char paths[64][256];
	static unsigned next;
	char *path = paths[next++ % 64];

	(void)snprintf(path, sizeof(paths[0]), "%s/%s", base, name);
	return path;
}

static bool
put(const char *path, const char *text)
{
	FILE *out = fopen(path, "w");

	return out != NULL && fputs(text, out) >= 0 && fclose(out) == 0;
}

static bool
folders(void)
{
	const char *const names[] = {LOCAL "/home", LOCAL "/home/me",
	    LOCAL "/home/me/.agentnode", LOCAL "/home/other", LOCAL "/state",
	    LOCAL "/run", LOCAL "/again", LOCAL "/homes", at("me"),
	    at("me/.agentnode"), at("me/.agentnode/runs"), at("me/work"),
	    at("me/work/runs"), at("me/work/home"), at("part"), at("scratch")};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (mkdir(names[i], 0755) != 0)
			return false;
	}
	return symlink(LOCAL "/home", at("link")) == 0;
}

static bool
bind_on(const char *from, const char *to)
{
	return mount(from, to, NULL, MS_BIND, NULL) == 0;
}

/* From here on /usr/local and the users are its own. */
static bool
world(uid_t uid)
{
	char text[400];

	(void)snprintf(text, sizeof(text),
	    "me:x:%u:0::/nonexistent:/bin/sh\n"
	    "daemon:x:64113:0::/usr/sbin:/bin/sh\n"
	    "other:x:%u:0::" LOCAL "/home/other:/bin/sh\n",
	    (unsigned)uid, uid == 0 ? SOMEBODY : uid);
	if (!put(at("passwd"), text) ||
	    unshare(uid == 0 ? CLONE_NEWNS : CLONE_NEWNS | CLONE_NEWUSER) != 0)
		return false;
	(void)snprintf(
	    text, sizeof(text), "%u %u 1", (unsigned)uid, (unsigned)uid);
	if (uid != 0 && !put("/proc/self/uid_map", text))
		return false;
	return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
	       bind_on(at("passwd"), "/etc/passwd") &&
	       mount("ours", LOCAL, "tmpfs", 0, NULL) == 0 && folders() &&
	       (uid != 0 || chown(LOCAL "/home/other", SOMEBODY, 0) == 0);
}

static struct native_view_choice
choose(const char *home, const char *agentnode)
{
	return (struct native_view_choice){.mode = NATIVE_READ_ONLY,
	    .home = home,
	    .agentnode = agentnode,
	    .scratch = "/scratch",
	    .scratch_size = 1 << 20};
}

static bool
masked(const char *path)
{
	unsigned found = 0;

	for (size_t i = 0; i < view.count; i++)
		found += view.steps[i].kind == NATIVE_STEP_MASK &&
			 strcmp(view.steps[i].target, path) == 0;
	return found == 1;
}

static bool
made(const struct native_view_choice *choice)
{
	char fault[512];

	if (native_view_make(choice, &view, fault, sizeof(fault)) == RESULT_OK)
		return true;
	(void)fprintf(stderr, "%s\n", fault);
	return false;
}

static bool
refused(const struct native_view_choice *choice, const char *words)
{
	char fault[512];

	if (native_view_make(choice, &view, fault, sizeof(fault)) ==
		RESULT_REFUSED &&
	    strstr(fault, words) != NULL)
		return true;
	(void)fprintf(stderr, "not \"%s\": %s\n", words, fault);
	return false;
}

/* The line of the first that is not as it should be; 0: none. */
#define MUST(truth)                      \
	do {                             \
		if (!(truth))            \
			return __LINE__; \
	} while (0)

static int
below_the_system(void)
{
	static const char *const hidden[] = {LOCAL "/run", LOCAL "/missing"};
	struct native_view_choice choice =
	    choose(LOCAL "/home/me", LOCAL "/state");

	choice.hidden = hidden;
	choice.hidden_count = 2;
	MUST(made(&choice));
	MUST(masked(LOCAL "/home/me") && masked(LOCAL "/state"));
	MUST(masked(LOCAL "/run") && masked(LOCAL "/home/other"));
	MUST(!masked("/usr/sbin") && !masked(LOCAL "/missing"));
	choice.home = at("link/me");
	MUST(made(&choice) && masked(LOCAL "/home/me"));
	/* The state of a home that is not the one in use. */
	choice.home = "/nonexistent";
	choice.agentnode = LOCAL "/home/me/.agentnode";
	MUST(made(&choice) && masked(choice.agentnode));
	MUST(!masked(LOCAL "/home/me"));
	choice.mode = NATIVE_DANGER;
	choice.scratch = at("scratch");
	choice.home = LOCAL "/home/me";
	choice.agentnode = LOCAL "/state";
	MUST(made(&choice) && masked(LOCAL "/state"));
	MUST(masked(LOCAL "/home/me/.agentnode") && masked(LOCAL "/run"));
	MUST(!masked(LOCAL "/home/me") && !masked(LOCAL "/home/other"));
	return 0;
}

static int
what_cannot_be_left_out(void)
{
	struct native_view_choice choice =
	    choose("/usr/bin", at("me/.agentnode"));

	/* Somebody else's directory is nobody's home. */
	MUST(geteuid() != 0
		 ? made(&choice) && !masked("/usr/bin")
		 : refused(&choice, "HOME) (/usr/bin) is never shown"));
	choice = choose(at("me"), "/usr");
	MUST(refused(&choice, "AGENTNODE_HOME"));
	choice = choose(at("me"), "/usr/share");
	MUST(refused(&choice, "AGENTNODE_HOME"));
	return 0;
}

static int
by_another_name(void)
{
	struct native_view_choice choice =
	    choose(at("me"), at("me/.agentnode"));

	MUST(bind_on(at("me/.agentnode"), LOCAL "/again"));
	MUST(bind_on(base, LOCAL "/homes"));
	MUST(made(&choice));
	MUST(masked(LOCAL "/again") && masked(LOCAL "/homes/me"));
	choice.mode = NATIVE_DANGER;
	choice.scratch = at("scratch");
	MUST(made(&choice));
	MUST(masked(at("me/.agentnode")) && masked(LOCAL "/again"));
	MUST(masked(LOCAL "/homes/me/.agentnode"));
	/* A part of it, in the workspace and as one. */
	choice = choose(at("me"), at("me/.agentnode"));
	choice.workspace = at("me/work");
	MUST(bind_on(at("me/.agentnode/runs"), at("me/work/runs")));
	MUST(made(&choice) && masked(at("me/work/runs")));
	MUST(bind_on(at("me/.agentnode/runs"), at("part")));
	choice.workspace = at("part");
	MUST(refused(&choice, "AgentNode's own state"));
	/* The home inside of what is handed over of it. */
	choice.workspace = at("me/work");
	MUST(bind_on(at("me"), at("me/work/home")));
	MUST(made(&choice) && masked(at("me/work/home")));
	/* Another mount on it: it is not there. */
	MUST(mount("ours", LOCAL "/again", "tmpfs", 0, NULL) == 0);
	MUST(made(&choice) && !masked(LOCAL "/again"));
	return 0;
}

static void
no_home_and_no_state_is_shown(void **state)
{
	static int (*const rows[])(void) = {
	    below_the_system, what_cannot_be_left_out, by_another_name};
	uid_t uid = geteuid();
	int status, ends[2], line = 0;
	pid_t child;

	(void)state;
	assert_int_equal(pipe(ends), 0);
	child = fork();
	if (child == 0) {
		if (!world(uid))
			_exit(99);
		for (size_t i = 0;
		     line == 0 && i < sizeof(rows) / sizeof(rows[0]); i++)
			line = rows[i]();
		_exit(write(ends[1], &line, sizeof(line)) !=
		      (ssize_t)sizeof(line));
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 0);
	assert_int_equal(
	    read(ends[0], &line, sizeof(line)), (ssize_t)sizeof(line));
	assert_int_equal(line, 0);
	(void)close(ends[0]);
	(void)close(ends[1]);
}

static int
setup(void **state)
{
	(void)state;
	(void)strcpy(base, "/tmp/native_cover.XXXXXX");
	return mkdtemp(base) != NULL ? 0 : -1;
}

static int
teardown(void **state)
{
	pid_t child = fork();

	(void)state;
	if (child == 0) {
		(void)execl("/bin/rm", "rm", "-rf", base, (char *)NULL);
		_exit(127);
	}
	return child < 0 || waitpid(child, NULL, 0) != child;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(
		no_home_and_no_state_is_shown, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
