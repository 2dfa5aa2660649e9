/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `agentnode trust keys add|list|remove`: the registry keys that this host
 * believes; and the rows of keygen and sign. Called by command_dispatch. A
 * key is recorded in the audit chain before it counts.
 */
#include <jansson.h>
#include <string.h>

#include "supervisor/command/command.h"
#include "supervisor/command/command_ledger.h"
#include "supervisor/command/command_option.h"
#include "supervisor/command/trust_sign.h"
#include "supervisor/policy/config.h"
#include "supervisor/policy/trust.h"
#include "supervisor/policy/trust_key.h"

#define COMMAND_TRUST_KEYS "trust.registry_keys"

struct command_trust_options {
	const char *file;
	bool json;
};

static bool
command_trust_parse(
    int argc, char **argv, struct command_trust_options *options_r)
{
	static const struct option known[] = {
	    {"file", required_argument, NULL, 'f'},
	    {"json", no_argument, NULL, 'j'}, {NULL, 0, NULL, 0}};
	int option;

	*options_r = (struct command_trust_options){NULL, false};
	while ((option = command_option_next(argc, argv, "", known)) != -1) {
		if (option == 'f')
			options_r->file = optarg;
		else if (option == 'j')
			options_r->json = true;
		else
			return false;
	}
	return true;
}

static int
command_trust_key(const struct command_trust_options *options, int argc,
    char **argv, char hex_r[TRUST_KEY_HEX + 1])
{
	if (argc - optind != (options->file != NULL ? 1 : 2) || options->json)
		return command_option_fault("trust keys add");
	if (!trust_key_is_name(argv[optind]))
		return command_error(COMMAND_USAGE,
		    "'%.64s': the name of a key has %s", argv[optind],
		    TRUST_KEY_NAME_RULE);
	if (options->file != NULL && trust_sign_public(options->file, hex_r))
		return COMMAND_DONE;
	if (options->file != NULL)
		return command_error(COMMAND_USAGE,
		    "%.200s: must be a file with one Ed25519 public key, 64 "
		    "hex digits or 44 letters of base64",
		    options->file);
	if (trust_key_parse(argv[optind + 1], hex_r))
		return COMMAND_DONE;
	return command_error(COMMAND_USAGE,
	    "'%.80s' is no Ed25519 public key: 64 hex digits or 44 letters "
	    "of base64",
	    argv[optind + 1]);
}

static int
command_trust_refused(enum result result, const struct json_fault *fault)
{
	if (result == RESULT_EXISTS || result == RESULT_NOT_FOUND)
		return command_error(
		    COMMAND_NO, COMMAND_TRUST_KEYS ": %s", fault->text);
	return command_fault(result, fault);
}

/* Would it go? Then the record, then the change. value NULL: remove. */
static int
command_trust_change(const char *name, const char *value)
{
	struct command_ledger ledger = {NULL, NULL};
	struct json_fault fault = {""};
	enum result result =
	    config_set_member(COMMAND_TRUST_KEYS, name, value, true, &fault);
	int code;

	if (result != RESULT_OK)
		return command_trust_refused(result, &fault);
	code = command_ledger_open(&ledger);
	if (code == COMMAND_DONE)
		code = command_ledger_write(&ledger,
		    value != NULL ? "trust_key_added" : "trust_key_removed",
		    json_pack("{s:s, s:s*}", "name", name, "key", value));
	if (code == COMMAND_DONE) {
		result = config_set_member(
		    COMMAND_TRUST_KEYS, name, value, false, &fault);
		if (result != RESULT_OK)
			code = command_trust_refused(result, &fault);
	}
	command_ledger_close(&ledger);
	return code;
}

/* Say when the team policy leaves the key out all the same. */
static void
command_trust_hint(const char *hex)
{
	struct json_fault fault = {""};
	struct config *config = NULL;

	if (config_load(&config, &fault) == RESULT_OK &&
	    !trust_is_pinned(config, hex))
		fprintf(stderr,
		    "It does not count: the team policy does not list it, or "
		    "it is revoked.\n");
	config_free(&config);
}

static int
command_trust_add(int argc, char **argv)
{
	struct command_trust_options options;
	char hex[TRUST_KEY_HEX + 1] = "";
	int code;

	if (!command_trust_parse(argc, argv, &options))
		return command_option_fault("trust keys add");
	code = command_trust_key(&options, argc, argv, hex);
	if (code == COMMAND_DONE)
		code = command_trust_change(argv[optind], hex);
	if (code != COMMAND_DONE)
		return code;
	printf("%s %s\n", argv[optind], hex);
	command_trust_hint(hex);
	return COMMAND_DONE;
}

static int
command_trust_remove(int argc, char **argv)
{
	struct command_trust_options options;

	if (!command_trust_parse(argc, argv, &options) || options.json ||
	    options.file != NULL || argc - optind != 1)
		return command_option_fault("trust keys remove");
	return command_trust_change(argv[optind], NULL);
}

static json_t *
command_trust_table(const struct config *config)
{
	const json_t *keys = config_json(config, COMMAND_TRUST_KEYS);
	json_t *rows = json_array(), *key;
	const char *name;

	json_object_foreach((json_t *)(uintptr_t)keys, name, key)
	{
		(void)json_array_append_new(rows,
		    json_pack("{s:s, s:O, s:b}", "name", name, "key", key,
			"revoked",
			trust_is_revoked(config, json_string_value(key))));
	}
	return rows;
}

