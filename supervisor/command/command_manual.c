/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `agentnode manual agentnode|config|schema` (not listed): the manual pages
 * docs/man/agentnode.1 and agentnode-config.5, and config/schema/config.json,
 * made from the command table and the table of keys. A test holds the files
 * to it. Called by
 * command_dispatch.
 */
#include <string.h>

#include "supervisor/command/command.h"
#include "supervisor/command/command_dispatch.h"
#include "supervisor/command/command_option.h"
#include "supervisor/policy/config.h"
#include "supervisor/policy/config_schema.h"

struct command_manual_row {
	const char *term, *text;
};

static const struct command_manual_row command_manual_exits[] = {
    {"0", "done; the check said yes"},
    {"1", "the check said no, or what was asked for is not there"},
    {"2", "usage: unknown command, option, argument or key"},
    {"3", "refused by policy"},
    {"4", "the sandbox is not available"},
    {"5", "configuration or lockfile malformed, missing or not ours"},
    {"6", "integrity: a hash, seal or chain does not fit"},
    {"70", "internal, or the system failed (full disk, no memory, a limit of "
	   "the user that is too small)"},
    {"125", "run, exec, mcp run: the workload never started; otherwise they "
	    "pass its own code through"},
    {NULL, NULL},
};

static const struct command_manual_row command_manual_variables[] = {
    {"AGENTNODE_HOME", "the folder of all our files instead of ~/.agentnode; "
		       "an absolute path"},
    {"AGENTNODE_LOCKFILE", "the lockfile, when no --lockfile is given"},
    {"NO_COLOR", "if not empty: no colours, even on a terminal"},
    {NULL, NULL},
};

static const struct command_manual_row command_manual_files[] = {
    {"~/.agentnode/config.json", "configuration; see agentnode\\-config(5)"},
    {"/etc/agentnode/policy.json",
	"team policy, root's, only narrows; see agentnode\\-config(5)"},
    {"./agentnode.lock, ~/.agentnode/agentnode.lock",
	"what is installed, pinned and sealed"},
    {"~/.agentnode/ledger/", "the audit chain"},
    {"~/.agentnode/log/", "one log per process, one JSON object per line"},
    {NULL, NULL},
};

/* Text for roff: no byte of it is a command. */
static void
command_manual_text(const char *text)
{
	bool line_start = true;

	for (; *text != '\0'; text++) {
		if (line_start && (*text == '.' || *text == '\''))
			fputs("\\&", stdout);
		if (*text == '\\')
			fputs("\\e", stdout);
		else if (*text == '-')
			fputs("\\-", stdout);
		else
			putchar(*text);
		line_start = *text == '\n';
	}
}

static void
command_manual_section(const char *title, const struct command_manual_row *row)
{
	printf(".SH %s\n", title);
	for (; row->term != NULL; row++)
		printf(".TP\n.B %s\n%s\n", row->term, row->text);
}

static void
command_manual_command(const struct command *row)
{
	fputs(".SS ", stdout);
	command_manual_text(row->name);
	fputs("\n.nf\n", stdout);
	command_manual_text(row->help);
	fputs(".fi\n", stdout);
}

static void
command_manual_agentnode(void)
{
	const struct command *row;
	size_t i;

	fputs(".\\\" Made by 'agentnode manual agentnode'; do not edit.\n"
	      ".TH AGENTNODE 1 \"\" \"agentnode " AGENTNODE_VERSION "\"\n"
	      ".SH NAME\nagentnode \\- run agent tools in sealed sandboxes\n"
	      ".SH SYNOPSIS\n.B agentnode\n.I command\n"
	      ".RI [ argument ...]\n"
	      ".SH DESCRIPTION\n"
	      "Starts MCP servers and other agent tools in containers whose "
	      "network namespace\nholds nothing but loopback, and lets them "
	      "reach the destinations they declared\nand no other.\n"
	      ".PP\nEvery error is one sentence on standard error that begins "
	      "with\n\"agentnode:\".\n"
	      ".SH COMMANDS\n",
	    stdout);
	for (i = 0; (row = command_dispatch_row(i)) != NULL; i++)
		if (row->summary != NULL)
			command_manual_command(row);
	command_manual_section("EXIT STATUS", command_manual_exits);
	command_manual_section("ENVIRONMENT", command_manual_variables);
	command_manual_section("FILES", command_manual_files);
	puts(".SH SEE ALSO\n.BR agentnode\\-config (5),\n.BR podman (1)");
}

static void
command_manual_choices(const struct config_key *key)
{
	size_t i;

	if (key->choices == NULL)
		return;
	fputs("; one of:", stdout);
	for (i = 0; key->choices[i] != NULL; i++)
		printf("%s %s", i > 0 ? "," : "", key->choices[i]);
}

