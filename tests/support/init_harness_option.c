/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command line of init_harness (see the header).
 */
#include "tests/support/init_harness_option.h"

#include <getopt.h>
#include <stdlib.h>

struct init_harness_option init_harness_option = {.runtime = "runc",
    .network = "none",
    .name = "init-harness",
    .uid = "70001",
    .memory = "256m",
    .pids = "64",
    .cwd = "/tmp",
    .kill_after = -1,
    .tree_bytes = 1 << 20,
    .tree_files = 1000};

static void
init_harness_option_add(struct init_harness_list *list, const char *word)
{
	if (list->count < LIST_MAX)
		list->words[list->count++] = word;
}

static const struct option names[] = {{"init", 1, NULL, 'i'},
    {"image", 1, NULL, 'I'}, {"network", 1, NULL, 'N'},
    {"runtime", 1, NULL, 'r'}, {"seccomp", 1, NULL, 's'},
    {"name", 1, NULL, 'n'}, {"uid", 1, NULL, 'u'}, {"memory", 1, NULL, 'm'},
    {"pids", 1, NULL, 'p'}, {"cwd", 1, NULL, 'c'}, {"report", 1, NULL, 'R'},
    {"import", 1, NULL, '<'}, {"export", 1, NULL, '>'},
    {"listen", 1, NULL, 'l'}, {"writable", 1, NULL, 'w'}, {"env", 1, NULL, 'e'},
    {"secret", 1, NULL, 'S'}, {"podman", 1, NULL, 'P'},
    {"relay-llm", 1, NULL, 'L'}, {"relay-tools", 1, NULL, 'T'},
    {"kill-after", 1, NULL, 'k'}, {"tree-bytes", 1, NULL, 'b'},
    {"tree-files", 1, NULL, 'f'}, {"word", 1, NULL, 'W'},
    {"guest-uid", 1, NULL, 'G'},
    {"writable-exec", 0, &init_harness_option.writable_exec, 1},
    {"no-go", 0, &init_harness_option.no_go, 1},
    {"echo", 0, &init_harness_option.echo, 1},
    {"no-landlock", 0, &init_harness_option.no_landlock, 1},
    {NULL, 0, NULL, 0}};

static bool
init_harness_option_one(int letter)
{
	switch (letter) {
	case 'i':
		init_harness_option.init = optarg;
		break;
	case 'I':
		init_harness_option.image = optarg;
		break;
	case 'r':
		init_harness_option.runtime = optarg;
		break;
	case 'N':
		init_harness_option.network = optarg;
		break;
	case 's':
		init_harness_option.seccomp = optarg;
		break;
	case 'n':
		init_harness_option.name = optarg;
		break;
	case 'u':
		init_harness_option.uid = optarg;
		break;
	case 'm':
		init_harness_option.memory = optarg;
		break;
	case 'p':
		init_harness_option.pids = optarg;
		break;
	case 'c':
		init_harness_option.cwd = optarg;
		break;
	case 'R':
		init_harness_option.report = optarg;
		break;
	case '<':
		init_harness_option.import = optarg;
		break;
	case '>':
		init_harness_option.export = optarg;
		break;
	case 'l':
		init_harness_option_add(&init_harness_option.listen, optarg);
		break;
	case 'w':
		init_harness_option_add(&init_harness_option.writable, optarg);
		break;
	case 'e':
		init_harness_option_add(&init_harness_option.env, optarg);
		break;
	case 'S':
		init_harness_option_add(&init_harness_option.secret, optarg);
		break;
	case 'P':
		init_harness_option_add(&init_harness_option.podman, optarg);
		break;
	case 'L':
		init_harness_option.relay_llm = atoi(optarg);
		break;
	case 'T':
		init_harness_option.relay_tools = atoi(optarg);
		break;
	case 'k':
		init_harness_option.kill_after = atoi(optarg);
		break;
	case 'b':
		init_harness_option.tree_bytes = strtoull(optarg, NULL, 10);
		break;
	case 'f':
		init_harness_option.tree_files = strtoull(optarg, NULL, 10);
		break;
	case 'W':
		init_harness_option.word = optarg;
		break;
	case 'G':
		init_harness_option.guest_uid = atoi(optarg);
		break;
	case 0:
		break;
	default:
		return false;
	}
	return true;
}

bool
init_harness_option_read(int argc, char **argv)
{
	int letter;

	while ((letter = getopt_long(argc, argv, "+", names, NULL)) != -1) {
		if (!init_harness_option_one(letter))
			return false;
	}
	init_harness_option.argv = argv + optind;
	return init_harness_option.image != NULL &&
	       init_harness_option.init != NULL &&
	       init_harness_option.seccomp != NULL;
}
