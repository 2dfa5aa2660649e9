/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A directory with a home, a state and a project, views of it, and their
 * steps as text: for the unit tests of native views, under short names.
 */
#ifndef TESTS_SUPPORT_NATIVE_VIEW_FOLDER_H
#define TESTS_SUPPORT_NATIVE_VIEW_FOLDER_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "supervisor/native/native_view.h"

extern char native_view_folder_base[64];
extern struct native_view native_view_folder_view; /* made last */
extern char native_view_folder_fault[512];

#define base native_view_folder_base
#define view native_view_folder_view
#define fault native_view_folder_fault
#define at native_view_folder_at
#define folder native_view_folder_folder
#define file native_view_folder_file
#define text_file native_view_folder_text_file
#define setup native_view_folder_setup
#define teardown native_view_folder_teardown
#define choose native_view_folder_choose
#define make native_view_folder_make
#define users_part native_view_folder_users_part

/* A name below the test's own directory; at most 32 at a time. */
const char *at(const char *name);
void folder(const char *name);
void file(const char *name);
void text_file(const char *name, const char *text);
/* Every one of its own directory. */
int setup(void **state);
int teardown(void **state);
struct native_view_choice choose(enum native_mode mode, const char *workspace);
/* Fails the test when a view has two mounts at one place: the walls would
 * not be as expected. */
enum result make(const struct native_view_choice *choice);
/* The steps below the test's directory, one per line, its name left out. */
const char *users_part(void);

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#endif