static int
command_trust_print(json_t *rows, bool json)
{
	json_t *answer, *row;
	size_t i;
	int code = COMMAND_DONE;

	if (json) {
		answer = json_pack("{s:O}", "keys", rows);
		code = command_print_json(answer);
		json_decref(answer);
		return code;
	}
	if (json_array_size(rows) == 0)
		printf("No registry key is pinned; 'agentnode trust keys add' "
		       "pins one.\n");
	json_array_foreach(rows, i, row)
	{
		printf("%-31s %s%s\n",
		    json_string_value(json_object_get(row, "name")),
		    json_string_value(json_object_get(row, "key")),
		    json_is_true(json_object_get(row, "revoked")) ? " revoked"
								  : "");
	}
	return code;
}

static int
command_trust_list(int argc, char **argv)
{
	struct command_trust_options options;
	struct json_fault fault = {""};
	struct config *config = NULL;
	enum result result;
	json_t *rows;
	int code;

	if (!command_trust_parse(argc, argv, &options) ||
	    options.file != NULL || argc != optind)
		return command_option_fault("trust keys list");
	result = config_load(&config, &fault);
	if (result != RESULT_OK)
		return command_fault(result, &fault);
	rows = command_trust_table(config);
	code = command_trust_print(rows, options.json);
	json_decref(rows);
	config_free(&config);
	return code;
}

extern const struct command command_trust_rows[];
const struct command command_trust_rows[] = {
    {"trust keys add", "believe a registry's key",
	"Usage: agentnode trust keys add NAME KEY\n"
	"       agentnode trust keys add NAME --file FILE\n\n"
	"Packages that this key attests get their tier on this host. KEY is "
	"an\n"
	"Ed25519 public key, 64 hex digits or base64; check it with its owner\n"
	"over another way than the one it came by. It is recorded in the "
	"audit\n"
	"chain. The team policy may leave keys out, never add one.\n\n"
	"Options:\n"
	"  --file FILE   the key is the one line of FILE\n\n"
	"Example:\n"
	"  agentnode trust keys add corp --file ./corp.pub\n",
	command_trust_add},
    {"trust keys list", "the registry keys that count on this host",
	"Usage: agentnode trust keys list [--json]\n\n"
	"Options:\n"
	"  --json   {\"keys\": [{\"name\", \"key\", \"revoked\"}]}\n\n"
	"Example:\n"
	"  agentnode trust keys list\n",
	command_trust_list},
    {"trust keys remove", "believe a registry's key no more",
	"Usage: agentnode trust keys remove NAME\n\n"
	"What it attested is refused from now on, also where it is installed\n"
	"already. For a key that was stolen, put it into trust.revoked_keys\n"
	"as well: then no other configuration brings it back.\n\n"
	"Example:\n"
	"  agentnode trust keys remove corp\n",
	command_trust_remove},
    {"trust keygen", "make a key to sign with",
	"Usage: agentnode trust keygen --out FILE\n\n"
	"Writes a new Ed25519 private key to FILE (PEM, mode 0600) and the\n"
	"public key to FILE.pub, never over what is there; and prints the\n"
	"public key.\n\n"
	"Example:\n"
	"  agentnode trust keygen --out ./registry.pem\n",
	trust_sign_keygen},
    {"trust sign", "sign an artifact, an attestation or an index",
	"Usage: agentnode trust sign artifact KEY --slug S --version V FILE\n"
	"       agentnode trust sign attestation KEY --slug S --version V\n"
	"           --tier T --publisher P --publisher-key K FILE\n"
	"       agentnode trust sign index KEY [--add S@V --file F] FOLDER\n\n"
	"KEY is --key FILE (yours, mode 0600) or --key-fd N. The first two\n"
	"print JSON. 'index' writes index.json and index.json.sig into the\n"
	"registry's FOLDER, with a serial one higher; without --add or --drop\n"
	"it only becomes fresh again.\n\n"
	"Options:\n"
	"  --slug S, --version V   which package FILE is\n"
	"  --tier T                unverified, verified, trusted or curated\n"
	"  --publisher P           slug of the publisher\n"
	"  --publisher-key K       public key of the publisher, or its file\n"
	"  --days N                how long it holds (365; index: 30)\n"
	"  --serial N              number of the attestation, or a higher one\n"
	"                          for the index\n"
	"  --out FILE              instead of standard output\n"
	"  --add S@V --file F      index: a version; F is a path in FOLDER\n"
	"  --kind mcp              F is an MCP server's file, as 'mcp install\n"
	"                          --export' wrote it\n"
	"  --attestation FILE      of --add, as 'sign attestation' printed it\n"
	"  --signatures FILE       of --add, as 'sign artifact' printed it\n"
	"  --keep-latest           --add is not what SLUG alone installs\n"
	"  --drop S@V              index: a version less\n"
	"  --previous-key K        who signed the index that is there\n\n"
	"Example:\n"
	"  agentnode trust sign artifact --key ./me.pem --slug word-count \\\n"
	"      --version 1.0.0 ./word-count-1.0.0.tar.gz\n",
	trust_sign_run},
    {NULL, NULL, NULL, NULL},
};
