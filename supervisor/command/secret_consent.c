/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See secret_consent.h. It must never give before the record is on disk,
 * and never sees a value.
 */
#include "supervisor/command/secret_consent.h"

#include <stdio.h>
#include <time.h>

#include "supervisor/command/command.h"
#include "supervisor/policy/secret_grant.h"

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
