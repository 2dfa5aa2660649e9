/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads drive_broker's command line. A tool for tests and benches: it exits
 * on bad usage, and trusts who runs it.
 */
#include "tests/bench/drive_broker_options.h"

#include <arpa/inet.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char drive_broker_options_help[] =
    "usage: drive_broker ADDRESS:PORT --provider FILE [options]\n"
    "\n"
    "Runs the real, confined llm-broker and llm-key as a supervisor would:\n"
    "an agent's listener on ADDRESS:PORT, everything of the providers\n"
    "granted. Prints `ready` when calls are served; SIGTERM or SIGINT ends\n"
    "both.\n"
    "\n"
    "  --provider FILE      a provider's file; may be repeated\n"
    "  --key-fd N           read the key of all of them from descriptor N\n"
    "  --host HOST:PORT     reach them there instead\n"
    "  --ca FILE            trust this bundle of CA certificates\n"
    "  --address NAME=ADDR  NAME has this IPv4 address, and may have it\n"
    "  --resolver ADDR:PORT ask this resolver for all names\n"
    "  --grant FILE         the grant (llm-broker/grant.h) instead\n"
    "  --ledger DIR         keep budgets there, with the real ledger\n"
    "  --budget FILE        its limits (supervisor/ledger/budget_limits.h)\n"
    "  --option KEY=NUMBER  of the broker's config\n"
    "  --key-option KEY=NUMBER\n"
    "                       of llm-key's config\n"
    "  --congestion NAME    TCP_CONGESTION towards the provider\n"
    "  --log FILE           log there (default: standard error)\n"
    "  --log-level LEVEL    debug, info, warn or error\n"
    "  --no-landlock        the host's override of that name\n"
    "  --decisions          decision and usage messages on standard output\n"
    "  --stats              counters on standard output at the end\n"
    "  --broker PROGRAM     the broker to run (default: of this build)\n"
    "\n"
    "example: drive_broker 127.0.0.1:4100 --provider openai.json \\\n"
    "    --key-fd 3 --host api.openai.com:8443 --ca ca.pem \\\n"
    "    --address api.openai.com=127.0.0.1 3< key\n";

enum drive_broker_option {
	DRIVE_PROVIDER = 1,
	DRIVE_KEY_FD,
	DRIVE_HOST,
	DRIVE_CA,
	DRIVE_ADDRESS,
	DRIVE_RESOLVER,
	DRIVE_GRANT,
	DRIVE_LEDGER,
	DRIVE_BUDGET,
	DRIVE_OPTION,
	DRIVE_KEY_OPTION,
	DRIVE_CONGESTION,
	DRIVE_LOG,
	DRIVE_LEVEL,
	DRIVE_NO_LANDLOCK,
	DRIVE_DECISIONS,
	DRIVE_STATS,
	DRIVE_BROKER,
	DRIVE_HELP
};

static const struct option drive_broker_options_long[] = {
    {"provider", 1, NULL, DRIVE_PROVIDER}, {"key-fd", 1, NULL, DRIVE_KEY_FD},
    {"host", 1, NULL, DRIVE_HOST}, {"ca", 1, NULL, DRIVE_CA},
    {"address", 1, NULL, DRIVE_ADDRESS}, {"resolver", 1, NULL, DRIVE_RESOLVER},
    {"grant", 1, NULL, DRIVE_GRANT}, {"ledger", 1, NULL, DRIVE_LEDGER},
    {"budget", 1, NULL, DRIVE_BUDGET}, {"option", 1, NULL, DRIVE_OPTION},
    {"key-option", 1, NULL, DRIVE_KEY_OPTION},
    {"congestion", 1, NULL, DRIVE_CONGESTION}, {"log", 1, NULL, DRIVE_LOG},
    {"log-level", 1, NULL, DRIVE_LEVEL},
    {"no-landlock", 0, NULL, DRIVE_NO_LANDLOCK},
    {"decisions", 0, NULL, DRIVE_DECISIONS}, {"stats", 0, NULL, DRIVE_STATS},
    {"broker", 1, NULL, DRIVE_BROKER}, {"help", 0, NULL, DRIVE_HELP},
    {NULL, 0, NULL, 0}};

