/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the row of the command table that the words name and runs it; the
 * help of one, a group or all; `--version`. Called by main. It must never
 * know a command by name except help.
 */
#include <getopt.h>
#include <string.h>

#include "supervisor/command/command_dispatch.h"
#include "supervisor/command/command_option.h"
#include "supervisor/policy/near_word.h"

#ifndef AGENTNODE_VERSION
#error "AGENTNODE_VERSION comes from CMake"
#endif

#define COMMAND_DISPATCH_NAME_MAX 64U

const struct command *
command_dispatch_row(size_t index)
{
	size_t group, row;

	for (group = 0; command_groups[group] != NULL; group++)
		for (row = 0; command_groups[group][row].name != NULL; row++)
			if (index-- == 0)
				return &command_groups[group][row];
	return NULL;
}

/* How many words of argv the name takes; 0 when it does not match. */
static int
command_dispatch_match(const char *name, int argc, char **argv)
{
	int used = 0;
	size_t len;

	while (*name != '\0') {
		len = strcspn(name, " ");
		if (used >= argc || strlen(argv[used]) != len ||
		    memcmp(argv[used], name, len) != 0)
			return 0;
		used++;
		name += len;
		name += strspn(name, " ");
	}
	return used;
}

/* The row with the most words. */
static const struct command *
command_dispatch_find(int argc, char **argv, int *used_r)
{
	const struct command *row, *best = NULL;
	size_t i;
	int used;

	*used_r = 0;
	for (i = 0; (row = command_dispatch_row(i)) != NULL; i++) {
		used = command_dispatch_match(row->name, argc, argv);
		if (used > *used_r) {
			*used_r = used;
			best = row;
		}
	}
	return best;
}

static bool
command_dispatch_in_group(const struct command *row, const char *group)
{
	size_t len;

	if (group == NULL)
		return true;
	len = strlen(group);
	return strncmp(row->name, group, len) == 0 &&
	       (row->name[len] == ' ' || row->name[len] == '\0');
}

/* The list of commands, of one group or of all; false when it is empty. */
static bool
command_dispatch_list(FILE *stream, const char *group)
{
	const struct command *row;
	bool any = false;
	size_t i;

	for (i = 0; (row = command_dispatch_row(i)) != NULL; i++) {
		if (row->summary == NULL ||
		    !command_dispatch_in_group(row, group))
			continue;
		if (!any)
			fputs("Commands:\n", stream);
		fprintf(stream, "  %-18s %s\n", row->name, row->summary);
		any = true;
	}
	return any;
}

static int
command_dispatch_usage(FILE *stream, int code)
{
	fputs("Usage: agentnode COMMAND [ARGUMENT]...\n"
	      "Runs agent tools in sealed sandboxes that reach only what they "
	      "declared.\n\n",
	    stream);
	command_dispatch_list(stream, NULL);
	fputs("\nOptions:\n"
	      "  --help             this text; after a command, its own\n"
	      "  --version          print the version\n"
	      "\nExample:\n"
	      "  agentnode help config set\n",
	    stream);
	return code;
}

/* The visible name nearest to the words; its first word alone when only one
 * word was typed. False when nothing is near. */
static bool
command_dispatch_nearest(int argc, char **argv, char *name_r, size_t size)
{
	char typed[COMMAND_DISPATCH_NAME_MAX * 2];
	char name[COMMAND_DISPATCH_NAME_MAX + 1];
	const struct command *row;
	unsigned distance, least = 4;
	size_t i, words;

	for (i = 0; (row = command_dispatch_row(i)) != NULL; i++) {
		words = argc > 1 ? strlen(row->name) : strcspn(row->name, " ");
		snprintf(name, sizeof(name), "%.*s", (int)words, row->name);
		snprintf(typed, sizeof(typed), "%.40s%s%.40s", argv[0],
		    strchr(name, ' ') != NULL ? " " : "",
		    strchr(name, ' ') != NULL ? argv[1] : "");
		distance = near_word_distance(typed, name, 3);
		if (row->summary == NULL || distance >= least)
			continue;
		least = distance;
		snprintf(name_r, size, "%s", name);
	}
	return least < 4;
}

static int
command_dispatch_unknown(int argc, char **argv)
{
	char nearest[COMMAND_DISPATCH_NAME_MAX + 1];

	if (command_dispatch_nearest(argc, argv, nearest, sizeof(nearest)))
		return command_error(COMMAND_USAGE,
		    "there is no command '%s%s%s'; the nearest is "
		    "'agentnode %s'",
		    argv[0], argc > 1 ? " " : "", argc > 1 ? argv[1] : "",
		    nearest);
	return command_error(COMMAND_USAGE,
	    "there is no command '%.80s'; 'agentnode --help' lists them",
	    argv[0]);
}

static bool
command_dispatch_is_help(const char *word)
{
	return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

/* A first word that only begins names: "agentnode config". */
static int
command_dispatch_group(int argc, char **argv)
{
	bool help = argc > 1 && command_dispatch_is_help(argv[1]);
	bool bare = argc == 1 || argv[1][0] == '-';

	if (argv[0][0] == '-')
		return command_error(COMMAND_USAGE,
		    "there is no option '%s'; 'agentnode --help' lists them",
		    argv[0]);
	if (!bare || !command_dispatch_list(help ? stdout : stderr, argv[0]))
		return command_dispatch_unknown(argc, argv);
	if (help)
		return COMMAND_DONE;
	return command_error(COMMAND_USAGE,
	    "'%s' is a group: name one of its commands", argv[0]);
}

static int
command_dispatch_help(int argc, char **argv)
{
	const struct command *row;
	int used;

	if (argc == 0)
		return command_dispatch_usage(stdout, COMMAND_DONE);
	row = command_dispatch_find(argc, argv, &used);
	if (row != NULL && used == argc) {
		fputs(row->help, stdout);
		return COMMAND_DONE;
	}
	if (argc == 1 && command_dispatch_list(stdout, argv[0]))
		return COMMAND_DONE;
	return command_dispatch_unknown(argc, argv);
}

/* --help anywhere before "--" asks for the command's help. */
static bool
command_dispatch_wants_help(int argc, char **argv)
{
	int i;

	for (i = 0; i < argc && strcmp(argv[i], "--") != 0; i++)
		if (command_dispatch_is_help(argv[i]))
			return true;
	return false;
}

int
command_dispatch(int argc, char **argv)
{
	const struct command *row;
	int used;

	if (argc < 2)
		return command_dispatch_usage(stderr, COMMAND_USAGE);
	argc--;
	argv++;
	if (command_dispatch_is_help(argv[0]))
		return command_dispatch_usage(stdout, COMMAND_DONE);
	if (strcmp(argv[0], "help") == 0)
		return command_dispatch_help(argc - 1, argv + 1);
	if (strcmp(argv[0], "--version") == 0) {
		puts("agentnode " AGENTNODE_VERSION);
		return COMMAND_DONE;
	}
	row = command_dispatch_find(argc, argv, &used);
	if (row == NULL)
		return command_dispatch_group(argc, argv);
	if (command_dispatch_wants_help(argc - used, argv + used)) {
		fputs(row->help, stdout);
		return COMMAND_DONE;
	}
	optind = 0; /* glibc: start over */
	command_option_begin(argc - used + 1, argv + used - 1);
	return row->run(argc - used + 1, argv + used - 1);
}
