/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A provider's file, strictly. Called by the supervisor on every file and by
 * the broker at start. It must never load a file that would send the key in
 * a header of the agent's, or let a credential of the agent pass.
 */
#include "llm-broker/provider_node.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/domain.h"
#include "common/ip_addr.h"

#define PROVIDER_LOAD_LIST_MAX 64U
#define PROVIDER_LOAD_TEXT_MAX 256U
#define PROVIDER_LOAD_HEADER_MAX 63U

static const char provider_load_lower[] = "abcdefghijklmnopqrstuvwxyz";
static const char provider_load_token[] =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-";

/* Framing, credentials, and what the broker writes itself. */
static const char *const provider_load_headers[] = {"accept", "accept-encoding",
    "api-key", "authorization", "connection", "content-encoding",
    "content-length", "content-type", "cookie", "expect", "forwarded", "host",
    "http2-settings", "keep-alive", "proxy-authorization", "proxy-connection",
    "range", "te", "trailer", "transfer-encoding", "upgrade", "user-agent",
    "via", "x-api-key", "x-auth-token", "x-forwarded-for", "x-forwarded-host",
    "x-goog-api-key", "x-goog-iam-authorization-token",
    "x-http-method-override"};

bool
provider_load_reserved(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(provider_load_headers) /
			    sizeof(provider_load_headers[0]);
	     i++)
		if (strcasecmp(name, provider_load_headers[i]) == 0)
			return true;
	return false;
}

static bool
provider_load_printable(const char *text)
{
	for (; *text != '\0'; text++)
		if (*text < ' ' || *text > '~')
			return false;
	return true;
}

static bool
provider_load_is_token(const char *text)
{
	return text[0] != '\0' && strlen(text) <= PROVIDER_LOAD_HEADER_MAX &&
	       strspn(text, provider_load_token) == strlen(text);
}

static void
provider_load_name(
    struct provider *provider, const char *path, struct json_fault *fault)
{
	static const char rest[] = "abcdefghijklmnopqrstuvwxyz0123456789-";

	json_field_string(provider->object, path, "name", PROVIDER_NAME_MAX,
	    &provider->name, fault);
	if (fault->text[0] != '\0')
		return;
	if (strspn(provider->name, provider_load_lower) == 0 ||
	    strspn(provider->name, rest) != strlen(provider->name) ||
	    strcmp(provider->name, "agentnode") == 0)
		json_field_fault(fault,
		    "%s.name must be lower case letters, digits and hyphens, "
		    "and not agentnode",
		    path);
}

/* A canonical name; with cidrs also one label, localhost or an address. */
static bool
provider_load_host_fits(const char *host, bool ranged)
{
	struct domain domain;
	struct ip_addr address;
	size_t len = strlen(host);

	if (ranged && ip_addr_parse(host, len, &address) == RESULT_OK)
		return true;
	if ((ranged ? domain_parse_any(host, len, &domain)
		    : domain_parse(host, len, &domain)) != DOMAIN_OK)
		return false;
	return strcmp(domain.name, host) == 0;
}

static void
provider_load_upstream(
    struct provider *provider, const char *path, struct json_fault *fault)
{
	static const char *const keys[] = {
	    "host", "port", "prefix", "cidrs", "tls", "ca_file", NULL};
	const json_t *part = NULL, *cidrs = NULL;
	const char *ca_file = "/";
	int64_t port = 443;
	bool tls = true;

	json_field_object(provider->object, path, "upstream", &part, fault);
	if (part == NULL)
		return;
	json_field_only(part, "upstream", keys, fault);
	json_field_string(
	    part, "upstream", "host", DOMAIN_NAME_MAX, &provider->host, fault);
	json_field_int_opt(part, "upstream", "port", 1, 65535, &port, fault);
	provider->port = (uint16_t)port;
	json_field_string_opt(part, "upstream", "prefix",
	    PROVIDER_LOAD_TEXT_MAX, &provider->prefix, fault);
	json_field_string_opt(
	    part, "upstream", "ca_file", 4096, &ca_file, fault);
	if (json_object_get(part, "cidrs") != NULL)
		json_field_array(part, "upstream", "cidrs",
		    PROVIDER_LOAD_LIST_MAX, &cidrs, fault);
	json_field_bool_opt(part, "upstream", "tls", &tls, fault);
	if (fault->text[0] != '\0')
		return;
	if (!provider_load_host_fits(
		provider->host, json_array_size(cidrs) > 0))
		json_field_fault(fault,
		    "upstream.host must be a lower case host name; one label "
		    "or an address only together with cidrs");
	if (!tls &&
	    (json_array_size(cidrs) == 0 ||
		!json_is_null(json_object_get(provider->object, "key"))))
		json_field_fault(fault,
		    "upstream.tls may be false only where key is null and "
		    "cidrs are listed");
	if (ca_file[0] != '/')
		json_field_fault(fault, "upstream.ca_file must begin with /");
}

