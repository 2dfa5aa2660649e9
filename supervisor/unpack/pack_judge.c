/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Judges packages; see pack_judge.h. It must never stop at the first fault:
 * an author mends a package once.
 */
#include "supervisor/unpack/pack_judge.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "supervisor/package/manifest.h"
#include "supervisor/package/manifest_entrypoint.h"
#include "supervisor/unpack/yaml_json.h"

static const char *
pack_judge_text(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

/* The manifest as JSON, NULL with its fault. */
static json_t *
pack_judge_read(const struct pack_view *view, struct manifest_report *report)
{
	struct json_fault fault = {""};
	json_t *manifest = NULL;
	bool too_long;
	size_t len;
	const char *bytes =
	    pack_view_content(view, PACK_VIEW_MANIFEST, &len, &too_long);

	if (too_long)
		manifest_report_fault(report, MANIFEST_FILE,
		    "is longer than %u bytes", YAML_JSON_BYTES_MAX);
	else if (bytes == NULL)
		manifest_report_fault(report, MANIFEST_FILE,
		    "is not in the package: it is at the top, or in the one "
		    "folder of the archive");
	else if (yaml_json_parse(bytes, len, &manifest, &fault) != RESULT_OK)
		manifest_report_fault(report, MANIFEST_FILE, "%s", fault.text);
	return manifest;
}

/* The files that an entry point may be. */
static void
pack_judge_entrypoint(const struct pack_view *view, const json_t *value,
    const char *path, bool is_node, struct manifest_report *report)
{
	const char *text = json_string_value(value);
	char file[MANIFEST_ENTRYPOINT_MAX + 16], first[sizeof(file)] = "";

	if (text == NULL || !manifest_entrypoint_is_valid(text, is_node))
		return; /* that has its own fault */
	for (unsigned n = 0;
	     manifest_entrypoint_file(text, is_node, n, file, sizeof(file));
	     n++) {
		if (pack_view_has(view, file))
			return;
		if (n == 0)
			memcpy(first, file, sizeof(first));
	}
	manifest_report_fault(
	    report, path, "is in %s, which is not in the package", first);
}

static void
pack_judge_tools(const struct pack_view *view, const json_t *manifest,
    bool is_node, struct manifest_report *report)
{
	const json_t *tools =
	    json_object_get(json_object_get(manifest, "capabilities"), "tools");
	char path[80];
	json_t *tool;
	size_t i;

	json_array_foreach((json_t *)tools, i, tool)
	{
		(void)snprintf(path, sizeof(path),
		    "manifest.capabilities.tools[%zu].entrypoint", i);
		pack_judge_entrypoint(view, json_object_get(tool, "entrypoint"),
		    path, is_node, report);
	}
}

static void
pack_judge_resources(const struct pack_view *view, const json_t *manifest,
    struct manifest_report *report)
{
	const json_t *list = json_object_get(
	    json_object_get(manifest, "capabilities"), "resources");
	const char *content;
	char path[80];
	json_t *item;
	size_t i;

	json_array_foreach((json_t *)list, i, item)
	{
		content = pack_judge_text(item, "content_path");
		(void)snprintf(path, sizeof(path),
		    "manifest.capabilities.resources[%zu].content_path", i);
		if (content != NULL && !pack_view_has(view, content))
			manifest_report_fault(
			    report, path, "is not in the package");
	}
}

/* Files that nobody wants to give away with a package. */
static void
pack_judge_look(const char *path, void *context)
{
	static const char *const patterns[] = {".env", ".env.*", ".npmrc",
	    ".pypirc", ".netrc", "id_rsa", "id_ed25519", "*.pem", "*.p12",
	    "credentials.json", NULL};
	const char *slash = strrchr(path, '/');
	const char *name = slash != NULL ? slash + 1 : path;

	if (strncmp(path, "node_modules/", 13) == 0)
		return;
	for (size_t i = 0; patterns[i] != NULL; i++)
		if (fnmatch(patterns[i], name, 0) == 0)
			manifest_report_warn(context, path,
			    "looks like a secret, and is part of the package");
}

static void
pack_judge_tree(const struct pack_view *view, const json_t *manifest,
    struct manifest_report *report)
{
	const char *runtime = pack_judge_text(manifest, "runtime");
	bool is_node = runtime != NULL && strcmp(runtime, "node") == 0;
	bool is_code =
	    runtime == NULL || is_node || strcmp(runtime, "python") == 0;

	if (is_code) {
		pack_judge_entrypoint(view,
		    json_object_get(manifest, "entrypoint"),
		    "manifest.entrypoint", is_node, report);
		pack_judge_entrypoint(view,
		    json_object_get(
			json_object_get(manifest, "agent"), "entrypoint"),
		    "manifest.agent.entrypoint", is_node, report);
		pack_judge_tools(view, manifest, is_node, report);
	}
	pack_judge_resources(view, manifest, report);
	pack_view_each(view, pack_judge_look, report);
}

json_t *
pack_judge(struct pack_view *view, struct manifest_report *report)
{
	int strip = pack_view_settle(view);
	json_t *manifest = pack_judge_read(view, report);
	json_t *plan = NULL;

	if (manifest != NULL) {
		manifest_judge(manifest, report);
		pack_judge_tree(view, manifest, report);
		plan = pack_plan(view, manifest, report);
	}
	return json_pack("{s:o?,s:i,s:O,s:O,s:o?}", "manifest", manifest,
	    "strip", strip > 0 ? 1 : 0, "faults", report->faults, "warnings",
	    report->warnings, "dependencies", plan);
}
