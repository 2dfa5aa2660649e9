/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads and makes the file of an MCP server; see registry_server.h. It must
 * never let through a version that could mean another one tomorrow, nor a
 * dependency without its integrity.
 */
#include "supervisor/package/registry_server.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "egress-proxy/policy_entry.h"

#define REGISTRY_SERVER_FORMAT 1
#define REGISTRY_SERVER_TEXT_MAX 256U

/* A text without spaces or control characters: it is shown and compared. */
static bool
registry_server_is_word(const char *text, size_t max)
{
	size_t len = text == NULL ? 0 : strlen(text);

	for (size_t i = 0; i < len; i++)
		if (text[i] < 0x21 || text[i] > 0x7e)
			return false;
	return len > 0 && len <= max;
}

/* npm:NAME@VERSION or pypi:NAME==VERSION, judged where all pins are. */
static void
registry_server_pin(struct registry_server *server, const char *manager,
    const char *package, const char *version, struct json_fault *fault)
{
	bool npm = strcmp(manager, "npm") == 0;
	char text[512], sentence[512];
	enum pin_verdict verdict;

	if (!npm && strcmp(manager, "pypi") != 0) {
		json_field_fault(fault,
		    "server.manager: '%.20s' is neither npm nor pypi", manager);
		return;
	}
	(void)snprintf(text, sizeof(text), "%s:%s%s%s", manager, package,
	    npm ? "@" : "==", version);
	verdict = pin_parse(text, &server->pin);
	if (verdict != PIN_OK) {
		pin_explain(verdict, text, sentence, sizeof(sentence));
		json_field_fault(fault, "server.package: %.200s", sentence);
	} else if (strcmp(server->pin.name, package) != 0 ||
		   strcmp(server->pin.version, version) != 0)
		json_field_fault(fault,
		    "server.package: must be the package's normal name, "
		    "%.100s",
		    server->pin.name);
}

static void
registry_server_dependency(
    const json_t *object, const char *path, struct json_fault *fault)
{
	static const char *const keys[] = {
	    "name", "version", "integrity", NULL};

	if (!json_is_object(object)) {
		json_field_fault(fault, "%s: must be an object", path);
		return;
	}
	json_field_only(object, path, keys, fault);
	for (size_t i = 0; keys[i] != NULL; i++)
		if (!registry_server_is_word(
			json_string_value(json_object_get(object, keys[i])),
			REGISTRY_SERVER_TEXT_MAX))
			json_field_fault(fault,
			    "%s.%s: must be a text without spaces", path,
			    keys[i]);
}

static void
registry_server_dependencies(
    struct registry_server *server, struct json_fault *fault)
{
	size_t i, count = json_array_size(server->dependencies);
	char path[64];

	if (count == 0)
		json_field_fault(fault,
		    "server.dependencies: must hold the package itself and "
		    "all that it brings along");
	for (i = 0; i < count && fault->text[0] == '\0'; i++) {
		(void)snprintf(
		    path, sizeof(path), "server.dependencies[%zu]", i);
		registry_server_dependency(
		    json_array_get(server->dependencies, i), path, fault);
	}
}

static void
registry_server_allow(
    const struct registry_server *server, struct json_fault *fault)
{
	size_t i, count = json_array_size(server->allow);

	for (i = 0; i < count; i++) {
		const char *text =
		    json_string_value(json_array_get(server->allow, i));
		struct policy_entry entry;

		if (text == NULL ||
		    policy_entry_parse(text, strlen(text),
			POLICY_ENTRY_FROM_CONSENTED,
			&entry) != POLICY_ENTRY_OK ||
		    strcmp(entry.text, text) != 0)
			json_field_fault(fault,
			    "server.mcp_allowed_domains[%zu]: must be "
			    "HOST:PORT",
			    i);
	}
}

static void
registry_server_tools(
    const struct registry_server *server, struct json_fault *fault)
{
	size_t i, count = json_array_size(server->tools);

	for (i = 0; i < count; i++)
		if (!registry_server_is_word(
			json_string_value(json_array_get(server->tools, i)),
			128))
			json_field_fault(fault,
			    "server.tools[%zu]: must be a tool's name", i);
	if (server->tools != NULL && count == 0)
		json_field_fault(fault,
		    "server.tools: must name one, or be left out for all");
}

static void
registry_server_fields(struct registry_server *server, const char *expected,
    struct json_fault *fault)
{
	static const char *const keys[] = {"format", "kind", "manager",
	    "package", "version", "dependencies", "mcp_allowed_domains",
	    "tools", NULL};
	const char *kind = NULL, *manager = NULL, *package = NULL;
	const char *version = NULL;
	const json_t *root = server->root;
	int64_t format;

