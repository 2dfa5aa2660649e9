/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tier of an entry; see trust.h. It must never take a tier from a text
 * that nobody signed, nor let an attestation that does not hold pass as none.
 */
#include "supervisor/policy/trust.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/policy/attestation.h"
#include "supervisor/policy/ed25519.h"
#include "supervisor/policy/signed_text.h"
#include "supervisor/policy/trust_bound.h"

/* One entry while it is judged; fault is without the slug. */
struct trust_case {
	const struct config *config;
	const char *slug, *version, *hash; /* never NULL */
	const json_t *entry;
	struct attestation attestation;
	struct json_fault fault;
};

/* NULL for absent, null, and an object that says nothing. */
static const json_t *
trust_part(const json_t *entry, const char *name)
{
	const json_t *part = json_object_get(entry, name);

	if (part == NULL || json_is_null(part) ||
	    (json_is_object(part) && json_object_size(part) == 0))
		return NULL;
	return part;
}

static const char *
trust_text(const json_t *entry, const char *name)
{
	const char *text = json_string_value(json_object_get(entry, name));

	return text != NULL ? text : "";
}

bool
trust_is_pinned(const struct config *config, const char *key)
{
	const json_t *keys = config_json(config, "trust.registry_keys");
	const char *name;
	json_t *pinned;

	json_object_foreach((json_t *)(uintptr_t)keys, name, pinned)
	{
		if (strcmp(json_string_value(pinned), key) == 0)
			return !trust_is_revoked(config, key);
	}
	return false;
}

bool
trust_is_revoked(const struct config *config, const char *key)
{
	const json_t *keys = config_json(config, "trust.revoked_keys");

	for (size_t i = 0; i < json_array_size(keys); i++)
		if (strcmp(json_string_value(json_array_get(keys, i)), key) ==
		    0)
			return true;
	return false;
}

static enum attestation_code
trust_no(
    struct trust_case *one, enum attestation_code code, const char *sentence)
{
	json_field_fault(&one->fault, "%s", sentence);
	return code;
}

/* Is the registry's key pinned, and is it its signature? */
static enum attestation_code
trust_registry(struct trust_case *one, const json_t *object)
{
	const char *key = one->attestation.registry_key;
	enum result result;
	size_t len;
	char *text;

	if (trust_is_revoked(one->config, key))
		return trust_no(one, ATTESTATION_KEY_REVOKED,
		    "attestation.registry_key: it is revoked "
		    "(trust.revoked_keys)");
	if (!trust_is_pinned(one->config, key)) {
		json_field_fault(&one->fault,
		    "attestation.registry_key: %.16s... is none of "
		    "trust.registry_keys; 'agentnode trust keys list' shows "
		    "them",
		    key);
		return ATTESTATION_KEY_UNKNOWN;
	}
	result = signed_text_attestation(object, &text, &len);
	if (result == RESULT_OK)
		result = ed25519_verify(key, one->attestation.signature,
		    ED25519_ATTESTATION, text, len);
	free(text);
	if (result == RESULT_OK)
		return ATTESTATION_OK;
	return trust_no(one, ATTESTATION_SIGNATURE,
	    "attestation.signature: it does not hold: some byte of the "
	    "attestation is not what the registry signed");
}

/* The publisher's signature over the artifact, by a key that may. */
static enum attestation_code
trust_artifact(struct trust_case *one, const char *key, const char *signature)
{
	enum result result;
	size_t len;
	char *text;

	if (trust_is_revoked(one->config, key))
		return trust_no(one, ATTESTATION_PUBLISHER_REVOKED,
		    "the publisher's key is revoked (trust.revoked_keys)");
	result = signed_text_artifact(
	    one->slug, one->version, one->hash, &text, &len);
	if (result == RESULT_OK)
		result =
		    ed25519_verify(key, signature, ED25519_ARTIFACT, text, len);
	free(text);
	if (result == RESULT_OK)
		return ATTESTATION_OK;
	return trust_no(one, ATTESTATION_PUBLISHER_SIGNATURE,
	    "_signatures.publisher: the signature does not hold for this "
	    "slug, version and artifact_hash");
}

static enum attestation_code
trust_publisher(struct trust_case *one, bool attested)
{
	const char *expected = one->attestation.publisher_key;
	const char *key, *signature;
	enum attestation_code code =
	    attestation_publisher(trust_part(one->entry, "_signatures"), &key,
		&signature, &one->fault);

	if (attested && trust_is_revoked(one->config, expected))
		return trust_no(one, ATTESTATION_PUBLISHER_REVOKED,
		    "attestation.publisher_key: it is revoked "
		    "(trust.revoked_keys)");
	if (code == ATTESTATION_PUBLISHER_MISSING &&
	    (!attested || one->attestation.tier <= TIER_UNVERIFIED))
		return ATTESTATION_OK;
	if (code == ATTESTATION_PUBLISHER_MISSING)
		return trust_no(one, code,
		    "_signatures: the publisher's signature is missing, which "
		    "a tier above unverified needs");
	if (code != ATTESTATION_OK)
		return code;
	if (attested && strcmp(key, expected) != 0)
		return trust_no(one, ATTESTATION_PUBLISHER_KEY,
		    "_signatures.publisher.key: it is not the publisher_key "
		    "of the attestation");
	return trust_artifact(one, key, signature);
}

