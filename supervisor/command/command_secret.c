/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `agentnode secret set|list|remove`: secrets of packages, kept where the
 * host keeps secrets. Called by command_dispatch. This program never sees
 * one: agentnode-keyring takes it from the terminal or descriptor that it is
 * handed.
 */
#include "supervisor/command/auth_list.h"
#include "supervisor/command/auth_option.h"
#include "supervisor/command/auth_store.h"
#include "supervisor/command/command.h"
#include "supervisor/package/secret_need.h"

static int
command_secret_set(int argc, char **argv)
{
	struct json_fault fault = {""};
	struct auth_option option;
	int code = auth_option_parse(
	    KEYRING_SECRET, AUTH_OPTION_SET, argc, argv, &option);

	if (code == COMMAND_DONE && !secret_need_may(option.name, &fault))
		code = command_error(COMMAND_REFUSED, "%s", fault.text);
	if (code == COMMAND_DONE)
		code = auth_option_backend(&option);
	if (code != COMMAND_DONE)
		return code;
	code = auth_option_open(&option);
	if (code == COMMAND_DONE)
		code = auth_store_set(&option);
	auth_option_close(&option);
	return code;
}

static int
command_secret_remove(int argc, char **argv)
{
	struct auth_option option;
	int code = auth_option_parse(
	    KEYRING_SECRET, AUTH_OPTION_REMOVE, argc, argv, &option);

	return code == COMMAND_DONE ? auth_store_remove(&option) : code;
}

static int
command_secret_list(int argc, char **argv)
{
	static const struct auth_list list = {.kind = KEYRING_SECRET,
	    .command = "secret list",
	    .rows = "secrets",
	    .name = "name",
	    .credential = "agentnode-secret.",
	    .none = "No secret is stored; 'agentnode secret set NAME' stores "
		    "one."};

	return auth_list_run(&list, argc, argv);
}

extern const struct command command_secret_rows[];
const struct command command_secret_rows[] = {
    {"secret set", "store a secret for packages that ask for it",
	"Usage: agentnode secret set NAME [--from-env VAR | --from-fd N]\n"
	"           [--backend WHERE] [--passphrase-fd N]\n\n"
	"Asks for the value without showing it, and stores it where the host\n"
	"keeps secrets. A package that asks for the variable NAME, and that\n"
	"`agentnode consent add` gave it, has it at its next start; a "
	"variable\n"
	"of that name in the environment comes first. A value never goes on\n"
	"the command line. One newline at the end is cut off; 1 to 8192 bytes\n"
	"without NUL. Keys of LLM providers are refused: they never enter a\n"
	"sandbox (`agentnode auth set`). Exit code 130: cancelled.\n\n"
	"Options:\n"
	"  --from-env VAR      take it from this variable\n"
	"  --from-fd N         take it from this descriptor, to its end\n"
	"  --backend WHERE     secret_service: the desktop's keychain\n"
	"                      file: AGENTNODE_HOME/secrets.enc, encrypted\n"
	"                      under a passphrase\n"
	"                      credentials: systemd's; read only, says how\n"
	"                      (default: the configuration's auth.backend)\n"
	"  --passphrase-fd N   file: take the passphrase from there\n\n"
	"Example:\n"
	"  agentnode secret set GITHUB_TOKEN\n"
	"  pass show github | agentnode secret set GITHUB_TOKEN --from-fd 0\n",
	command_secret_set},
    {"secret list", "list the secrets that are stored, by name",
	"Usage: agentnode secret list [--json]\n\n"
	"One line per secret: name, where it is stored, since when. No part\n"
	"of a value. Reads AGENTNODE_HOME/secrets.json; no keychain is "
	"asked.\n\n"
	"Options:\n"
	"  --json   {\"secrets\": [{\"name\", \"backend\", \"stored_at\"}]}\n\n"
	"Example:\n"
	"  agentnode secret list\n",
	command_secret_list},
    {"secret remove", "remove a stored secret",
	"Usage: agentnode secret remove NAME [--backend WHERE]\n\n"
	"Exit code 1 when there is none. What runs already has it.\n\n"
	"Options:\n"
	"  --backend WHERE   there, even if secrets.json does not know of it:\n"
	"                    secret_service, file\n\n"
	"Example:\n"
	"  agentnode secret remove GITHUB_TOKEN\n",
	command_secret_remove},
    {NULL, NULL, NULL, NULL},
};
