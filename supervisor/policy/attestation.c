/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The form of attestations; see attestation.h. Called by trust.c, the parser
 * of a registry's index and the fuzz target. It must never accept a field
 * that it does not know: what is signed would then say more than is read.
 */
#include "supervisor/policy/attestation.h"

#include <string.h>

#include "supervisor/policy/utc_time.h"

#define ATTESTATION_SERIAL_MAX INT64_C(9007199254740991)
#define ATTESTATION_LOWER "abcdefghijklmnopqrstuvwxyz0123456789"
#define ATTESTATION_HEX "0123456789abcdef"

static const char *const attestation_codes[ATTESTATION_CODE_COUNT] = {
    [ATTESTATION_OK] = "",
    [ATTESTATION_SYNTAX] = "trust_syntax",
    [ATTESTATION_DUPLICATE] = "trust_duplicate",
    [ATTESTATION_FIELD] = "trust_field",
    [ATTESTATION_TIER] = "trust_tier",
    [ATTESTATION_TIME] = "trust_time",
    [ATTESTATION_OTHER_SLUG] = "trust_other_slug",
    [ATTESTATION_OTHER_VERSION] = "trust_other_version",
    [ATTESTATION_OTHER_HASH] = "trust_other_hash",
    [ATTESTATION_OTHER_PUBLISHER] = "trust_other_publisher",
    [ATTESTATION_FUTURE] = "trust_future",
    [ATTESTATION_EXPIRED] = "trust_expired",
    [ATTESTATION_KEY_UNKNOWN] = "trust_key_unknown",
    [ATTESTATION_KEY_REVOKED] = "trust_key_revoked",
    [ATTESTATION_SIGNATURE] = "trust_signature",
    [ATTESTATION_PUBLISHER_REVOKED] = "trust_publisher_revoked",
    [ATTESTATION_PUBLISHER_MISSING] = "trust_publisher_missing",
    [ATTESTATION_PUBLISHER_FIELD] = "trust_publisher_field",
    [ATTESTATION_PUBLISHER_KEY] = "trust_publisher_key",
    [ATTESTATION_PUBLISHER_SIGNATURE] = "trust_publisher_signature",
    [ATTESTATION_UNBOUND] = "trust_unbound",
};

const char *
attestation_code_text(enum attestation_code code)
{
	return (unsigned)code < ATTESTATION_CODE_COUNT ? attestation_codes[code]
						       : "trust_syntax";
}

static bool
attestation_is_hex(const char *text, size_t len)
{
	return strspn(text, ATTESTATION_HEX) == len && text[len] == '\0';
}

bool
attestation_is_hash(const char *text)
{
	return strncmp(text, "sha256:", 7) == 0 &&
	       attestation_is_hex(text + 7, ATTESTATION_HASH_LEN - 7);
}

/* As slugs are: 3 to 60, single inner hyphens. */
static bool
attestation_is_slug(const char *text)
{
	size_t len = strlen(text);

	return len >= 3 && len <= ATTESTATION_SLUG_MAX &&
	       strspn(text, ATTESTATION_LOWER "-") == len && text[0] != '-' &&
	       text[len - 1] != '-' && strstr(text, "--") == NULL;
}

/* As a lockfile's versions are. */
bool
attestation_is_version(const char *text)
{
	static const char plain[] =
	    ATTESTATION_LOWER "ABCDEFGHIJKLMNOPQRSTUVWXYZ.+-_!~";

	return text[0] != '\0' && strchr(".+-_!~", text[0]) == NULL &&
	       strlen(text) <= ATTESTATION_VERSION_MAX &&
	       text[strspn(text, plain)] == '\0';
}

static enum attestation_code
attestation_text(const json_t *object, const char *key, char *text_r,
    size_t size, struct json_fault *fault)
{
	const char *text = NULL;

	text_r[0] = '\0';
	json_field_string(object, "attestation", key, size - 1, &text, fault);
	if (fault->text[0] != '\0' || text == NULL)
		return ATTESTATION_FIELD;
	memcpy(text_r, text, strlen(text) + 1);
	return ATTESTATION_OK;
}

struct attestation_row {
	const char *key, *rule;
	size_t offset, size;
	bool (*fits)(const char *text);
};

static bool
attestation_is_key(const char *text)
{
	return attestation_is_hex(text, ATTESTATION_KEY_LEN);
}

