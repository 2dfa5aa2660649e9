/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads drive_proxy's command line. A tool for tests and benches: it exits
 * on bad usage, and trusts who runs it.
 */
#include "tests/bench/drive_options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char drive_options_help[] =
    "usage: drive_proxy ADDRESS:PORT [options]\n"
    "\n"
    "Runs the real, confined egress proxy as a supervisor would: a listener\n"
    "for CONNECT and plain HTTP on ADDRESS:PORT, a policy, a log. Prints\n"
    "`ready` when it serves; SIGTERM or SIGINT ends both.\n"
    "\n"
    "  --allow ENTRY            allow entry; may be repeated\n"
    "  --deny ENTRY             deny entry; wins over any allow\n"
    "  --direct NAME[:NPORT]=ADDRESS:PORT\n"
    "                           direct listener: TLS for NAME, dialled at\n"
    "                           NPORT (default: PORT)\n"
    "  --extra-range NAME=CIDR  NAME may resolve into CIDR\n"
    "  --own CIDR               an address range of the host itself\n"
    "  --ech NAME               NAME may use encrypted ClientHello\n"
    "  --resolver ADDR:PORT,... DNS servers (default 127.0.0.1:53)\n"
    "  --upstream-proxy HOST:PORT\n"
    "                           the corporate proxy\n"
    "  --limit KEY=NUMBER       max_tunnels, head_timeout_ms,\n"
    "                           hello_timeout_ms, dial_timeout_ms,\n"
    "                           lookup_timeout_ms, idle_timeout_s,\n"
    "                           total_timeout_s, rate_bytes, max_bytes,\n"
    "                           log_rate, uid\n"
    "  --log FILE               log there (default: standard error)\n"
    "  --log-level LEVEL        debug, info, warn or error\n"
    "  --no-splice              copy instead of splice(2)\n"
    "  --congestion NAME        TCP_CONGESTION on both sides\n"
    "  --no-landlock            the host's override of that name\n"
    "  --decisions              decision messages on standard output\n"
    "  --stats                  counters on standard output at the end\n"
    "  --commands               read commands from standard input, answer\n"
    "                           each with a line: stats | policy JSON |\n"
    "                           close | resolver SERVERS\n"
    "  --proxy PROGRAM          the proxy to run (default: of this build)\n"
    "\n"
    "example: drive_proxy 127.0.0.1:3128 --allow api.example.test:8443 \\\n"
    "    --resolver 127.0.0.1:5353 --extra-range "
    "api.example.test=127.0.0.0/8\n";

enum drive_option {
	DRIVE_ALLOW = 1,
	DRIVE_DENY,
	DRIVE_DIRECT,
	DRIVE_EXTRA,
	DRIVE_OWN,
	DRIVE_ECH,
	DRIVE_RESOLVER,
	DRIVE_UPSTREAM,
	DRIVE_LIMIT,
	DRIVE_LOG,
	DRIVE_LEVEL,
	DRIVE_NO_SPLICE,
	DRIVE_CONGESTION,
	DRIVE_NO_LANDLOCK,
	DRIVE_DECISIONS,
	DRIVE_STATS,
	DRIVE_COMMANDS,
	DRIVE_PROXY,
	DRIVE_HELP
};

static const struct option drive_options_long[] = {
    {"allow", 1, NULL, DRIVE_ALLOW}, {"deny", 1, NULL, DRIVE_DENY},
    {"direct", 1, NULL, DRIVE_DIRECT}, {"extra-range", 1, NULL, DRIVE_EXTRA},
    {"own", 1, NULL, DRIVE_OWN}, {"ech", 1, NULL, DRIVE_ECH},
    {"resolver", 1, NULL, DRIVE_RESOLVER},
    {"upstream-proxy", 1, NULL, DRIVE_UPSTREAM},
    {"limit", 1, NULL, DRIVE_LIMIT}, {"log", 1, NULL, DRIVE_LOG},
    {"log-level", 1, NULL, DRIVE_LEVEL},
    {"no-splice", 0, NULL, DRIVE_NO_SPLICE},
    {"congestion", 1, NULL, DRIVE_CONGESTION},
    {"no-landlock", 0, NULL, DRIVE_NO_LANDLOCK},
    {"decisions", 0, NULL, DRIVE_DECISIONS}, {"stats", 0, NULL, DRIVE_STATS},
    {"commands", 0, NULL, DRIVE_COMMANDS}, {"proxy", 1, NULL, DRIVE_PROXY},
    {"help", 0, NULL, DRIVE_HELP}, {NULL, 0, NULL, 0}};

static _Noreturn void
drive_options_fail(const char *what, const char *value)
{
	fprintf(stderr, "drive_proxy: %s: %s\n", what, value);
	exit(2);
}

static uint16_t
drive_options_port(const char *text)
{
	char *end;
	long port = strtol(text, &end, 10);

	if (*text == '\0' || *end != '\0' || port < 0 || port > 65535)
		drive_options_fail("not a port", text);
	return (uint16_t)port;
}

/* ADDRESS:PORT or [ADDRESS]:PORT */
static struct drive_listener *
drive_options_listener(struct drive_options *options, const char *text)
{
	const char *colon = strrchr(text, ':');
	struct drive_listener *listener;
	size_t len;

	if (options->listener_count == DRIVE_OPTIONS_LISTENERS_MAX)
		drive_options_fail("too many listeners", text);
	listener = &options->listeners[options->listener_count++];
	if (colon == NULL)
		drive_options_fail("not ADDRESS:PORT", text);
	listener->port = drive_options_port(colon + 1);
	len = (size_t)(colon - text);
	if (len >= 2 && text[0] == '[') {
		text++;
		len -= 2;
	}
	if (len == 0 || len >= sizeof(listener->address))
		drive_options_fail("not ADDRESS:PORT", text);
	memcpy(listener->address, text, len);
	return listener;
}

