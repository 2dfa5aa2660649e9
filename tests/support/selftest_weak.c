/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Test tool: `sandbox selftest` with one word of the engine's command line
 * taken away or replaced. Linked with --wrap=run_argv_build, so that the
 * shipped program has no such door. Used by engine_selftest.py; never
 * installed. WORDs are matched from their beginning:
 *   selftest_weak [WORD REPLACEMENT]...   a REPLACEMENT of "" drops it
 * SELFTEST_WEAK_INIT names another init, one of the tests' variants.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "supervisor/child.h"
#include "supervisor/engine/run_argv.h"
#include "supervisor/engine/selftest.h"
#include "supervisor/policy/config.h"

enum result __real_run_argv_build(const struct run_argv_input *input,
    struct run_argv *argv_r, char *fault_r, size_t fault_size);
enum result __wrap_run_argv_build(const struct run_argv_input *input,
    struct run_argv *argv_r, char *fault_r, size_t fault_size);

enum result __real_child_program_path(
    const char *name, char *path_r, size_t size);
enum result __wrap_child_program_path(
    const char *name, char *path_r, size_t size);

static char **selftest_weak_changes;
static unsigned selftest_weak_made;

/* One change in argv; a word that is not there is a broken test. */
static void
selftest_weak_apply(struct run_argv *argv, const char *word, const char *with)
{
	size_t kept = 0;

	for (size_t i = 0; i < argv->count; i++) {
		const char *one = argv->words[i];

		if (strncmp(one, word, strlen(word)) == 0) {
			selftest_weak_made++;
			one = with;
		}
		if (one[0] != '\0')
			argv->words[kept++] = one;
	}
	argv->count = kept;
	argv->words[kept] = NULL;
}

enum result
__wrap_run_argv_build(const struct run_argv_input *input,
    struct run_argv *argv_r, char *fault_r, size_t fault_size)
{
	enum result result =
	    __real_run_argv_build(input, argv_r, fault_r, fault_size);

	for (char **one = selftest_weak_changes;
	     result == RESULT_OK && one[0] != NULL && one[1] != NULL; one += 2)
		selftest_weak_apply(argv_r, one[0], one[1]);
	return result;
}

enum result
__wrap_child_program_path(const char *name, char *path_r, size_t size)
{
	const char *weak = getenv("SELFTEST_WEAK_INIT");

	if (weak == NULL || strcmp(name, "agentnode-init") != 0)
		return __real_child_program_path(name, path_r, size);
	(void)snprintf(path_r, size, "%s", weak);
	return RESULT_OK;
}

int
main(int argc, char **argv)
{
	struct json_fault fault = {""};
	struct config *config;
	char detail[512] = "";
	json_t *report = NULL;
	enum result result;

	bool native = argc == 2 && strcmp(argv[1], "--native") == 0;

	selftest_weak_changes = argv + (native ? 2 : 1);
	log_open(-1, "selftest_weak", LOG_ERROR_LEVEL);
	if (config_load(&config, &fault) != RESULT_OK) {
		(void)fprintf(stderr, "%s\n", fault.text);
		return 70;
	}
	result =
	    selftest_run(config, native ? SELFTEST_NATIVE : SELFTEST_CONTAINER,
		true, &report, detail, sizeof(detail));
	config_free(&config);
	if (result != RESULT_OK) {
		(void)fprintf(stderr, "%s\n", detail);
		return 70;
	}
	if (!native && argv[1] != NULL && selftest_weak_made == 0) {
		(void)fprintf(stderr, "no word %s\n", argv[1]);
		return 70;
	}
	(void)json_dumpf(report, stdout, 0);
	result = json_is_true(json_object_get(report, "ok")) ? RESULT_OK
							     : RESULT_REFUSED;
	json_decref(report);
	return result == RESULT_OK ? 0 : 1;
}
