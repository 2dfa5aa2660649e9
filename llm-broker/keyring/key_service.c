/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keys in the Secret Service (see the header). Called by the job. A key is
 * in libsecret's locked memory or in ours; it must never be asked for in a
 * form that GLib copies to its heap.
 */
#include "llm-broker/keyring/key_service.h"

#include <libsecret/secret.h>
#include <string.h>

#include "llm-broker/keyring/key_rule.h"
#include "llm-broker/keyring/service_call.h"

static const SecretSchema key_service_schemas[KEYRING_KIND_COUNT] = {
    [KEYRING_KEY] =
	{
	    .name = "com.agentnode.sandbox.key",
	    .flags = SECRET_SCHEMA_NONE,
	    .attributes =
		{
		    {"provider", SECRET_SCHEMA_ATTRIBUTE_STRING},
		    {"home", SECRET_SCHEMA_ATTRIBUTE_STRING},
		    {NULL, SECRET_SCHEMA_ATTRIBUTE_STRING},
		},
	},
    [KEYRING_SECRET] =
	{
	    .name = "com.agentnode.sandbox.secret",
	    .flags = SECRET_SCHEMA_NONE,
	    .attributes =
		{
		    {"secret", SECRET_SCHEMA_ATTRIBUTE_STRING},
		    {"home", SECRET_SCHEMA_ATTRIBUTE_STRING},
		    {NULL, SECRET_SCHEMA_ATTRIBUTE_STRING},
		},
	},
};

struct key_service {
	const struct keyring_config *config;
	const SecretSchema *schema;
	const char *name; /* of what is looked for or stored */
	struct keyring_outcome *outcome;
	struct service_call call;
	SecretService *service;
	GHashTable *attributes;
};

/* A call that failed: which of our statuses is that? Takes error. */
static void
key_service_failed(struct key_service *keys, GError *error, const char *what)
{
	struct keyring_outcome *outcome = keys->outcome;

	if (error == NULL)
		keyring_outcome_set(outcome, KEYRING_TIMEOUT,
		    "the keychain did not answer within %u ms (%s)",
		    keys->config->deadline_ms, what);
	else if (g_error_matches(
		     error, G_DBUS_ERROR, G_DBUS_ERROR_SERVICE_UNKNOWN) ||
		 g_error_matches(
		     error, G_DBUS_ERROR, G_DBUS_ERROR_NAME_HAS_NO_OWNER) ||
		 g_error_matches(error, G_DBUS_ERROR,
		     G_DBUS_ERROR_SPAWN_SERVICE_NOT_FOUND) ||
		 g_error_matches(
		     error, G_DBUS_ERROR, G_DBUS_ERROR_SPAWN_CHILD_EXITED) ||
		 g_error_matches(
		     error, G_DBUS_ERROR, G_DBUS_ERROR_SPAWN_EXEC_FAILED))
		keyring_outcome_set(outcome, KEYRING_NO_SERVICE,
		    "nothing on the D-Bus session bus is a Secret Service "
		    "(org.freedesktop.secrets): start gnome-keyring, KWallet "
		    "or KeePassXC");
	else if (g_error_matches(error, SECRET_ERROR, SECRET_ERROR_IS_LOCKED))
		keyring_outcome_set(
		    outcome, KEYRING_LOCKED, "the keychain is locked");
	else
		keyring_outcome_set(outcome, KEYRING_FAILED,
		    "the keychain failed (%s): %.300s", what, error->message);
	g_clear_error(&error);
}

/* The bus first: that it is missing is another sentence. */
static bool
key_service_bus(struct key_service *keys)
{
	GError *error = NULL;
	GDBusConnection *bus;

	if (keys->config->bus[0] == '\0') {
		keyring_outcome_set(keys->outcome, KEYRING_NO_BUS,
		    "there is no D-Bus session: neither a unix: address in "
		    "DBUS_SESSION_BUS_ADDRESS nor XDG_RUNTIME_DIR/bus");
		return false;
	}
	(void)g_setenv("DBUS_SESSION_BUS_ADDRESS", keys->config->bus, TRUE);
	g_bus_get(G_BUS_TYPE_SESSION, keys->call.cancellable, service_call_done,
	    &keys->call);
	if (!service_call_wait(&keys->call)) {
		key_service_failed(keys, NULL, "connecting to D-Bus");
		return false;
	}
	bus = g_bus_get_finish(keys->call.result, &error);
	if (bus != NULL) {
		/* Its default is to end us when the bus goes. */
		g_dbus_connection_set_exit_on_close(bus, FALSE);
		return true;
	}
	keyring_outcome_set(keys->outcome, KEYRING_NO_BUS,
	    "the D-Bus session bus cannot be reached: %.300s", error->message);
	g_clear_error(&error);
	return false;
}

