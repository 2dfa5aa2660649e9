/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads an index whose signature holds; see registry_index.h. It must never
 * let a file's name through that could leave the registry's folder.
 */
#include "supervisor/package/registry_index.h"

#include <stdio.h>
#include <string.h>

#include "supervisor/package/registry_server.h"
#include "supervisor/package/slug.h"
#include "supervisor/policy/attestation.h"
#include "supervisor/policy/utc_time.h"

#define REGISTRY_INDEX_FORMAT 1
#define REGISTRY_INDEX_DEPTH_MAX 8U
#define REGISTRY_INDEX_HEX "0123456789abcdef"

static const char *const registry_index_codes[REGISTRY_CODE_COUNT] = {
    [REGISTRY_OK] = "",
    [REGISTRY_UNSET] = "registry_unset",
    [REGISTRY_UNREADABLE] = "registry_unreadable",
    [REGISTRY_MARKS] = "registry_signature_form",
    [REGISTRY_KEY] = "registry_key_unknown",
    [REGISTRY_SIGNATURE] = "registry_signature",
    [REGISTRY_SYNTAX] = "registry_syntax",
    [REGISTRY_DUPLICATE] = "registry_duplicate",
    [REGISTRY_FIELD] = "registry_field",
    [REGISTRY_TIME] = "registry_time",
    [REGISTRY_FUTURE] = "registry_future",
    [REGISTRY_EXPIRED] = "registry_expired",
    [REGISTRY_ROLLBACK] = "registry_rollback",
    [REGISTRY_FORK] = "registry_fork",
    [REGISTRY_STATE] = "registry_state",
    [REGISTRY_PACKAGE] = "registry_package_unknown",
    [REGISTRY_VERSION] = "registry_version_unknown",
    [REGISTRY_FILE] = "registry_file",
    [REGISTRY_HASH] = "registry_file_hash",
    [REGISTRY_KIND] = "registry_kind",
    [REGISTRY_SERVER] = "registry_server",
};

const char *
registry_index_code_text(enum registry_code code)
{
	return (unsigned)code < REGISTRY_CODE_COUNT ? registry_index_codes[code]
						    : "registry_syntax";
}

const char *
registry_index_kind_text(enum registry_kind kind)
{
	return kind == REGISTRY_MCP ? "mcp" : "package";
}

/* Plain segments below the folder: no ".", "..", hidden or empty one. */
static bool
registry_index_is_file(const char *text)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
				    "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789._+~-";
	unsigned depth = 0;

	for (;;) {
		size_t len = strspn(text, plain);

		if (len == 0 || text[0] == '.' || text[0] == '-' ||
		    ++depth > REGISTRY_INDEX_DEPTH_MAX)
			return false;
		if (text[len] == '\0')
			return true;
		if (text[len] != '/')
			return false;
		text += len + 1;
	}
}

static enum registry_code
registry_index_bad(struct json_fault *fault, const char *path, const char *what)
{
	json_field_fault(fault, "%s: %s", path, what);
	return REGISTRY_FIELD;
}

static void
registry_index_object_opt(const json_t *object, const char *path,
    const char *key, struct json_fault *fault)
{
	const json_t *value = NULL;

	if (json_object_get(object, key) != NULL)
		json_field_object(object, path, key, &value, fault);
}

/* kind?, which was found to be none or right. */
static enum registry_kind
registry_index_kind(const json_t *object)
{
	return json_object_get(object, "kind") != NULL ? REGISTRY_MCP
						       : REGISTRY_PACKAGE_FILE;
}

static enum registry_code
registry_index_kind_check(
    const json_t *object, const char *path, struct json_fault *fault)
{
	const json_t *value = json_object_get(object, "kind");
	const char *kind = json_string_value(value);

	if (value == NULL || (kind != NULL && strcmp(kind, "mcp") == 0))
		return REGISTRY_OK;
	json_field_fault(fault,
	    "%s.kind: '%.40s' is no kind: it is mcp, or left out for a "
	    "package with a manifest",
	    path, kind != NULL ? kind : "?");
	return REGISTRY_KIND;
}

