/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See secret_consent.h. It must never give before the record is on disk,
 * and never sees a value.
 */
#include "supervisor/command/secret_consent.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/log.h"
#include "supervisor/command/command.h"
#include "supervisor/policy/secret_grant.h"

#define SECRET_CONSENT_ANSWER_MAX 16

const char *
secret_consent_until(time_t expires, char text_r[40])
{
	struct tm parts;

	if (expires == 0 || gmtime_r(&expires, &parts) == NULL ||
	    strftime(text_r, 40, "until %Y-%m-%d", &parts) == 0)
		(void)snprintf(text_r, 40, "until it is revoked");
	return text_r;
}

static json_t *
secret_consent_record(const struct secret_grant *grant, const char *lockfile)
{
	return json_pack("{s:s, s:s, s:s, s:s, s:O, s:O, s:I, s:s}", "kind",
	    "secrets", "package", grant->package, "version", grant->version,
	    "artifact_hash", grant->artifact_hash, "names", grant->names,
	    "domains", grant->domains, "expires", (json_int_t)grant->expires,
	    "lockfile", lockfile);
}

static int
secret_consent_write(struct command_ledger *ledger,
    const struct secret_grant *grant, const char *lockfile)
{
	struct json_fault fault = {""};
	enum result result;
	int code = command_ledger_write(
	    ledger, "consent", secret_consent_record(grant, lockfile));

	if (code != COMMAND_DONE)
		return code;
	result = secret_grant_add(grant, &fault);
	if (result == RESULT_OK)
		return COMMAND_DONE;
	if (fault.text[0] == '\0')
		json_field_fault(&fault, "%s", result_text(result));
	return command_fault(result, &fault);
}

int
secret_consent_give(struct command_ledger *ledger,
    const struct secret_need *need, const char *lifetime, const char *lockfile)
{
	char key[DIGEST_HEX + 1];
	struct secret_grant grant = {.key = key,
	    .package = need->slug,
	    .version = need->version,
	    .artifact_hash = need->artifact_hash,
	    .names = secret_need_names(need),
	    .domains = secret_need_domains(need),
	    .granted = time(NULL)};
	int code;

	if (!secret_grant_lifetime(lifetime, grant.granted, &grant.expires))
		code = command_error(COMMAND_USAGE,
		    "'%.40s' is no lifetime of a consent: use one "
		    "of " SECRET_GRANT_LIFETIMES,
		    lifetime);
	else if (grant.names == NULL || grant.domains == NULL ||
		 secret_need_key(need, key) != RESULT_OK)
		code = command_error(COMMAND_INTERNAL, "out of memory");
	else
		code = secret_consent_write(ledger, &grant, lockfile);
	json_decref(grant.names);
	json_decref(grant.domains);
	return code;
}

static void
secret_consent_print(const char *title, const json_t *list, const char *none)
{
	char clean[512];
	const json_t *item;
	size_t i;

	if (json_array_size(list) == 0)
		fprintf(stderr, "  %-9s %s\n", title, none);
	json_array_foreach(list, i, item)
	{
		const char *text = json_string_value(item);

		log_clean(text != NULL ? text : "?",
		    text != NULL ? strlen(text) : 1, clean, sizeof(clean));
		fprintf(stderr, "  %-9s %s\n", i == 0 ? title : "", clean);
	}
}

void
secret_consent_show(const struct secret_need *need)
{
	json_t *names = secret_need_names(need);
	json_t *domains = secret_need_domains(need);
	char clean[256];

	log_clean(need->version, strlen(need->version), clean, sizeof(clean));
	fprintf(
	    stderr, "%s %s, %.71s\n", need->slug, clean, need->artifact_hash);
	secret_consent_print("reads", names, "nothing");
	secret_consent_print("reaches", domains, "no host");
	json_decref(names);
	json_decref(domains);
}

/* A person at a terminal, or --yes. Anything else is no. */
int
secret_consent_ask(bool yes, const char *lifetime)
{
	char answer[SECRET_CONSENT_ANSWER_MAX] = "";
	const char *silent = getenv("AGENTNODE_NON_INTERACTIVE");

	if (yes)
		return COMMAND_DONE;
	if (isatty(STDIN_FILENO) != 1 || isatty(STDERR_FILENO) != 1 ||
	    (silent != NULL && strcmp(silent, "") != 0 &&
		strcmp(silent, "0") != 0))
		return command_error(COMMAND_REFUSED,
		    "there is no terminal to ask on: --yes consents to what "
		    "is shown");
	fprintf(stderr, "Give it these for %s? [y/N] ",
	    lifetime != NULL ? lifetime : "90d");
	if (fgets(answer, sizeof(answer), stdin) == NULL ||
	    (strcmp(answer, "y\n") != 0 && strcmp(answer, "yes\n") != 0))
		return command_error(COMMAND_REFUSED, "no consent was given");
	return COMMAND_DONE;
}

int
secret_consent_install(struct command_ledger *ledger, const char *slug,
    const json_t *entry, bool yes, const char *lockfile)
{
	enum secret_grant_state state = SECRET_GRANT_NONE;
	struct json_fault fault = {""};
	char key[DIGEST_HEX + 1];
	struct secret_need need;
	enum boundary_kind kind;
	time_t expires;
	int code;

	(void)boundary_kind_parse(
	    json_string_value(json_object_get(entry, "package_type")),
	    json_string_value(json_object_get(entry, "runtime")), &kind);
	if (secret_need_read(slug, entry, kind, &need, &fault) != RESULT_OK)
		return command_error(
		    COMMAND_DONE, "warning: it will not run: %s", fault.text);
	if (need.count == 0)
		return COMMAND_DONE;
	if (secret_need_key(&need, key) == RESULT_OK &&
	    secret_grant_find(key, time(NULL), &state, &expires, &fault) ==
		RESULT_OK &&
	    state == SECRET_GRANT_GOOD)
		return COMMAND_DONE; /* to this very package */
	secret_consent_show(&need);
	code = secret_consent_ask(yes, NULL);
	if (code != COMMAND_DONE)
		return command_error(COMMAND_DONE,
		    "%s is installed, and is given no secrets: 'agentnode "
		    "consent add %s' gives them",
		    slug, slug);
	return secret_consent_give(ledger, &need, NULL, lockfile);
}