static void
provider_load_prefix(struct provider *provider, struct json_fault *fault)
{
	static const char safe[] =
	    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	    "-._~/";
	const char *prefix = provider->prefix;
	size_t len = strlen(prefix);

	if (len > 0 &&
	    (prefix[0] != '/' || prefix[len - 1] == '/' ||
		strspn(prefix, safe) != len || strstr(prefix, "//") != NULL ||
		strstr(prefix, "/.") != NULL))
		json_field_fault(fault,
		    "upstream.prefix must be a plain path without a last "
		    "slash");
}

static void
provider_load_key(
    struct provider *provider, const char *path, struct json_fault *fault)
{
	static const char *const keys[] = {"header", "format", NULL};
	const json_t *part = json_object_get(provider->object, "key");
	const char *header = NULL, *format = NULL, *mark;

	if (part == NULL)
		json_field_fault(fault,
		    "%s.key is missing: an object, or null for none", path);
	if (part == NULL || json_is_null(part))
		return;
	json_field_only(part, "key", keys, fault);
	json_field_string(
	    part, "key", "header", PROVIDER_LOAD_HEADER_MAX, &header, fault);
	json_field_string(
	    part, "key", "format", PROVIDER_LOAD_HEADER_MAX, &format, fault);
	if (fault->text[0] != '\0')
		return;
	mark = strstr(format, "{key}");
	if (!provider_load_is_token(header) || mark == NULL ||
	    strstr(mark + 1, "{key}") != NULL ||
	    !provider_load_printable(format))
		json_field_fault(fault,
		    "key needs a header name and a format with one {key}");
}

/* A list of texts that all pass the check. */
static void
provider_load_texts(const json_t *object, const char *path, const char *key,
    bool (*fits)(const char *text), struct json_fault *fault)
{
	const json_t *list = NULL;
	const char *text;
	size_t i;

	json_field_array(
	    object, path, key, PROVIDER_LOAD_LIST_MAX, &list, fault);
	for (i = 0; i < json_array_size(list); i++) {
		text = json_string_value(json_array_get(list, i));
		if (text == NULL || text[0] == '\0' ||
		    strlen(text) > PROVIDER_LOAD_TEXT_MAX || !fits(text))
			json_field_fault(
			    fault, "%s.%s[%zu] is malformed", path, key, i);
	}
}

