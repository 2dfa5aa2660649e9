/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `agentnode auth set|list|test|remove`: the keys of the LLM providers. Called
 * by command_dispatch. This program never sees a key: agentnode-keyring takes
 * it from the terminal or descriptor that it is handed.
 */
#include "supervisor/command/auth_list.h"
#include "supervisor/command/auth_option.h"
#include "supervisor/command/auth_store.h"
#include "supervisor/command/auth_test.h"
#include "supervisor/command/command.h"

static int
command_auth_set(int argc, char **argv)
{
	struct auth_option option;
	int code = auth_option_parse(
	    KEYRING_KEY, AUTH_OPTION_SET, argc, argv, &option);

	if (code == COMMAND_DONE)
		code = auth_option_provider(&option);
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
command_auth_remove(int argc, char **argv)
{
	struct auth_option option;
	int code = auth_option_parse(
	    KEYRING_KEY, AUTH_OPTION_REMOVE, argc, argv, &option);

	return code == COMMAND_DONE ? auth_store_remove(&option) : code;
}

static int
command_auth_test(int argc, char **argv)
{
	struct auth_option option;
	int code = auth_option_parse(
	    KEYRING_KEY, AUTH_OPTION_TEST, argc, argv, &option);

	if (code == COMMAND_DONE)
		code = auth_option_provider(&option);
	if (code == COMMAND_DONE)
		code = auth_test_run(&option);
	auth_option_close(&option);
	return code;
}

static int
command_auth_list(int argc, char **argv)
{
	static const struct auth_list list = {.kind = KEYRING_KEY,
	    .command = "auth list",
	    .rows = "keys",
	    .name = "provider",
	    .credential = "agentnode.",
	    .none = "No key is set; 'agentnode auth set PROVIDER' sets one.",
	    .has_last4 = true};

	return auth_list_run(&list, argc, argv);
}

const struct command command_auth_rows[] = {
    {"auth set", "store the key of an LLM provider",
	"Usage: agentnode auth set PROVIDER [--from-env VAR | --from-fd N]\n"
	"           [--backend WHERE] [--passphrase-fd N]\n\n"
	"Asks for the key without showing it, and stores it where the host\n"
	"keeps secrets. A key never goes on the command line. Runs that are\n"
	"alive use the new key from their next call on. One newline at the\n"
	"end is cut off; a key is one word of printable ASCII without '%'\n"
	"and backslashes, 16 to 2048 bytes. Exit code 130: cancelled.\n\n"
	"Options:\n"
	"  --from-env VAR      take it from this variable\n"
	"  --from-fd N         take it from this descriptor, to its end\n"
	"  --backend WHERE     secret_service: the desktop's keychain\n"
	"                      file: AGENTNODE_HOME/keys.enc, encrypted under\n"
	"                      a passphrase\n"
	"                      credentials: systemd's; read only, says how\n"
	"                      (default: the configuration's auth.backend)\n"
	"  --passphrase-fd N   file: take the passphrase from there\n\n"
	"Example:\n"
	"  agentnode auth set openai\n"
	"  pass show openai | agentnode auth set openai --from-fd 0\n",
	command_auth_set},
    {"auth list", "list the providers that have a key",
	"Usage: agentnode auth list [--json]\n\n"
	"One line per key: provider, where it is stored, its last four\n"
	"characters (only of keys of 20 bytes or more), and since when.\n"
	"Reads AGENTNODE_HOME/credentials.json; no keychain is asked.\n\n"
	"Options:\n"
	"  --json   {\"keys\": [{\"provider\", \"backend\", \"last4\",\n"
	"           \"stored_at\"}]}\n\n"
	"Example:\n"
	"  agentnode auth list\n",
	command_auth_list},
    {"auth test", "ask a provider whether it takes the stored key",
	"Usage: agentnode auth test PROVIDER [--passphrase-fd N]\n\n"
	"One call for the provider's list of models, with the stored key, on\n"
	"the way that an agent's call goes. Exit codes: 0 the provider takes\n"
	"the key, 1 it refuses it, 5 no key is set, 4 it could not be found\n"
	"out (the keychain, the network, or an error of the provider's).\n\n"
	"Options:\n"
	"  --passphrase-fd N   for a key in keys.enc; else it is asked for\n\n"
	"Example:\n"
	"  agentnode auth test openai\n",
	command_auth_test},
    {"auth remove", "remove the key of a provider",
	"Usage: agentnode auth remove PROVIDER [--backend WHERE]\n\n"
	"Exit code 1 when there is none. Calls of runs that are alive are\n"
	"refused from then on.\n\n"
	"Options:\n"
	"  --backend WHERE   there, even if credentials.json does not know\n"
	"                    of it: secret_service, file\n\n"
	"Example:\n"
	"  agentnode auth remove openai\n",
	command_auth_remove},
    {NULL, NULL, NULL, NULL},
};