static bool
key_service_open(struct key_service *keys, const struct keyring_config *config,
    const char *name, struct keyring_outcome *outcome)
{
	GError *error = NULL;

	*keys = (struct key_service){.config = config,
	    .schema = &key_service_schemas[config->kind],
	    .name = name,
	    .outcome = outcome};
	service_call_init(&keys->call, config->deadline_ms);
	keys->attributes = secret_attributes_build(keys->schema,
	    keys->schema->attributes[0].name, name, "home", config->home_id,
	    NULL);
	if (!key_service_bus(keys))
		return false;
	secret_service_get(SECRET_SERVICE_OPEN_SESSION, keys->call.cancellable,
	    service_call_done, &keys->call);
	if (service_call_wait(&keys->call))
		keys->service =
		    secret_service_get_finish(keys->call.result, &error);
	if (keys->service != NULL)
		return true;
	key_service_failed(keys, error, "opening a session");
	return false;
}

/* Locked things are unlocked where a person can be asked. */
static bool
key_service_unlock(struct key_service *keys, GList *objects)
{
	unsigned wait = keys->config->unlock_ms;
	GError *error = NULL;
	gint count = -1;

	if (wait > 0) {
		service_call_extend(&keys->call, wait);
		secret_service_unlock(keys->service, objects,
		    keys->call.cancellable, service_call_done, &keys->call);
		if (service_call_wait(&keys->call))
			count = secret_service_unlock_finish(
			    keys->service, keys->call.result, NULL, &error);
		g_clear_error(&error);
		service_call_extend(&keys->call, keys->config->deadline_ms);
	}
	if (count == (gint)g_list_length(objects))
		return true;
	keyring_outcome_set(keys->outcome, KEYRING_LOCKED,
	    wait > 0 ? "the keychain is locked and was not unlocked"
		     : "the keychain is locked, and here nobody can be asked "
		       "to unlock it: log in to the desktop, or run "
		       "'gnome-keyring-daemon --unlock'");
	return false;
}

/* The items of this key; NULL: none, or it failed (*ok_r). */
static GList *
key_service_search(
    struct key_service *keys, SecretSearchFlags flags, bool *ok_r)
{
	GList *items = NULL;
	GError *error = NULL;

	*ok_r = false;
	secret_service_search(keys->service, keys->schema, keys->attributes,
	    flags, keys->call.cancellable, service_call_done, &keys->call);
	if (!service_call_wait(&keys->call)) {
		key_service_failed(keys, NULL, "searching");
		return NULL;
	}
	items = secret_service_search_finish(
	    keys->service, keys->call.result, &error);
	*ok_r = error == NULL;
	if (error != NULL)
		key_service_failed(keys, error, "searching");
	return items;
}

/* Where new items go. NULL: outcome says why, or there is none. */
static SecretCollection *
key_service_default(struct key_service *keys, bool *ok_r)
{
	SecretCollection *collection;
	GError *error = NULL;

	*ok_r = false;
	secret_collection_for_alias(keys->service, SECRET_COLLECTION_DEFAULT,
	    SECRET_COLLECTION_NONE, keys->call.cancellable, service_call_done,
	    &keys->call);
	if (!service_call_wait(&keys->call)) {
		key_service_failed(keys, NULL, "looking for the default");
		return NULL;
	}
	collection =
	    secret_collection_for_alias_finish(keys->call.result, &error);
	*ok_r = error == NULL;
	if (error != NULL)
		key_service_failed(keys, error, "looking for the default");
	return collection;
}

/* A locked keyring may show nothing of what is in it: that nothing was
 * found means something only when the default one is open. */
static GList *
key_service_search_open(struct key_service *keys, SecretSearchFlags flags)
{
	GList only = {NULL, NULL, NULL}, *items;
	SecretCollection *collection;
	bool ok;

	items = key_service_search(keys, flags, &ok);
	if (items != NULL || !ok)
		return items;
	collection = key_service_default(keys, &ok);
	if (!ok)
		return NULL;
	if (collection != NULL && secret_collection_get_locked(collection)) {
		only.data = collection;
		if (!key_service_unlock(keys, &only))
			return NULL;
		items = key_service_search(keys, flags, &ok);
	}
	if (items == NULL && ok)
		keyring_outcome_set(keys->outcome, KEYRING_MISSING,
		    "the keychain has no %s for %s",
		    keyring_words_kind(keys->config->kind), keys->name);
	return items;
}

/* As above, and unlocked. */
static GList *
key_service_find(struct key_service *keys, SecretSearchFlags flags)
{
	GList *items = key_service_search_open(keys, flags), *locked = NULL;

	for (GList *item = items; item != NULL; item = item->next) {
		if (secret_item_get_locked(item->data))
			locked = g_list_prepend(locked, item->data);
	}
	if (locked != NULL && !key_service_unlock(keys, locked))
		g_clear_list(&items, g_object_unref);
	g_list_free(locked);
	return items;
}

/* The secret of an item, which may have been locked a moment ago. */
static SecretValue *
key_service_value(struct key_service *keys, SecretItem *item)
{
	SecretValue *value = secret_item_get_secret(item);
	GError *error = NULL;

	if (value != NULL)
		return value;
	secret_item_load_secret(
	    item, keys->call.cancellable, service_call_done, &keys->call);
	if (!service_call_wait(&keys->call))
		key_service_failed(keys, NULL, "reading");
	else if (!secret_item_load_secret_finish(
		     item, keys->call.result, &error))
		key_service_failed(keys, error, "reading");
	else
		value = secret_item_get_secret(item);
	return value;
}

