/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Strict reading of the lockfile. Called by lockfile.c and the fuzz target.
 * Pure: bytes in, tree or fault out.
 */
#include <stdio.h>
#include <string.h>

#include "supervisor/package/lockfile_field.h"
#include "supervisor/package/lockfile_parse.h"
#include "supervisor/package/slug.h"

json_t *
lockfile_parse_empty(void)
{
	return json_pack("{s:s, s:s, s:{}}", "lockfile_version",
	    LOCKFILE_PARSE_VERSION, "updated_at", "", "packages");
}

static void
lockfile_parse_entry(
    const char *slug, const json_t *entry, struct json_fault *fault)
{
	char path[128];

	snprintf(path, sizeof(path), "packages.%.64s", slug);
	if (!slug_is_valid(slug))
		json_field_fault(
		    fault, "%s: a package's name is " SLUG_RULE, path);
	else if (!json_is_object(entry))
		json_field_fault(fault, "%s: must be an object", path);
	else
		lockfile_field_check(entry, path, fault);
}

static void
lockfile_parse_root(const json_t *root, struct json_fault *fault)
{
	static const char *const keys[] = {"lockfile_version", "updated_at",
	    "packages", "structure_digest", NULL};
	const char *version = NULL, *updated = NULL, *slug;
	const json_t *packages = NULL;
	json_t *entry;

	if (!json_is_object(root)) {
		json_field_fault(fault, "must be one JSON object");
		return;
	}
	json_field_string(
	    root, "lockfile", "lockfile_version", 16, &version, fault);
	if (version != NULL && strcmp(version, LOCKFILE_PARSE_VERSION) != 0)
		json_field_fault(fault,
		    "lockfile_version: '%s' is unknown; this agentnode reads "
		    "'%s'",
		    version, LOCKFILE_PARSE_VERSION);
	json_field_only(root, "lockfile", keys, fault);
	json_field_string_opt(
	    root, "lockfile", "updated_at", 64, &updated, fault);
	json_field_object(root, "lockfile", "packages", &packages, fault);
	if (fault->text[0] != '\0')
		return;
	if (json_object_size(packages) > LOCKFILE_PARSE_PACKAGES_MAX)
		json_field_fault(
		    fault, "packages: at most %u", LOCKFILE_PARSE_PACKAGES_MAX);
	json_object_foreach((json_t *)packages, slug, entry)
	    lockfile_parse_entry(slug, entry, fault);
}

enum result
lockfile_parse(const char *file, const char *bytes, size_t len, json_t **root_r,
    struct json_fault *fault)
{
	struct json_fault inner = {""};
	enum result result;

	*root_r = NULL;
	result = json_field_parse(bytes, len, root_r, &inner);
	if (result == RESULT_OK)
		lockfile_parse_root(*root_r, &inner);
	if (inner.text[0] == '\0')
		return result;
	json_decref(*root_r);
	*root_r = NULL;
	json_field_fault(fault, "%s: %s", file, inner.text);
	return RESULT_BAD;
}