static enum attestation_code
trust_attested(struct trust_case *one, const json_t *object, time_t now)
{
	struct attestation *attestation = &one->attestation;
	const json_t *publisher = trust_part(one->entry, "publisher_slug");
	enum attestation_code code =
	    attestation_read(object, attestation, &one->fault);

	if (code == ATTESTATION_OK)
		code = attestation_fits(attestation, one->slug, one->version,
		    one->hash, now, &one->fault);
	if (code == ATTESTATION_OK && publisher != NULL &&
	    (json_string_value(publisher) == NULL ||
		strcmp(json_string_value(publisher), attestation->publisher) !=
		    0))
		code = trust_no(one, ATTESTATION_OTHER_PUBLISHER,
		    "publisher_slug: it is not the publisher of the "
		    "attestation");
	if (code == ATTESTATION_OK)
		code = trust_registry(one, object);
	if (code == ATTESTATION_OK)
		code = trust_publisher(one, true);
	return code;
}

/* What refusing means to an exit code: a byte is wrong, or policy says no. */
static enum result
trust_result(enum attestation_code code)
{
	switch (code) {
	case ATTESTATION_OK:
		return RESULT_OK;
	case ATTESTATION_FUTURE:
	case ATTESTATION_EXPIRED:
	case ATTESTATION_KEY_UNKNOWN:
	case ATTESTATION_KEY_REVOKED:
	case ATTESTATION_PUBLISHER_REVOKED:
	case ATTESTATION_PUBLISHER_MISSING:
		return RESULT_REFUSED;
	case ATTESTATION_SYNTAX:
	case ATTESTATION_DUPLICATE:
	case ATTESTATION_FIELD:
	case ATTESTATION_TIER:
	case ATTESTATION_TIME:
	case ATTESTATION_OTHER_SLUG:
	case ATTESTATION_OTHER_VERSION:
	case ATTESTATION_OTHER_HASH:
	case ATTESTATION_OTHER_PUBLISHER:
	case ATTESTATION_SIGNATURE:
	case ATTESTATION_PUBLISHER_FIELD:
	case ATTESTATION_PUBLISHER_KEY:
	case ATTESTATION_PUBLISHER_SIGNATURE:
	case ATTESTATION_UNBOUND:
	case ATTESTATION_CODE_COUNT:
		break;
	}
	return RESULT_MISMATCH;
}

static enum result
trust_end(struct trust_case *one, enum attestation_code code,
    struct trust_verdict *verdict, struct json_fault *fault)
{
	if (code == ATTESTATION_OK)
		return RESULT_OK;
	verdict->tier = TIER_UNKNOWN;
	(void)snprintf(verdict->code, sizeof(verdict->code), "%s",
	    attestation_code_text(code));
	json_field_fault(fault, "%.60s: %.190s", one->slug, one->fault.text);
	return trust_result(code);
}

static struct trust_case
trust_begin(const struct config *config, const char *slug, const json_t *entry,
    struct trust_verdict *verdict_r)
{
	memset(verdict_r, 0, sizeof(*verdict_r));
	verdict_r->tier = TIER_UNVERIFIED;
	return (struct trust_case){.config = config,
	    .slug = slug,
	    .version = trust_text(entry, "version"),
	    .hash = trust_text(entry, "artifact_hash"),
	    .entry = entry};
}

static enum attestation_code
trust_run(struct trust_case *one, time_t now, struct trust_verdict *verdict)
{
	const json_t *object = trust_part(one->entry, "attestation");
	enum attestation_code code;

	/* An empty object is an attestation, and a broken one. */
	if (object == NULL)
		object = json_object_get(one->entry, "attestation");
	if (object == NULL || json_is_null(object))
		return trust_publisher(one, false);
	code = trust_attested(one, object, now);
	(void)snprintf(verdict->key, sizeof(verdict->key), "%s",
	    one->attestation.registry_key);
	verdict->expires = one->attestation.expires;
	if (code == ATTESTATION_OK)
		verdict->tier = one->attestation.tier;
	return code;
}

enum result
trust_prove(const struct config *config, const char *slug, const json_t *entry,
    time_t now, struct trust_verdict *verdict_r, struct json_fault *fault)
{
	struct trust_case one = trust_begin(config, slug, entry, verdict_r);

	return trust_end(
	    &one, trust_run(&one, now, verdict_r), verdict_r, fault);
}

static enum attestation_code
trust_bound(struct trust_case *one)
{
	struct json_fault fault = {""};
	bool there = false;

	if (trust_bound_has(one->slug, one->entry, &there, &fault) ==
		RESULT_OK &&
	    there)
		return ATTESTATION_OK;
	if (fault.text[0] != '\0')
		return trust_no(one, ATTESTATION_UNBOUND, fault.text);
	return trust_no(one, ATTESTATION_UNBOUND,
	    "this entry is not as 'agentnode install' made it on this host "
	    "from the attested artifact; install it again");
}

enum result
trust_judge(const struct config *config, const char *slug, const json_t *entry,
    time_t now, struct trust_verdict *verdict_r, struct json_fault *fault)
{
	struct trust_case one = trust_begin(config, slug, entry, verdict_r);
	enum attestation_code code = trust_run(&one, now, verdict_r);

	if (code == ATTESTATION_OK && verdict_r->tier > TIER_UNVERIFIED)
		code = trust_bound(&one);
	return trust_end(&one, code, verdict_r, fault);
}
