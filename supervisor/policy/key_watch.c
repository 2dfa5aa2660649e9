/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares credentials.json with what it was (see the header). It must never
 * take a file that it cannot read for an unchanged one.
 */
#include "supervisor/policy/key_watch.h"

#include <stdlib.h>

#include "common/log.h"
#include "supervisor/policy/config_watch.h"
#include "supervisor/policy/credential.h"

struct key_watch {
	struct config_watch *file;
	json_t *known; /* provider -> facts, as last seen */
	key_watch_changed *changed;
	void *context;
};

static json_t *
key_watch_load(void)
{
	struct json_fault fault = {""};
	json_t *providers;

	if (credential_load(KEYRING_KEY, &providers, &fault) == RESULT_OK)
		return providers;
	log_event(LOG_WARN_LEVEL, "key_watch", LOG_TEXT("detail", fault.text));
	return json_object();
}

static void
key_watch_on_change(bool lost, void *context)
{
	struct key_watch *watch = context;
	json_t *before = watch->known, *entry;
	const char *name;

	watch->known = lost ? json_object() : key_watch_load();
	json_object_foreach(before, name, entry)
	{
		if (!json_equal(entry, json_object_get(watch->known, name)))
			watch->changed(name, watch->context);
	}
	json_object_foreach(watch->known, name, entry)
	{
		if (json_object_get(before, name) == NULL)
			watch->changed(name, watch->context);
	}
	json_decref(before);
}

enum result
key_watch_new(struct event_base *base, key_watch_changed *changed,
    void *context, struct key_watch **watch_r, struct json_fault *fault)
{
	struct key_watch *watch = calloc(1, sizeof(*watch));
	enum result result;

	*watch_r = NULL;
	if (watch == NULL)
		return RESULT_NO_MEMORY;
	watch->changed = changed;
	watch->context = context;
	watch->known = key_watch_load();
	result = config_watch_file_new(base, CREDENTIAL_FILE,
	    key_watch_on_change, watch, &watch->file, fault);
	if (result != RESULT_OK) {
		key_watch_free(&watch);
		return result;
	}
	*watch_r = watch;
	return RESULT_OK;
}

void
key_watch_free(struct key_watch **watch)
{
	struct key_watch *gone = *watch;

	if (gone == NULL)
		return;
	*watch = NULL;
	config_watch_free(&gone->file);
	json_decref(gone->known);
	free(gone);
}
