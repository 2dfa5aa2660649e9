/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scratch directories on the host: made, filled, gone whatever is in them,
 * and those of dead runs with the next; the turns of starting.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "supervisor/exec/exec_scratch.h"
#include "supervisor/exec/exec_turn.h"
#include "supervisor/init/tree_stream.h"
#include "tests/support/test_folder.h"

static char home[] = "/tmp/exec_scratch.XXXXXX";
static struct exec_scratch scratch;

static void
make(void)
{
	struct json_fault fault = {""};

	if (exec_scratch_new(&scratch, &fault) != RESULT_OK)
		fail_msg("%s", fault.text);
}

static int
group_setup(void **state)
{
	(void)state;
	return test_folder_new(home) == NULL ||
	       setenv("AGENTNODE_HOME", home, 1) != 0;
}

static int
group_teardown(void **state)
{
	int dir = open(home, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char name[32];

	(void)state;
	for (unsigned i = 0; i < EXEC_TURN_COUNT; i++) {
		(void)snprintf(name, sizeof(name), "exec/turn.%u", i);
		(void)unlinkat(dir, name, 0);
	}
	(void)unlinkat(dir, "exec/lock", 0);
	(void)unlinkat(dir, "exec", AT_REMOVEDIR);
	(void)close(dir);
	return rmdir(home);
}

/* A record of a tree stream. */
static void
put(int stream, uint32_t type, const char *name, uint32_t mode,
    const char *content)
{
	struct tree_stream_header header = {.magic = TREE_STREAM_MAGIC,
	    .type = type,
	    .mode = mode,
	    .path_len = (uint32_t)strlen(name),
	    .size = strlen(content)};

	assert_int_equal(
	    write(stream, &header, sizeof(header)), sizeof(header));
	assert_int_equal(write(stream, name, strlen(name)), strlen(name));
	assert_int_equal(
	    write(stream, content, strlen(content)), strlen(content));
}

static void
file(int dir, const char *name)
{
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL, 0600);

	assert_true(fd >= 0);
	(void)close(fd);
}

