/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the names of secrets; see secret_need.h. It must never see a
 * value, nor let a package with secrets have an open network.
 */
#include "supervisor/package/secret_need.h"

#include <stdlib.h>
#include <string.h>

#include "supervisor/package/env_entry.h"

#define SECRET_NEED_KIND "agentnode.secrets"

/* The variables that the shipped provider files (config/providers) name:
 * what is in them is for llm-key alone. */
static const char *const secret_need_providers[] = {"ANTHROPIC_API_KEY",
    "GEMINI_API_KEY", "GOOGLE_API_KEY", "OLLAMA_API_KEY", "OPENAI_API_KEY",
    "OPENROUTER_API_KEY", NULL};

static const char *
secret_need_text(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

static bool
secret_need_has(const struct secret_need *need, const char *name)
{
	for (size_t i = 0; i < need->count; i++)
		if (strcmp(need->items[i].name, name) == 0)
			return true;
	return false;
}

static bool
secret_need_is_provider(const char *name)
{
	for (size_t i = 0; secret_need_providers[i] != NULL; i++)
		if (strcmp(secret_need_providers[i], name) == 0)
			return true;
	return false;
}

bool
secret_need_may(const char *name, struct json_fault *fault)
{
	enum env_entry_verdict verdict =
	    env_entry_judge(name, strlen(name), "");

	if (verdict != ENV_ENTRY_OK && verdict != ENV_ENTRY_SECRET)
		json_field_fault(fault, "the secret '%.70s' %s", name,
		    env_entry_text(verdict));
	else if (secret_need_is_provider(name))
		json_field_fault(fault,
		    "%.64s is the key of an LLM provider, and such a key never "
		    "enters a sandbox: 'agentnode auth set' stores it for the "
		    "broker",
		    name);
	else
		return true;
	return false;
}

/* A name of a variable that the sandbox does not set itself. */
static enum result
secret_need_add(struct secret_need *need, const char *name, bool required,
    struct json_fault *fault)
{
	enum env_entry_verdict verdict =
	    name == NULL ? ENV_ENTRY_NO_NAME
			 : env_entry_judge(name, strlen(name), "");

	if (verdict != ENV_ENTRY_OK && verdict != ENV_ENTRY_SECRET)
		json_field_fault(fault, "%.60s: the secret '%.70s' %s",
		    need->slug, name != NULL ? name : "",
		    env_entry_text(verdict));
	else if (secret_need_is_provider(name))
		json_field_fault(fault,
		    "%.60s asks for %.64s, the key of an LLM provider: such a "
		    "key never enters a sandbox; an agent with llm_access "
		    "calls the provider without it",
		    need->slug, name);
	else if (secret_need_has(need, name))
		json_field_fault(fault, "%.60s asks for the secret %.64s twice",
		    need->slug, name);
	else if (need->count == SECRET_NEED_MAX)
		json_field_fault(fault, "%.60s asks for more than %u secrets",
		    need->slug, SECRET_NEED_MAX);
	else {
		need->items[need->count++] =
		    (struct secret_need_item){name, required};
		return RESULT_OK;
	}
	return RESULT_REFUSED;
}

/* A text, or {"name", "required"?, ...}; missing is required. */
static enum result
secret_need_list(
    struct secret_need *need, const json_t *list, struct json_fault *fault)
{
	enum result result = RESULT_OK;
	const json_t *item;
	size_t i;

	json_array_foreach(list, i, item)
	{
		const json_t *name =
		    json_is_object(item) ? json_object_get(item, "name") : item;

		if (result == RESULT_OK)
			result = secret_need_add(need, json_string_value(name),
			    !json_is_false(json_object_get(item, "required")),
			    fault);
	}
	return result;
}

/* A sealed list, or nothing: a secret that is in there must not be able to
 * go just anywhere. */
static enum result
secret_need_network(struct secret_need *need, const json_t *entry,
    enum boundary_kind kind, struct json_fault *fault)
{
	const json_t *permissions = json_object_get(entry, "permissions");
	const char *level = secret_need_text(permissions, "network_level");
	const json_t *domains =
	    kind == BOUNDARY_MCP
		? json_object_get(entry, "mcp_allowed_domains")
		: json_object_get(permissions, "allowed_domains");
	bool open = kind == BOUNDARY_TOOLPACK && level != NULL &&
		    strcmp(level, "none") != 0 &&
		    strcmp(level, "restricted") != 0;

	if (open) {
		json_field_fault(fault,
		    "%.60s asks for secrets and for the network '%.40s': a "
		    "package with secrets has a sealed list of hosts "
		    "(restricted) or no network at all",
		    need->slug, level);
		return RESULT_UNSUPPORTED;
	}
	if (kind == BOUNDARY_TOOLPACK &&
	    (level == NULL || strcmp(level, "none") == 0))
		domains = NULL;
	if (json_array_size(domains) > 0)
		need->domains = domains;
	return RESULT_OK;
}

enum result
secret_need_read(const char *slug, const json_t *entry, enum boundary_kind kind,
    struct secret_need *need_r, struct json_fault *fault)
{
	const char *key =
	    kind == BOUNDARY_MCP ? "mcp_env_keys" : "env_requirements";
	enum result result;

	memset(need_r, 0, sizeof(*need_r));
	need_r->slug = slug;
	if (kind != BOUNDARY_MCP && kind != BOUNDARY_TOOLPACK)
		return RESULT_OK;
	result = secret_need_list(need_r, json_object_get(entry, key), fault);
	if (result != RESULT_OK || need_r->count == 0)
		return result;
	need_r->version = secret_need_text(entry, "version");
	need_r->artifact_hash = secret_need_text(entry, "artifact_hash");
	if (need_r->version == NULL || need_r->artifact_hash == NULL) {
		json_field_fault(fault,
		    "%.60s asks for secrets, but has no version or "
		    "artifact_hash that a consent could be bound to; install "
		    "it again",
		    slug);
		return RESULT_REFUSED;
	}
	return secret_need_network(need_r, entry, kind, fault);
}

const char *
secret_need_lacks(const struct secret_need *need, bool (*has)(const char *name))
{
	for (size_t i = 0; i < need->count; i++)
		if (need->items[i].required && !has(need->items[i].name))
			return need->items[i].name;
	return NULL;
}

static int
secret_need_compare(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static json_t *
secret_need_sorted(const char **texts, size_t count)
{
	json_t *list = json_array();

	if (count > 1)
		qsort(texts, count, sizeof(*texts), secret_need_compare);
	for (size_t i = 0; i < count; i++)
		if (json_array_append_new(list, json_string(texts[i])) != 0) {
			json_decref(list);
			return NULL;
		}
	return list;
}

json_t *
secret_need_names(const struct secret_need *need)
{
	const char *texts[SECRET_NEED_MAX];

	for (size_t i = 0; i < need->count; i++)
		texts[i] = need->items[i].name;
	return secret_need_sorted(texts, need->count);
}

json_t *
secret_need_domains(const struct secret_need *need)
{
	size_t count = json_array_size(need->domains), i;
	const char **texts = calloc(count + 1, sizeof(*texts));
	json_t *list;

	if (texts == NULL)
		return NULL;
	for (i = 0; i < count; i++) {
		texts[i] = json_string_value(json_array_get(need->domains, i));
		if (texts[i] == NULL)
			texts[i] = "";
	}
	list = secret_need_sorted(texts, count);
	free(texts);
	return list;
}

enum result
secret_need_key(const struct secret_need *need, char hex_r[DIGEST_HEX + 1])
{
	json_t *whole = json_pack("[s, s, s, s, o, o]", SECRET_NEED_KIND,
	    need->slug, need->version, need->artifact_hash,
	    secret_need_names(need), secret_need_domains(need));
	enum result result;

	if (whole == NULL)
		return RESULT_NO_MEMORY;
	result = digest_json(whole, hex_r);
	json_decref(whole);
	return result;
}