	json_field_only(root, "server", keys, fault);
	json_field_int(root, "server", "format", REGISTRY_SERVER_FORMAT,
	    REGISTRY_SERVER_FORMAT, &format, fault);
	json_field_string(root, "server", "kind", 16, &kind, fault);
	json_field_string(root, "server", "manager", 16, &manager, fault);
	json_field_string(
	    root, "server", "package", PIN_NAME_MAX, &package, fault);
	json_field_string(
	    root, "server", "version", PIN_VERSION_MAX, &version, fault);
	json_field_array(root, "server", "dependencies",
	    REGISTRY_SERVER_PACKAGES_MAX, &server->dependencies, fault);
	json_field_array(root, "server", "mcp_allowed_domains",
	    REGISTRY_SERVER_LIST_MAX, &server->allow, fault);
	if (json_object_get(root, "tools") != NULL)
		json_field_array(root, "server", "tools",
		    REGISTRY_SERVER_LIST_MAX, &server->tools, fault);
	if (fault->text[0] != '\0')
		return;
	if (strcmp(kind, "mcp") != 0)
		json_field_fault(
		    fault, "server.kind: '%.16s' is not mcp", kind);
	else if (strcmp(version, expected) != 0)
		json_field_fault(fault,
		    "server.version: it is %.60s, and %.60s was expected",
		    version, expected);
	else
		registry_server_pin(server, manager, package, version, fault);
}

enum result
registry_server_parse(const char *bytes, size_t len, const char *version,
    struct registry_server *server_r, struct json_fault *fault)
{
	struct json_fault syntax = {""};

	memset(server_r, 0, sizeof(*server_r));
	if (len > REGISTRY_SERVER_BYTES_MAX)
		json_field_fault(fault, "server: more than 1 MiB");
	else if (json_field_parse(bytes, len, &server_r->root, &syntax) !=
		 RESULT_OK)
		json_field_fault(fault, "server: %s", syntax.text);
	else if (!json_is_object(server_r->root))
		json_field_fault(fault, "server: must be one JSON object");
	else
		registry_server_fields(server_r, version, fault);
	if (fault->text[0] == '\0')
		registry_server_dependencies(server_r, fault);
	if (fault->text[0] == '\0')
		registry_server_allow(server_r, fault);
	if (fault->text[0] == '\0')
		registry_server_tools(server_r, fault);
	if (fault->text[0] == '\0')
		return RESULT_OK;
	registry_server_clear(server_r);
	return RESULT_MISMATCH;
}

void
registry_server_clear(struct registry_server *server)
{
	json_decref(server->root);
	memset(server, 0, sizeof(*server));
}

/* Of one list, the first that the other has not. */
static const json_t *
registry_server_missing(const json_t *of, const json_t *in)
{
	for (size_t i = 0; i < json_array_size(of); i++) {
		const json_t *one = json_array_get(of, i);
		size_t at = 0;

		while (at < json_array_size(in) &&
		       !json_equal(one, json_array_get(in, at)))
			at++;
		if (at == json_array_size(in))
			return one;
	}
	return NULL;
}

enum result
registry_server_fits(const struct registry_server *server,
    const json_t *dependencies, struct json_fault *fault)
{
	const json_t *more =
	    registry_server_missing(dependencies, server->dependencies);
	const json_t *one =
	    more != NULL
		? more
		: registry_server_missing(server->dependencies, dependencies);
	const char *name = json_string_value(json_object_get(one, "name"));
	const char *version =
	    json_string_value(json_object_get(one, "version"));
	const char *integrity =
	    json_string_value(json_object_get(one, "integrity"));

	if (one == NULL && json_array_size(dependencies) ==
			       json_array_size(server->dependencies))
		return RESULT_OK;
	json_field_fault(fault,
	    "%.80s %.40s with the integrity %.100s is %s; the registry's "
	    "owner attests what there is now",
	    name != NULL ? name : "a package", version != NULL ? version : "",
	    integrity != NULL ? integrity : "it has",
	    more != NULL  ? "not in what the registry attests"
	    : one != NULL ? "attested, and was not installed"
			  : "there another number of times");
	return RESULT_MISMATCH;
}

json_t *
registry_server_make(const json_t *entry)
{
	const json_t *pin = json_object_get(entry, "mcp_install");

	return json_pack("{s:i, s:s, s:O, s:O, s:O, s:O, s:O, s:O*}", "format",
	    REGISTRY_SERVER_FORMAT, "kind", "mcp", "manager",
	    json_object_get(pin, "manager"), "package",
	    json_object_get(pin, "package"), "version",
	    json_object_get(pin, "version"), "dependencies",
	    json_object_get(entry, "dependencies"), "mcp_allowed_domains",
	    json_object_get(entry, "mcp_allowed_domains"), "tools",
	    json_object_get(entry, "tools"));
}
