/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a package depends on; see pack_judge.h. It must never let a
 * dependency pass that is not one version with a hash.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/package/manifest.h"
#include "supervisor/package/requirement.h"
#include "supervisor/unpack/pack_judge.h"
#include "supervisor/unpack/package_facts.h"

#define PACK_PLAN_WHEELS "wheels"
#define PACK_PLAN_MODULES "node_modules"

static json_t *
pack_plan_make(const char *manager, bool wheels, json_t *requirements,
    json_t *packages, bool scripts)
{
	return json_pack("{s:s,s:b,s:o,s:o,s:b}", "manager", manager, "wheels",
	    wheels, "requirements",
	    requirements != NULL ? requirements : json_array(), "packages",
	    packages != NULL ? packages : json_array(), "scripts", scripts);
}

/* Lists of dependencies that other tools read: what only they name would be
 * missing in silence. */
static void
pack_plan_ignored(const struct pack_view *view, const char *const *names,
    const char *instead, struct manifest_report *report)
{
	for (size_t i = 0; names[i] != NULL; i++)
		if (pack_view_has(view, names[i]))
			manifest_report_warn(report, names[i],
			    "is not read: no dependency that it names is "
			    "installed, only those of %s",
			    instead);
}

/* Of the manifest and of requirements.txt; one name stands once. */
static json_t *
pack_plan_python(const struct pack_view *view, const json_t *manifest,
    struct manifest_report *report)
{
	static const char *const others[] = {"pyproject.toml", "setup.py",
	    "setup.cfg", "Pipfile", "Pipfile.lock", "poetry.lock", "uv.lock",
	    "pdm.lock", "requirements.in", "environment.yml", NULL};
	const json_t *texts = json_object_get(manifest, "dependencies");
	bool wheels = pack_view_has_in(view, PACK_PLAN_WHEELS, ".whl");
	json_t *list = json_array(), *text;
	bool too_long;
	char path[64];
	size_t len, i;
	const char *bytes =
	    pack_view_content(view, PACK_VIEW_REQUIREMENTS, &len, &too_long);

	json_array_foreach((json_t *)texts, i, text)
	{
		(void)snprintf(
		    path, sizeof(path), "manifest.dependencies[%zu]", i);
		if (json_is_string(text))
			requirement_parse(json_string_value(text),
			    json_string_length(text), wheels, path, list,
			    report);
	}
	if (too_long)
		manifest_report_fault(report, REQUIREMENT_FILE,
		    "is longer than %u bytes", REQUIREMENT_FILE_MAX);
	if (bytes != NULL)
		requirement_parse_file(bytes, len, wheels, list, report);
	pack_plan_ignored(
	    view, others, REQUIREMENT_FILE " and of the manifest", report);
	if (wheels && json_array_size(list) == 0)
		manifest_report_warn(report, PACK_PLAN_WHEELS,
		    "is not used: no requirement names what is in it");
	return pack_plan_make(json_array_size(list) > 0 ? "pip" : "none",
	    wheels, list, NULL, false);
}

/* One of the two JSON files; NULL: not there, or with its fault. */
static json_t *
pack_plan_json(const struct pack_view *view, enum pack_view_file file,
    struct manifest_report *report)
{
	struct json_fault fault = {""};
	json_t *value = NULL;
	bool too_long;
	size_t len;
	const char *bytes = pack_view_content(view, file, &len, &too_long);

	if (too_long)
		manifest_report_fault(
		    report, pack_view_file_name(file), "is too long");
	if (bytes == NULL)
		return NULL;
	if (json_field_parse(bytes, len, &value, &fault) != RESULT_OK)
		manifest_report_fault(
		    report, pack_view_file_name(file), "%s", fault.text);
	return value;
}

/* Whether package.json asks for anything that npm would fetch. */
static bool
pack_plan_wants(const json_t *package)
{
	static const char *const keys[] = {"dependencies",
	    "optionalDependencies", "peerDependencies", "bundleDependencies",
	    "bundledDependencies", "workspaces", NULL};

	for (size_t i = 0; keys[i] != NULL; i++) {
		const json_t *value = json_object_get(package, keys[i]);

		if (json_object_size(value) > 0 || json_array_size(value) > 0)
			return true;
	}
	return false;
}

static json_t *
pack_plan_locked(const struct pack_view *view, const json_t *package,
    struct manifest_report *report)
{
	json_t *lock = pack_plan_json(view, PACK_VIEW_LOCK, report);
	json_t *list = json_array();
	bool scripts = false;
	size_t before = report->count;

	if (json_object_get(package, "workspaces") != NULL)
		manifest_report_fault(report, "package.json",
		    "has workspaces: a package is one folder");
	if (lock != NULL)
		package_facts_npm_project(lock, list, &scripts, report);
	else if (report->count == before)
		manifest_report_fault(report, "package-lock.json",
		    "is not in the package: 'npm install "
		    "--package-lock-only' writes it, with the integrity of "
		    "every dependency");
	json_decref(lock);
	if (scripts)
		manifest_report_warn(report, "package-lock.json",
		    "has packages with install scripts, which do not run "
		    "unless --allow-scripts is given");
	return pack_plan_make("npm", false, NULL, list, scripts);
}

static json_t *
pack_plan_node(const struct pack_view *view, struct manifest_report *report)
{
	static const char *const others[] = {"yarn.lock", "pnpm-lock.yaml",
	    "bun.lock", "bun.lockb", "npm-shrinkwrap.json", NULL};
	json_t *package, *plan;

	pack_plan_ignored(view, others, "package-lock.json", report);
	if (pack_view_has_in(view, PACK_PLAN_MODULES, "")) {
		manifest_report_warn(report, PACK_PLAN_MODULES,
		    "is in the package and taken as it is: nothing is "
		    "fetched, and no dependency is listed");
		return pack_plan_make("vendored", false, NULL, NULL, false);
	}
	package = pack_plan_json(view, PACK_VIEW_PACKAGE, report);
	plan = pack_plan_wants(package)
		   ? pack_plan_locked(view, package, report)
		   : pack_plan_make("none", false, NULL, NULL, false);
	json_decref(package);
	return plan;
}

json_t *
pack_plan(const struct pack_view *view, const json_t *manifest,
    struct manifest_report *report)
{
	const char *runtime =
	    json_string_value(json_object_get(manifest, "runtime"));

	if (runtime == NULL || strcmp(runtime, "python") == 0)
		return pack_plan_python(view, manifest, report);
	if (strcmp(runtime, "node") == 0)
		return pack_plan_node(view, report);
	return pack_plan_make("none", false, NULL, NULL, false);
}
