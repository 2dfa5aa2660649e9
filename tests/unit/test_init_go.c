/* SPDX-License-Identifier: Apache-2.0 */
/*
 * init_go: only memfds with all seals whose every offset stays inside are
 * taken.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "supervisor/init/init_go.h"

/* Header, argv table (2), env table (1), strings. */
struct sample {
	struct init_go go;
	uint32_t argv[2], env[1];
	char text[24]; /* "sh\0-c\0A=b\0/tmp\0" */
};

static struct sample
sample_new(void)
{
	struct sample sample = {
	    .go = {.magic = INIT_MAGIC,
		.version = INIT_PROTOCOL_VERSION,
		.size = sizeof(struct sample),
		.argc = 2,
		.argv_offset = offsetof(struct sample, argv),
		.envc = 1,
		.env_offset = offsetof(struct sample, env),
		.cwd_offset = offsetof(struct sample, text) + 10},
	    .text = "sh\0-c\0A=b\0/tmp"};

	sample.argv[0] = offsetof(struct sample, text);
	sample.argv[1] = sample.argv[0] + 3;
	sample.env[0] = sample.argv[0] + 6;
	return sample;
}

/* From the heap, so that a read behind the end is seen by sanitizers. */
static bool
valid(const struct sample *sample, size_t size, enum init_go_kind kind)
{
	void *copy = malloc(size);
	bool result;

	assert_non_null(copy);
	memcpy(copy, sample, size);
	result = init_go_valid(copy, size, kind);
	free(copy);
	return result;
}

static void
test_good(void **state)
{
	struct sample sample = sample_new();
	char *list[2];

	(void)state;
	assert_true(valid(&sample, sizeof(sample), INIT_GO_WORKLOAD));
	init_go_words(&sample.go, sample.go.argv_offset, 2, list);
	assert_string_equal(list[0], "sh");
	assert_string_equal(list[1], "-c");
	assert_string_equal(init_go_cwd_borrow(&sample.go), "/tmp");
}

static void
test_header(void **state)
{
	struct sample sample = sample_new();

	(void)state;
	for (size_t size = 1; size < sizeof(sample); size++)
		assert_false(valid(&sample, size, INIT_GO_WORKLOAD));
	sample.go.magic++;
	assert_false(valid(&sample, sizeof(sample), INIT_GO_WORKLOAD));
	sample = sample_new();
	sample.go.version++;
	assert_false(valid(&sample, sizeof(sample), INIT_GO_WORKLOAD));
	sample = sample_new();
	sample.go.flags = INIT_GO_RESULT;
	assert_true(valid(&sample, sizeof(sample), INIT_GO_WORKLOAD));
	sample.go.flags = INIT_GO_FLAGS + 1;
	assert_false(valid(&sample, sizeof(sample), INIT_GO_WORKLOAD));
	sample = sample_new();
	sample.go.argc = 0;
	assert_false(valid(&sample, sizeof(sample), INIT_GO_WORKLOAD));
}

static void
test_offsets(void **state)
{
	static const uint32_t bad[] = {0, 4, sizeof(struct init_go) - 1,
	    sizeof(struct sample) - 3, sizeof(struct sample),
	    sizeof(struct sample) + 1, 0x7fffffff, 0x80000000, 0xfffffffc,
	    UINT32_MAX};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct sample sample = sample_new();

		sample.go.argv_offset = bad[i];
		assert_false(valid(&sample, sizeof(sample), INIT_GO_WORKLOAD));
		sample = sample_new();
		sample.go.env_offset = bad[i];
		assert_false(valid(&sample, sizeof(sample), INIT_GO_WORKLOAD));
	}
	for (size_t i = 4; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct sample sample = sample_new();

		sample.argv[1] = bad[i];
		assert_false(valid(&sample, sizeof(sample), INIT_GO_WORKLOAD));
		sample = sample_new();
		sample.env[0] = bad[i];
		assert_false(valid(&sample, sizeof(sample), INIT_GO_WORKLOAD));
		sample = sample_new();
		sample.go.cwd_offset = bad[i];
		assert_false(valid(&sample, sizeof(sample), INIT_GO_WORKLOAD));
	}
}

static void
test_counts(void **state)
{
	static const uint32_t bad[] = {3 + sizeof(struct sample) / 4,
	    INIT_GO_WORDS_MAX + 1, 0x3fffffff, 0x40000001, UINT32_MAX};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct sample sample = sample_new();

		sample.go.argc = bad[i];
		assert_false(valid(&sample, sizeof(sample), INIT_GO_WORKLOAD));
		sample = sample_new();
		sample.go.envc = bad[i];
		assert_false(valid(&sample, sizeof(sample), INIT_GO_WORKLOAD));
	}
}

static void
test_strings(void **state)
{
	struct sample sample = sample_new();

	(void)state;
	memset(sample.text + 10, '/', sizeof(sample.text) - 10);
	assert_false(valid(&sample, sizeof(sample), INIT_GO_WORKLOAD));
	sample = sample_new();
	sample.text[10] = 't'; /* cwd not absolute */
	assert_false(valid(&sample, sizeof(sample), INIT_GO_WORKLOAD));
	sample = sample_new();
	sample.text[7] = 'x'; /* "Axb" */
	assert_false(valid(&sample, sizeof(sample), INIT_GO_WORKLOAD));
	sample = sample_new();
	sample.text[6] = '='; /* no name */
	assert_false(valid(&sample, sizeof(sample), INIT_GO_WORKLOAD));
	sample = sample_new();
	sample.text[0] = '\0'; /* empty program */
	assert_false(valid(&sample, sizeof(sample), INIT_GO_WORKLOAD));
}

static void
test_secret(void **state)
{
	struct sample sample = sample_new();

	(void)state;
	assert_false(valid(&sample, sizeof(sample), INIT_GO_SECRET));
	sample.go.argc = 0;
	sample.go.cwd_offset = 0;
	assert_true(valid(&sample, sizeof(sample), INIT_GO_SECRET));
}

static int
memfd_of(const struct sample *sample, int seals)
{
	int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, sample, sizeof(*sample)), sizeof(*sample));
	assert_int_equal(fcntl(fd, F_ADD_SEALS, seals), 0);
	return fd;
}

static void
test_seals(void **state)
{
	static const int all =
	    F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL;
	static const int lacking[] = {0, all & ~F_SEAL_WRITE,
	    all & ~F_SEAL_GROW, all & ~F_SEAL_SHRINK, all & ~F_SEAL_SEAL};
	struct sample sample = sample_new();
	const struct init_go *go;
	int fd = memfd_of(&sample, all);

	(void)state;
	go = init_go_map(fd, INIT_GO_WORKLOAD);
	assert_non_null(go);
	assert_int_equal(go->argc, 2);
	init_go_unmap(go);
	close(fd);
	for (size_t i = 0; i < sizeof(lacking) / sizeof(lacking[0]); i++) {
		fd = memfd_of(&sample, lacking[i]);
		assert_null(init_go_map(fd, INIT_GO_WORKLOAD));
		assert_int_equal(errno, EPERM);
		close(fd);
	}
	fd = open("/dev/null", O_RDONLY);
	assert_null(init_go_map(fd, INIT_GO_WORKLOAD));
	close(fd);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_good),
	    cmocka_unit_test(test_header),
	    cmocka_unit_test(test_offsets),
	    cmocka_unit_test(test_counts),
	    cmocka_unit_test(test_strings),
	    cmocka_unit_test(test_secret),
	    cmocka_unit_test(test_seals),
	};

	return cmocka_run_group_tests_name("init_go", tests, NULL, NULL);
}
