/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `agentnode egress check`: would this destination pass, and by which rule.
 * Called by command_dispatch. Asks the same policy code as the proxy; it
 * must never send a byte or look a name up.
 */
#include <stdio.h>
#include <string.h>

#include "common/log.h"
#include "egress-proxy/connect_request.h"
#include "egress-proxy/host_policy.h"
#include "supervisor/command/command.h"
#include "supervisor/command/command_option.h"
#include "supervisor/policy/config.h"
#include "supervisor/policy/config_idn.h"
#include "supervisor/policy/egress_lint.h"

#define COMMAND_EGRESS_ENTRY_MAX 1024U
#define COMMAND_EGRESS_TARGET_MAX 600U

/* What is asked, and what comes out. */
struct command_egress {
	const struct config *config;
	struct host_policy *policy;
	bool json, any_allow, plain_http;
	char target[COMMAND_EGRESS_TARGET_MAX]; /* canonical, or escaped */
	struct host_policy_decision decision;
};

/* Add one entry; origin is the option or key it comes from. */
static int
command_egress_add(struct command_egress *check, const char *origin,
    const char *text, bool deny)
{
	char canonical[COMMAND_EGRESS_ENTRY_MAX], why[CONFIG_IDN_WHY_MAX];
	enum domain_fault name_fault;
	enum policy_entry_fault fault;

	if (!config_idn_entry(text, deny, canonical, sizeof(canonical), why))
		return command_error(COMMAND_CONFIG, "%s: the entry \"%s\" %s",
		    origin, text, why);
	if (!deny && !config_permits_entry(check->config, canonical)) {
		command_error(0,
		    "%s: \"%s\" is left out, the team policy does not permit "
		    "it",
		    origin, canonical);
		return COMMAND_DONE;
	}
	fault =
	    deny ? host_policy_add_deny(check->policy, canonical, &name_fault)
		 : host_policy_add_allow(check->policy, canonical, &name_fault);
	if (fault != POLICY_ENTRY_OK)
		return command_error(COMMAND_CONFIG, "%s: the entry \"%s\" %s",
		    origin, text, policy_entry_fault_text(fault, name_fault));
	if (!deny && egress_lint_entry(canonical) != NULL)
		fprintf(stderr, "Note: %s %s.\n", canonical,
		    egress_lint_entry(canonical));
	return COMMAND_DONE;
}

/* Every entry of a list of the configuration. */
static int
command_egress_add_config(
    struct command_egress *check, const char *key, bool deny)
{
	const json_t *list = config_json(check->config, key);
	int code = COMMAND_DONE;
	size_t i;

	for (i = 0; code == COMMAND_DONE && i < json_array_size(list); i++)
		code = command_egress_add(check, key,
		    json_string_value(json_array_get(list, i)), deny);
	return code;
}

static int
command_egress_options(struct command_egress *check, int argc, char **argv)
{
	static const struct option known[] = {
	    {"allow", required_argument, NULL, 'a'},
	    {"deny", required_argument, NULL, 'd'},
	    {"json", no_argument, NULL, 'j'}, {NULL, 0, NULL, 0}};
	int option, code = COMMAND_DONE;

	while (code == COMMAND_DONE &&
	       (option = command_option_next(argc, argv, "", known)) != -1) {
		if (option == 'j')
			check->json = true;
		else if (option == 'a')
			code =
			    command_egress_add(check, "--allow", optarg, false);
		else if (option == 'd')
			code =
			    command_egress_add(check, "--deny", optarg, true);
		else
			code = command_option_fault("egress check");
		if (option == 'a')
			check->any_allow = true;
	}
	if (code == COMMAND_DONE && argc - optind != 1)
		code = command_option_fault("egress check");
	return code;
}

static void
command_egress_ask(struct command_egress *check,
    const struct connect_request_target *target,
    enum host_policy_traffic traffic)
{
	if (target->is_address)
		host_policy_check_literal(check->policy, traffic,
		    &target->address, target->port, &check->decision);
	else
		host_policy_check_name(check->policy, traffic, &target->name,
		    target->port, &check->decision);
}

/* Decide on "host:port", or on "http://host:port" as plain HTTP alone. A
 * target that is not strict is what the proxy would answer to it. */
static void
command_egress_decide(struct command_egress *check, const char *text)
{
	struct connect_request_target target;
	char host[DOMAIN_NAME_MAX + 1];

	check->plain_http = strncmp(text, "http://", 7) == 0;
	if (check->plain_http)
		text += 7;
	if (connect_request_parse_authority(text, strlen(text), &target) !=
	    RESULT_OK) {
		log_clean(
		    text, strlen(text), check->target, sizeof(check->target));
		check->decision.code = DENY_BAD_REQUEST;
		return;
	}
	connect_request_host_text(&target, host);
	snprintf(check->target, sizeof(check->target),
	    strchr(host, ':') != NULL ? "[%s]:%u" : "%s:%u", host, target.port);
	if (!check->plain_http)
		command_egress_ask(check, &target, HOST_POLICY_TUNNEL);
	/* The entry may be for plain HTTP: the other way to the same port. */
	if (check->plain_http || check->decision.code == DENY_PORT_NOT_ALLOWED)
		command_egress_ask(check, &target, HOST_POLICY_HTTP);
}

