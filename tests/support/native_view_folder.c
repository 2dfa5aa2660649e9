/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A directory for unit tests of native views (see the header). Only tests
 * use it; must never leave it behind.
 */
#include "tests/support/native_view_folder.h"

#include "tests/support/test_folder.h"

char native_view_folder_base[64];
struct native_view native_view_folder_view;
char native_view_folder_fault[512];

/* A name below the test's own directory; at most 32 at a time. */
const char *
native_view_folder_at(const char *name)
{
	static char paths[32][256];
	static unsigned next;
	char *path = paths[next++ % 32];

	(void)snprintf(path, sizeof(paths[0]), "%s/%s", base, name);
	return path;
}

void
native_view_folder_folder(const char *name)
{
	assert_int_equal(mkdir(native_view_folder_at(name), 0755), 0);
}

void
native_view_folder_file(const char *name)
{
	FILE *out = fopen(native_view_folder_at(name), "wx");

	assert_non_null(out);
	assert_int_equal(fclose(out), 0);
}

void
native_view_folder_text_file(const char *name, const char *text)
{
	FILE *out = fopen(native_view_folder_at(name), "wx");

	assert_non_null(out);
	assert_true(fputs(text, out) >= 0);
	assert_int_equal(fclose(out), 0);
}

int
native_view_folder_setup(void **state)
{
	(void)state;
	(void)strcpy(base, "/tmp/native_view.XXXXXX");
	assert_non_null(test_folder_new(base));
	native_view_folder_folder("u");
	native_view_folder_folder("u/.agentnode");
	native_view_folder_folder("u/.ssh");
	native_view_folder_folder("u/proj");
	return 0;
}

int
native_view_folder_teardown(void **state)
{
	char line[128];
	pid_t child = fork();

	(void)state;
	if (child == 0) {
		(void)snprintf(line, sizeof(line), "%s", base);
		(void)execl("/bin/rm", "rm", "-rf", line, (char *)NULL);
		_exit(127);
	}
	return child < 0 || waitpid(child, NULL, 0) != child;
}

struct native_view_choice
native_view_folder_choose(enum native_mode mode, const char *workspace)
{
	static char home[256], state[256];

	(void)snprintf(home, sizeof(home), "%s/u", base);
	(void)snprintf(state, sizeof(state), "%s/u/.agentnode", base);
	return (struct native_view_choice){.mode = mode,
	    .workspace = workspace,
	    .home = home,
	    .agentnode = state,
	    .scratch = "/scratch",
	    .scratch_size = 1 << 20};
}

/* Two mounts at one place would not be what the walls expect. */
enum result
native_view_folder_make(const struct native_view_choice *choice)
{
	enum result result =
	    native_view_make(choice, &view, fault, sizeof(fault));

	for (size_t i = 0; result == RESULT_OK && i < view.count; i++) {
		for (size_t j = 0; j < i; j++) {
			if (strncmp(view.steps[i].target, base, strlen(base)) ==
				0 &&
			    strcmp(view.steps[i].target,
				view.steps[j].target) == 0)
				fail_msg("twice: %s", view.steps[i].target);
		}
	}
	return result;
}

static const char *const kinds[] = {[NATIVE_STEP_DIR] = "dir",
    [NATIVE_STEP_BIND] = "ro",
    [NATIVE_STEP_BIND_RW] = "rw",
    [NATIVE_STEP_MASK] = "mask",
    [NATIVE_STEP_TMPFS] = "tmpfs",
    [NATIVE_STEP_PROC] = "proc",
    [NATIVE_STEP_DEV] = "dev",
    [NATIVE_STEP_LINK] = "link"};

/* The steps below the test's directory, one per line, its name left out. */
const char *
native_view_folder_users_part(void)
{
	static char text[8192];
	size_t len = strlen(base);

	text[0] = '\0';
	for (size_t i = 0; i < view.count; i++) {
		const struct native_step *step = &view.steps[i];

		if (strncmp(step->target, base, len) != 0)
			continue;
		if (step->source[0] != '\0')
			assert_string_equal(step->source, step->target);
		(void)snprintf(text + strlen(text), sizeof(text) - strlen(text),
		    "%s%s%s %s\n", kinds[step->kind],
		    step->placeholder ? "+" : "",
		    step->placeholder && step->dir ? "d" : "",
		    step->target + len);
		if (step->kind == NATIVE_STEP_BIND && !step->placeholder)
			assert_int_not_equal(step->ino, 0);
	}
	return text;
}
