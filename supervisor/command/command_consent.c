/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `agentnode consent add|list|revoke`: to which packages this host gives
 * secrets, and which it agreed to run. Called by command_dispatch; it must
 * never see a value, and takes no answer but a person's or --yes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/log.h"
#include "supervisor/command/command.h"
#include "supervisor/command/command_option.h"
#include "supervisor/command/secret_consent.h"
#include "supervisor/package/run_entry.h"
#include "supervisor/policy/consent.h"
#include "supervisor/policy/secret_grant.h"

struct command_consent {
	bool json, yes, run;
	const char *lockfile, *lifetime, *slug;
};

static bool
command_consent_parse(int argc, char **argv, struct command_consent *consent_r)
{
	static const struct option known[] = {{"json", no_argument, NULL, 'j'},
	    {"yes", no_argument, NULL, 'y'}, {"run", no_argument, NULL, 'r'},
	    {"for", required_argument, NULL, 'f'},
	    {"lockfile", required_argument, NULL, 'l'}, {NULL, 0, NULL, 0}};
	int option;

	*consent_r = (struct command_consent){.json = false};
	while ((option = command_option_next(argc, argv, "", known)) != -1) {
		if (option == 'j')
			consent_r->json = true;
		else if (option == 'y')
			consent_r->yes = true;
		else if (option == 'r')
			consent_r->run = true;
		else if (option == 'f')
			consent_r->lifetime = optarg;
		else if (option == 'l')
			consent_r->lockfile = optarg;
		else
			return false;
	}
	consent_r->slug = optind < argc ? argv[optind] : NULL;
	return argc - optind <= 1;
}

/* ---- add ---- */

static int
command_consent_give(const struct command_consent *consent,
    const struct run_entry *run, const struct secret_need *need)
{
	struct command_ledger ledger = {NULL, NULL};
	time_t expires = 0;
	char until[40];
	int code = secret_consent_ask(consent->yes, consent->lifetime);

	if (code == COMMAND_DONE)
		code = command_ledger_open(&ledger);
	if (code == COMMAND_DONE)
		code = secret_consent_give(
		    &ledger, need, consent->lifetime, run->path);
	command_ledger_close(&ledger);
	if (code != COMMAND_DONE)
		return code;
	(void)secret_grant_lifetime(consent->lifetime, time(NULL), &expires);
	printf("%s is given its secrets %s\n", need->slug,
	    secret_consent_until(expires, until));
	return COMMAND_DONE;
}

static int
command_consent_entry(
    const struct command_consent *consent, struct run_entry *run)
{
	struct secret_need need;
	enum boundary_kind kind;
	enum result result =
	    run_entry_open(consent->slug, consent->lockfile, run);

	if (result != RESULT_OK)
		return command_fault(result, &run->fault);
	(void)boundary_kind_parse(
	    json_string_value(json_object_get(run->entry, "package_type")),
	    json_string_value(json_object_get(run->entry, "runtime")), &kind);
	result = secret_need_read(
	    consent->slug, run->entry, kind, &need, &run->fault);
	if (result != RESULT_OK)
		return command_error(COMMAND_REFUSED, "%s", run->fault.text);
	if (need.count == 0)
		return command_error(COMMAND_NO,
		    "%.60s asks for no secrets: there is nothing to consent to",
		    consent->slug);
	secret_consent_show(&need);
	return command_consent_give(consent, run, &need);
}

static int
command_consent_add(int argc, char **argv)
{
	struct command_consent consent;
	struct run_entry *run;
	time_t expires;
	int code;

	if (!command_consent_parse(argc, argv, &consent) ||
	    consent.slug == NULL || consent.json || consent.run)
		return command_option_fault("consent add");
	if (!secret_grant_lifetime(consent.lifetime, 0, &expires))
		return command_error(COMMAND_USAGE,
		    "--for '%.40s' is no lifetime: use one "
		    "of " SECRET_GRANT_LIFETIMES,
		    consent.lifetime);
	run = calloc(1, sizeof(*run));
	if (run == NULL)
		return command_error(COMMAND_INTERNAL, "out of memory");
	code = command_consent_entry(&consent, run);
	run_entry_clear(run);
	free(run);
	return code;
}

