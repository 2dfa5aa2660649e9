/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a lockfile entry to a tool pack that may run; see pack_package.h.
 * The lockfile may come from a stranger: nothing that decides what runs is
 * filled in, and a name is never more than a name.
 */
#include "supervisor/pack/pack_package.h"

#include <stdio.h>
#include <string.h>

#define PACK_PACKAGE_WORD \
	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"
#define PACK_PACKAGE_LEGACY "run" /* the function of an old entrypoint */

static const char *
pack_package_text(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

static bool
pack_package_is(const json_t *entry, const char *key, const char *text)
{
	const char *value = pack_package_text(entry, key);

	return value != NULL && strcmp(value, text) == 0;
}

bool
pack_package_is_pack(const json_t *entry)
{
	return pack_package_is(entry, "package_type", "toolpack") &&
	       (pack_package_is(entry, "runtime", "python") ||
		   pack_package_is(entry, "runtime", "node"));
}

/* --- words -------------------------------------------------------------- */

static const char *const pack_package_networks[] = {
    "none", "restricted", "unrestricted"};

enum pack_network
pack_package_network(const char *word)
{
	if (word != NULL && strcmp(word, "restricted") == 0)
		return PACK_NETWORK_RESTRICTED;
	if (word != NULL && strcmp(word, "unrestricted") == 0)
		return PACK_NETWORK_UNRESTRICTED;
	return PACK_NETWORK_NONE;
}

const char *
pack_package_network_name(enum pack_network network)
{
	return pack_package_networks[network];
}

static bool
pack_package_is_identifier(const char *text, size_t len)
{
	return len > 0 && len <= PACK_PACKAGE_TOOL_MAX &&
	       (text[0] < '0' || text[0] > '9') &&
	       strspn(text, PACK_PACKAGE_WORD) >= len;
}

/* Identifiers joined by dots. */
static bool
pack_package_is_module(const char *text, size_t len)
{
	size_t at = 0, part;

	while (at <= len) {
		part = strcspn(text + at, ".:");
		if (!pack_package_is_identifier(text + at, part))
			return false;
		at += part + 1;
	}
	return true;
}

/* A plain path below the pack, "./" before it or not. */
static bool
pack_package_is_file(const char *text, size_t len)
{
	size_t at = 0, part;

	if (len > 2 && strncmp(text, "./", 2) == 0)
		at = 2;
	if (strspn(text, PACK_PACKAGE_WORD "./-") < len)
		return false;
	while (at <= len) {
		part = strcspn(text + at, "/:");
		if (part == 0 || text[at] == '.' || text[at] == '-')
			return false;
		at += part + 1;
	}
	return true;
}

bool
pack_package_is_entrypoint(const char *text, bool is_node)
{
	size_t len = strcspn(text, ":");
	const char *function = text[len] == ':' ? text + len + 1 : NULL;

	if (len >= PACK_PACKAGE_PLACE_MAX)
		return false;
	if (!(is_node ? pack_package_is_file(text, len)
		      : pack_package_is_module(text, len)))
		return false;
	return function == NULL ||
	       pack_package_is_identifier(function, strlen(function));
}

/* --- the entry ---------------------------------------------------------- */

static enum result
pack_package_sealed(const char *slug, const json_t *entry,
    struct pack_package *package, struct json_fault *fault)
{
	package->version = pack_package_text(entry, "version");
	package->volume = pack_package_text(entry, "sandbox_volume");
	package->content_hash = pack_package_text(entry, "volume_content_hash");
	package->host_path = pack_package_text(entry, "volume_host_path");
	if (package->version != NULL && package->volume != NULL &&
	    package->content_hash != NULL && package->host_path != NULL)
		return RESULT_OK;
	json_field_fault(fault,
	    "%.60s: version, sandbox_volume, volume_content_hash or "
	    "volume_host_path is missing, so what would run is not sealed; "
	    "install it again",
	    slug);
	return RESULT_REFUSED;
}

/* A name goes on command lines and into sentences: one plain word. */
static bool
pack_package_is_tool(const char *name)
{
	size_t len = name != NULL ? strlen(name) : 0;

	return len > 0 && len <= PACK_PACKAGE_TOOL_MAX &&
	       strspn(name, PACK_PACKAGE_WORD ".-") == len && name[0] != '-' &&
	       name[0] != '.';
}

static void
pack_package_tool(const struct pack_package *package, const json_t *tool,
    size_t index, struct json_fault *fault)
{
	const char *name = pack_package_text(tool, "name");
	const char *entry = pack_package_text(tool, "entrypoint");

	if (!pack_package_is_tool(name))
		json_field_fault(fault,
		    "tools[%zu].name must be a plain word of at most %u bytes",
		    index, PACK_PACKAGE_TOOL_MAX);
	else if (entry == NULL && package->entrypoint == NULL)
		json_field_fault(fault,
		    "tools[%zu] (%s) has no entrypoint, and neither has the "
		    "package",
		    index, name);
	else if (entry != NULL &&
		 !pack_package_is_entrypoint(entry, package->is_node))
		json_field_fault(fault,
		    "tools[%zu].entrypoint '%.60s' must be %s", index, entry,
		    package->is_node ? "./file.mjs:function"
				     : "module.path:function");
}

static void
pack_package_tools(
    const json_t *entry, struct pack_package *package, struct json_fault *fault)
{
	const json_t *tool;
	size_t i;

	package->tools = json_object_get(entry, "tools");
	if (json_array_size(package->tools) == 0 ||
	    json_array_size(package->tools) > PACK_PACKAGE_TOOLS_MAX)
		json_field_fault(fault, "tools must be 1 to %u objects",
		    PACK_PACKAGE_TOOLS_MAX);
	json_array_foreach(package->tools, i, tool)
	{
		pack_package_tool(package, tool, i, fault);
	}
	if (package->entrypoint != NULL &&
	    !pack_package_is_entrypoint(package->entrypoint, package->is_node))
		json_field_fault(fault, "entrypoint '%.60s' must be %s",
		    package->entrypoint,
		    package->is_node ? "./file.mjs:function"
				     : "module.path:function");
}

enum result
pack_package_read(const char *slug, const json_t *entry,
    struct pack_package *package_r, struct json_fault *fault)
{
	const json_t *permissions = json_object_get(entry, "permissions");
	struct json_fault wrong = {""};
	enum result result;

	memset(package_r, 0, sizeof(*package_r));
	package_r->slug = slug;
	if (!pack_package_is_pack(entry)) {
		json_field_fault(fault,
		    "%.60s is no tool pack; 'agentnode list' shows what it is",
		    slug);
		return RESULT_REFUSED;
	}
	package_r->is_node = pack_package_is(entry, "runtime", "node");
	package_r->entrypoint = pack_package_text(entry, "entrypoint");
	package_r->network = pack_package_network(
	    pack_package_text(permissions, "network_level"));
	package_r->domains = json_object_get(permissions, "allowed_domains");
	result = pack_package_sealed(slug, entry, package_r, fault);
	if (result != RESULT_OK)
		return result;
	pack_package_tools(entry, package_r, &wrong);
	if (wrong.text[0] == '\0')
		return RESULT_OK;
	json_field_fault(
	    fault, "%.60s: %.180s; install it again", slug, wrong.text);
	return RESULT_REFUSED;
}

/* --- a tool ------------------------------------------------------------- */

static const json_t *
pack_package_find(const struct pack_package *package, const char *name)
{
	const json_t *tool;
	size_t i;

	if (name == NULL)
		return json_array_size(package->tools) == 1
			   ? json_array_get(package->tools, 0)
			   : NULL;
	json_array_foreach(package->tools, i, tool)
	{
		if (strcmp(pack_package_text(tool, "name"), name) == 0)
			return tool;
	}
	return NULL;
}

/* "SLUG has no tool NAME; it has a, b and 3 more" */
static enum result
pack_package_missing(const struct pack_package *package, const char *name,
    struct json_fault *fault)
{
	char list[160] = "";
	size_t i, used = 0, count = json_array_size(package->tools);

	for (i = 0; i < count; i++) {
		const char *one = pack_package_text(
		    json_array_get(package->tools, i), "name");

		if (used + strlen(one) + 16 > sizeof(list))
			break;
		used += (size_t)snprintf(list + used, sizeof(list) - used,
		    "%s%s", i > 0 ? ", " : "", one);
	}
	if (name == NULL)
		json_field_fault(fault,
		    "%.60s has %zu tools, say which: %s/TOOL; it has %s%s",
		    package->slug, count, package->slug, list,
		    i < count ? ", ..." : "");
	else
		json_field_fault(fault,
		    "%.60s has no tool '%.40s'; it has %s%s", package->slug,
		    name, list, i < count ? ", ..." : "");
	return RESULT_NOT_FOUND;
}

/* By string only: the function of the entrypoint; of one without, the tool's
 * name or what it was called before tools had names. */
static void
pack_package_split(const char *entry, struct pack_function *function)
{
	size_t len = strcspn(entry, ":");
	size_t skip = strncmp(entry, "./", 2) == 0 ? 2 : 0;

	(void)snprintf(function->place, sizeof(function->place), "%.*s",
	    (int)(len - skip), entry + skip);
	function->count = 1;
	if (entry[len] == ':') {
		(void)snprintf(function->names[0], sizeof(function->names[0]),
		    "%s", entry + len + 1);
		return;
	}
	(void)snprintf(function->names[0], sizeof(function->names[0]), "%s",
	    function->name);
	(void)snprintf(function->names[1], sizeof(function->names[1]), "%s",
	    PACK_PACKAGE_LEGACY);
	function->count = 2;
}

enum result
pack_package_function(const struct pack_package *package, const char *name,
    struct pack_function *function_r, struct json_fault *fault)
{
	const char *entry;

	memset(function_r, 0, sizeof(*function_r));
	function_r->tool = pack_package_find(package, name);
	if (function_r->tool == NULL)
		return pack_package_missing(package, name, fault);
	function_r->name = pack_package_text(function_r->tool, "name");
	entry = pack_package_text(function_r->tool, "entrypoint");
	pack_package_split(
	    entry != NULL ? entry : package->entrypoint, function_r);
	return RESULT_OK;
}
