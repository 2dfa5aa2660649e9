/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts of an installed package; see package_facts.h. Called by
 * describe.c. Must never pass on a text it did not check letter by letter:
 * the supervisor puts them into the lockfile.
 */
#include "supervisor/unpack/package_facts.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/unpack/unpack_jobs.h"

#define PACKAGE_FACTS_FOLDER "node_modules/"
#define PACKAGE_FACTS_LETTERS \
	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

/* 1 to max letters, digits and the bytes of more. */
static int
package_facts_word(const char *text, size_t max, const char *more)
{
	size_t len = text == NULL ? 0 : strlen(text);

	if (len == 0 || len > max)
		return 0;
	for (size_t i = 0; i < len; i++)
		if (strchr(PACKAGE_FACTS_LETTERS, text[i]) == NULL &&
		    strchr(more, text[i]) == NULL)
			return 0;
	return 1;
}

static int
package_facts_name(const char *text)
{
	return package_facts_word(text, PACKAGE_FACTS_NAME_MAX, "@/._~-!*'()");
}

static int
package_facts_version(const char *text)
{
	return package_facts_word(text, PACKAGE_FACTS_VERSION_MAX, "._+-!");
}

/* "sha512-<base64>" or a stronger list; SHA-1 and MD5 prove nothing. */
static int
package_facts_integrity(const char *text)
{
	return text != NULL && package_facts_word(text, 512, "+/=- ") &&
	       (strncmp(text, "sha512-", 7) == 0 ||
		   strncmp(text, "sha384-", 7) == 0 ||
		   strncmp(text, "sha256-", 7) == 0);
}

static enum result
package_facts_add(json_t *list, const char *name, const char *version,
    const char *integrity, struct json_fault *fault)
{
	if (json_array_size(list) >= UNPACK_DEPENDENCIES_MAX) {
		json_field_fault(fault, "the package has more than %u others",
		    UNPACK_DEPENDENCIES_MAX);
		return RESULT_TOO_LONG;
	}
	if (json_array_append_new(
		list, json_pack("{s:s,s:s,s:s}", "name", name, "version",
			  version, "integrity", integrity)) != 0)
		return RESULT_NO_MEMORY;
	return RESULT_OK;
}

/* The package a lock path stands for: what follows the last
 * "node_modules/". */
static const char *
package_facts_lock_name(const char *path)
{
	const char *name = NULL, *at = path;

	while ((at = strstr(at, PACKAGE_FACTS_FOLDER)) != NULL) {
		at += strlen(PACKAGE_FACTS_FOLDER);
		name = at;
	}
	return name;
}

