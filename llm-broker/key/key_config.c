/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the options. Called once by main.c, before confinement; the bytes
 * come from the supervisor. Must never accept what it does not know, or a
 * key's field that could end or frame a head.
 */
#include "llm-broker/key/key_config.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define KEY_CONFIG_PATH "options"
#define KEY_CONFIG_PATH_MAX 48U

struct key_config_row {
	const char *key;
	size_t offset;
	int64_t min, max, initial;
};

#define KEY_CONFIG_ROW(name, min, max, initial)                         \
	{                                                               \
#name, offsetof(struct key_config, name), (min), (max), \
		    (initial)                                           \
	}

static const struct key_config_row key_config_rows[] = {
    KEY_CONFIG_ROW(lookup_timeout_ms, 100, 600000, 5000),
    KEY_CONFIG_ROW(connect_timeout_ms, 100, 600000, 10000),
    KEY_CONFIG_ROW(key_wait_ms, 0, 600000, 5000),
    KEY_CONFIG_ROW(idle_timeout_ms, 100, 3600000, 60000),
    KEY_CONFIG_ROW(max_idle, 0, 1024, 64),
    KEY_CONFIG_ROW(max_connections, 1, 4096, 1024),
    KEY_CONFIG_ROW(breaker_ms, 100, 3600000, 60000),
    KEY_CONFIG_ROW(log_rate, 0, 1000000, 1000),
    KEY_CONFIG_ROW(uid, 0, INT64_C(4294967294), 0),
};
#define KEY_CONFIG_ROWS (sizeof(key_config_rows) / sizeof(key_config_rows[0]))

static const char *const key_config_keys[] = {"providers", "resolver", "ca_fd",
    "own", "upstream_proxy", "lookup_timeout_ms", "connect_timeout_ms",
    "key_wait_ms", "idle_timeout_ms", "max_idle", "max_connections",
    "breaker_ms", "log_level", "log_rate", "uid", "no_landlock", "congestion",
    NULL};
static const char *const key_config_provider_keys[] = {
    "name", "host", "port", "key", "cidrs", "ca_fd", "tls", NULL};
static const char *const key_config_key_keys[] = {"header", "format", NULL};

/* Fields that frame, route or switch: never the one a key goes in. */
static const char *const key_config_not_headers[] = {"host", "connection",
    "content-length", "transfer-encoding", "upgrade", "expect", "te", "trailer",
    "keep-alive", "proxy-connection", NULL};

static void
key_config_numbers(
    const json_t *options, struct key_config *config, struct json_fault *fault)
{
	for (size_t i = 0; i < KEY_CONFIG_ROWS; i++) {
		const struct key_config_row *row = &key_config_rows[i];
		char *field = (char *)config + row->offset;
		int64_t value = row->initial;

		json_field_int_opt(options, KEY_CONFIG_PATH, row->key, row->min,
		    row->max, &value, fault);
		memcpy(field, &value, sizeof(value));
	}
	json_field_int_opt(options, KEY_CONFIG_PATH, "ca_fd", 0,
	    IPC_FDS_MAX - 1, &config->ca_index, fault);
}

static void
key_config_texts(
    const json_t *options, struct key_config *config, struct json_fault *fault)
{
	static const char *const levels[] = {"debug", "info", "warn", "error"};
	const char *resolver = "", *congestion = "", *level = "info";
	const char *proxy = NULL;
	size_t i;

	json_field_string(options, KEY_CONFIG_PATH, "resolver",
	    sizeof(config->resolver) - 1, &resolver, fault);
	json_field_string_opt(options, KEY_CONFIG_PATH, "congestion",
	    sizeof(config->congestion) - 1, &congestion, fault);
	json_field_string_opt(
	    options, KEY_CONFIG_PATH, "log_level", 8, &level, fault);
	json_field_string_opt(
	    options, KEY_CONFIG_PATH, "upstream_proxy", 300, &proxy, fault);
	(void)snprintf(config->resolver, sizeof(config->resolver), "%s",
	    fault->text[0] == '\0' ? resolver : "");
	(void)snprintf(config->congestion, sizeof(config->congestion), "%s",
	    fault->text[0] == '\0' ? congestion : "");
	for (i = 0; i < 4 && strcmp(level, levels[i]) != 0; i++)
		continue;
	config->log_level = i < 4 ? (enum log_level)i : LOG_INFO_LEVEL;
	if (i == 4)
		json_field_fault(fault,
		    KEY_CONFIG_PATH ".log_level must be debug, info, warn or "
				    "error");
	if (proxy != NULL && !endpoint_parse(proxy, &config->upstream_proxy))
		json_field_fault(fault,
		    KEY_CONFIG_PATH ".upstream_proxy must be HOST:PORT, for "
				    "example proxy.example.com:3128");
}

