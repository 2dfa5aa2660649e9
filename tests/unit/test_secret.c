/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory for secrets: bounded, locked, out of dumps and children, guarded,
 * wiped. What the kernel says about the pages is read from smaps.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/secret.h"

static void
i02_holds_what_fits(void **state)
{
	struct secret *secret = NULL, *same = NULL;

	(void)state;
	assert_int_equal(secret_new(0, &secret), RESULT_TOO_LONG);
	assert_int_equal(secret_new(SECRET_MAX + 1, &secret), RESULT_TOO_LONG);
	assert_null(secret);
	assert_int_equal(secret_new(8, &secret), RESULT_OK);
	assert_int_equal(secret_len(secret), 0);
	assert_int_equal(secret_set(secret, "sk-12345", 8), RESULT_OK);
	assert_int_equal(secret_set(secret, "sk-123456", 9), RESULT_TOO_LONG);
	assert_int_equal(secret_len(secret), 8);
	assert_memory_equal(secret_bytes_borrow(secret), "sk-12345", 8);
	assert_int_equal(secret_new(SECRET_MAX, &same), RESULT_OK);
	assert_int_equal(secret_set(same, "sk-12345", 8), RESULT_OK);
	assert_true(secret_equal(secret, same));
	assert_int_equal(secret_set(same, "sk-12346", 8), RESULT_OK);
	assert_false(secret_equal(secret, same));
	assert_int_equal(secret_set(same, "sk-1234", 7), RESULT_OK);
	assert_false(secret_equal(secret, same));
	secret_free(&same);
	secret_free(&secret);
	assert_null(secret);
	secret_free(&secret);
}

/* Written in place; what falls away is gone, not only out of sight. */
static void
i02_is_cut_and_wiped(void **state)
{
	struct secret *secret = NULL;
	uint8_t *bytes;

	(void)state;
	assert_int_equal(secret_new(8, &secret), RESULT_OK);
	assert_null(secret_resize(secret, 9));
	bytes = secret_resize(secret, 8);
	assert_non_null(bytes);
	memcpy(bytes, "sk-12345", 8);
	assert_ptr_equal(secret_bytes_borrow(secret), bytes);
	assert_non_null(secret_resize(secret, 3));
	assert_int_equal(secret_len(secret), 3);
	assert_memory_equal(bytes, "sk-\0\0\0\0\0", 8);
	assert_non_null(secret_resize(secret, 5));
	assert_memory_equal(bytes, "sk-\0\0", 5);
	secret_free(&secret);
}

static void
i02_reads_a_descriptor(void **state)
{
	struct secret *secret = NULL;
	int fds[2];

	(void)state;
	assert_int_equal(secret_new(4, &secret), RESULT_OK);
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(write(fds[1], "abcd", 4), 4);
	close(fds[1]);
	assert_int_equal(secret_read_fd(secret, fds[0]), RESULT_OK);
	assert_int_equal(secret_len(secret), 4);
	assert_memory_equal(secret_bytes_borrow(secret), "abcd", 4);
	close(fds[0]);

	assert_int_equal(pipe(fds), 0);
	assert_int_equal(write(fds[1], "abcde", 5), 5);
	close(fds[1]);
	assert_int_equal(secret_read_fd(secret, fds[0]), RESULT_TOO_LONG);
	assert_int_equal(secret_len(secret), 0);
	assert_memory_equal(secret_bytes_borrow(secret), "\0\0\0\0", 4);
	close(fds[0]);
	assert_int_equal(secret_read_fd(secret, -1), RESULT_SYSTEM);
	secret_free(&secret);
}

/* The VmFlags of the mapping that holds address, as one text. */
static void
vm_flags(const void *address, char flags_r[512])
{
	FILE *file = fopen("/proc/self/smaps", "r");
	unsigned long start, end;
	bool inside = false;
	char line[512];

	assert_non_null(file);
	flags_r[0] = '\0';
	while (fgets(line, sizeof(line), file) != NULL) {
		if (sscanf(line, "%lx-%lx ", &start, &end) == 2)
			inside = (uintptr_t)address >= start &&
				 (uintptr_t)address < end;
		else if (inside && strncmp(line, "VmFlags:", 8) == 0)
			snprintf(flags_r, 512, "%.500s", line + 8);
	}
	fclose(file);
}

static void
i02_locked_and_not_dumped(void **state)
{
	struct secret *secret = NULL;
	char flags[512];

	(void)state;
	assert_int_equal(secret_new(32, &secret), RESULT_OK);
	vm_flags(secret_bytes_borrow(secret), flags);
	assert_non_null(strstr(flags, " lo")); /* locked */
	assert_non_null(strstr(flags, " dd")); /* do not dump */
	assert_non_null(strstr(flags, " dc")); /* do not copy on fork */
	secret_free(&secret);
}

/* Runs body in a child; true when it died of a signal. */
static bool
dies(void (*body)(struct secret *), struct secret *secret)
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		signal(SIGSEGV, SIG_DFL); /* not cmocka's handler */
		signal(SIGBUS, SIG_DFL);
		body(secret);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFSIGNALED(status) &&
	       (WTERMSIG(status) == SIGSEGV || WTERMSIG(status) == SIGBUS);
}

static void
overrun(struct secret *inherited)
{
	struct secret *secret = NULL;
	volatile const uint8_t *bytes;

	(void)inherited;
	if (secret_new(7, &secret) != RESULT_OK)
		_exit(0);
	bytes = secret_bytes_borrow(secret);
	(void)bytes[7];
}

static void
read_in_child(struct secret *inherited)
{
	volatile const uint8_t *bytes = secret_bytes_borrow(inherited);

	(void)bytes[0];
}

static void
i02_guarded_and_not_inherited(void **state)
{
	struct secret *secret = NULL;

	(void)state;
	assert_int_equal(secret_new(32, &secret), RESULT_OK);
	assert_int_equal(secret_set(secret, "x", 1), RESULT_OK);
	assert_true(dies(overrun, secret));
	assert_true(dies(read_in_child, secret));
	secret_free(&secret);
}

static void
i02_wipes(void **state)
{
	char bytes[16] = "a key";

	(void)state;
	secret_wipe(bytes, sizeof(bytes));
	assert_memory_equal(bytes, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(i02_holds_what_fits),
	    cmocka_unit_test(i02_is_cut_and_wiped),
	    cmocka_unit_test(i02_reads_a_descriptor),
	    cmocka_unit_test(i02_locked_and_not_dumped),
	    cmocka_unit_test(i02_guarded_and_not_inherited),
	    cmocka_unit_test(i02_wipes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
