/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The words of the auth and secret commands (see the header). Called by
 * command_auth.c and command_secret.c. It must never print a word that could be
 * a key, nor leave a key in the environment after it was taken.
 */
#include "supervisor/command/auth_option.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "common/fd.h"
#include "supervisor/child.h"
#include "supervisor/command/command.h"
#include "supervisor/command/command_option.h"
#include "supervisor/policy/config.h"
#include "supervisor/policy/keyring_call.h"
#include "supervisor/policy/stored_secret.h"

/* What fits into an empty pipe at once: more than any key. */
#define AUTH_OPTION_PIPE_MAX 32768U

static const char *
auth_option_name(const struct auth_option *option)
{
	bool is_key = option->kind == KEYRING_KEY;

	switch (option->verb) {
	case AUTH_OPTION_SET:
		return is_key ? "auth set" : "secret set";
	case AUTH_OPTION_REMOVE:
		return is_key ? "auth remove" : "secret remove";
	case AUTH_OPTION_TEST:
		return "auth test";
	}
	return "auth";
}

/* Before we open any. */
int
auth_option_fd(const char *text, const char *option, int *fd_r)
{
	char *end = NULL;
	long value;

	errno = 0;
	value = strtol(text, &end, 10);
	if (errno != 0 || end == text || *end != '\0' || value < 0 ||
	    value > INT_MAX || fcntl((int)value, F_GETFD) < 0)
		return command_error(COMMAND_USAGE,
		    "%s needs the number of an open descriptor", option);
	if (isatty((int)value) == 1)
		return command_error(COMMAND_USAGE,
		    "%s is a terminal, which would show what is typed: leave "
		    "the option out to be asked without that",
		    option);
	*fd_r = (int)value;
	return COMMAND_DONE;
}

int
auth_option_secrets(const char *text)
{
	const char *name = "--secrets-passphrase-fd";
	int fd = -1, code = auth_option_fd(text, name, &fd);

	if (code == COMMAND_DONE && fd <= STDERR_FILENO)
		code = command_error(COMMAND_USAGE,
		    "%s: the first three are the run's own streams; use "
		    "another one",
		    name);
	if (code == COMMAND_DONE)
		stored_secret_passphrase(fd);
	return code;
}

static int
auth_option_backend_word(const char *text, struct auth_option *option_r)
{
	option_r->has_backend = true;
	if (keyring_words_find_backend(text, &option_r->backend))
		return COMMAND_DONE;
	return command_error(
	    COMMAND_USAGE, "--backend is secret_service, credentials or file");
}

static int
auth_option_words(int argc, char **argv, struct auth_option *option_r)
{
	static const struct option known[] = {
	    {"from-env", required_argument, NULL, 'e'},
	    {"from-fd", required_argument, NULL, 'f'},
	    {"backend", required_argument, NULL, 'b'},
	    {"passphrase-fd", required_argument, NULL, 'p'},
	    {NULL, 0, NULL, 0}};
	bool is_set = option_r->verb == AUTH_OPTION_SET;
	int option, code = COMMAND_DONE;

	while (code == COMMAND_DONE &&
	       (option = command_option_next(argc, argv, "", known)) != -1) {
		if (option == 'e' && is_set)
			option_r->from_env = optarg;
		else if (option == 'f' && is_set)
			code = auth_option_fd(
			    optarg, "--from-fd", &option_r->from_fd);
		else if (option == 'b' && option_r->verb != AUTH_OPTION_TEST)
			code = auth_option_backend_word(optarg, option_r);
		else if (option == 'p' && option_r->verb != AUTH_OPTION_REMOVE)
			code = auth_option_fd(optarg, "--passphrase-fd",
			    &option_r->passphrase_fd);
		else
			code = command_option_fault(auth_option_name(option_r));
	}
	return code;
}

int
auth_option_parse(enum keyring_kind kind, enum auth_option_verb verb, int argc,
    char **argv, struct auth_option *option_r)
{
	int code;

	*option_r = (struct auth_option){.kind = kind,
	    .verb = verb,
	    .from_fd = -1,
	    .passphrase_fd = -1,
	    .source_fd = -1,
	    .terminal = -1};
	code = auth_option_words(argc, argv, option_r);
	if (code != COMMAND_DONE)
		return code;
	if (argc - optind > 1 && verb == AUTH_OPTION_SET)
		return command_error(COMMAND_USAGE,
		    "a %s never goes on the command line, where 'ps' and the "
		    "shell's history show it: leave it out to be asked, or "
		    "use --from-env or --from-fd (and if that was your %s, "
		    "replace it)",
		    keyring_words_kind(kind), keyring_words_kind(kind));
	if (argc - optind != 1)
		return command_option_fault(auth_option_name(option_r));
	option_r->name = argv[optind];
	if (!keyring_words_is_name(kind, option_r->name))
		return command_error(COMMAND_USAGE,
		    kind == KEYRING_KEY
			? "the name of a provider has 1 to %u lower-case "
			  "letters, digits and hyphens"
			: "the name of a secret is a variable's: 1 to %u "
			  "letters, digits and _, and no digit first",
		    kind == KEYRING_KEY ? KEYRING_PROVIDER_MAX
					: KEYRING_NAME_MAX);
	if (option_r->from_env != NULL && option_r->from_fd >= 0)
		return command_error(COMMAND_USAGE,
		    "--from-env and --from-fd exclude each other");
	if (option_r->from_fd >= 0 &&
	    option_r->from_fd == option_r->passphrase_fd)
		return command_error(
		    COMMAND_USAGE, "--from-fd and --passphrase-fd must differ");
	return COMMAND_DONE;
}