static _Noreturn void
drive_broker_options_fail(const char *what, const char *value)
{
	fprintf(stderr, "drive_broker: %s: %s\n", what, value);
	exit(2);
}

static json_t *
drive_broker_options_load(const char *path)
{
	json_error_t error;
	json_t *value = json_load_file(path, JSON_REJECT_DUPLICATES, &error);

	if (value == NULL)
		drive_broker_options_fail(path, error.text);
	return value;
}

/* HOST:PORT apart; host gets what is before the last colon. */
static long
drive_broker_options_split(const char *text, char *host, size_t size)
{
	const char *colon = strrchr(text, ':');
	char *end;
	long port;

	if (colon == NULL || (size_t)(colon - text) >= size)
		drive_broker_options_fail("not HOST:PORT", text);
	memcpy(host, text, (size_t)(colon - text));
	host[colon - text] = '\0';
	port = strtol(colon + 1, &end, 10);
	if (colon[1] == '\0' || *end != '\0' || port < 1 || port > 65535)
		drive_broker_options_fail("not HOST:PORT", text);
	return port;
}

/* KEY=NUMBER into an object. */
static void
drive_broker_options_number(json_t *object, const char *text)
{
	const char *equals = strchr(text, '=');
	char *name, *end;
	long long value;

	if (equals == NULL)
		drive_broker_options_fail("not KEY=NUMBER", text);
	value = strtoll(equals + 1, &end, 10);
	if (*end != '\0')
		drive_broker_options_fail("not KEY=NUMBER", text);
	name = strndup(text, (size_t)(equals - text));
	json_object_set_new(object, name, json_integer(value));
	free(name);
}

static void
drive_broker_options_both(
    struct drive_broker_options *options, const char *key, json_t *value)
{
	json_object_set(options->broker, key, value);
	json_object_set_new(options->key, key, value);
}

/* Options about this tool. */
static void
drive_broker_options_tool(
    struct drive_broker_options *options, enum drive_broker_option option)
{
	if (option == DRIVE_LOG)
		options->log_path = optarg;
	else if (option == DRIVE_LEDGER)
		options->ledger_path = optarg;
	else if (option == DRIVE_DECISIONS)
		options->decisions = true;
	else if (option == DRIVE_STATS)
		options->stats = true;
	else if (option == DRIVE_BROKER)
		options->program = optarg;
	else if (option == DRIVE_HELP) {
		fputs(drive_broker_options_help, stdout);
		exit(0);
	} else
		exit(2);
}

/* Options of the two configurations. */
static void
drive_broker_options_config(
    struct drive_broker_options *options, enum drive_broker_option option)
{
	if (option == DRIVE_OPTION)
		drive_broker_options_number(options->broker, optarg);
	else if (option == DRIVE_KEY_OPTION)
		drive_broker_options_number(options->key, optarg);
	else if (option == DRIVE_CONGESTION)
		json_object_set_new(
		    options->key, "congestion", json_string(optarg));
	else if (option == DRIVE_LEVEL)
		drive_broker_options_both(
		    options, "log_level", json_string(optarg));
	else if (option == DRIVE_NO_LANDLOCK)
		drive_broker_options_both(options, "no_landlock", json_true());
	else
		drive_broker_options_tool(options, option);
}

/* Options about providers; host gets --host's word. */
static void
drive_broker_options_provider(struct drive_broker_options *options,
    enum drive_broker_option option, const char **host)
{
	if (option == DRIVE_PROVIDER)
		json_array_append_new(
		    json_object_get(options->broker, "providers"),
		    drive_broker_options_load(optarg));
	else if (option == DRIVE_KEY_FD)
		options->key_fd = atoi(optarg);
	else if (option == DRIVE_HOST)
		*host = optarg;
	else if (option == DRIVE_CA)
		options->ca_path = optarg;
	else if (option == DRIVE_ADDRESS)
		drive_names_add(&options->names, optarg);
	else if (option == DRIVE_RESOLVER)
		options->resolver = optarg;
	else if (option == DRIVE_GRANT)
		options->grant = drive_broker_options_load(optarg);
	else if (option == DRIVE_BUDGET)
		options->budget = drive_broker_options_load(optarg);
	else
		drive_broker_options_config(options, option);
}

