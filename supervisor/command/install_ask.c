/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows and asks; see install_ask.h. It must never take anything but a
 * clear yes for one, and print no text of a manifest that was not checked
 * for control characters (manifest_field.c).
 */
#include "supervisor/command/install_ask.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "supervisor/package/install_pack.h"

#define INSTALL_ASK_TOOLS_MAX 40U

static const json_t *
install_ask_permission(const json_t *manifest, const char *name)
{
	return json_object_get(json_object_get(manifest, "permissions"), name);
}

static const char *
install_ask_text(const json_t *object, const char *key, const char *absent)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text != NULL ? text : absent;
}

/* One list as words behind a label; of objects one field. */
static void
install_ask_list(
    const char *label, const json_t *list, const char *key, const char *none)
{
	size_t i, count = json_array_size(list);

	fprintf(stderr, "  %-10s", label);
	if (count == 0)
		fprintf(stderr, "%s", none);
	for (i = 0; i < count; i++) {
		const json_t *item = json_array_get(list, i);
		const char *text = key == NULL
				       ? json_string_value(item)
				       : install_ask_text(item, key, "?");

		fprintf(stderr, "%s%s", i > 0 ? ", " : "",
		    text != NULL ? text : "?");
	}
	fprintf(stderr, "\n");
}

static void
install_ask_network(const json_t *manifest)
{
	const json_t *network = install_ask_permission(manifest, "network");
	const char *level = install_ask_text(network, "level", "none");

	if (strcmp(level, "unrestricted") == 0)
		fprintf(stderr,
		    "  %-10sno host (it asks for every host: only this host's "
		    "configuration may open that)\n",
		    "reaches");
	else
		install_ask_list("reaches",
		    json_object_get(network, "allowed_domains"), NULL,
		    "no host");
}

static void
install_ask_level(const json_t *manifest, const char *name, const char *label)
{
	const char *level = install_ask_text(
	    install_ask_permission(manifest, name), "level", "none");

	if (strcmp(level, "none") != 0)
		fprintf(stderr, "  %-10s%s\n", label, level);
}

static void
install_ask_tools(const json_t *manifest)
{
	const json_t *tools =
	    json_object_get(json_object_get(manifest, "capabilities"), "tools");
	size_t i, count = json_array_size(tools);

	for (i = 0; i < count && i < INSTALL_ASK_TOOLS_MAX; i++) {
		const json_t *tool = json_array_get(tools, i);

		fprintf(stderr, "  %-10s%s (%s)\n", i == 0 ? "tools" : "",
		    install_ask_text(tool, "name", "?"),
		    install_ask_text(
			tool, "action_type", "no action declared"));
	}
	if (count > INSTALL_ASK_TOOLS_MAX)
		fprintf(stderr, "  %-10sand %zu more\n", "",
		    count - INSTALL_ASK_TOOLS_MAX);
}

static void
install_ask_agent(const json_t *agent)
{
	const json_t *llm = json_object_get(agent, "llm_access");

	install_ask_list("tools",
	    json_object_get(
		json_object_get(agent, "tool_access"), "allowed_packages"),
	    NULL, "none");
	if (json_is_true(json_object_get(llm, "enabled")))
		install_ask_list("models",
		    json_object_get(llm, "allowed_models"), NULL,
		    "any that the host allows");
	else
		install_ask_list("models", NULL, NULL, "no access");
	if (json_array_size(json_object_get(agent, "pre_approved_actions")) > 0)
		install_ask_list("unasked",
		    json_object_get(agent, "pre_approved_actions"), NULL, "");
}

static void
install_ask_dependencies(const struct install_pack *pack)
{
	const json_t *plan = pack->read.dependencies;
	const json_t *list = json_object_get(plan, "requirements");

	if (json_array_size(list) == 0)
		list = json_object_get(plan, "packages");
	if (json_array_size(list) > 0)
		install_ask_list("needs", list, "name", "nothing");
}

/* What would be missed in silence otherwise. */
static void
install_ask_warnings(const json_t *warnings)
{
	const json_t *item;
	size_t i;

	json_array_foreach(warnings, i, item) fprintf(stderr, "  %-10s%s %s\n",
	    i == 0 ? "warnings" : "", install_ask_text(item, "path", "?"),
	    install_ask_text(item, "message", "?"));
}

static void
install_ask_show(const struct install_pack *pack)
{
	const json_t *manifest = pack->read.manifest;
	const json_t *agent = json_object_get(manifest, "agent");

	fprintf(stderr, "%s %s by %s, %s\n",
	    install_ask_text(manifest, "package_id", "?"),
	    install_ask_text(manifest, "version", "?"),
	    install_ask_text(manifest, "publisher", "?"),
	    pack->source->trust_level != NULL ? pack->source->trust_level
					      : "unverified");
	fprintf(stderr, "  %-10s%s\n", "runs", install_pack_place_text(pack));
	fprintf(stderr, "  %-10s%s\n", "sealed as", pack->artifact);
	install_ask_network(manifest);
	install_ask_level(manifest, "filesystem", "files");
	install_ask_level(manifest, "code_execution", "executes");
	if (json_array_size(json_object_get(manifest, "env_requirements")) > 0)
		install_ask_list("secrets",
		    json_object_get(manifest, "env_requirements"), "name", "");
	if (agent != NULL)
		install_ask_agent(agent);
	else
		install_ask_tools(manifest);
	install_ask_dependencies(pack);
	install_ask_warnings(pack->read.report.warnings);
}

static enum result
install_ask_yes(struct install *install, bool yes)
{
	char line[16] = "";

	if (yes)
		return RESULT_OK;
	if (isatty(STDIN_FILENO) != 1)
		return install_fault_set(&install->fault, RESULT_REFUSED,
		    "consent_needed",
		    "nobody agreed to this: say --yes, or install it from a "
		    "terminal");
	fprintf(stderr, "Install it? [y/N] ");
	if (fgets(line, sizeof(line), stdin) != NULL &&
	    (strcmp(line, "y\n") == 0 || strcmp(line, "yes\n") == 0))
		return RESULT_OK;
	return install_fault_set(&install->fault, RESULT_REFUSED,
	    "consent_refused", "it was not agreed to: nothing was installed");
}

enum result
install_ask(struct install *install, bool yes)
{
	const struct install_pack *pack = install->request->pack;

	install_ask_show(pack);
	return install_ask_yes(install,
	    yes || json_object_get(pack->read.manifest, "agent") != NULL);
}

enum result
install_ask_server(
    struct install *install, const struct registry_item *item, bool yes)
{
	const struct registry_server *server = &item->server;

	fprintf(stderr, "%s %s, MCP server of the registry, %s\n", item->slug,
	    item->version, tier_name(item->trust.tier));
	fprintf(stderr, "  %-10s%s package %s\n", "is",
	    server->pin.kind == PIN_NPM ? "npm" : "pypi", server->pin.name);
	fprintf(stderr, "  %-10sin the sandbox\n", "runs");
	install_ask_list("reaches", server->allow, NULL, "no host");
	install_ask_list("tools", server->tools, NULL, "all that it has");
	fprintf(stderr, "  %-10s%zu packages, each by its integrity\n", "needs",
	    json_array_size(server->dependencies));
	return install_ask_yes(install, yes);
}