static void
command_manual_range(const struct config_key *key)
{
	if (key->type == CONFIG_INT)
		printf(" from %lld to %lld", (long long)key->min,
		    (long long)key->max);
	else if (key->type == CONFIG_SIZE)
		printf(" from %lld to %lld bytes", (long long)key->min,
		    (long long)key->max);
	else if (key->type == CONFIG_LIST || key->type == CONFIG_OBJECT)
		printf(", at most %lld items", (long long)key->max);
}

static void
command_manual_key(const struct config_key *key)
{
	printf(".TP\n.B %s\n", key->name);
	command_manual_text(key->sentence);
	printf("\n.br\nType: %s", config_table_type_text(key->type));
	command_manual_choices(key);
	command_manual_range(key);
	fputs(". Default: ", stdout);
	if (key->default_text == NULL)
		fputs("not set", stdout);
	else
		command_manual_text(
		    key->default_text[0] != '\0' ? key->default_text : "empty");
	fputs(".\n", stdout);
	if (key->environment != NULL)
		printf("Environment: %s.\n", key->environment);
	printf("Team policy: %s.\n", config_table_narrow_text(key->narrow));
}

static void
command_manual_config(void)
{
	const struct config_key *key;

	fputs(
	    ".\\\" Made by 'agentnode manual config'; do not edit.\n"
	    ".TH AGENTNODE\\-CONFIG 5 \"\" \"agentnode " AGENTNODE_VERSION
	    "\"\n"
	    ".SH NAME\nagentnode\\-config \\- configuration of agentnode\n"
	    ".SH DESCRIPTION\n"
	    "The user's file is\n.I config.json\nin AGENTNODE_HOME "
	    "(~/.agentnode): one JSON object in which the dots of a key\nare "
	    "nested objects:\n.PP\n.nf\n"
	    "{\"sandbox\": {\"memory\": \"512m\", \"pids\": 128}}\n.fi\n.PP\n"
	    "A key that does not exist, a wrong type or a value out of range "
	    "is an error\n(exit status 5) that names file and place; nothing "
	    "falls back to a default. The\nfile must be a regular file of "
	    "the user's own that nobody else may write.\n"
	    ".B agentnode config set\nchecks and replaces it atomically.\n"
	    ".PP\nSizes are bytes, or a number with k, m or g (1024 each). "
	    "Lists are JSON arrays of\ntexts; on the command line also "
	    "comma\\-separated.\n"
	    ".PP\nPrecedence: team policy, environment, user's file, default;\n"
	    ".B agentnode config list \\-\\-origin\nshows which it was.\n"
	    ".SH TEAM POLICY\n"
	    "/etc/agentnode/policy.json has the same form. Folder and file "
	    "must belong to root\nand be writable by nobody else; anything "
	    "else is an error. It only narrows: what\nit does to each key "
	    "stands there. Its egress.allow also bounds what packages\nand "
	    "\\-\\-allow may ask for.\n"
	    ".SH EGRESS ENTRIES\n.nf\n"
	    "api.example.com           exactly this name, port 443, TLS\n"
	    "api.example.com:8443      that port\n"
	    "*.example.com             its subdomains; not at or above a "
	    "public suffix\n"
	    "tcp://10.1.2.0/24:5432    raw TCP to an address or range\n"
	    "http://host[:80]          plain HTTP\n"
	    ".fi\n.PP\nInternationalised names are converted to their "
	    "xn\\-\\- form and shown so. In\negress.deny a missing port means "
	    "every port.\n"
	    ".SH KEYS\n",
	    stdout);
	for (key = config_table; key->name != NULL; key++)
		command_manual_key(key);
	puts(".SH SEE ALSO\n.BR agentnode (1)");
}

/* config/schema/config.json, from the same table. */
static int
command_manual_schema(void)
{
	json_t *schema = config_schema_make();
	int code = COMMAND_INTERNAL;

	if (schema != NULL)
		code = command_print_json(schema);
	json_decref(schema);
	return code;
}

static int
command_manual_run(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "agentnode") == 0)
		command_manual_agentnode();
	else if (argc == 2 && strcmp(argv[1], "config") == 0)
		command_manual_config();
	else if (argc == 2 && strcmp(argv[1], "schema") == 0)
		return command_manual_schema();
	else
		return command_option_fault("manual");
	return COMMAND_DONE;
}

const struct command command_manual_rows[] = {
    {"manual", NULL,
	"Usage: agentnode manual agentnode|config|schema\n\n"
	"Prints the source of a manual page, or the JSON schema of "
	"config.json.\n\n"
	"Example:\n"
	"  agentnode manual config > docs/man/agentnode-config.5\n",
	command_manual_run},
    {NULL, NULL, NULL, NULL},
};