static bool
provider_load_is_variable(const char *text)
{
	static const char safe[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";

	return strspn(text, safe) == strlen(text) && *text > '9';
}

static void
provider_load_environment(struct provider *provider, struct json_fault *fault)
{
	static const char *const keys[] = {
	    "base_url", "suffix", "key", "placeholder", NULL};
	const json_t *part = json_object_get(provider->object, "environment");
	const char *path = "environment", *suffix = "", *placeholder = NULL;

	if (part == NULL)
		return;
	json_field_only(part, path, keys, fault);
	provider_load_texts(
	    part, path, "base_url", provider_load_is_variable, fault);
	provider_load_texts(
	    part, path, "key", provider_load_is_variable, fault);
	json_field_string_opt(
	    part, path, "suffix", PROVIDER_LOAD_TEXT_MAX, &suffix, fault);
	json_field_string(part, path, "placeholder", PROVIDER_LOAD_HEADER_MAX,
	    &placeholder, fault);
	if (fault->text[0] == '\0' &&
	    (strlen(placeholder) < 8 || !provider_load_is_token(placeholder)))
		json_field_fault(fault,
		    "environment.placeholder needs 8 or more letters, digits "
		    "and hyphens");
	if (fault->text[0] == '\0' && suffix[0] != '\0' && suffix[0] != '/')
		json_field_fault(fault, "environment.suffix must begin with /");
}

/* May this header be set or passed? Never the key's, nor a reserved one. */
static void
provider_load_header(const struct provider *provider, const char *path,
    const char *name, struct json_fault *fault)
{
	const json_t *key = json_object_get(provider->object, "key");
	const char *header = json_string_value(json_object_get(key, "header"));

	if (fault->text[0] != '\0')
		return;
	if (!provider_load_is_token(name) ||
	    strpbrk(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != NULL)
		json_field_fault(
		    fault, "%s must be a header name in lower case", path);
	else if (provider_load_reserved(name) ||
		 (header != NULL && strcasecmp(header, name) == 0))
		json_field_fault(fault, "%s may not name %s", path, name);
}

static void
provider_load_set_headers(struct provider *provider, struct json_fault *fault)
{
	const json_t *part = json_object_get(provider->object, "set_headers");
	const char *name, *text;
	json_t *value;

	if (part != NULL && !json_is_object(part))
		json_field_fault(fault, "set_headers must be an object");
	json_object_foreach((json_t *)(uintptr_t)part, name, value)
	{
		provider_load_header(provider, "set_headers", name, fault);
		text = json_string_value(value);
		if (text == NULL || strlen(text) > PROVIDER_LOAD_TEXT_MAX ||
		    !provider_load_printable(text))
			json_field_fault(
			    fault, "set_headers.%s must be a text", name);
	}
}

static void
provider_load_pass_headers(
    struct provider *provider, const char *path, struct json_fault *fault)
{
	static const char *const keys[] = {"name", "values", "list", NULL};
	const json_t *list = NULL, *entry;
	const char *name;
	bool flag;
	size_t i;

	if (json_object_get(provider->object, "pass_headers") == NULL)
		return;
	json_field_array(provider->object, path, "pass_headers",
	    PROVIDER_LOAD_LIST_MAX, &list, fault);
	for (i = 0; i < json_array_size(list) && fault->text[0] == '\0'; i++) {
		entry = json_array_get(list, i);
		name = "";
		json_field_only(entry, "pass_headers[]", keys, fault);
		json_field_string(entry, "pass_headers[]", "name",
		    PROVIDER_LOAD_HEADER_MAX, &name, fault);
		provider_load_texts(entry, "pass_headers[]", "values",
		    provider_load_printable, fault);
		json_field_bool_opt(
		    entry, "pass_headers[]", "list", &flag, fault);
		provider_load_header(provider, "pass_headers[]", name, fault);
	}
}

static void
provider_load_errors(
    struct provider *provider, const char *path, struct json_fault *fault)
{
	static const char *const names[] = {
	    [PROVIDER_ERRORS_OPENAI] = "openai",
	    [PROVIDER_ERRORS_ANTHROPIC] = "anthropic",
	    [PROVIDER_ERRORS_GEMINI] = "gemini",
	};
	const size_t count = sizeof(names) / sizeof(names[0]);
	const char *text = NULL;
	size_t i;

	json_field_string(provider->object, path, "errors",
	    PROVIDER_LOAD_HEADER_MAX, &text, fault);
	for (i = 0; text != NULL && i < count; i++)
		if (strcmp(text, names[i]) == 0)
			break;
	if (text != NULL && i < count)
		provider->errors = (enum provider_errors)i;
	else
		json_field_fault(fault,
		    "%s.errors must be openai, anthropic or gemini", path);
}

static void
provider_load_paths(
    struct provider *provider, const char *path, struct json_fault *fault)
{
	const json_t *list = NULL;
	size_t i, chats = 0;
	char place[32];

	json_field_array(
	    provider->object, path, "paths", PROVIDER_PATHS_MAX, &list, fault);
	if (fault->text[0] == '\0' && json_array_size(list) == 0)
		json_field_fault(fault, "%s.paths is empty", path);
	provider->paths =
	    calloc(json_array_size(list) + 1, sizeof(*provider->paths));
	if (provider->paths == NULL)
		json_field_fault(fault, "no memory for %s", path);
	for (i = 0; i < json_array_size(list) && fault->text[0] == '\0'; i++) {
		(void)snprintf(place, sizeof(place), "paths[%zu]", i);
		provider->path_count = i + 1;
		provider_row_load(provider, json_array_get(list, i), place,
		    &provider->paths[i], fault);
		chats += provider->paths[i].chat;
	}
	if (chats > 1)
		json_field_fault(
		    fault, "%s.paths has chat more than once", path);
}

static void
provider_load_parts(
    struct provider *provider, const char *path, struct json_fault *fault)
{
	static const char *const keys[] = {"name", "upstream", "key",
	    "environment", "errors", "set_headers", "pass_headers",
	    "drop_query", "rules", "paths", NULL};

	json_field_only(provider->object, path, keys, fault);
	provider_load_name(provider, path, fault);
	provider_load_upstream(provider, path, fault);
	provider_load_prefix(provider, fault);
	provider_load_key(provider, path, fault);
	provider_load_environment(provider, fault);
	provider_load_errors(provider, path, fault);
	provider_load_set_headers(provider, fault);
	provider_load_pass_headers(provider, path, fault);
	if (json_object_get(provider->object, "drop_query") != NULL)
		provider_load_texts(provider->object, path, "drop_query",
		    provider_load_is_token, fault);
	if (fault->text[0] == '\0')
		(void)field_rule_book_load(
		    json_object_get(provider->object, "rules"), "rules",
		    &provider->book, fault);
	if (fault->text[0] == '\0')
		provider_load_paths(provider, path, fault);
}

enum result
provider_load(const json_t *object, const char *path,
    struct provider **provider_r, struct json_fault *fault)
{
	struct provider *provider = calloc(1, sizeof(*provider));

	*provider_r = NULL;
	if (provider == NULL)
		return RESULT_NO_MEMORY;
	provider->object = json_incref((json_t *)(uintptr_t)object);
	provider->prefix = "";
	provider_load_parts(provider, path, fault);
	if (fault->text[0] != '\0') {
		provider_free(&provider);
		return RESULT_BAD;
	}
	*provider_r = provider;
	return RESULT_OK;
}
