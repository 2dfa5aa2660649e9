/* SPDX-License-Identifier: Apache-2.0 */
/*
 * llm-broker/provider_file: every file that is shipped loads and fits into
 * the messages that carry it; files that are none do not.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "llm-broker/provider_file.h"
#include "tests/support/test_folder.h"

#define TEST_PROVIDER_FILE_SHIPPED AGENTNODE_SOURCE_DIR "/config/providers"

/* As the supervisor hands it on: an object in a list in options. */
static void
test_provider_file_wrapped(const json_t *object)
{
	json_t *options = json_pack("{s:[O]}", "providers", object), *again;
	char *text = json_dumps(options, JSON_COMPACT);
	struct json_fault fault = {""};

	assert_non_null(text);
	assert_int_equal(
	    json_field_parse(text, strlen(text), &again, &fault), RESULT_OK);
	assert_true(json_equal(options, again));
	free(text);
	json_decref(again);
	json_decref(options);
}

static size_t
test_provider_file_folder(const char *path)
{
	int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fdopendir(dup(folder));
	struct dirent *entry;
	size_t count = 0;

	assert_non_null(dir);
	while ((entry = readdir(dir)) != NULL) {
		struct json_fault fault = {""};
		struct provider *provider;
		json_t *object;

		if (strstr(entry->d_name, ".json") == NULL)
			continue;
		if (provider_file_load(folder, entry->d_name, &provider,
			&object, &fault) != RESULT_OK)
			fail_msg("%s: %s", entry->d_name, fault.text);
		test_provider_file_wrapped(object);
		provider_free(&provider);
		json_decref(object);
		count++;
	}
	closedir(dir);
	close(folder);
	return count;
}

static void
test_provider_file_shipped(void **state)
{
	(void)state;
	assert_int_equal(
	    test_provider_file_folder(TEST_PROVIDER_FILE_SHIPPED), 3);
	assert_int_equal(
	    test_provider_file_folder(TEST_PROVIDER_FILE_SHIPPED "/examples"),
	    2);
}

static void
test_provider_file_write(int folder, const char *name, const char *text)
{
	int fd = openat(folder, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static void
test_provider_file_refused(void **state)
{
	static const struct {
		const char *name, *text, *fault;
	} rows[] = {
	    {"empty.json", "", "empty.json: line 1"},
	    {"twice.json", "{\"name\":\"a\",\"name\":\"b\"}",
		"twice.json: line"},
	    {"list.json", "[]", "provider must be an object"},
	    {"other.json", "{\"x\":1}", "provider.x is not known"},
	};
	char path[] = "/tmp/test_provider_file.XXXXXX", *big;
	struct json_fault fault;
	struct provider *provider;
	json_t *object;
	int folder;
	size_t i;

	(void)state;
	assert_non_null(test_folder_new(path));
	folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		test_provider_file_write(folder, rows[i].name, rows[i].text);
		fault.text[0] = '\0';
		assert_int_equal(provider_file_load(folder, rows[i].name,
				     &provider, &object, &fault),
		    RESULT_BAD);
		assert_null(provider);
		assert_null(object);
		assert_non_null(strstr(fault.text, rows[i].fault));
		unlinkat(folder, rows[i].name, 0);
	}
	fault.text[0] = '\0';
	assert_int_equal(
	    provider_file_load(folder, "no.json", &provider, &object, &fault),
	    RESULT_NOT_FOUND);
	big = calloc(1, PROVIDER_FILE_MAX + 2);
	memset(big, ' ', PROVIDER_FILE_MAX + 1);
	test_provider_file_write(folder, "big.json", big);
	free(big);
	assert_int_equal(
	    provider_file_load(folder, "big.json", &provider, &object, &fault),
	    RESULT_BAD);
	assert_non_null(strstr(fault.text, "more than"));
	fault.text[0] = '\0';
	assert_int_equal(symlinkat("big.json", folder, "link.json"), 0);
	assert_int_equal(
	    provider_file_load(folder, "link.json", &provider, &object, &fault),
	    RESULT_BAD);
	assert_int_equal(mkfifoat(folder, "pipe.json", 0600), 0);
	fault.text[0] = '\0';
	assert_int_equal(
	    provider_file_load(folder, "pipe.json", &provider, &object, &fault),
	    RESULT_BAD);
	unlinkat(folder, "big.json", 0);
	unlinkat(folder, "link.json", 0);
	unlinkat(folder, "pipe.json", 0);
	close(folder);
	rmdir(path);
}

/* A file under another name is not the provider that was asked for. */
static void
test_provider_file_other_name(void **state)
{
	char path[] = "/tmp/test_provider_file.XXXXXX";
	static char text[PROVIDER_FILE_MAX];
	struct json_fault fault = {""};
	struct provider *provider;
	json_t *object;
	int folder, fd;
	ssize_t len;

	(void)state;
	fd = open(
	    TEST_PROVIDER_FILE_SHIPPED "/openai.json", O_RDONLY | O_CLOEXEC);
	len = read(fd, text, sizeof(text) - 1);
	close(fd);
	assert_true(len > 0);
	assert_non_null(test_folder_new(path));
	folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	test_provider_file_write(folder, "openai2.json", text);
	assert_int_equal(provider_file_load(folder, "openai2.json", &provider,
			     &object, &fault),
	    RESULT_BAD);
	assert_non_null(strstr(fault.text, "named differently"));
	unlinkat(folder, "openai2.json", 0);
	close(folder);
	rmdir(path);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_provider_file_shipped),
	    cmocka_unit_test(test_provider_file_refused),
	    cmocka_unit_test(test_provider_file_other_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