static bool
attestation_is_signature(const char *text)
{
	return attestation_is_hex(text, ATTESTATION_SIGNATURE_LEN);
}

#define ROW(field, is, what)                                       \
	{                                                          \
#field, what, offsetof(struct attestation, field), \
		    sizeof(((struct attestation *)0)->field), is   \
	}

static const struct attestation_row attestation_rows[] = {
    ROW(slug, attestation_is_slug, "a slug"),
    ROW(version, attestation_is_version, "a version"),
    ROW(artifact_hash, attestation_is_hash, "sha256: and 64 hex digits"),
    ROW(publisher, attestation_is_slug, "a slug"),
    ROW(publisher_key, attestation_is_key, "64 hex digits"),
    ROW(registry_key, attestation_is_key, "64 hex digits"),
    ROW(signature, attestation_is_signature, "128 hex digits"),
};

static enum attestation_code
attestation_texts(const json_t *object, struct attestation *attestation,
    struct json_fault *fault)
{
	for (size_t i = 0;
	     i < sizeof(attestation_rows) / sizeof(attestation_rows[0]); i++) {
		const struct attestation_row *row = &attestation_rows[i];
		char *text = (char *)attestation + row->offset;
		enum attestation_code code =
		    attestation_text(object, row->key, text, row->size, fault);

		if (code != ATTESTATION_OK)
			return code;
		if (!row->fits(text)) {
			json_field_fault(fault, "attestation.%s: must be %s",
			    row->key, row->rule);
			return ATTESTATION_FIELD;
		}
	}
	return ATTESTATION_OK;
}

static enum attestation_code
attestation_time(const json_t *object, const char *key, time_t *time_r,
    struct json_fault *fault)
{
	const char *text = NULL;

	json_field_string(
	    object, "attestation", key, UTC_TIME_LEN, &text, fault);
	if (fault->text[0] != '\0' || text == NULL)
		return ATTESTATION_TIME;
	if (utc_time_parse(text, time_r))
		return ATTESTATION_OK;
	json_field_fault(fault,
	    "attestation.%s: must be a time such as 2026-01-02T03:04:05Z", key);
	return ATTESTATION_TIME;
}

static enum attestation_code
attestation_times(const json_t *object, struct attestation *attestation,
    struct json_fault *fault)
{
	enum attestation_code code =
	    attestation_time(object, "issued", &attestation->issued, fault);

	if (code == ATTESTATION_OK)
		code = attestation_time(
		    object, "expires", &attestation->expires, fault);
	if (code != ATTESTATION_OK)
		return code;
	if (attestation->expires > attestation->issued &&
	    attestation->expires - attestation->issued <=
		ATTESTATION_LIFE_MAX_S)
		return ATTESTATION_OK;
	json_field_fault(fault,
	    "attestation.expires: must be after issued, and at most 1100 "
	    "days");
	return ATTESTATION_TIME;
}

static enum attestation_code
attestation_tier(const json_t *object, struct attestation *attestation,
    struct json_fault *fault)
{
	const char *word = NULL;

	json_field_string(object, "attestation", "tier", 32, &word, fault);
	if (fault->text[0] != '\0' || word == NULL)
		return ATTESTATION_TIER;
	attestation->tier = tier_parse(word);
	if (attestation->tier != TIER_UNKNOWN)
		return ATTESTATION_OK;
	json_field_fault(fault,
	    "attestation.tier: '%.32s' is not one of: unverified, verified, "
	    "trusted, curated",
	    word);
	return ATTESTATION_TIER;
}

enum attestation_code
attestation_read(const json_t *object, struct attestation *attestation_r,
    struct json_fault *fault)
{
	static const char *const keys[] = {"slug", "version", "artifact_hash",
	    "tier", "publisher", "publisher_key", "issued", "expires", "serial",
	    "registry_key", "signature", NULL};
	enum attestation_code code;

	memset(attestation_r, 0, sizeof(*attestation_r));
	if (!json_is_object(object)) {
		json_field_fault(fault, "attestation: must be an object");
		return ATTESTATION_FIELD;
	}
	json_field_only(object, "attestation", keys, fault);
	json_field_int_opt(object, "attestation", "serial", 1,
	    ATTESTATION_SERIAL_MAX, &attestation_r->serial, fault);
	if (fault->text[0] != '\0')
		return ATTESTATION_FIELD;
	code = attestation_texts(object, attestation_r, fault);
	if (code == ATTESTATION_OK)
		code = attestation_tier(object, attestation_r, fault);
	if (code == ATTESTATION_OK)
		code = attestation_times(object, attestation_r, fault);
	return code;
}