static void
is_ours_alone(void **state)
{
	struct exec_scratch other;
	struct json_fault fault = {""};
	struct stat st;
	int again;

	(void)state;
	make();
	assert_int_equal(fstat(scratch.fd, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	/* Locked while it lives, so that the next start lets it be. */
	again = open(scratch.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(again >= 0);
	assert_int_equal(flock(again, LOCK_EX | LOCK_NB), -1);
	(void)close(again);
	assert_int_equal(exec_scratch_new(&other, &fault), RESULT_OK);
	assert_string_not_equal(other.name, scratch.name);
	assert_int_equal(stat(scratch.path, &st), 0);
	exec_scratch_remove(&other);
	assert_int_equal(stat(other.path, &st), -1);
	exec_scratch_remove(&scratch);
	assert_int_equal(stat(scratch.path, &st), -1);
	assert_true(scratch.fd == -1 && scratch.above == -1);
	exec_scratch_remove(&scratch); /* once more does nothing */
}

static void
is_filled(void **state)
{
	int stream = memfd_create("inputs", MFD_CLOEXEC);
	char text[8] = "";
	struct stat st;
	int fd;

	(void)state;
	make();
	put(stream, TREE_STREAM_FILE, "tool", 0755, "hello");
	put(stream, TREE_STREAM_FILE, "empty", 0644, "");
	put(stream, TREE_STREAM_END, "", 0, "");
	assert_int_equal(exec_scratch_fill(&scratch, stream), RESULT_OK);
	assert_int_equal(fstatat(scratch.fd, "tool", &st, 0), 0);
	assert_int_equal(st.st_mode & 0100, 0100);
	assert_int_equal(fstatat(scratch.fd, "empty", &st, 0), 0);
	assert_int_equal(st.st_size, 0);
	assert_int_equal(st.st_mode & 0111, 0);
	fd = openat(scratch.fd, "tool", O_RDONLY | O_CLOEXEC);
	assert_int_equal(read(fd, text, sizeof(text) - 1), 5);
	assert_string_equal(text, "hello");
	(void)close(fd);
	/* What is there is not written over; a cut stream is not a whole. */
	assert_int_equal(exec_scratch_fill(&scratch, stream), RESULT_SYSTEM);
	assert_int_equal(ftruncate(stream, 7), 0);
	assert_int_equal(exec_scratch_fill(&scratch, stream), RESULT_BAD);
	(void)close(stream);
	exec_scratch_remove(&scratch);
}

/* Deep, closed to its owner, full of links: it goes, and nothing else. */
static void
goes_whatever_is_in_it(void **state)
{
	char outside[] = "/tmp/exec_scratch_kept.XXXXXX";
	struct stat st;
	int dir, kept;

	(void)state;
	assert_non_null(test_folder_new(outside));
	kept = open(outside, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	file(kept, "file");
	make();
	assert_int_equal(symlinkat(outside, scratch.fd, "out"), 0);
	assert_int_equal(mkdirat(scratch.fd, ".gone-0", 0700), 0);
	dir = dup(scratch.fd);
	for (unsigned i = 0; i < 300; i++) {
		int next;

		assert_int_equal(mkdirat(dir, "deep", 0700), 0);
		next = openat(dir, "deep", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		assert_true(next >= 0);
		file(next, "f");
		assert_int_equal(symlinkat(outside, next, "out"), 0);
		(void)close(dir);
		dir = next;
	}
	(void)close(dir);
	assert_int_equal(mkdirat(scratch.fd, "shut", 0700), 0);
	dir = openat(scratch.fd, "shut", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	file(dir, "in");
	assert_int_equal(fchmod(dir, 0), 0);
	(void)close(dir);
	assert_int_equal(fchmod(scratch.fd, 0), 0);
	exec_scratch_remove(&scratch);
	assert_int_equal(stat(scratch.path, &st), -1);
	assert_int_equal(fstatat(kept, "file", &st, 0), 0);
	(void)unlinkat(kept, "file", 0);
	(void)close(kept);
	assert_int_equal(rmdir(outside), 0);
}

/* Of a run that was killed: its lock went with it. */
static void
dead_ones_go_with_the_next(void **state)
{
	char left[EXEC_SCRATCH_PATH_MAX];
	struct stat st;

	(void)state;
	make();
	file(scratch.fd, "f");
	(void)strcpy(left, scratch.path);
	assert_int_equal(close(scratch.fd), 0);
	assert_int_equal(close(scratch.above), 0);
	assert_int_equal(stat(left, &st), 0);
	make();
	assert_int_equal(stat(left, &st), -1);
	exec_scratch_remove(&scratch);
}

/* Twice, then no more. */
static bool
wanted(void *context)
{
	unsigned *asked = context;

	return ++*asked < 3;
}

static void
turns(void **state)
{
	int held[EXEC_TURN_COUNT];
	unsigned asked = 0;
	struct rlimit all, few;
	struct stat one, other;

	(void)state;
	for (unsigned i = 0; i < EXEC_TURN_COUNT; i++) {
		held[i] = exec_turn_take(wanted, &asked);
		assert_true(held[i] >= 0);
		assert_int_equal(fstat(held[i], &one), 0);
		for (unsigned j = 0; j < i; j++) {
			assert_int_equal(fstat(held[j], &other), 0);
			assert_true(one.st_ino != other.st_ino);
		}
	}
	assert_int_equal(asked, 0);
	/* All are taken: it waits until it is not wanted any more. */
	assert_int_equal(exec_turn_take(wanted, &asked), -1);
	assert_int_equal(asked, 3);
	asked = 0;
	/* What one gives back is the next one's. */
	assert_int_equal(fstat(held[3], &one), 0);
	(void)close(held[3]);
	held[3] = exec_turn_take(wanted, &asked);
	assert_true(held[3] >= 0);
	assert_int_equal(fstat(held[3], &other), 0);
	assert_true(one.st_ino == other.st_ino);
	/* A scratch directory beside them leaves them alone. */
	make();
	exec_scratch_remove(&scratch);
	/* A limit of open files is nobody's turn: it is not waited for. */
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &all), 0);
	few = (struct rlimit){.rlim_cur = 3, .rlim_max = all.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	for (; few.rlim_cur < 24 && asked == 0; few.rlim_cur++) {
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
		if (few.rlim_cur <= (rlim_t)held[3])
			assert_int_equal(exec_turn_take(wanted, &asked), -1);
	}
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &all), 0);
	assert_int_equal(asked, 0);
	for (unsigned i = 0; i < EXEC_TURN_COUNT; i++) {
		assert_int_equal(flock(held[i], LOCK_EX | LOCK_NB), 0);
		(void)close(held[i]);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(is_ours_alone),
	    cmocka_unit_test(is_filled),
	    cmocka_unit_test(goes_whatever_is_in_it),
	    cmocka_unit_test(dead_ones_go_with_the_next),
	    cmocka_unit_test(turns),
	};

	return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
