/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Headers of tree streams and of tars: what is accepted, and the bytes that
 * are written.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "supervisor/unpack/tar_header.h"
#include "supervisor/unpack/tree_header.h"

static void
test_header_row(uint32_t magic, uint32_t type, uint32_t path_len, uint64_t size,
    enum tree_header_verdict want)
{
	struct tree_stream_header in = {magic, type, 0644, path_len, size}, out;
	uint8_t bytes[TREE_HEADER_SIZE];

	memcpy(bytes, &in, sizeof(bytes));
	assert_int_equal(tree_header_parse(bytes, &out), want);
}

static void
test_header_tree(void **state)
{
	uint32_t magic = TREE_STREAM_MAGIC;

	(void)state;
	test_header_row(magic, TREE_STREAM_DIR, 1, 0, TREE_HEADER_OK);
	test_header_row(magic, TREE_STREAM_FILE, 1, UINT64_MAX, TREE_HEADER_OK);
	test_header_row(magic, TREE_STREAM_LINK, 1, 1, TREE_HEADER_OK);
	test_header_row(magic, TREE_STREAM_END, 0, 0, TREE_HEADER_OK);
	test_header_row(magic + 1, TREE_STREAM_DIR, 1, 0, TREE_HEADER_MAGIC);
	test_header_row(magic, 0, 1, 0, TREE_HEADER_TYPE);
	test_header_row(magic, 5, 1, 0, TREE_HEADER_TYPE);
	test_header_row(magic, TREE_STREAM_FILE, 0, 0, TREE_HEADER_PATH);
	test_header_row(
	    magic, TREE_STREAM_FILE, TREE_STREAM_PATH_MAX, 0, TREE_HEADER_OK);
	test_header_row(magic, TREE_STREAM_FILE, TREE_STREAM_PATH_MAX + 1, 0,
	    TREE_HEADER_PATH);
	test_header_row(
	    magic, TREE_STREAM_FILE, UINT32_MAX, 0, TREE_HEADER_PATH);
	test_header_row(magic, TREE_STREAM_END, 1, 0, TREE_HEADER_PATH);
	test_header_row(magic, TREE_STREAM_END, 0, 1, TREE_HEADER_PATH);
	test_header_row(magic, TREE_STREAM_DIR, 1, 1, TREE_HEADER_SIZE_BAD);
	test_header_row(magic, TREE_STREAM_LINK, 1, 0, TREE_HEADER_SIZE_BAD);
	test_header_row(magic, TREE_STREAM_LINK, 1, TREE_STREAM_PATH_MAX + 1,
	    TREE_HEADER_SIZE_BAD);
}

static void
test_header_tar(void **state)
{
	uint8_t block[TAR_HEADER_SIZE];

	(void)state;
	tar_header_fill(block, TAR_HEADER_FILE, "a/b", NULL, 0644, 8);
	assert_memory_equal(block, "a/b\0", 4);
	assert_memory_equal(block + 100, "0000644\0", 8);
	assert_memory_equal(block + 108, "0000000\0", 8); /* uid */
	assert_memory_equal(block + 124, "00000000010\0", 12);
	assert_memory_equal(block + 136, "14735102600\0", 12); /* mtime */
	assert_int_equal(block[156], '0');
	assert_memory_equal(block + 257, "ustar\00000", 8);
	/* The sum: six octal digits, NUL, space. */
	assert_int_equal(block[154], '\0');
	assert_int_equal(block[155], ' ');
	tar_header_fill(block, TAR_HEADER_LINK, "a", "b", 0777, 0);
	assert_memory_equal(block + 157, "b\0", 2);
	assert_int_equal(tar_header_padding(0), 0);
	assert_int_equal(tar_header_padding(1), 511);
	assert_int_equal(tar_header_padding(512), 0);
	assert_int_equal(tar_header_padding(UINT64_MAX), 1);
}

static void
test_header_pax(void **state)
{
	char text[TAR_HEADER_PAX_MAX], name[102];

	(void)state;
	memset(name, 'n', sizeof(name));
	name[100] = '\0';
	assert_int_equal(tar_header_pax(name, NULL, 0, text), 0);
	name[100] = 'n';
	name[101] = '\0';
	/* "111 path=" + 101 bytes + newline = 111 */
	assert_int_equal(tar_header_pax(name, NULL, 0, text), 111);
	assert_memory_equal(text, "111 path=nnn", 12);
	assert_int_equal(text[110], '\n');
	assert_int_equal(tar_header_pax("a", "b", 077777777777ULL, text), 0);
	assert_int_equal(
	    tar_header_pax("a", "b", 077777777777ULL + 1, text), 19);
	assert_memory_equal(text, "19 size=8589934592\n", 19);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_header_tree),
	    cmocka_unit_test(test_header_tar),
	    cmocka_unit_test(test_header_pax),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