enum attestation_code
attestation_parse(const char *bytes, size_t len,
    struct attestation *attestation_r, json_t **object_r,
    struct json_fault *fault)
{
	struct json_fault syntax = {""};
	enum attestation_code code = ATTESTATION_SYNTAX;
	json_t *object = NULL;

	if (object_r != NULL)
		*object_r = NULL;
	memset(attestation_r, 0, sizeof(*attestation_r));
	if (len > ATTESTATION_BYTES_MAX)
		json_field_fault(
		    &syntax, "more than %u bytes", ATTESTATION_BYTES_MAX);
	else if (json_field_parse(bytes, len, &object, &syntax) == RESULT_OK)
		code = attestation_read(object, attestation_r, fault);
	else if (strstr(syntax.text, "duplicate") != NULL)
		code = ATTESTATION_DUPLICATE;
	if (object == NULL)
		json_field_fault(fault, "attestation: %s", syntax.text);
	if (code == ATTESTATION_OK && object_r != NULL)
		*object_r = json_incref(object);
	json_decref(object);
	return code;
}

static enum attestation_code
attestation_differs(enum attestation_code code, const char *field,
    const char *says, const char *wanted, struct json_fault *fault)
{
	json_field_fault(fault,
	    "attestation.%s: it is for '%.71s', not '%.71s'", field, says,
	    wanted);
	return code;
}

enum attestation_code
attestation_fits(const struct attestation *attestation, const char *slug,
    const char *version, const char *hash, time_t now, struct json_fault *fault)
{
	char when[UTC_TIME_LEN + 1];

	if (strcmp(attestation->slug, slug) != 0)
		return attestation_differs(ATTESTATION_OTHER_SLUG, "slug",
		    attestation->slug, slug, fault);
	if (strcmp(attestation->version, version) != 0)
		return attestation_differs(ATTESTATION_OTHER_VERSION, "version",
		    attestation->version, version, fault);
	if (strcmp(attestation->artifact_hash, hash) != 0)
		return attestation_differs(ATTESTATION_OTHER_HASH,
		    "artifact_hash", attestation->artifact_hash, hash, fault);
	if (attestation->issued > now + ATTESTATION_SKEW_S) {
		(void)utc_time_text(attestation->issued, when);
		json_field_fault(fault,
		    "attestation.issued: %s is in the future; is the clock "
		    "right?",
		    when);
		return ATTESTATION_FUTURE;
	}
	if (attestation->expires > now)
		return ATTESTATION_OK;
	(void)utc_time_text(attestation->expires, when);
	json_field_fault(fault, "attestation.expires: it expired at %s", when);
	return ATTESTATION_EXPIRED;
}

enum attestation_code
attestation_publisher(const json_t *object, const char **key_r,
    const char **signature_r, struct json_fault *fault)
{
	static const char *const whole[] = {"publisher", NULL};
	static const char *const keys[] = {"key", "signature", NULL};
	const char *const path = "_signatures.publisher";
	const json_t *publisher = json_object_get(object, "publisher");

	*key_r = *signature_r = NULL;
	if (object == NULL || json_is_null(object))
		return ATTESTATION_PUBLISHER_MISSING;
	if (!json_is_object(object) || !json_is_object(publisher)) {
		json_field_fault(fault,
		    "_signatures: must be {\"publisher\": {\"key\", "
		    "\"signature\"}}");
		return ATTESTATION_PUBLISHER_FIELD;
	}
	json_field_only(object, "_signatures", whole, fault);
	json_field_only(publisher, path, keys, fault);
	json_field_string(
	    publisher, path, "key", ATTESTATION_KEY_LEN, key_r, fault);
	json_field_string(publisher, path, "signature",
	    ATTESTATION_SIGNATURE_LEN, signature_r, fault);
	if (fault->text[0] != '\0')
		return ATTESTATION_PUBLISHER_FIELD;
	if (attestation_is_key(*key_r) &&
	    attestation_is_signature(*signature_r))
		return ATTESTATION_OK;
	json_field_fault(
	    fault, "%s: key must be 64 and signature 128 hex digits", path);
	return ATTESTATION_PUBLISHER_FIELD;
}