/* NAME[:NPORT]=ADDRESS:PORT */
static void
drive_options_direct(struct drive_options *options, const char *text)
{
	const char *equals = strchr(text, '=');
	struct drive_listener *listener;
	char *colon;

	if (equals == NULL || (size_t)(equals - text) >= sizeof(listener->name))
		drive_options_fail("not NAME=ADDRESS:PORT", text);
	listener = drive_options_listener(options, equals + 1);
	memcpy(listener->name, text, (size_t)(equals - text));
	listener->name_port = listener->port;
	colon = strchr(listener->name, ':');
	if (colon != NULL) {
		listener->name_port = drive_options_port(colon + 1);
		*colon = '\0';
	}
}

static void
drive_options_append(json_t *object, const char *key, const char *text)
{
	json_array_append_new(json_object_get(object, key), json_string(text));
}

/* NAME=CIDR into extra_ranges, one object per name. */
static void
drive_options_extra(struct drive_options *options, const char *text)
{
	json_t *list = json_object_get(options->policy, "extra_ranges");
	const char *equals = strchr(text, '=');
	json_t *item;
	size_t i;
	char *name;

	if (equals == NULL)
		drive_options_fail("not NAME=CIDR", text);
	name = strndup(text, (size_t)(equals - text));
	json_array_foreach(list, i, item)
	{
		if (strcmp(json_string_value(json_object_get(item, "name")),
			name) == 0)
			break;
	}
	if (i == json_array_size(list))
		json_array_append_new(
		    list, json_pack("{s:s,s:[]}", "name", name, "cidrs"));
	drive_options_append(json_array_get(list, i), "cidrs", equals + 1);
	free(name);
}

static void
drive_options_limit(struct drive_options *options, const char *text)
{
	const char *equals = strchr(text, '=');
	char *name, *end;
	long long value;

	if (equals == NULL)
		drive_options_fail("not KEY=NUMBER", text);
	value = strtoll(equals + 1, &end, 10);
	if (*end != '\0')
		drive_options_fail("not KEY=NUMBER", text);
	name = strndup(text, (size_t)(equals - text));
	json_object_set_new(options->config, name, json_integer(value));
	free(name);
}

static void
drive_options_set(struct drive_options *options, const char *key, json_t *value)
{
	json_object_set_new(options->config, key, value);
}

/* Options about this tool. */
static void
drive_options_tool(struct drive_options *options, enum drive_option option)
{
	if (option == DRIVE_LOG)
		options->log_path = optarg;
	else if (option == DRIVE_DECISIONS)
		options->decisions = true;
	else if (option == DRIVE_STATS)
		options->stats = true;
	else if (option == DRIVE_COMMANDS)
		options->commands = true;
	else if (option == DRIVE_PROXY)
		options->program = optarg;
	else if (option == DRIVE_HELP) {
		fputs(drive_options_help, stdout);
		exit(0);
	} else
		exit(2);
}

/* Options of the proxy's config. */
static void
drive_options_config(struct drive_options *options, enum drive_option option)
{
	if (option == DRIVE_RESOLVER)
		drive_options_set(options, "resolver", json_string(optarg));
	else if (option == DRIVE_UPSTREAM)
		drive_options_set(
		    options, "upstream_proxy", json_string(optarg));
	else if (option == DRIVE_LIMIT)
		drive_options_limit(options, optarg);
	else if (option == DRIVE_LEVEL)
		drive_options_set(options, "log_level", json_string(optarg));
	else if (option == DRIVE_NO_SPLICE)
		drive_options_set(options, "splice", json_false());
	else if (option == DRIVE_NO_LANDLOCK)
		drive_options_set(options, "no_landlock", json_true());
	else if (option == DRIVE_CONGESTION) {
		options->congestion = optarg;
		drive_options_set(options, "congestion", json_string(optarg));
	} else
		drive_options_tool(options, option);
}

/* Options of the policy. */
static void
drive_options_policy(struct drive_options *options, enum drive_option option)
{
	if (option == DRIVE_ALLOW)
		drive_options_append(options->policy, "allow", optarg);
	else if (option == DRIVE_DENY)
		drive_options_append(options->policy, "deny", optarg);
	else if (option == DRIVE_OWN)
		drive_options_append(options->policy, "own", optarg);
	else if (option == DRIVE_ECH)
		drive_options_append(options->policy, "ech", optarg);
	else if (option == DRIVE_EXTRA)
		drive_options_extra(options, optarg);
	else if (option == DRIVE_DIRECT)
		drive_options_direct(options, optarg);
	else
		drive_options_config(options, option);
}

void
drive_options_read(int argc, char **argv, struct drive_options *options_r)
{
	int option;

	memset(options_r, 0, sizeof(*options_r));
	options_r->config = json_pack("{s:s}", "resolver", "127.0.0.1:53");
	options_r->policy = json_pack("{s:[],s:[],s:[],s:[],s:[]}", "allow",
	    "deny", "extra_ranges", "own", "ech");
	while ((option = getopt_long(
		    argc, argv, "", drive_options_long, NULL)) != -1)
		drive_options_policy(options_r, (enum drive_option)option);
	for (; optind < argc; optind++)
		(void)drive_options_listener(options_r, argv[optind]);
	if (options_r->listener_count == 0)
		drive_options_fail("no listener", "give ADDRESS:PORT");
}

void
drive_options_free(struct drive_options *options)
{
	json_decref(options->config);
	json_decref(options->policy);
}
