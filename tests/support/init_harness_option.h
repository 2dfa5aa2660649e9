/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command line of init_harness.
 */
#ifndef TESTS_SUPPORT_INIT_HARNESS_OPTION_H
#define TESTS_SUPPORT_INIT_HARNESS_OPTION_H

#include <stdbool.h>

#define LIST_MAX 64

struct init_harness_list {
	const char *words[LIST_MAX];
	unsigned count;
};

struct init_harness_option {
	const char *init, *image, *runtime, *seccomp, *name, *uid, *memory,
	    *pids, *cwd, *network, *report, *import, *export, *word;
	struct init_harness_list listen, writable, env, secret, podman;
	int relay_llm, relay_tools, kill_after, writable_exec, no_go, echo,
	    no_landlock, guest_uid;
	unsigned long long tree_bytes, tree_files;
	char **argv;
};

extern struct init_harness_option init_harness_option;

/* False: not a command line of ours. */
bool init_harness_option_read(int argc, char **argv);

#endif