/* One version: kind?, file, artifact_hash, size, attestation?, signatures? */
static enum registry_code
registry_index_version(
    const json_t *object, const char *path, struct json_fault *fault)
{
	static const char *const keys[] = {"kind", "file", "artifact_hash",
	    "size", "attestation", "signatures", NULL};
	enum registry_code code;
	const char *file = NULL, *hash = NULL;
	int64_t size, max = REGISTRY_ARTIFACT_MAX;

	if (!json_is_object(object))
		return registry_index_bad(fault, path, "must be an object");
	code = registry_index_kind_check(object, path, fault);
	if (code != REGISTRY_OK)
		return code;
	if (registry_index_kind(object) == REGISTRY_MCP)
		max = REGISTRY_SERVER_BYTES_MAX;
	json_field_only(object, path, keys, fault);
	json_field_string(
	    object, path, "file", REGISTRY_INDEX_PATH_MAX, &file, fault);
	json_field_string(
	    object, path, "artifact_hash", ATTESTATION_HASH_LEN, &hash, fault);
	json_field_int(object, path, "size", 1, max, &size, fault);
	registry_index_object_opt(object, path, "attestation", fault);
	registry_index_object_opt(object, path, "signatures", fault);
	if (fault->text[0] != '\0')
		return REGISTRY_FIELD;
	if (!registry_index_is_file(file))
		return registry_index_bad(
		    fault, path, "file must be a plain path below the folder");
	if (!attestation_is_hash(hash))
		return registry_index_bad(fault, path,
		    "artifact_hash must be sha256: and 64 hex digits");
	return REGISTRY_OK;
}

static enum registry_code
registry_index_package(
    const json_t *object, const char *path, struct json_fault *fault)
{
	static const char *const keys[] = {"latest", "versions", NULL};
	enum registry_code code = REGISTRY_OK;
	const json_t *versions = NULL;
	const char *latest = NULL, *version;
	json_t *row;
	char at[256];

	if (!json_is_object(object))
		return registry_index_bad(fault, path, "must be an object");
	json_field_only(object, path, keys, fault);
	json_field_string(
	    object, path, "latest", ATTESTATION_VERSION_MAX, &latest, fault);
	json_field_object(object, path, "versions", &versions, fault);
	if (fault->text[0] != '\0')
		return REGISTRY_FIELD;
	if (json_object_get(versions, latest) == NULL ||
	    json_object_size(versions) > REGISTRY_INDEX_VERSIONS_MAX)
		return registry_index_bad(fault, path,
		    "latest must be one of its versions, at most 256");
	json_object_foreach((json_t *)(uintptr_t)versions, version, row)
	{
		(void)snprintf(
		    at, sizeof(at), "%.80s.versions.%.128s", path, version);
		if (!attestation_is_version(version))
			code = registry_index_bad(fault, at, "is no version");
		else if (code == REGISTRY_OK)
			code = registry_index_version(row, at, fault);
		if (code != REGISTRY_OK)
			break;
	}
	return code;
}

static enum registry_code
registry_index_packages(const json_t *packages, struct json_fault *fault)
{
	enum registry_code code = REGISTRY_OK;
	const char *slug;
	json_t *package;
	char at[80];

	if (json_object_size(packages) > REGISTRY_INDEX_PACKAGES_MAX)
		return registry_index_bad(
		    fault, "index.packages", "more than 4096 packages");
	json_object_foreach((json_t *)(uintptr_t)packages, slug, package)
	{
		(void)snprintf(at, sizeof(at), "packages.%.60s", slug);
		code = slug_is_valid(slug)
			   ? registry_index_package(package, at, fault)
			   : registry_index_bad(fault, at, "is no slug");
		if (code != REGISTRY_OK)
			break;
	}
	return code;
}

static enum registry_code
registry_index_times(struct registry_index *index, const char *issued,
    const char *expires, struct json_fault *fault)
{
	if (utc_time_parse(issued, &index->issued) &&
	    utc_time_parse(expires, &index->expires) &&
	    index->expires > index->issued &&
	    index->expires - index->issued <= REGISTRY_INDEX_LIFE_MAX_S)
		return REGISTRY_OK;
	json_field_fault(fault,
	    "index.expires: issued and expires must be times such as "
	    "2026-01-02T03:04:05Z, at most 400 days apart");
	return REGISTRY_TIME;
}

static enum registry_code
registry_index_root(struct registry_index *index, struct json_fault *fault)
{
	static const char *const keys[] = {
	    "format", "serial", "issued", "expires", "packages", NULL};
	const char *issued = NULL, *expires = NULL;
	const json_t *packages = NULL;
	enum registry_code code;
	int64_t format;

	if (!json_is_object(index->root))
		return registry_index_bad(
		    fault, "index", "must be one JSON object");
	json_field_only(index->root, "index", keys, fault);
	json_field_int(index->root, "index", "format", REGISTRY_INDEX_FORMAT,
	    REGISTRY_INDEX_FORMAT, &format, fault);
	json_field_int(index->root, "index", "serial", 1,
	    REGISTRY_INDEX_SERIAL_MAX, &index->serial, fault);
	json_field_string(
	    index->root, "index", "issued", UTC_TIME_LEN, &issued, fault);
	json_field_string(
	    index->root, "index", "expires", UTC_TIME_LEN, &expires, fault);
	json_field_object(index->root, "index", "packages", &packages, fault);
	if (fault->text[0] != '\0')
		return REGISTRY_FIELD;
	code = registry_index_times(index, issued, expires, fault);
	return code == REGISTRY_OK ? registry_index_packages(packages, fault)
				   : code;
}

