/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One row per provider. Called by broker_control.c (messages of llm-key)
 * and call.c. Must never say that a response may be passed on while
 * nothing is known of the key it can hold.
 */
#include "llm-broker/key_table.h"

#include <stdlib.h>
#include <string.h>

enum key_table_status {
	KEY_TABLE_UNTOLD, /* nothing was said of it yet */
	KEY_TABLE_FOUND,  /* or it takes none */
	KEY_TABLE_MISSING
};

struct key_table_row {
	const struct provider *provider;
	bool keyless;
	enum key_table_status status;
	struct redact_set set; /* of every key it had: never fewer */
};

struct key_table {
	size_t count;
	struct key_table_row rows[];
};

enum result
key_table_new(const struct provider *const *providers, const bool *keyless,
    struct key_table **table_r)
{
	struct key_table *table;
	size_t count = 0;

	while (providers[count] != NULL)
		count++;
	table = calloc(1, sizeof(*table) + count * sizeof(table->rows[0]));
	*table_r = table;
	if (table == NULL)
		return RESULT_NO_MEMORY;
	table->count = count;
	for (size_t i = 0; i < count; i++) {
		table->rows[i].provider = providers[i];
		table->rows[i].keyless = keyless[i];
		if (keyless[i])
			table->rows[i].status = KEY_TABLE_FOUND;
	}
	return RESULT_OK;
}

void
key_table_free(struct key_table **table)
{
	free(*table);
	*table = NULL;
}

static struct key_table_row *
key_table_find(struct key_table *table, const char *provider)
{
	for (size_t i = 0; i < table->count; i++)
		if (strcmp(provider_name(table->rows[i].provider), provider) ==
		    0)
			return &table->rows[i];
	return NULL;
}

void
key_table_set(struct key_table *table, const char *provider, const char *status,
    const json_t *patterns, struct json_fault *fault)
{
	struct key_table_row *row = key_table_find(table, provider);

	if (row == NULL) {
		json_field_fault(fault,
		    "key_pattern.provider is %.32s, which is not configured",
		    provider);
		return;
	}
	row->status = KEY_TABLE_MISSING;
	redact_set_read(patterns, "key_pattern.patterns", &row->set, fault);
	if (fault->text[0] != '\0' || strcmp(status, "found") != 0)
		return;
	if (json_array_size(patterns) == 0 && !row->keyless) {
		json_field_fault(fault,
		    "key_pattern.patterns is empty: nothing could be found");
		return;
	}
	row->status = KEY_TABLE_FOUND;
}

void
key_table_clear(struct key_table *table)
{
	for (size_t i = 0; i < table->count; i++)
		table->rows[i].status = KEY_TABLE_MISSING;
}

static const struct key_table_row *
key_table_of(const struct key_table *table, const struct provider *provider)
{
	for (size_t i = 0; i < table->count; i++)
		if (table->rows[i].provider == provider)
			return &table->rows[i];
	return NULL;
}

bool
key_table_may_call(
    const struct key_table *table, const struct provider *provider)
{
	const struct key_table_row *row = key_table_of(table, provider);

	return row != NULL && row->status != KEY_TABLE_MISSING;
}

const struct redact_set *
key_table_patterns_borrow(
    const struct key_table *table, const struct provider *provider)
{
	const struct key_table_row *row = key_table_of(table, provider);

	return row != NULL && row->status == KEY_TABLE_FOUND ? &row->set : NULL;
}
