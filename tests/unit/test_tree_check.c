/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The judge of trees with its hash: vectors worked out by hand (the same
 * records hashed by another program), independence of order, and faults.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/event_loop.h"
#include "supervisor/unpack/tree_check.h"
#include "supervisor/unpack/tree_digest.h"

static int test_check_pair[2];

static int
test_check_setup(void **state)
{
	(void)state;
	assert_int_equal(tree_digest_load(), RESULT_OK);
	return socketpair(AF_UNIX, SOCK_SEQPACKET, 0, test_check_pair);
}

static struct unpack_io
test_check_io(void)
{
	return (struct unpack_io){.control_fd = test_check_pair[0],
	    .deadline_ms = event_loop_now_ms() + 60000};
}

static struct tree_check *
test_check_new(struct unpack_io *io, uint64_t files, uint64_t bytes)
{
	struct tree_check_spec spec = {
	    .io = io, .max_bytes = bytes, .max_files = files};
	struct tree_check *check = NULL;

	assert_int_equal(tree_check_new(&spec, &check), RESULT_OK);
	return check;
}

static enum result
test_check_dir(struct tree_check *check, const char *path)
{
	return tree_check_entry(
	    check, TREE_STREAM_DIR, 0700, path, strlen(path), NULL, 0, 0);
}

static enum result
test_check_link(struct tree_check *check, const char *path, const char *to)
{
	return tree_check_entry(
	    check, TREE_STREAM_LINK, 0, path, strlen(path), to, strlen(to), 0);
}

static enum result
test_check_file(struct tree_check *check, const char *path, const char *text)
{
	enum result result = tree_check_entry(check, TREE_STREAM_FILE, 0600,
	    path, strlen(path), NULL, 0, strlen(text));

	if (result == RESULT_OK && text[0] != '\0')
		result =
		    tree_check_data(check, (const uint8_t *)text, strlen(text));
	return result;
}

/* python3: hashlib.sha256(b"".join(len(r).to_bytes(8, "big") + r
 *   for r in records)).hexdigest() with the records of tree_hash.h */
static void
test_check_vectors(void **state)
{
	struct unpack_io io = test_check_io();
	struct tree_check *check = test_check_new(&io, 10, 100);
	struct tree_check_total total;

	(void)state;
	assert_int_equal(tree_check_end(check, &total), RESULT_OK);
	assert_string_equal(total.hash,
	    "sha256:e3b0c44298fc1c149afbf4c8996fb924"
	    "27ae41e4649b934ca495991b7852b855");
	tree_check_free(&check);
	check = test_check_new(&io, 10, 100);
	assert_int_equal(test_check_dir(check, "a"), RESULT_OK);
	assert_int_equal(test_check_file(check, "a/b", "x"), RESULT_OK);
	assert_int_equal(test_check_link(check, "a/c", "b"), RESULT_OK);
	assert_int_equal(test_check_file(check, "a.\"q\\", ""), RESULT_OK);
	assert_int_equal(tree_check_end(check, &total), RESULT_OK);
	assert_string_equal(total.hash,
	    "sha256:"
	    "49897245f1ca9500fbf6fd7c13c01771f910900c529ad5bcb4c9935f6ebbdf36");
	assert_int_equal(total.files, 4);
	assert_int_equal(total.bytes, 1);
	tree_check_free(&check);
	/* Another order of the same. */
	check = test_check_new(&io, 10, 100);
	assert_int_equal(test_check_file(check, "a.\"q\\", ""), RESULT_OK);
	assert_int_equal(test_check_dir(check, "a"), RESULT_OK);
	assert_int_equal(test_check_link(check, "a/c", "b"), RESULT_OK);
	assert_int_equal(test_check_file(check, "a/b", "x"), RESULT_OK);
	assert_int_equal(tree_check_end(check, &total), RESULT_OK);
	assert_string_equal(total.hash,
	    "sha256:"
	    "49897245f1ca9500fbf6fd7c13c01771f910900c529ad5bcb4c9935f6ebbdf36");
	tree_check_free(&check);
}

static void
test_check_fault(struct unpack_io *io, enum result result, const char *code)
{
	assert_int_not_equal(result, RESULT_OK);
	assert_non_null(io->code);
	assert_string_equal(io->code, code);
	assert_true(strlen(io->detail) > 0);
	io->code = NULL;
}

static void
test_check_faults(void **state)
{
	struct unpack_io io = test_check_io();
	struct tree_check *check = test_check_new(&io, 3, 5);
	struct tree_check_total total;

	(void)state;
	assert_int_equal(test_check_file(check, "a", "12345"), RESULT_OK);
	test_check_fault(&io, test_check_file(check, "a", ""), UNPACK_UNSAFE);
	test_check_fault(&io, test_check_file(check, "a/b", ""), UNPACK_UNSAFE);
	test_check_fault(&io, test_check_file(check, "c/b", ""), UNPACK_UNSAFE);
	test_check_fault(&io, test_check_file(check, "b", "1"), UNPACK_TOO_BIG);
	assert_int_equal(test_check_dir(check, "d"), RESULT_OK);
	assert_int_equal(test_check_dir(check, "e"), RESULT_OK);
	test_check_fault(&io, test_check_dir(check, "f"), UNPACK_TOO_BIG);
	tree_check_free(&check);
	check = test_check_new(&io, 3, 5);
	assert_int_equal(
	    tree_check_entry(check, TREE_STREAM_FILE, 0644, "a", 1, NULL, 0, 3),
	    RESULT_OK);
	test_check_fault(&io,
	    tree_check_data(check, (const uint8_t *)"1234", 4),
	    UNPACK_MALFORMED);
	test_check_fault(&io, tree_check_end(check, &total), UNPACK_MALFORMED);
	test_check_fault(&io, test_check_dir(check, "b"), UNPACK_MALFORMED);
	tree_check_free(&check);
}

static void
test_check_deadline(void **state)
{
	struct unpack_io io = test_check_io();
	struct tree_check *check = test_check_new(&io, 3, 5);

	(void)state;
	io.deadline_ms = event_loop_now_ms();
	test_check_fault(&io, test_check_dir(check, "a"), UNPACK_TIMEOUT);
	tree_check_free(&check);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_check_vectors),
	    cmocka_unit_test(test_check_faults),
	    cmocka_unit_test(test_check_deadline),
	};

	return cmocka_run_group_tests(tests, test_check_setup, NULL);
}
