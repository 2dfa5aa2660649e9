/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `agentnode completion bash|zsh`: a script made from the command table, so
 * that it knows every command, option and configuration key. Options are
 * the words with two hyphens in a command's help text.
 */
#include <ctype.h>
#include <string.h>

#include "supervisor/command/command.h"
#include "supervisor/command/command_dispatch.h"
#include "supervisor/command/command_option.h"
#include "supervisor/policy/config.h"

#define COMMAND_COMPLETION_WORDS 2048U

/* Add a word once; words are separated by spaces. */
static void
command_completion_add(char *words, size_t size, const char *word, size_t len)
{
	const char *at = words;
	size_t used = strlen(words);

	while ((at = strstr(at, word)) != NULL && len > 0) {
		if ((at == words || at[-1] == ' ') &&
		    (at[len] == ' ' || at[len] == '\0'))
			return;
		at++;
	}
	if (used + len + 2 > size)
		return;
	memcpy(words + used, word, len);
	memcpy(words + used + len, " ", 2);
}

static void
command_completion_options(const char *help, char *words, size_t size)
{
	char word[64];
	size_t len;

	while ((help = strstr(help, "--")) != NULL) {
		len = 2;
		while (islower((unsigned char)help[len]) || help[len] == '-')
			len++;
		if (len > 2 && len < sizeof(word)) {
			memcpy(word, help, len);
			word[len] = '\0';
			command_completion_add(words, size, word, len);
		}
		help += len;
	}
	command_completion_add(words, size, "--help", 6);
}

static void
command_completion_keys(const char *name, char *words, size_t size)
{
	const struct config_key *key;

	if (strcmp(name, "config get") != 0 &&
	    strcmp(name, "config set") != 0 &&
	    strcmp(name, "config unset") != 0)
		return;
	for (key = config_table; key->name != NULL; key++)
		command_completion_add(
		    words, size, key->name, strlen(key->name));
}

/* First words (group NULL) or second words of a group. */
static void
command_completion_names(const char *group, char *words, size_t size)
{
	const struct command *row;
	size_t i, first;
	char word[64];

	for (i = 0; (row = command_dispatch_row(i)) != NULL; i++) {
		const char *from = row->name;

		first = strcspn(from, " ");
		if (row->summary == NULL)
			continue;
		if (group != NULL) {
			if (strlen(group) != first ||
			    strncmp(from, group, first) != 0 ||
			    from[first] == '\0')
				continue;
			from += first + 1;
			first = strlen(from);
		}
		snprintf(word, sizeof(word), "%.*s", (int)first, from);
		command_completion_add(words, size, word, strlen(word));
	}
	if (group == NULL)
		command_completion_add(words, size, "help", 4);
}

/* One arm of the script's case: the words typed so far, what may follow. */
static void
command_completion_arm(const char *typed, const char *rest, char *words)
{
	size_t len = strlen(words);

	if (len > 0)
		words[len - 1] = '\0';
	printf("\t\"%s \"%s) candidates=\"%s\" ;;\n", typed, rest, words);
}

static void
command_completion_groups(void)
{
	char names[COMMAND_COMPLETION_WORDS] = "", *save = NULL, *group;
	char words[COMMAND_COMPLETION_WORDS];

	command_completion_names(NULL, names, sizeof(names));
	for (group = strtok_r(names, " ", &save); group != NULL;
	     group = strtok_r(NULL, " ", &save)) {
		words[0] = '\0';
		command_completion_names(group, words, sizeof(words));
		if (words[0] != '\0')
			command_completion_arm(group, "", words);
	}
}

static void
command_completion_arms(void)
{
	char words[COMMAND_COMPLETION_WORDS];
	const struct command *row;
	size_t i;

	for (i = 0; (row = command_dispatch_row(i)) != NULL; i++) {
		if (row->summary == NULL)
			continue;
		words[0] = '\0';
		command_completion_options(row->help, words, sizeof(words));
		command_completion_keys(row->name, words, sizeof(words));
		command_completion_arm(row->name, "*", words);
	}
	command_completion_groups();
	words[0] = '\0';
	command_completion_names(NULL, words, sizeof(words));
	command_completion_arm("help", "", words);
	words[0] = '\0';
	command_completion_names(NULL, words, sizeof(words));
	command_completion_add(words, sizeof(words), "--help", 6);
	command_completion_add(words, sizeof(words), "--version", 9);
	command_completion_arm("", "", words);
}

static void
command_completion_bash(void)
{
	fputs("# bash completion of agentnode; source it, or put it into\n"
	      "# /usr/share/bash-completion/completions/agentnode\n"
	      "_agentnode()\n{\n"
	      "\tlocal cur=${COMP_WORDS[COMP_CWORD]} candidates=\n"
	      "\tcase \"${COMP_WORDS[*]:1:COMP_CWORD-1} \" in\n",
	    stdout);
	command_completion_arms();
	fputs("\tesac\n"
	      "\tmapfile -t COMPREPLY < <("
	      "compgen -W \"$candidates\" -- \"$cur\")\n"
	      "}\n"
	      "complete -o default -F _agentnode agentnode\n",
	    stdout);
}

static void
command_completion_zsh(void)
{
	fputs("#compdef agentnode\n"
	      "# zsh completion of agentnode; put it as _agentnode into a\n"
	      "# folder of $fpath\n"
	      "_agentnode()\n{\n"
	      "\tlocal candidates=\n"
	      "\tcase \"${(j: :)words[2,CURRENT-1]} \" in\n",
	    stdout);
	command_completion_arms();
	fputs("\tesac\n"
	      "\tcompadd -- ${=candidates} || _files\n"
	      "}\n"
	      "if [ \"$funcstack[1]\" = _agentnode ]; then\n"
	      "\t_agentnode \"$@\"\n"
	      "else\n"
	      "\tcompdef _agentnode agentnode\n"
	      "fi\n",
	    stdout);
}

static int
command_completion_run(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "bash") == 0)
		command_completion_bash();
	else if (argc == 2 && strcmp(argv[1], "zsh") == 0)
		command_completion_zsh();
	else
		return command_option_fault("completion");
	return COMMAND_DONE;
}

const struct command command_completion_rows[] = {
    {"completion", "print the completion script of a shell",
	"Usage: agentnode completion bash|zsh\n\n"
	"Prints a completion script that knows every command, option and\n"
	"configuration key.\n\n"
	"Example:\n"
	"  source <(agentnode completion bash)\n",
	command_completion_run},
    {NULL, NULL, NULL, NULL},
};