static const char *
package_facts_text(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

static enum result
package_facts_lock_entry(json_t *list, const char *path, const json_t *entry,
    struct json_fault *fault)
{
	const char *name = package_facts_lock_name(path);
	const char *version = package_facts_text(entry, "version");
	const char *integrity = package_facts_text(entry, "integrity");

	if (json_object_get(entry, "name") != NULL)
		name = package_facts_text(entry, "name");
	if (!package_facts_name(name) || !package_facts_version(version)) {
		json_field_fault(fault, "package-lock.json has an entry "
					"without a usable name and version");
		return RESULT_BAD;
	}
	if (integrity == NULL &&
	    json_is_true(json_object_get(entry, "inBundle")))
		integrity = "bundled"; /* inside a package that has one */
	else if (!package_facts_integrity(integrity)) {
		json_field_fault(fault,
		    "%s@%s comes without a SHA-256 or stronger integrity", name,
		    version);
		return RESULT_BAD;
	}
	return package_facts_add(list, name, version, integrity, fault);
}

static enum result
package_facts_lock_all(
    const json_t *packages, json_t *list, struct json_fault *fault)
{
	enum result result = RESULT_OK;
	const char *path;
	json_t *entry;

	json_object_foreach((json_t *)packages, path, entry)
	{
		if (path[0] == '\0')
			continue; /* the folder that was installed into */
		result = package_facts_lock_entry(list, path, entry, fault);
		if (result != RESULT_OK)
			break;
	}
	return result;
}

static enum result
package_facts_lock_top(const json_t *packages, const char *package,
    const char *version, struct json_fault *fault)
{
	char path[PACKAGE_FACTS_NAME_MAX + sizeof(PACKAGE_FACTS_FOLDER)];
	const char *got;

	if (strlen(package) > PACKAGE_FACTS_NAME_MAX)
		return RESULT_TOO_LONG;
	(void)snprintf(
	    path, sizeof(path), "%s%s", PACKAGE_FACTS_FOLDER, package);
	got = package_facts_text(json_object_get(packages, path), "version");
	if (got != NULL && strcmp(got, version) == 0)
		return RESULT_OK;
	json_field_fault(
	    fault, "what was installed is not %s@%s", package, version);
	return RESULT_MISMATCH;
}

static int
package_facts_order(const void *a, const void *b)
{
	const json_t *left = *(json_t *const *)a, *right = *(json_t *const *)b;
	int order = strcmp(package_facts_text(left, "name"),
	    package_facts_text(right, "name"));

	return order != 0 ? order
			  : strcmp(package_facts_text(left, "version"),
				package_facts_text(right, "version"));
}

/* The same list in the order of names; takes list, NULL without memory. */
static json_t *
package_facts_sort(json_t *list)
{
	size_t count = json_array_size(list);
	json_t **items = calloc(count + 1, sizeof(json_t *));
	json_t *sorted = json_array();

	if (items != NULL && sorted != NULL) {
		for (size_t i = 0; i < count; i++)
			items[i] = json_array_get(list, i);
		qsort(items, count, sizeof(json_t *), package_facts_order);
		for (size_t i = 0; i < count; i++)
			(void)json_array_append(sorted, items[i]);
	}
	free(items);
	json_decref(list);
	if (json_array_size(sorted) == count)
		return sorted;
	json_decref(sorted);
	return NULL;
}

static enum result
package_facts_finish(enum result result, json_t *list, json_t **list_r)
{
	if (result != RESULT_OK) {
		json_decref(list);
		return result;
	}
	*list_r = package_facts_sort(list);
	return *list_r == NULL ? RESULT_NO_MEMORY : RESULT_OK;
}

enum result
package_facts_npm_lock(const json_t *lock, const char *package,
    const char *version, json_t **list_r, struct json_fault *fault)
{
	const json_t *packages = json_object_get(lock, "packages");
	json_t *list = json_array();
	enum result result;

	if (!json_is_object(packages)) {
		json_field_fault(fault, "package-lock.json has no packages");
		json_decref(list);
		return RESULT_BAD;
	}
	result = package_facts_lock_top(packages, package, version, fault);
	if (result == RESULT_OK)
		result = package_facts_lock_all(packages, list, fault);
	return package_facts_finish(result, list, list_r);
}

/* Where npm would get it from: the registry, over TLS, or the lock says
 * nothing and npm asks the registry. */
static bool
package_facts_resolved(const json_t *entry)
{
	const json_t *value = json_object_get(entry, "resolved");
	const char *text = json_string_value(value);

	return value == NULL ||
	       (text != NULL && strncmp(text, "https://", 8) == 0);
}

static void
package_facts_project_entry(const char *path, const json_t *entry, json_t *list,
    bool *scripts, struct manifest_report *report)
{
	struct json_fault fault = {""};
	char place[PACKAGE_FACTS_NAME_MAX + 40];

	(void)snprintf(place, sizeof(place), "package-lock.json:%.214s", path);
	if (!json_is_object(entry) || package_facts_lock_name(path) == NULL ||
	    json_is_true(json_object_get(entry, "link")) ||
	    !package_facts_resolved(entry)) {
		manifest_report_fault(report, place,
		    "is no package of a registry: links, folders, git and "
		    "plain HTTP are not fetched");
		return;
	}
	if (json_is_true(json_object_get(entry, "dev")))
		return;
	if (json_is_true(json_object_get(entry, "hasInstallScript")))
		*scripts = true;
	if (package_facts_lock_entry(list, path, entry, &fault) != RESULT_OK)
		manifest_report_fault(report, place, "%s", fault.text);
}

void
package_facts_npm_project(const json_t *lock, json_t *list, bool *scripts_r,
    struct manifest_report *report)
{
	const json_t *packages = json_object_get(lock, "packages");
	json_int_t version =
	    json_integer_value(json_object_get(lock, "lockfileVersion"));
	const char *path;
	json_t *entry;

	*scripts_r = false;
	if ((version != 2 && version != 3) || !json_is_object(packages)) {
		manifest_report_fault(report, "package-lock.json",
		    "must have lockfileVersion 2 or 3 and packages; npm 7 "
		    "and later write it");
		return;
	}
	json_object_foreach((json_t *)packages, path, entry)
	{
		if (path[0] != '\0')
			package_facts_project_entry(
			    path, entry, list, scripts_r, report);
	}
}

static const char *
package_facts_short(const char *package)
{
	const char *slash = strrchr(package, '/');

	return slash == NULL ? package : slash + 1;
}

size_t
package_facts_choose(
    const char *const *names, size_t count, const char *package)
{
	const char *name = package_facts_short(package);

	for (size_t i = 0; i < count; i++)
		if (strcmp(names[i], name) == 0)
			return i;
	for (size_t i = 0; i < count; i++)
		if (strstr(names[i], name) != NULL)
			return i;
	return 0;
}

static int
package_facts_bin_order(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static const char *
package_facts_bin(const json_t *bins, const char *package)
{
	const char *names[PACKAGE_FACTS_BINS_MAX], *name;
	size_t count = 0;
	json_t *value;

	json_object_foreach((json_t *)bins, name, value)
	{
		if (count < PACKAGE_FACTS_BINS_MAX)
			names[count++] = name;
	}
	if (count == 0)
		return NULL;
	qsort(names, count, sizeof(names[0]), package_facts_bin_order);
	return package_facts_text(
	    bins, names[package_facts_choose(names, count, package)]);
}

enum result
package_facts_npm_entry(const json_t *manifest, const char *package,
    int may_main, const char **path_borrow_r, struct json_fault *fault)
{
	const json_t *bin = json_object_get(manifest, "bin");
	const char *path = json_string_value(bin);

	if (json_is_object(bin))
		path = package_facts_bin(bin, package);
	if (path == NULL && may_main)
		path = package_facts_text(manifest, "main");
	if (path == NULL) {
		json_field_fault(fault,
		    "package.json of %s names no command (bin)", package);
		return RESULT_NOT_FOUND;
	}
	*path_borrow_r = path;
	return RESULT_OK;
}

/* PEP 503: case, and runs of "-_.", do not tell names apart. */
static int
package_facts_pip_same(const char *a, const char *b)
{
	while (*a != '\0' && *b != '\0') {
		int left = strchr("-_.", *a) != NULL;
		int right = strchr("-_.", *b) != NULL;

		if (left != right || (!left && tolower((unsigned char)*a) !=
						   tolower((unsigned char)*b)))
			return 0;
		a += left ? strspn(a, "-_.") : 1;
		b += right ? strspn(b, "-_.") : 1;
	}
	return *a == *b;
}

static enum result
package_facts_pip_item(const json_t *item, json_t *list, const char **name_r,
    const char **version_r, struct json_fault *fault)
{
	const json_t *metadata = json_object_get(item, "metadata");
	const json_t *archive = json_object_get(
	    json_object_get(item, "download_info"), "archive_info");
	const char *sum =
	    package_facts_text(json_object_get(archive, "hashes"), "sha256");
	const char *old = package_facts_text(archive, "hash");
	char integrity[80];

	/* pip 23.0 has only this for files of a folder. */
	if (sum == NULL && old != NULL && strncmp(old, "sha256=", 7) == 0)
		sum = old + 7;
	*name_r = package_facts_text(metadata, "name");
	*version_r = package_facts_text(metadata, "version");
	if (!package_facts_name(*name_r) ||
	    !package_facts_version(*version_r)) {
		json_field_fault(fault, "pip's report has an entry without a "
					"usable name and version");
		return RESULT_BAD;
	}
	if (sum == NULL || !package_facts_word(sum, 64, "") ||
	    strlen(sum) != 64) {
		json_field_fault(fault, "%s==%s comes without a SHA-256",
		    *name_r, *version_r);
		return RESULT_BAD;
	}
	(void)snprintf(integrity, sizeof(integrity), "sha256:%s", sum);
	return package_facts_add(list, *name_r, *version_r, integrity, fault);
}

enum result
package_facts_pip_report(const json_t *report, const char *package,
    const char *version, json_t **list_r, struct json_fault *fault)
{
	const json_t *install = json_object_get(report, "install");
	const char *name, *got;
	json_t *list = json_array(), *item;
	enum result result = RESULT_OK;
	int found = 0;
	size_t index;

	json_array_foreach((json_t *)install, index, item)
	{
		result = package_facts_pip_item(item, list, &name, &got, fault);
		if (result != RESULT_OK)
			break;
		found |=
		    package == NULL || (package_facts_pip_same(name, package) &&
					   strcmp(got, version) == 0);
	}
	if (result == RESULT_OK && !found) {
		json_field_fault(fault, "what was installed is not %s==%s",
		    package == NULL ? "anything" : package, version);
		result = RESULT_MISMATCH;
	}
	return package_facts_finish(result, list, list_r);
}
