/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the proxy's options. Called once by main.c, before confinement;
 * the bytes come from the supervisor. Must never accept what it does not
 * know.
 */
#include "egress-proxy/proxy_config.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define PROXY_CONFIG_PATH "options"

struct proxy_config_row {
	const char *key;
	size_t offset;
	int64_t min, max, initial;
};

#define PROXY_CONFIG_ROW(name, min, max, initial)                         \
	{                                                                 \
#name, offsetof(struct proxy_config, name), (min), (max), \
		    (initial)                                             \
	}

static const struct proxy_config_row proxy_config_rows[] = {
    PROXY_CONFIG_ROW(max_tunnels, 1, 100000, 256),
    PROXY_CONFIG_ROW(head_timeout_ms, 100, 600000, 10000),
    PROXY_CONFIG_ROW(hello_timeout_ms, 100, 600000, 10000),
    PROXY_CONFIG_ROW(dial_timeout_ms, 100, 600000, 10000),
    PROXY_CONFIG_ROW(lookup_timeout_ms, 100, 600000, 5000),
    PROXY_CONFIG_ROW(idle_timeout_s, 1, 604800, 300),
    PROXY_CONFIG_ROW(total_timeout_s, 1, 2592000, 28800),
    PROXY_CONFIG_ROW(rate_bytes, 0, INT64_C(1) << 50, 0),
    PROXY_CONFIG_ROW(max_bytes, 0, INT64_C(1) << 60, 0),
    PROXY_CONFIG_ROW(log_rate, 0, 1000000, 1000),
    PROXY_CONFIG_ROW(uid, 0, INT64_C(4294967294), 0),
};

#define PROXY_CONFIG_ROWS \
	(sizeof(proxy_config_rows) / sizeof(proxy_config_rows[0]))

static const char *const proxy_config_keys[] = {"max_tunnels",
    "head_timeout_ms", "hello_timeout_ms", "dial_timeout_ms",
    "lookup_timeout_ms", "idle_timeout_s", "total_timeout_s", "rate_bytes",
    "max_bytes", "log_rate", "uid", "resolver", "upstream_proxy", "congestion",
    "log_level", "no_landlock", "splice", NULL};

static const char *const proxy_config_levels[] = {
    "debug", "info", "warn", "error"};

static void
proxy_config_numbers(const json_t *options, struct proxy_config *config,
    struct json_fault *fault)
{
	for (size_t i = 0; i < PROXY_CONFIG_ROWS; i++) {
		const struct proxy_config_row *row = &proxy_config_rows[i];
		int64_t *value =
		    (int64_t *)(void *)((char *)config + row->offset);

		*value = row->initial;
		json_field_int_opt(options, PROXY_CONFIG_PATH, row->key,
		    row->min, row->max, value, fault);
	}
}

static void
proxy_config_level(const json_t *options, struct proxy_config *config,
    struct json_fault *fault)
{
	const char *text = "info";

	json_field_string_opt(
	    options, PROXY_CONFIG_PATH, "log_level", 8, &text, fault);
	for (size_t i = 0; i < 4; i++) {
		if (strcmp(text, proxy_config_levels[i]) == 0) {
			config->log_level = (enum log_level)i;
			return;
		}
	}
	json_field_fault(fault,
	    "%s.log_level must be debug, info, warn or error",
	    PROXY_CONFIG_PATH);
}

static void
proxy_config_upstream(const json_t *options, struct proxy_config *config,
    struct json_fault *fault)
{
	const char *text = NULL;

	json_field_string_opt(
	    options, PROXY_CONFIG_PATH, "upstream_proxy", 300, &text, fault);
	if (text != NULL && !endpoint_parse(text, &config->upstream))
		json_field_fault(fault,
		    "%s.upstream_proxy must be HOST:PORT, for example "
		    "proxy.example.com:3128",
		    PROXY_CONFIG_PATH);
}

static void
proxy_config_copy(const json_t *options, const char *key, char *to, size_t size,
    struct json_fault *fault)
{
	const char *text = "";

	json_field_string_opt(
	    options, PROXY_CONFIG_PATH, key, size - 1, &text, fault);
	(void)snprintf(to, size, "%s", text);
}

void
proxy_config_read(const json_t *options, struct proxy_config *config_r,
    struct json_fault *fault)
{
	memset(config_r, 0, sizeof(*config_r));
	config_r->splice = true;
	json_field_only(options, PROXY_CONFIG_PATH, proxy_config_keys, fault);
	proxy_config_numbers(options, config_r, fault);
	proxy_config_level(options, config_r, fault);
	proxy_config_upstream(options, config_r, fault);
	proxy_config_copy(options, "resolver", config_r->resolver,
	    sizeof(config_r->resolver), fault);
	proxy_config_copy(options, "congestion", config_r->congestion,
	    sizeof(config_r->congestion), fault);
	json_field_bool_opt(options, PROXY_CONFIG_PATH, "no_landlock",
	    &config_r->no_landlock, fault);
	json_field_bool_opt(
	    options, PROXY_CONFIG_PATH, "splice", &config_r->splice, fault);
	if (config_r->resolver[0] == '\0')
		json_field_fault(fault,
		    "%s.resolver is missing: give ADDRESS:PORT,...",
		    PROXY_CONFIG_PATH);
}
