/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes descriptors and hands them on (see the header). Called by the launcher
 * and the process it cloned before anything foreign runs; must never leave one
 * at a number that was not meant for it.
 */
#include "supervisor/native/native_hand.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "common/fd.h"
#include "supervisor/native/native_fail.h"

#define NATIVE_HAND_HIGH 64   /* above every number that has a meaning */
#define NATIVE_HAND_TREES 15U /* of one message */

_Static_assert(NATIVE_LAUNCH_GIVEN <= FD_PASS_MAX &&
		   NATIVE_HAND_TREES <= FD_PASS_MAX &&
		   NATIVE_LAUNCH_GROUPS_MAX <= FD_PASS_MAX &&
		   NATIVE_TREE_DEVICES <= FD_PASS_MAX,
    "each part goes in one message");
_Static_assert(
    NATIVE_LAUNCH_FD == INIT_CONTROL_FD + (int)NATIVE_LAUNCH_GIVEN - 1,
    "the record follows init's");

/* None of them has a number that another one is to get. */
static enum result
native_hand_place(int fds[NATIVE_LAUNCH_GIVEN])
{
	enum result result = RESULT_OK;

	for (size_t i = 0; i < NATIVE_LAUNCH_GIVEN; i++) {
		int high = fcntl(fds[i], F_DUPFD_CLOEXEC, NATIVE_HAND_HIGH);

		if (high < 0)
			result = RESULT_SYSTEM;
		(void)close(fds[i]);
		fds[i] = high;
	}
	for (size_t i = 0; i < NATIVE_LAUNCH_GIVEN; i++) {
		int to = INIT_CONTROL_FD + (int)i;

		if (result == RESULT_OK && dup3(fds[i], to, O_CLOEXEC) != to)
			result = RESULT_SYSTEM;
		fd_close(&fds[i]);
	}
	return result;
}

enum result
native_hand_take(int socket)
{
	int fds[NATIVE_LAUNCH_GIVEN];
	size_t count = 0, len;
	char byte;
	enum result result = fd_receive(
	    socket, &byte, 1, &len, fds, NATIVE_LAUNCH_GIVEN, &count);

	if (result != RESULT_OK)
		return result;
	if (byte == NATIVE_LAUNCH_BYTE && count == NATIVE_LAUNCH_GIVEN)
		return native_hand_place(fds);
	for (size_t i = 0; i < count; i++)
		fd_close(&fds[i]);
	return RESULT_BAD;
}

/* Who died before has said why: it is waited for. */
static void
native_hand_part(
    int socket, const void *bytes, size_t len, const int *fds, size_t count)
{
	enum result result = fd_send(socket, bytes, len, fds, count);

	if (result != RESULT_OK && result != RESULT_CLOSED)
		native_fail("the sandbox's first process cannot be given what "
			    "it needs",
		    "", errno);
}

void
native_hand_on(int socket)
{
	int fds[NATIVE_LAUNCH_GIVEN];

	for (size_t i = 0; i < NATIVE_LAUNCH_GIVEN; i++)
		fds[i] = INIT_CONTROL_FD + (int)i;
	native_hand_part(
	    socket, &(char){NATIVE_LAUNCH_BYTE}, 1, fds, NATIVE_LAUNCH_GIVEN);
}

/* All of it, or the process ends: quietly when the launcher is gone. */
static void
native_hand_get(int socket, void *bytes, size_t len, int *fds, size_t count)
{
	size_t got = 0, fd_count = 0;
	enum result result =
	    fd_receive(socket, bytes, len, &got, fds, count, &fd_count);

	if (result == RESULT_EOF)
		_exit(NATIVE_LAUNCH_EXIT_START);
	if (result != RESULT_OK || got != len || fd_count != count)
		native_fail("the launcher's message cannot be read", "",
		    result == RESULT_SYSTEM ? errno : 0);
}

/* How many of the steps from first on go in one message, and how many of
 * these have a descriptor. */
static size_t
native_hand_slice(
    const struct native_launch *launch, uint32_t first, size_t *fds_r)
{
	size_t count = launch->step_count - first;

	if (count > NATIVE_HAND_TREES)
		count = NATIVE_HAND_TREES;
	*fds_r = 0;
	for (size_t i = 0; i < count; i++) {
		enum native_step_kind kind = launch->steps[first + i].step.kind;

		*fds_r +=
		    kind == NATIVE_STEP_BIND || kind == NATIVE_STEP_BIND_RW;
	}
	return count;
}

static void
native_hand_send_trees(int socket, const struct native_launch *launch,
    const struct native_trees *trees)
{
	const char byte = NATIVE_LAUNCH_BYTE;
	int fds[NATIVE_HAND_TREES];
	size_t count, fd_count;

	for (uint32_t i = 0; i < launch->step_count; i += (uint32_t)count) {
		size_t used = 0;

		count = native_hand_slice(launch, i, &fd_count);
		for (size_t j = 0; j < count; j++) {
			if (trees->steps[i + j].fd >= 0)
				fds[used++] = trees->steps[i + j].fd;
		}
		native_hand_part(socket, &trees->steps[i],
		    count * sizeof(trees->steps[i]), fds, fd_count);
	}
	native_hand_part(socket, &byte, 1, trees->devices, NATIVE_TREE_DEVICES);
}

static void
native_hand_receive_trees(int socket, const struct native_launch *launch,
    struct native_trees *trees_r)
{
	int fds[NATIVE_HAND_TREES];
	size_t count, fd_count;
	char byte;

	for (uint32_t i = 0; i < launch->step_count; i += (uint32_t)count) {
		size_t used = 0;

		count = native_hand_slice(launch, i, &fd_count);
		native_hand_get(socket, &trees_r->steps[i],
		    count * sizeof(trees_r->steps[i]), fds, fd_count);
		for (size_t j = 0; j < count; j++) {
			if (trees_r->steps[i + j].fd >= 0)
				trees_r->steps[i + j].fd = fds[used++];
		}
	}
	native_hand_get(
	    socket, &byte, 1, trees_r->devices, NATIVE_TREE_DEVICES);
}

void
native_hand_send(int socket, const struct native_launch *launch,
    const int *groups, const struct native_trees *trees)
{
	const char byte = NATIVE_LAUNCH_BYTE;

	native_hand_part(socket, &byte, 1, groups, launch->group_count);
	if (launch->rootless == 0)
		native_hand_send_trees(socket, launch, trees);
}

void
native_hand_receive(int socket, const struct native_launch *launch,
    int *groups_r, struct native_trees *trees_r)
{
	char byte;

	native_hand_get(socket, &byte, 1, groups_r, launch->group_count);
	if (launch->rootless == 0)
		native_hand_receive_trees(socket, launch, trees_r);
}