void
registry_index_clear(struct registry_index *index)
{
	json_decref(index->root);
	memset(index, 0, sizeof(*index));
}

enum registry_code
registry_index_parse(const char *bytes, size_t len,
    struct registry_index *index_r, struct json_fault *fault)
{
	struct json_fault syntax = {""};
	enum registry_code code = REGISTRY_SYNTAX;

	memset(index_r, 0, sizeof(*index_r));
	if (len > REGISTRY_INDEX_MAX)
		json_field_fault(&syntax, "more than 16 MiB");
	else if (json_field_parse(bytes, len, &index_r->root, &syntax) ==
		 RESULT_OK)
		code = registry_index_root(index_r, fault);
	else if (strstr(syntax.text, "duplicate") != NULL)
		code = REGISTRY_DUPLICATE;
	if (syntax.text[0] != '\0')
		json_field_fault(fault, "index: %s", syntax.text);
	if (code != REGISTRY_OK)
		registry_index_clear(index_r);
	return code;
}

enum registry_code
registry_index_current(
    const struct registry_index *index, time_t now, struct json_fault *fault)
{
	char when[UTC_TIME_LEN + 1];

	if (index->issued > now + ATTESTATION_SKEW_S) {
		(void)utc_time_text(index->issued, when);
		json_field_fault(fault,
		    "index.issued: %s is in the future; is the clock right?",
		    when);
		return REGISTRY_FUTURE;
	}
	if (index->expires > now)
		return REGISTRY_OK;
	(void)utc_time_text(index->expires, when);
	json_field_fault(fault,
	    "index.expires: it expired at %s; the registry's owner signs it "
	    "anew with 'agentnode trust sign index'",
	    when);
	return REGISTRY_EXPIRED;
}

enum registry_code
registry_index_find(const struct registry_index *index, const char *slug,
    const char *version, struct registry_row *row_r, struct json_fault *fault)
{
	const json_t *package =
	    json_object_get(json_object_get(index->root, "packages"), slug);
	const json_t *row;

	memset(row_r, 0, sizeof(*row_r));
	if (package == NULL) {
		json_field_fault(
		    fault, "the registry has no package '%.60s'", slug);
		return REGISTRY_PACKAGE;
	}
	if (version == NULL)
		version = json_string_value(json_object_get(package, "latest"));
	row = json_object_get(json_object_get(package, "versions"), version);
	if (row == NULL) {
		json_field_fault(fault,
		    "the registry has no version %.128s of %.60s (any more); "
		    "its latest is %.40s",
		    version, slug,
		    json_string_value(json_object_get(package, "latest")));
		return REGISTRY_VERSION;
	}
	row_r->slug = slug;
	row_r->version = version;
	row_r->file = json_string_value(json_object_get(row, "file"));
	row_r->artifact_hash =
	    json_string_value(json_object_get(row, "artifact_hash"));
	row_r->size = json_integer_value(json_object_get(row, "size"));
	row_r->kind = registry_index_kind(row);
	row_r->attestation = json_object_get(row, "attestation");
	row_r->signatures = json_object_get(row, "signatures");
	return REGISTRY_OK;
}

/* 64 hex digits, space, 128 hex digits, line feed. */
static bool
registry_index_mark(const char *line, struct registry_mark *mark_r)
{
	memcpy(mark_r->key, line, 64);
	mark_r->key[64] = '\0';
	memcpy(mark_r->signature, line + 65, 128);
	mark_r->signature[128] = '\0';
	return line[64] == ' ' && line[REGISTRY_MARK_LINE - 1] == '\n' &&
	       strspn(mark_r->key, REGISTRY_INDEX_HEX) == 64 &&
	       strspn(mark_r->signature, REGISTRY_INDEX_HEX) == 128;
}

enum registry_code
registry_index_marks(const char *bytes, size_t len,
    struct registry_mark marks_r[REGISTRY_MARKS_MAX], size_t *count_r,
    struct json_fault *fault)
{
	size_t count = len / REGISTRY_MARK_LINE;
	bool good = count > 0 && count <= REGISTRY_MARKS_MAX &&
		    len % REGISTRY_MARK_LINE == 0;

	*count_r = 0;
	for (size_t i = 0; good && i < count; i++)
		good = registry_index_mark(
		    bytes + i * REGISTRY_MARK_LINE, &marks_r[i]);
	if (good) {
		*count_r = count;
		return REGISTRY_OK;
	}
	json_field_fault(fault,
	    REGISTRY_INDEX_MARKS
	    ": must be 1 to %u lines of a key (64 hex digits), a space and a "
	    "signature (128 hex digits)",
	    REGISTRY_MARKS_MAX);
	return REGISTRY_MARKS;
}