/* ---- list ---- */

static json_t *
command_consent_secrets(const json_t *grants, const char *slug)
{
	static const char *const copies[] = {"package", "version",
	    "artifact_hash", "names", "domains", "granted", "expires"};
	json_t *rows = json_array();
	const json_t *grant;
	size_t i;

	json_array_foreach(grants, i, grant)
	{
		json_t *row = json_object();

		for (size_t k = 0; k < sizeof(copies) / sizeof(copies[0]); k++)
			(void)json_object_set(
			    row, copies[k], json_object_get(grant, copies[k]));
		(void)json_object_set_new(row, "state",
		    json_string(secret_grant_state_text(
			secret_grant_state_of(grant, time(NULL)))));
		if (slug == NULL ||
		    strcmp(slug, json_string_value(
				     json_object_get(grant, "package"))) == 0)
			(void)json_array_append(rows, row);
		json_decref(row);
	}
	return rows;
}

static json_t *
command_consent_runs(const json_t *consents, const char *slug)
{
	json_t *rows = json_array();
	const json_t *item;
	size_t i;

	json_array_foreach(consents, i, item)
	{
		if (slug == NULL ||
		    strcmp(slug, json_string_value(
				     json_object_get(item, "package"))) == 0)
			(void)json_array_append(rows, (json_t *)item);
	}
	return rows;
}

static void
command_consent_row(const json_t *row)
{
	const json_t *names = json_object_get(row, "names");
	char until[40];
	const json_t *name;
	size_t i;

	printf("%s %s  %s, %s: ",
	    json_string_value(json_object_get(row, "package")),
	    json_string_value(json_object_get(row, "version")),
	    json_string_value(json_object_get(row, "state")),
	    secret_consent_until(
		(time_t)json_integer_value(json_object_get(row, "expires")),
		until));
	json_array_foreach(names, i, name)
	    printf("%s%s", i > 0 ? ", " : "", json_string_value(name));
	printf("\n");
}

static int
command_consent_list(int argc, char **argv)
{
	struct command_consent consent;
	struct json_fault fault = {""};
	json_t *grants = NULL, *runs = NULL, *answer;
	const json_t *row;
	enum result result;
	size_t i;
	int code = COMMAND_DONE;

	if (!command_consent_parse(argc, argv, &consent) || consent.yes ||
	    consent.run || consent.lifetime != NULL || consent.lockfile != NULL)
		return command_option_fault("consent list");
	result = secret_grant_load(&grants, &fault);
	if (result == RESULT_OK)
		result = consent_load(&runs, &fault);
	if (result == RESULT_OK) {
		answer = json_pack("{s:o, s:o}", "secrets",
		    command_consent_secrets(grants, consent.slug), "runs",
		    command_consent_runs(runs, consent.slug));
		if (consent.json)
			code = command_print_json(answer);
		else
			json_array_foreach(json_object_get(answer, "secrets"),
			    i, row) command_consent_row(row);
		json_decref(answer);
	} else
		code = command_fault(result, &fault);
	json_decref(grants);
	json_decref(runs);
	return code;
}

/* ---- revoke ---- */

/* Consents to run it, wherever they came from. */
static enum result
command_consent_drop(
    const char *slug, size_t *count_r, struct json_fault *fault)
{
	json_t *list = NULL;
	const json_t *item;
	enum result result = consent_load(&list, fault);
	size_t i;

	json_array_foreach(list, i, item)
	{
		if (result != RESULT_OK ||
		    strcmp(slug, json_string_value(
				     json_object_get(item, "package"))) != 0)
			continue;
		result = consent_drop(
		    json_string_value(json_object_get(item, "hash")), fault);
		(*count_r)++;
	}
	json_decref(list);
	return result;
}