/* A token of letters, digits and hyphens (RFC 9110 allows more; no provider
 * uses more, and less is read the same by everybody). */
static bool
key_config_is_header(const char *name)
{
	size_t len = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				  "abcdefghijklmnopqrstuvwxyz0123456789-");

	if (len == 0 || name[len] != '\0')
		return false;
	for (size_t i = 0; key_config_not_headers[i] != NULL; i++)
		if (strcasecmp(name, key_config_not_headers[i]) == 0)
			return false;
	return true;
}

static bool
key_config_is_printable(const char *text)
{
	for (; *text != '\0'; text++)
		if (*text < 0x20 || *text > 0x7e)
			return false;
	return true;
}

/* "Bearer {key}" is what stands before and after the key. */
static bool
key_config_format(struct key_config_provider *provider, const char *format)
{
	const char *at = strstr(format, "{key}");

	if (at == NULL || strpbrk(at + 5, "{}") != NULL ||
	    memchr(format, '{', (size_t)(at - format)) != NULL ||
	    format[0] == ' ' || !key_config_is_printable(format))
		return false;
	(void)snprintf(provider->before, sizeof(provider->before), "%.*s",
	    (int)(at - format), format);
	(void)snprintf(provider->after, sizeof(provider->after), "%s", at + 5);
	return true;
}

static void
key_config_key(const json_t *object, const char *path,
    struct key_config_provider *provider, struct json_fault *fault)
{
	const json_t *key = json_object_get(object, "key");
	const char *header = "", *format = "";

	if (json_is_null(key))
		return;
	json_field_object(object, path, "key", &key, fault);
	if (fault->text[0] != '\0')
		return;
	json_field_only(key, path, key_config_key_keys, fault);
	json_field_string(
	    key, path, "header", KEY_CONFIG_HEADER_MAX, &header, fault);
	json_field_string(
	    key, path, "format", KEY_CONFIG_FORMAT_MAX, &format, fault);
	if (fault->text[0] != '\0')
		return;
	provider->has_key = true;
	(void)snprintf(
	    provider->header, sizeof(provider->header), "%s", header);
	if (!key_config_is_header(header))
		json_field_fault(fault,
		    "%s.key.header must be the name of a field of its own, of "
		    "letters, digits and hyphens",
		    path);
	if (!key_config_format(provider, format))
		json_field_fault(fault,
		    "%s.key.format must hold {key} once, for example "
		    "\"Bearer {key}\"",
		    path);
}

/* What the lists say may be resolved into, as a policy of one name. */
static void
key_config_ranges(const json_t *object, const char *path, const char *key,
    struct host_policy *policy, bool own, struct json_fault *fault)
{
	const json_t *list = NULL;
	const char *text;
	enum result result;

	if (json_object_get(object, key) == NULL)
		return;
	json_field_array(object, path, key, KEY_CONFIG_CIDRS_MAX, &list, fault);
	for (size_t i = 0; i < json_array_size(list); i++) {
		text = json_string_value(json_array_get(list, i));
		result = RESULT_BAD;
		if (text != NULL && own)
			result = host_policy_add_own(policy, text);
		else if (text != NULL)
			result = host_policy_add_extra_range(
			    policy, KEY_CONFIG_JUDGED, text);
		if (result != RESULT_OK)
			json_field_fault(fault,
			    "%s.%s[%zu] must be an address or CIDR with zero "
			    "host bits, not wider than /8 (IPv6: /7)",
			    path, key, i);
	}
}

static void
key_config_host(const json_t *object, const char *path,
    struct key_config_provider *provider, struct json_fault *fault)
{
	struct endpoint *endpoint = &provider->endpoint;
	const char *host = "";
	int64_t port = 443;
	bool v6;