static const char *
command_egress_kind(const struct command_egress *check)
{
	if (check->decision.code != DENY_NONE)
		return NULL;
	switch (check->decision.kind) {
	case POLICY_ENTRY_TLS:
	case POLICY_ENTRY_WILDCARD:
		return "tls";
	case POLICY_ENTRY_RAW:
		return "raw";
	case POLICY_ENTRY_HTTP:
		return "http";
	}
	return NULL;
}

static int
command_egress_print_json(const struct command_egress *check)
{
	enum deny_code code = check->decision.code;
	json_t *value;
	int result;

	value = json_pack("{s:s, s:b, s:s?, s:s?, s:s?, s:s?}", "target",
	    check->target, "allowed", code == DENY_NONE, "code",
	    code == DENY_NONE ? NULL : deny_text(code), "rule",
	    check->decision.rule, "kind", command_egress_kind(check),
	    "sentence", code == DENY_NONE ? NULL : deny_sentence(code));
	if (value == NULL)
		return command_error(COMMAND_INTERNAL, "out of memory");
	result = command_print_json(value);
	json_decref(value);
	return result;
}

static int
command_egress_print(const struct command_egress *check)
{
	const char *rule = check->decision.rule;
	enum deny_code code = check->decision.code;
	int printed = COMMAND_DONE;

	if (check->json)
		printed = command_egress_print_json(check);
	else if (code == DENY_NONE)
		printf("allowed %s\nrule: %s (%s)\n", check->target, rule,
		    command_egress_kind(check));
	else
		printf("refused %s\ncode: %s\nrule: %s\n%s\n", check->target,
		    deny_text(code), rule != NULL ? rule : "none",
		    deny_sentence(code));
	if (printed != COMMAND_DONE)
		return printed;
	return code == DENY_NONE ? COMMAND_DONE : COMMAND_REFUSED;
}

/* With a loaded configuration and an empty policy. */
static int
command_egress_run(struct command_egress *check, int argc, char **argv)
{
	int code;

	code = command_egress_options(check, argc, argv);
	if (code == COMMAND_DONE && !check->any_allow)
		code = command_egress_add_config(check, "egress.allow", false);
	if (code == COMMAND_DONE)
		code = command_egress_add_config(check, "egress.deny", true);
	if (code != COMMAND_DONE)
		return code;
	command_egress_decide(check, argv[optind]);
	return command_egress_print(check);
}

static int
command_egress_check(int argc, char **argv)
{
	struct command_egress check;
	struct json_fault fault = {""};
	struct config *config = NULL;
	enum result result;
	int code;

	memset(&check, 0, sizeof(check));
	result = config_load(&config, &fault);
	if (result != RESULT_OK)
		return command_fault(result, &fault);
	check.config = config;
	code = COMMAND_INTERNAL;
	if (host_policy_new(&check.policy) == RESULT_OK)
		code = command_egress_run(&check, argc, argv);
	host_policy_free(&check.policy);
	config_free(&config);
	return code;
}

const struct command command_egress_rows[] = {
    {"egress check", "would this destination pass, and why",
	"Usage: agentnode egress check [--allow ENTRY]... [--deny ENTRY]...\n"
	"                              [--json] -- HOST:PORT\n\n"
	"Asks the policy that the egress proxy enforces; sends nothing and\n"
	"looks nothing up, so the addresses of a name are not judged here.\n"
	"Without --allow the entries of egress.allow count; those of\n"
	"egress.deny always do. http://HOST:PORT asks about plain HTTP only.\n"
	"ENTRY: api.example.com[:PORT], *.example.com[:PORT],\n"
	"tcp://ADDRESS[/BITS]:PORT or http://HOST[:PORT].\n\n"
	"Options:\n"
	"  --allow ENTRY  what would be allowed, instead of egress.allow\n"
	"  --deny ENTRY   what would be denied, beside egress.deny\n"
	"  --json         the answer as JSON\n\n"
	"Exit codes: 0 it would pass, 3 it is refused, 5 an entry is\n"
	"malformed.\n\n"
	"Example:\n"
	"  agentnode egress check --allow '*.example.com' -- "
	"api.example.com:443\n",
	command_egress_check},
    {NULL, NULL, NULL, NULL},
};