static int
command_consent_take(
    const struct command_consent *consent, size_t *secrets_r, size_t *runs_r)
{
	struct command_ledger ledger;
	struct json_fault fault = {""};
	enum result result;
	int code = command_ledger_open(&ledger);

	if (code == COMMAND_DONE)
		code = command_ledger_write(&ledger, "consent_revoked",
		    json_pack("{s:s, s:b, s:b}", "package", consent->slug,
			"secrets", 1, "run", consent->run));
	command_ledger_close(&ledger);
	if (code != COMMAND_DONE)
		return code;
	result = secret_grant_revoke(consent->slug, secrets_r, &fault);
	if (result == RESULT_OK && consent->run)
		result = command_consent_drop(consent->slug, runs_r, &fault);
	return result == RESULT_OK ? COMMAND_DONE
				   : command_fault(result, &fault);
}

static int
command_consent_revoke(int argc, char **argv)
{
	struct command_consent consent;
	size_t secrets = 0, runs = 0;
	json_t *answer;
	int code;

	if (!command_consent_parse(argc, argv, &consent) ||
	    consent.slug == NULL || consent.yes || consent.lifetime != NULL ||
	    consent.lockfile != NULL)
		return command_option_fault("consent revoke");
	code = command_consent_take(&consent, &secrets, &runs);
	if (code != COMMAND_DONE)
		return code;
	if (consent.json) {
		answer = json_pack("{s:s, s:I, s:I}", "package", consent.slug,
		    "secrets", (json_int_t)secrets, "runs", (json_int_t)runs);
		code = command_print_json(answer);
		json_decref(answer);
	} else
		printf("%s: %zu consents to secrets and %zu to run it are "
		       "taken back\n",
		    consent.slug, secrets, runs);
	return code == COMMAND_DONE && secrets + runs == 0 ? COMMAND_NO : code;
}

extern const struct command command_consent_rows[];
const struct command command_consent_rows[] = {
    {"consent add", "give a package the secrets that it asks for",
	"Usage: agentnode consent add SLUG [--for LIFETIME] [--yes]\n"
	"         [--lockfile FILE]\n\n"
	"Shows which variables the package reads and which hosts it reaches,\n"
	"asks, and from then on gives them to it at every run, from the\n"
	"environment of agentnode. The consent is bound to this version, its\n"
	"hash, these names and these hosts. No value is asked for or kept.\n\n"
	"Options:\n"
	"  --for LIFETIME    7d, 30d, 90d (when not said) or forever\n"
	"  --yes             consent without being asked\n"
	"  --lockfile FILE   instead of ./agentnode.lock or\n"
	"                    AGENTNODE_HOME/agentnode.lock\n\n"
	"Example:\n"
	"  agentnode consent add server-github --for 30d\n",
	command_consent_add},
    {"consent list", "list who is given secrets, and until when",
	"Usage: agentnode consent list [SLUG] [--json]\n\n"
	"One line per consent: package, whether it is in force, until when,\n"
	"the names. With --json also the consents to run packages.\n\n"
	"Options:\n"
	"  --json   {\"secrets\": [...], \"runs\": [...]}\n\n"
	"Example:\n"
	"  agentnode consent list\n",
	command_consent_list},
    {"consent revoke", "take a consent back",
	"Usage: agentnode consent revoke SLUG [--run] [--json]\n\n"
	"No version of the package is given secrets any more; what runs\n"
	"already has them. Exits 1 when there was nothing to take back.\n\n"
	"Options:\n"
	"  --run    also the consent to run it at all\n"
	"  --json   {\"package\", \"secrets\", \"runs\"}: how many\n\n"
	"Example:\n"
	"  agentnode consent revoke server-github\n",
	command_consent_revoke},
    {NULL, NULL, NULL, NULL},
};
