/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks consent.json about entries. Called by commands; it must never take
 * "cannot be read" for "agreed".
 */
#include "supervisor/command/mcp_consent.h"

#include <string.h>

#include "supervisor/package/lockfile_hash.h"
#include "supervisor/policy/consent.h"
#include "supervisor/policy/guard_make.h"

#define MCP_CONSENT_RECORD_MAX 32768U

const struct mcp_consent_field mcp_consent_fields[] = {{"mcp_install", "is"},
    {"agent", "asks for"}, {"permissions", "has"},
    {"mcp_allowed_domains", "reaches"}, {"files", "reads"}, {"state", "keeps"},
    {"env", "sets"}, {"tools", "offers"}, {"entrypoint", "starts"},
    {"mcp_env_keys", "wants the secrets"},
    {"env_requirements", "wants the secrets"}, {"connector", "connects to"},
    {"mcp_preinstall_command", "starts"}, {"mcp_command", "with the words"},
    {"volume_content_hash", "sealed as"}, {NULL, NULL}};

void
mcp_consent_open(struct mcp_consent *consent_r)
{
	*consent_r = (struct mcp_consent){.list = NULL};
	if (consent_load(&consent_r->list, &consent_r->fault) != RESULT_OK &&
	    consent_r->fault.text[0] == '\0')
		json_field_fault(&consent_r->fault,
		    CONSENT_NAME " of AGENTNODE_HOME cannot be read");
}

void
mcp_consent_close(struct mcp_consent *consent)
{
	json_decref(consent->list);
	consent->list = NULL;
}

bool
mcp_consent_given(const struct mcp_consent *consent, const char *slug,
    const json_t *entry, struct json_fault *fault)
{
	char hash[DIGEST_HEX + 1];

	if (consent->list == NULL)
		*fault = consent->fault;
	else if (lockfile_hash_consent(slug, entry, hash) != RESULT_OK)
		json_field_fault(fault, "out of memory");
	else if (!consent_holds(consent->list, hash))
		json_field_fault(fault,
		    "needs consent: nobody on this host agreed to this entry; "
		    "read it with 'agentnode info %.60s', then 'agentnode "
		    "lock seal'",
		    slug);
	else
		return true;
	return false;
}

/* A record holds names, never values: of "env" the names. */
static json_t *
mcp_consent_value(const char *key, const json_t *value)
{
	json_t *names, *text;
	const char *name;

	if (strcmp(key, "env") != 0 || !json_is_object(value))
		return json_incref((json_t *)value);
	names = json_array();
	json_object_foreach((json_t *)value, name, text)
	    json_array_append_new(names, json_string(name));
	return names;
}

/* Of a long entry its hash alone: a record is one datagram on its way. */
static bool
mcp_consent_fits(const json_t *value, size_t *left)
{
	size_t size = json_dumpb(value, NULL, 0, JSON_ENCODE_ANY);

	if (size == 0 || size > *left)
		return false;
	*left -= size;
	return true;
}

json_t *
mcp_consent_record(const char *slug, const json_t *entry, const char *lockfile)
{
	const struct mcp_consent_field *field = mcp_consent_fields;
	size_t left = MCP_CONSENT_RECORD_MAX;
	char hash[DIGEST_HEX + 1];
	json_t *fields, *value, *guard;
	bool whole = true;

	if (lockfile_hash_consent(slug, entry, hash) != RESULT_OK)
		return NULL;
	fields = json_pack("{s:s, s:s, s:s}", "package", slug, "lockfile",
	    lockfile, "entry_hash", hash);
	for (; field->key != NULL; field++) {
		value = json_object_get(entry, field->key);
		if (value == NULL || json_is_null(value))
			continue;
		value = mcp_consent_value(field->key, value);
		if (mcp_consent_fits(value, &left))
			(void)json_object_set(fields, field->key, value);
		else
			whole = false;
		json_decref(value);
	}
	guard = guard_make_consent(entry);
	if (mcp_consent_fits(guard, &left))
		(void)json_object_set(fields, "guard", guard);
	else
		whole = false;
	json_decref(guard);
	(void)json_object_set_new(fields, "whole", json_boolean(whole));
	return fields;
}