/* Where a provider may resolve into: its own list, and --address. */
static json_t *
drive_broker_options_cidrs(
    const struct drive_broker_options *options, const json_t *upstream)
{
	json_t *cidrs = json_array();
	char text[INET_ADDRSTRLEN + 4];

	json_array_extend(cidrs, json_object_get(upstream, "cidrs"));
	for (size_t i = 0; i < options->names.count; i++) {
		(void)inet_ntop(AF_INET, &options->names.addresses[i], text,
		    INET_ADDRSTRLEN);
		(void)strncat(text, "/32", 4);
		json_array_append_new(cidrs, json_string(text));
	}
	return cidrs;
}

/* llm-key's part of one provider. */
static json_t *
drive_broker_options_upstream(
    const struct drive_broker_options *options, const json_t *provider)
{
	const json_t *upstream = json_object_get(provider, "upstream");
	json_t *part = json_object(), *value;

	json_object_set(part, "name", json_object_get(provider, "name"));
	json_object_set(part, "host", json_object_get(upstream, "host"));
	value = json_object_get(upstream, "port");
	if (value != NULL)
		json_object_set(part, "port", value);
	value = json_object_get(provider, "key");
	json_object_set(part, "key", value != NULL ? value : json_null());
	value = json_object_get(upstream, "tls");
	if (value != NULL)
		json_object_set(part, "tls", value);
	json_object_set_new(
	    part, "cidrs", drive_broker_options_cidrs(options, upstream));
	return part;
}

static void
drive_broker_options_finish(
    struct drive_broker_options *options, const char *host_port)
{
	json_t *providers = json_object_get(options->broker, "providers");
	json_t *names = json_array(), *parts = json_array(), *provider;
	char host[256];
	long port = 0;
	size_t i;

	if (host_port != NULL)
		port =
		    drive_broker_options_split(host_port, host, sizeof(host));
	json_array_foreach(providers, i, provider)
	{
		json_t *upstream = json_object_get(provider, "upstream");

		if (host_port != NULL) {
			json_object_set_new(
			    upstream, "host", json_string(host));
			json_object_set_new(
			    upstream, "port", json_integer(port));
		}
		json_array_append_new(
		    parts, drive_broker_options_upstream(options, provider));
		json_array_append_new(
		    names, json_pack("{s:O}", "name",
			       json_object_get(provider, "name")));
	}
	json_object_set_new(options->key, "providers", parts);
	json_object_set_new(
	    options->broker, "port", json_integer(options->port));
	if (options->budget == NULL)
		options->budget = json_object();
	if (options->grant == NULL)
		options->grant =
		    json_pack("{s:O,s:{s:i,s:i,s:I,s:I,s:I},s:b}", "providers",
			names, "limits", "requests", 1000000000, "concurrent",
			1024, "input_chars", (json_int_t)1000000000000,
			"output_chars", (json_int_t)1000000000000,
			"response_bytes", (json_int_t)1000000000000, "ledger",
			options->ledger_path != NULL);
	json_decref(names);
}

void
drive_broker_options_read(
    int argc, char **argv, struct drive_broker_options *options_r)
{
	const char *host = NULL;
	int option;

	memset(options_r, 0, sizeof(*options_r));
	options_r->key_fd = -1;
	options_r->broker = json_pack("{s:[]}", "providers");
	options_r->key = json_object();
	while ((option = getopt_long(
		    argc, argv, "", drive_broker_options_long, NULL)) != -1)
		drive_broker_options_provider(
		    options_r, (enum drive_broker_option)option, &host);
	if (optind + 1 != argc)
		drive_broker_options_fail("no listener", "give ADDRESS:PORT");
	options_r->port = (uint16_t)drive_broker_options_split(
	    argv[optind], options_r->address, sizeof(options_r->address));
	if (json_array_size(json_object_get(options_r->broker, "providers")) ==
	    0)
		drive_broker_options_fail("no provider", "give --provider");
	drive_broker_options_finish(options_r, host);
}

void
drive_broker_options_free(struct drive_broker_options *options)
{
	json_decref(options->broker);
	json_decref(options->key);
	json_decref(options->grant);
	json_decref(options->budget);
}
