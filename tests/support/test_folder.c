/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Removes the folders of a test at the end of its process. Children of the
 * test that end in order leave them alone. It must never follow a link or
 * touch what test_folder_new() did not make.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "tests/support/test_folder.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TEST_FOLDER_MAX 1024

static char *test_folder_paths[TEST_FOLDER_MAX];
static size_t test_folder_count;
static pid_t test_folder_owner;

static int
test_folder_one(
    const char *path, const struct stat *state, int kind, struct FTW *place)
{
	(void)state;
	(void)kind;
	(void)place;
	(void)remove(path);
	return 0;
}

static void
test_folder_end(void)
{
	int left = 0;

	if (getpid() != test_folder_owner)
		return;
	while (test_folder_count > 0) {
		char *path = test_folder_paths[--test_folder_count];

		(void)nftw(path, test_folder_one, 16,
		    FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
		if (access(path, F_OK) == 0) {
			(void)fprintf(stderr, "left behind: %s\n", path);
			left = 1;
		}
		free(path);
	}
	if (left)
		_exit(1);
}

char *
test_folder_new(char *template)
{
	if (test_folder_owner == 0) {
		test_folder_owner = getpid();
		if (atexit(test_folder_end) != 0)
			return NULL;
	}
	if (test_folder_count == TEST_FOLDER_MAX || mkdtemp(template) == NULL)
		return NULL;
	/* In a child of the test, its own affair. */
	if (getpid() == test_folder_owner)
		test_folder_paths[test_folder_count++] = strdup(template);
	return template;
}
