/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agentnode program: everything a person or an MCP client calls. A
 * command in the native boundary is run here, with few libraries to load;
 * all else is command/agentnode's, which takes this process's place. It
 * must never decide anything by itself: both run the same code.
 */
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "supervisor/command/command_main.h"
#include "supervisor/entry/absent.h"
#include "supervisor/entry/absent_user.h"
#include "supervisor/policy/config.h"

/* What a person allowed for good opens hosts, as --allow does. */
static bool
main_has_grants(void)
{
	struct json_fault fault = {""};
	char home[PATH_MAX - 16], path[PATH_MAX];

	if (config_home(home, sizeof(home), &fault) != RESULT_OK)
		return true;
	(void)snprintf(path, sizeof(path), "%s/grants.json", home);
	return access(path, F_OK) == 0;
}

static bool
main_begins(const char *word, const char *with)
{
	return strncmp(word, with, strlen(with)) == 0;
}

/* `exec --boundary native` without hosts to judge. Words that look like
 * anything else decide against it, whatever they are. */
static bool
main_is_ours(int argc, char **argv)
{
	bool native = false, mode = false;

	if (argc < 2 || strcmp(argv[1], "exec") != 0)
		return false;
	for (int i = 2; i < argc && strcmp(argv[i], "--") != 0; i++) {
		if (main_begins(argv[i], "--a") || main_begins(argv[i], "--h"))
			return false;
		mode |=
		    main_begins(argv[i], "--mo") || main_begins(argv[i], "--w");
		if (main_begins(argv[i], "--b")) /* the last one counts */
			native = strcmp(argv[i], "--boundary=native") == 0 ||
				 (strcmp(argv[i], "--boundary") == 0 &&
				     i + 1 < argc &&
				     strcmp(argv[i + 1], "native") == 0);
	}
	/* Users first: where our home is depends on them. */
	return native && absent_user_known(argv + 2, mode) &&
	       !(mode && main_has_grants());
}

int
main(int argc, char **argv)
{
	absent_words(argv);
	/* A shell may leave its own children to what takes its place, and then
	 * nothing here could tell whether this process started something. */
	if (absent_has_children() || !main_is_ours(argc, argv))
		absent_become_whole();
	return command_main(argc, argv);
}