int
auth_option_backend(struct auth_option *option)
{
	struct json_fault fault = {""};
	struct config *config;
	enum result result;

	if (option->has_backend)
		return COMMAND_DONE;
	result = config_load(&config, &fault);
	if (result != RESULT_OK)
		return command_fault(result, &fault);
	(void)keyring_words_find_backend(
	    config_text(config, "auth.backend"), &option->backend);
	config_free(&config);
	return COMMAND_DONE;
}

int
auth_option_provider(const struct auth_option *option)
{
	char name[64], path[PATH_MAX], home[PATH_MAX];
	struct json_fault fault = {""};
	enum result result = config_home(home, sizeof(home), &fault);
	int len;

	if (result != RESULT_OK)
		return command_fault(result, &fault);
	(void)snprintf(name, sizeof(name), "providers/%s.json", option->name);
	if (child_shared_path(name, path, sizeof(path)) == RESULT_OK)
		return COMMAND_DONE;
	len = snprintf(path, sizeof(path), "%s/%s", home, name);
	if (len > 0 && (size_t)len < sizeof(path) && access(path, R_OK) == 0)
		return COMMAND_DONE;
	return command_error(COMMAND_USAGE,
	    "there is no provider '%s': neither AgentNode nor %s has a %s",
	    option->name, home, name);
}

/* The value of the variable: into a pipe, whose memory is not swapped, and
 * overwritten where it stood. */
static int
auth_option_env(struct auth_option *option)
{
	char *value = getenv(option->from_env);
	size_t len = value == NULL ? 0 : strlen(value);
	enum result result = RESULT_SYSTEM;
	int ends[2];

	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	if (len == 0 || len > AUTH_OPTION_PIPE_MAX)
		return command_error(COMMAND_USAGE,
		    "the variable that --from-env names is %s",
		    len == 0 ? "not set or empty" : "too long");
	if (pipe2(ends, O_CLOEXEC) == 0) {
		result = fd_write_all(ends[1], value, len);
		fd_close(&ends[1]);
		option->source_fd = ends[0];
		option->source = KEYRING_INPUT_PIPE;
	}
	explicit_bzero(value, len);
	(void)unsetenv(option->from_env);
	if (result == RESULT_OK)
		return COMMAND_DONE;
	return command_error(COMMAND_INTERNAL, "a pipe could not be made");
}

static int
auth_option_terminal(struct auth_option *option, const char *what)
{
	if (option->terminal < 0)
		option->terminal = keyring_call_terminal();
	if (option->terminal >= 0)
		return COMMAND_DONE;
	return command_error(COMMAND_USAGE,
	    "there is no terminal to ask for the %s at: use %s", what,
	    strcmp(what, "passphrase") == 0 ? "--passphrase-fd"
					    : "--from-env or --from-fd");
}

static int
auth_option_source(struct auth_option *option)
{
	int code;

	if (option->from_env != NULL)
		return auth_option_env(option);
	if (option->from_fd >= 0) {
		option->source = KEYRING_INPUT_PIPE;
		option->source_fd = option->from_fd;
		return COMMAND_DONE;
	}
	code = auth_option_terminal(option, keyring_words_kind(option->kind));
	if (code != COMMAND_DONE)
		return code;
	option->source = KEYRING_INPUT_TERMINAL;
	option->source_fd = fcntl(option->terminal, F_DUPFD_CLOEXEC, 3);
	return COMMAND_DONE;
}

int
auth_option_open(struct auth_option *option)
{
	int code = option->verb == AUTH_OPTION_SET ? auth_option_source(option)
						   : COMMAND_DONE;

	if (code != COMMAND_DONE || option->backend != KEYRING_FILE)
		return code;
	if (option->passphrase_fd >= 0) {
		option->passphrase = KEYRING_INPUT_PIPE;
		return COMMAND_DONE;
	}
	code = auth_option_terminal(option, "passphrase");
	if (code != COMMAND_DONE)
		return code;
	option->passphrase = KEYRING_INPUT_TERMINAL;
	option->passphrase_fd = fcntl(option->terminal, F_DUPFD_CLOEXEC, 3);
	return COMMAND_DONE;
}

void
auth_option_close(struct auth_option *option)
{
	fd_close(&option->source_fd);
	fd_close(&option->passphrase_fd);
	fd_close(&option->terminal);
}
