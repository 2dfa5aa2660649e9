/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the broker's options. Called once by main.c, before confinement;
 * the bytes come from the supervisor. Must never accept what it does not
 * know.
 */
#include "llm-broker/broker_config.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "llm-broker/lane.h"

#define BROKER_CONFIG_PATH "options"

struct broker_config_row {
	const char *key;
	size_t offset;
	int64_t min, max, initial;
};

#define BROKER_CONFIG_ROW(name, min, max, initial)                         \
	{                                                                  \
#name, offsetof(struct broker_config, name), (min), (max), \
		    (initial)                                              \
	}

static const struct broker_config_row broker_config_rows[] = {
    BROKER_CONFIG_ROW(port, 1, 65535, 4100),
    BROKER_CONFIG_ROW(head_timeout_ms, 100, 600000, 10000),
    BROKER_CONFIG_ROW(request_timeout_ms, 100, 3600000, 60000),
    BROKER_CONFIG_ROW(keep_alive_ms, 100, 3600000, 60000),
    BROKER_CONFIG_ROW(lanes, 1, LANE_COUNT_MAX, LANE_COUNT_MAX),
    BROKER_CONFIG_ROW(log_rate, 0, 1000000, 1000),
    BROKER_CONFIG_ROW(uid, 0, INT64_C(4294967294), 0),
};

#define BROKER_CONFIG_ROWS \
	(sizeof(broker_config_rows) / sizeof(broker_config_rows[0]))

static const char *const broker_config_keys[] = {"providers", "port",
    "head_timeout_ms", "request_timeout_ms", "keep_alive_ms", "lanes",
    "log_rate", "uid", "log_level", "no_landlock", NULL};

static const char *const broker_config_levels[] = {
    "debug", "info", "warn", "error", NULL};

static void
broker_config_numbers(const json_t *options, struct broker_config *config,
    struct json_fault *fault)
{
	for (size_t i = 0; i < BROKER_CONFIG_ROWS; i++) {
		const struct broker_config_row *row = &broker_config_rows[i];
		int64_t *value =
		    (int64_t *)(void *)((char *)config + row->offset);

		*value = row->initial;
		json_field_int_opt(options, BROKER_CONFIG_PATH, row->key,
		    row->min, row->max, value, fault);
	}
}

static void
broker_config_level(const json_t *options, struct broker_config *config,
    struct json_fault *fault)
{
	const char *text = "info";

	json_field_string_opt(
	    options, BROKER_CONFIG_PATH, "log_level", 8, &text, fault);
	for (int i = 0; broker_config_levels[i] != NULL; i++) {
		if (strcmp(text, broker_config_levels[i]) == 0) {
			config->log_level = (enum log_level)i;
			return;
		}
	}
	json_field_fault(fault,
	    "%s.log_level must be debug, info, warn or error",
	    BROKER_CONFIG_PATH);
}

static bool
broker_config_is_named(const struct broker_config *config, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(provider_name(config->providers[i]),
			provider_name(config->providers[count])) == 0)
			return true;
	return false;
}

static void
broker_config_providers(const json_t *options, struct broker_config *config,
    struct json_fault *fault)
{
	const json_t *list = NULL;

	json_field_array(options, BROKER_CONFIG_PATH, "providers",
	    BROKER_CONFIG_PROVIDERS_MAX, &list, fault);
	for (size_t i = 0; i < json_array_size(list) && fault->text[0] == '\0';
	     i++) {
		const json_t *object = json_array_get(list, i);
		char path[64];

		(void)snprintf(path, sizeof(path), "%s.providers[%zu]",
		    BROKER_CONFIG_PATH, i);
		if (provider_load(object, path, &config->providers[i], fault) !=
		    RESULT_OK)
			return;
		config->keyless[i] =
		    !json_is_object(json_object_get(object, "key"));
		if (broker_config_is_named(config, i))
			json_field_fault(fault, "%s.name is there twice: %s",
			    path, provider_name(config->providers[i]));
	}
}

void
broker_config_read(const json_t *options, struct broker_config *config_r,
    struct json_fault *fault)
{
	memset(config_r, 0, sizeof(*config_r));
	json_field_only(options, BROKER_CONFIG_PATH, broker_config_keys, fault);
	broker_config_numbers(options, config_r, fault);
	broker_config_level(options, config_r, fault);
	json_field_bool_opt(options, BROKER_CONFIG_PATH, "no_landlock",
	    &config_r->no_landlock, fault);
	broker_config_providers(options, config_r, fault);
}

void
broker_config_clear(struct broker_config *config)
{
	for (size_t i = 0; i < BROKER_CONFIG_PROVIDERS_MAX; i++)
		provider_free(&config->providers[i]);
}