	json_field_string(object, path, "host", DOMAIN_NAME_MAX, &host, fault);
	json_field_int_opt(object, path, "port", 1, 65535, &port, fault);
	/* Without a port, an IPv6 address needs no brackets. */
	if (ip_addr_parse(host, strlen(host), &endpoint->address) !=
		RESULT_OK &&
	    !endpoint_parse_host(host, strlen(host), endpoint))
		json_field_fault(fault,
		    "%s.host must be a host name or a literal address", path);
	if (fault->text[0] != '\0')
		return;
	endpoint->port = (uint16_t)port;
	v6 = endpoint->address.family == 6;
	if (endpoint->address.family != 0)
		ip_addr_text(&endpoint->address, provider->host);
	else
		(void)snprintf(provider->host, sizeof(provider->host), "%s",
		    endpoint->name.name);
	(void)snprintf(provider->authority, sizeof(provider->authority),
	    v6 ? "[%s]" : "%s", provider->host);
	if (port != 443)
		(void)snprintf(
		    provider->authority + strlen(provider->authority), 7, ":%u",
		    (unsigned)endpoint->port);
}

static void
key_config_provider(const json_t *object, const json_t *options,
    const char *path, struct key_config_provider *provider,
    struct json_fault *fault)
{
	const char *name = "";
	int64_t ca_index = -1;

	provider->tls = true;
	json_field_only(object, path, key_config_provider_keys, fault);
	json_field_string(
	    object, path, "name", LANE_PROVIDER_MAX - 1, &name, fault);
	json_field_bool_opt(object, path, "tls", &provider->tls, fault);
	json_field_int_opt(
	    object, path, "ca_fd", 0, IPC_FDS_MAX - 1, &ca_index, fault);
	provider->ca_index = (int)ca_index;
	if (fault->text[0] != '\0')
		return;
	(void)snprintf(provider->name, sizeof(provider->name), "%s", name);
	key_config_host(object, path, provider, fault);
	key_config_key(object, path, provider, fault);
	key_config_ranges(
	    object, path, "cidrs", provider->policy, false, fault);
	key_config_ranges(
	    options, KEY_CONFIG_PATH, "own", provider->policy, true, fault);
	/* A key never travels in the clear, and nothing else does to a host
	 * that anybody could be. */
	if (!provider->tls &&
	    (provider->has_key ||
		json_array_size(json_object_get(object, "cidrs")) == 0))
		json_field_fault(fault,
		    "%s.tls may be false only with \"key\": null and with "
		    "\"cidrs\" that say where the host is",
		    path);
}

static bool
key_config_is_double(const struct key_config *config, size_t index)
{
	for (size_t i = 0; i < index; i++)
		if (strcmp(config->providers[i].name,
			config->providers[index].name) == 0)
			return true;
	return false;
}

static void
key_config_providers(
    const json_t *options, struct key_config *config, struct json_fault *fault)
{
	const json_t *list = NULL;
	char path[KEY_CONFIG_PATH_MAX];

	json_field_array(options, KEY_CONFIG_PATH, "providers",
	    KEY_CONFIG_PROVIDERS_MAX, &list, fault);
	for (size_t i = 0; i < json_array_size(list); i++) {
		struct key_config_provider *provider = &config->providers[i];

		(void)snprintf(
		    path, sizeof(path), KEY_CONFIG_PATH ".providers[%zu]", i);
		if (!json_is_object(json_array_get(list, i)) ||
		    host_policy_new(&provider->policy) != RESULT_OK) {
			json_field_fault(fault, "%s must be an object", path);
			return;
		}
		config->provider_count = i + 1;
		key_config_provider(
		    json_array_get(list, i), options, path, provider, fault);
		if (key_config_is_double(config, i))
			json_field_fault(
			    fault, "%s.name is there already", path);
		if (provider->tls && provider->ca_index < 0 &&
		    config->ca_index < 0)
			json_field_fault(fault,
			    "%s has no CA bundle: give " KEY_CONFIG_PATH
			    ".ca_fd or its own ca_fd",
			    path);
	}
}

void
key_config_read(const json_t *options, struct key_config *config_r,
    struct json_fault *fault)
{
	memset(config_r, 0, sizeof(*config_r));
	config_r->ca_index = -1;
	json_field_only(options, KEY_CONFIG_PATH, key_config_keys, fault);
	key_config_numbers(options, config_r, fault);
	key_config_texts(options, config_r, fault);
	json_field_bool_opt(options, KEY_CONFIG_PATH, "no_landlock",
	    &config_r->no_landlock, fault);
	if (fault->text[0] == '\0')
		key_config_providers(options, config_r, fault);
}

void
key_config_clear(struct key_config *config)
{
	for (size_t i = 0; i < KEY_CONFIG_PROVIDERS_MAX; i++)
		host_policy_free(&config->providers[i].policy);
	memset(config, 0, sizeof(*config));
}
