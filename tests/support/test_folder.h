/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A folder of a test's own. Every test program in C may call it, from the
 * process that is the test; what is in the folder may be anything that the
 * user who runs the test may remove.
 */
#ifndef TESTS_SUPPORT_TEST_FOLDER_H
#define TESTS_SUPPORT_TEST_FOLDER_H

/*
 * As mkdtemp(), and the folder is removed with all that is in it when this
 * process ends, also when the test fails. A folder that is there still after
 * that makes the program fail and is named.
 */
char *test_folder_new(char *template);

#endif