/* From libsecret's memory to ours. */
static struct secret *
key_service_copy(
    SecretValue *value, enum keyring_kind kind, struct keyring_outcome *outcome)
{
	char sentence[192];
	struct secret *key = NULL;
	enum key_rule rule;
	gsize len = 0;
	const gchar *bytes = secret_value_get(value, &len);
	size_t at;

	rule = key_rule_check(kind, (const uint8_t *)bytes, len, &at);
	if (rule != KEY_RULE_OK) {
		key_rule_sentence(
		    kind, rule, len, at, sentence, sizeof(sentence));
		keyring_outcome_set(outcome, KEYRING_BAD_KEY,
		    "the keychain's item cannot be used: %s", sentence);
	} else if (secret_new(len, &key) != RESULT_OK ||
		   secret_set(key, bytes, len) != RESULT_OK) {
		secret_free(&key);
		keyring_outcome_set(outcome, KEYRING_FAILED,
		    "no memory can be locked for the key");
	}
	secret_value_unref(value);
	return key;
}

struct secret *
key_service_read(const struct keyring_config *config, const char *name,
    struct keyring_outcome *outcome)
{
	struct key_service keys;
	SecretValue *value = NULL;
	GList *items;

	if (!key_service_open(&keys, config, name, outcome))
		return NULL;
	items = key_service_find(&keys, SECRET_SEARCH_LOAD_SECRETS);
	if (items != NULL)
		value = key_service_value(&keys, items->data);
	return value == NULL ? NULL
			     : key_service_copy(value, config->kind, outcome);
}

/* The place for a new key, which must be there. NULL: outcome. */
static SecretCollection *
key_service_collection(struct key_service *keys)
{
	bool ok;
	SecretCollection *collection = key_service_default(keys, &ok);

	if (collection == NULL && ok)
		keyring_outcome_set(keys->outcome, KEYRING_NO_COLLECTION,
		    "the keychain has no default keyring to store a key in: "
		    "make one with its own program (Seahorse, "
		    "KWalletManager), or unlock the login keyring");
	return collection;
}

struct key_service *
key_service_prepare(
    const struct keyring_config *config, struct keyring_outcome *outcome)
{
	struct key_service *keys = g_new0(struct key_service, 1);
	GList only = {NULL, NULL, NULL};
	SecretCollection *collection;

	if (!key_service_open(keys, config, config->name, outcome))
		return NULL;
	collection = key_service_collection(keys);
	if (collection == NULL)
		return NULL;
	only.data = collection;
	if (secret_collection_get_locked(collection) &&
	    !key_service_unlock(keys, &only))
		return NULL;
	return keys;
}

void
key_service_store(struct key_service *keys, const struct secret *key)
{
	GError *error = NULL;
	SecretValue *value;
	char label[128];

	service_call_extend(&keys->call, keys->config->deadline_ms);
	(void)g_snprintf(label, sizeof(label), "AgentNode %s: %s",
	    keyring_words_kind(keys->config->kind), keys->name);
	/* Our bytes, lent: not copied, and not freed there. */
	value =
	    secret_value_new_full((gchar *)(uintptr_t)secret_bytes_borrow(key),
		(gssize)secret_len(key), "text/plain", NULL);
	secret_service_store(keys->service, keys->schema, keys->attributes,
	    SECRET_COLLECTION_DEFAULT, label, value, keys->call.cancellable,
	    service_call_done, &keys->call);
	if (!service_call_wait(&keys->call))
		key_service_failed(keys, NULL, "storing");
	else if (!secret_service_store_finish(
		     keys->service, keys->call.result, &error))
		key_service_failed(keys, error, "storing");
	else
		keys->outcome->status = KEYRING_OK;
}

void
key_service_remove(
    const struct keyring_config *config, struct keyring_outcome *outcome)
{
	struct key_service keys;
	GError *error = NULL;

	if (!key_service_open(&keys, config, config->name, outcome) ||
	    key_service_find(&keys, SECRET_SEARCH_ALL) == NULL)
		return;
	secret_service_clear(keys.service, keys.schema, keys.attributes,
	    keys.call.cancellable, service_call_done, &keys.call);
	if (!service_call_wait(&keys.call))
		key_service_failed(&keys, NULL, "removing");
	else if (secret_service_clear_finish(
		     keys.service, keys.call.result, &error))
		outcome->status = KEYRING_OK;
	else if (error != NULL)
		key_service_failed(&keys, error, "removing");
	else
		keyring_outcome_set(
		    outcome, KEYRING_FAILED, "the keychain removed nothing");
}

void
key_service_test(
    const struct keyring_config *config, struct keyring_outcome *outcome)
{
	struct key_service keys;
	SecretCollection *collection;

	if (!key_service_open(&keys, config, config->name, outcome))
		return;
	collection = key_service_collection(&keys);
	if (collection == NULL)
		return;
	if (secret_collection_get_locked(collection))
		keyring_outcome_set(
		    outcome, KEYRING_LOCKED, "the keychain is locked");
	else
		outcome->status = KEYRING_OK;
}
