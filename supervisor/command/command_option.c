/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See command_option.h. One command is parsed in the life of a process, so
 * what was met last is kept here. Must never repeat what may be a key: not
 * what is behind an option's name, and of `auth` no word at all.
 */
#include "supervisor/command/command_option.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "supervisor/command/command.h"

#define COMMAND_OPTION_SENTENCE 512U

static struct {
	int argc;
	char **argv;
	const struct option *known; /* NULL: nothing was asked for yet */
	const char *name;           /* the option met last, NULL: none */
	int answer;
} command_option_last;

void
command_option_begin(int argc, char **argv)
{
	command_option_last.argc = argc;
	command_option_last.argv = argv;
	command_option_last.known = NULL;
	command_option_last.name = NULL;
	command_option_last.answer = 0;
}

int
command_option_next(
    int argc, char **argv, const char *letters, const struct option *known)
{
	int index = -1;

	opterr = 0;
	command_option_last.answer =
	    getopt_long(argc, argv, letters, known, &index);
	command_option_last.argc = argc;
	command_option_last.argv = argv;
	command_option_last.known = known;
	command_option_last.name = index >= 0 ? known[index].name : NULL;
	return command_option_last.answer;
}

/* The word getopt stopped at: of letters in one word it is not past it. */
static const char *
command_option_word(void)
{
	char **argv = command_option_last.argv;
	const char *here =
	    optind < command_option_last.argc ? argv[optind] : NULL;

	if (optopt != 0 && here != NULL && here[0] == '-' && here[1] != '-' &&
	    strchr(here, optopt) != NULL)
		return here;
	return optind > 0 ? argv[optind - 1] : "";
}

/* What getopt did not take. */
static void
command_option_unknown(char *text_r, size_t size)
{
	const char *word = command_option_word();
	int len = (int)strcspn(word, "=");
	bool is_known = optopt != 0 && strncmp(word, "--", 2) == 0;

	if (word[0] == '-' && word[1] != '-')
		len = len < 2 ? len : 2; /* its letter */

	if (is_known && word[len] == '=')
		(void)snprintf(
		    text_r, size, "'%.*s' takes no value", len, word);
	else if (is_known)
		(void)snprintf(text_r, size, "'%.*s' needs a value", len, word);
	else
		(void)snprintf(
		    text_r, size, "'%.*s' is not an option of it", len, word);
}

/* May the value of this option be shown? */
static bool
command_option_is_open(const char *name)
{
	static const char *const closed[] = {
	    "arg", "env", "from-env", "from-fd", "secret", NULL};

	for (size_t i = 0; closed[i] != NULL; i++) {
		if (strcmp(closed[i], name) == 0)
			return false;
	}
	return true;
}

static void
command_option_refused(char *text_r, size_t size)
{
	const char *name = command_option_last.name;

	if (name != NULL && optarg != NULL && command_option_is_open(name))
		(void)snprintf(text_r, size,
		    "'%.*s' is no value of '--%s', or one too many",
		    (int)strcspn(optarg, "="), optarg, name);
	else
		(void)snprintf(text_r, size, "'--%s' does not fit here",
		    name != NULL ? name : "");
}

static void
command_option_words(char *text_r, size_t size)
{
	int argc = command_option_last.argc;
	const char *word =
	    optind < argc ? command_option_last.argv[optind] : "";

	if (command_option_last.known != NULL && optind < argc)
		(void)snprintf(text_r, size,
		    "a word is missing, too many, or not known, from '%.*s' "
		    "on",
		    (int)strcspn(word, "="), word);
	else
		(void)snprintf(text_r, size,
		    "a word is missing, or what is given does not fit "
		    "together");
}

int
command_option_fault(const char *command)
{
	char text[COMMAND_OPTION_SENTENCE];

	if (strncmp(command, "auth ", 5) == 0)
		(void)snprintf(text, sizeof(text), "it was used wrongly");
	else if (command_option_last.known == NULL ||
		 command_option_last.answer == -1)
		command_option_words(text, sizeof(text));
	else if (command_option_last.answer == '?' ||
		 command_option_last.answer == ':')
		command_option_unknown(text, sizeof(text));
	else
		command_option_refused(text, sizeof(text));
	return command_error(COMMAND_USAGE,
	    "'agentnode %s': %s; 'agentnode help %s' shows how", command, text,
	    command);
}
