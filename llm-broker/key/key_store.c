/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Receives and keeps keys. Called by key_holder.c. Must never let a byte of
 * a secret into ordinary memory, a log line or an error text, also when the
 * other side speaks out of turn: even messages are received into secret
 * memory, and a message that cannot be read is not quoted.
 */
#include "llm-broker/key/key_store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>

#include "common/event_loop.h"
#include "common/fd.h"
#include "common/ipc.h"
#include "common/json_field.h"
#include "common/log.h"
#include "llm-broker/key/key_pattern.h"

#define KEY_STORE_PAIR_MS 120000U /* a keyring may ask to be unlocked */
#define KEY_STORE_MESSAGE_MAX 4096U

struct key_store_slot {
	const char *name;
	enum key_status status;
	struct secret *key;
	json_t *patterns;
	uint64_t awaited_until;
	uint64_t changed; /* pairs older than this bring an old key */
};

/* One keyring helper's socket. */
struct key_store_pair {
	TAILQ_ENTRY(key_store_pair) link;
	struct key_store *store;
	int fd;
	struct event *on_read;
	uint64_t serial;
	struct key_store_slot *slot; /* once its message came */
	struct secret *key;          /* room for the secret that follows */
};

struct key_store {
	struct event_base *base;
	struct key_store_options options;
	uint64_t serial;
	struct secret *message; /* what a pair says is received here */
	TAILQ_HEAD(, key_store_pair) pairs;
	size_t pair_count, count;
	struct key_store_slot slots[];
};

const char *
key_store_status_text(enum key_status status)
{
	static const char *const texts[] = {
	    "unused", "awaited", "found", "missing", "unavailable"};

	return (unsigned)status <= KEY_STATUS_UNAVAILABLE ? texts[status]
							  : "unknown";
}

static void
key_store_slot_wipe(struct key_store_slot *slot)
{
	secret_free(&slot->key);
	json_decref(slot->patterns);
	slot->patterns = NULL;
}

static void
key_store_slot_set(struct key_store *store, struct key_store_slot *slot,
    enum key_status status, const char *detail)
{
	slot->status = status;
	log_event(LOG_INFO_LEVEL, "key", LOG_TEXT("provider", slot->name),
	    LOG_TEXT("status", key_store_status_text(status)),
	    LOG_TEXT("detail", detail));
	store->options.on_change(
	    (size_t)(slot - store->slots), store->options.context);
}

static void
key_store_pair_free(struct key_store_pair *pair)
{
	struct key_store *store = pair->store;

	TAILQ_REMOVE(&store->pairs, pair, link);
	store->pair_count--;
	secret_free(&pair->key);
	if (pair->on_read != NULL)
		event_free(pair->on_read);
	fd_close(&pair->fd);
	free(pair);
}

/* The one end of a pair; why is a fixed sentence, "": all went well. */
static void
key_store_pair_end(struct key_store_pair *pair, const char *why)
{
	struct key_store *store = pair->store;
	struct key_store_slot *slot = pair->slot;
	bool is_old = slot != NULL && pair->serial < slot->changed;

	key_store_pair_free(pair);
	if (why[0] == '\0')
		return;
	log_event(
	    LOG_ERROR_LEVEL, "keyring_pair_ended", LOG_TEXT("detail", why));
	if (slot == NULL || is_old)
		return;
	key_store_slot_wipe(slot);
	key_store_slot_set(store, slot, KEY_STATUS_UNAVAILABLE, why);
}

static struct key_store_slot *
key_store_find(struct key_store *store, const char *name)
{
	for (size_t i = 0; i < store->count; i++)
		if (store->slots[i].status != KEY_STATUS_UNUSED &&
		    strcmp(store->slots[i].name, name) == 0)
			return &store->slots[i];
	return NULL;
}

/* found: make room for the secret. */
static void
key_store_expect(struct key_store_pair *pair, const json_t *length)
{
	json_int_t len = json_integer_value(length);

	if (length == NULL)
		key_store_pair_end(pair, "a key was found, but its length is "
					 "not said");
	else if (len < KEY_PATTERN_LENGTH_MIN || len > KEY_PATTERN_LENGTH_MAX)
		key_store_pair_end(
		    pair, "the key is not 16 to 2048 bytes long");
	else if (secret_new((size_t)len, &pair->key) != RESULT_OK)
		key_store_pair_end(pair, "no memory can be locked for the key");
	else
		(void)secret_resize(pair->key, (size_t)len);
}

static void
key_store_told(struct key_store_pair *pair, const json_t *body)
{
	struct key_store *store = pair->store;
	const char *provider =
	    json_string_value(json_object_get(body, "provider"));
	const char *status = json_string_value(json_object_get(body, "status"));
	const char *detail = json_string_value(json_object_get(body, "detail"));
	struct key_store_slot *slot = key_store_find(store, provider);

	if (slot == NULL) {
		key_store_pair_end(pair, "a key came for a provider that has "
					 "none");
		return;
	}
	pair->slot = slot;
	if (strcmp(status, "found") == 0) {
		key_store_expect(pair, json_object_get(body, "length"));
		return;
	}
	if (pair->serial >= slot->changed) {
		key_store_slot_wipe(slot);
		key_store_slot_set(store, slot,
		    strcmp(status, "missing") == 0 ? KEY_STATUS_MISSING
						   : KEY_STATUS_UNAVAILABLE,
		    detail != NULL ? detail : "");
	}
	key_store_pair_end(pair, "");
}

static void
key_store_read_message(struct key_store_pair *pair)
{
	struct secret *space = pair->store->message;
	uint8_t *bytes = secret_resize(space, KEY_STORE_MESSAGE_MAX);
	struct ipc_message message;
	char fault[JSON_FIELD_FAULT_MAX];
	size_t len = 0, fd_count = 0;
	int fds[IPC_FDS_MAX];
	enum result result;

	result = fd_receive(pair->fd, bytes, KEY_STORE_MESSAGE_MAX, &len, fds,
	    IPC_FDS_MAX, &fd_count);
	if (result == RESULT_NEED_MORE)
		return;
	ipc_message_init(&message, IPC_KEY_SECRET, 0);
	for (size_t i = 0; i < fd_count; i++)
		fd_close(&fds[i]);
	if (result == RESULT_OK)
		result =
		    ipc_decode((const char *)bytes, len, fd_count, IPC_KEYRING,
			IPC_KEY, IPC_RUNNING, &message, fault, sizeof(fault));
	secret_wipe(bytes, KEY_STORE_MESSAGE_MAX);
	secret_wipe(fault, sizeof(fault)); /* it may quote what came */
	if (result != RESULT_OK)
		key_store_pair_end(pair,
		    result == RESULT_EOF ? "it closed without a word"
					 : "it said what is no key message");
	else
		key_store_told(pair, message.body);
	ipc_message_clear(&message);
}

/* One datagram of exactly the announced length, without descriptors. */
static const char *
key_store_receive_secret(int fd, struct secret *key, size_t len)
{
	struct iovec space = {
	    .iov_base = secret_resize(key, len), .iov_len = len};
	struct msghdr header = {.msg_iov = &space, .msg_iovlen = 1};
	ssize_t got;

	do
		got = recvmsg(fd, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return "its socket failed";
	if ((size_t)got != len || (header.msg_flags & MSG_TRUNC) != 0)
		return "the secret is not as long as was said";
	if ((header.msg_flags & MSG_CTRUNC) != 0)
		return "a descriptor came with the secret";
	return key_pattern_refusal(key);
}

static void
key_store_read_secret(struct key_store_pair *pair)
{
	struct key_store *store = pair->store;
	struct key_store_slot *slot = pair->slot;
	size_t len = secret_len(pair->key);
	json_t *patterns = NULL;
	const char *fault;

	fault = key_store_receive_secret(pair->fd, pair->key, len);
	if (fault == NULL &&
	    key_pattern_build(pair->key, &patterns) != RESULT_OK)
		fault = "its patterns cannot be made";
	if (fault != NULL) {
		key_store_pair_end(pair, fault);
		return;
	}
	if (pair->serial < slot->changed) {
		json_decref(patterns);
		key_store_pair_end(pair, "");
		return;
	}
	key_store_slot_wipe(slot);
	slot->key = pair->key;
	slot->patterns = patterns;
	pair->key = NULL;
	key_store_pair_end(pair, "");
	key_store_slot_set(store, slot, KEY_STATUS_FOUND, "");
}

static void
key_store_on_read(evutil_socket_t fd, short what, void *context)
{
	struct key_store_pair *pair = context;

	(void)fd;
	if ((what & EV_TIMEOUT) != 0)
		key_store_pair_end(pair, "it said nothing for two minutes");
	else if (pair->key == NULL)
		key_store_read_message(pair);
	else
		key_store_read_secret(pair);
}

enum result
key_store_add_pair(struct key_store *store, int fd)
{
	const struct timeval limit = event_loop_timeval(KEY_STORE_PAIR_MS);
	struct key_store_pair *pair = NULL;

	if (store->pair_count < KEY_STORE_PAIRS_MAX)
		pair = calloc(1, sizeof(*pair));
	if (pair == NULL) {
		fd_close(&fd);
		return RESULT_TOO_LONG;
	}
	pair->store = store;
	pair->fd = fd;
	pair->serial = ++store->serial;
	TAILQ_INSERT_TAIL(&store->pairs, pair, link);
	store->pair_count++;
	pair->on_read = event_new(
	    store->base, fd, EV_READ | EV_PERSIST, key_store_on_read, pair);
	if (pair->on_read == NULL ||
	    fd_set_nonblocking(fd, true) != RESULT_OK ||
	    event_add(pair->on_read, &limit) != 0) {
		key_store_pair_free(pair);
		return RESULT_SYSTEM;
	}
	return RESULT_OK;
}

static void
key_store_await(struct key_store *store, struct key_store_slot *slot)
{
	slot->status = KEY_STATUS_AWAITED;
	slot->awaited_until = event_loop_now_ms() + store->options.wait_ms;
}

void
key_store_changed(struct key_store *store, size_t provider)
{
	struct key_store_slot *slot = &store->slots[provider];

	if (slot->status == KEY_STATUS_UNUSED)
		return;
	key_store_slot_wipe(slot);
	slot->changed = store->serial + 1;
	key_store_await(store, slot);
	log_event(LOG_INFO_LEVEL, "key", LOG_TEXT("provider", slot->name),
	    LOG_TEXT("status", "changed"), LOG_TEXT("detail", ""));
}

enum result
key_store_new(struct event_base *base, const struct key_store_options *options,
    struct key_store **store_r)
{
	struct key_store *store = calloc(
	    1, sizeof(*store) + options->count * sizeof(store->slots[0]));
	enum result result;

	*store_r = NULL;
	if (store == NULL)
		return RESULT_NO_MEMORY;
	store->base = base;
	store->options = *options;
	store->options.providers = NULL;
	store->count = options->count;
	TAILQ_INIT(&store->pairs);
	result = secret_new(KEY_STORE_MESSAGE_MAX, &store->message);
	if (result != RESULT_OK) {
		free(store);
		return result;
	}
	for (size_t i = 0; i < store->count; i++) {
		store->slots[i].name = options->providers[i].name;
		if (options->providers[i].has_key)
			key_store_await(store, &store->slots[i]);
	}
	*store_r = store;
	return RESULT_OK;
}

void
key_store_free(struct key_store **store)
{
	struct key_store_pair *pair, *next;

	if (*store == NULL)
		return;
	for (pair = TAILQ_FIRST(&(*store)->pairs); pair != NULL; pair = next) {
		next = TAILQ_NEXT(pair, link);
		key_store_pair_free(pair);
	}
	for (size_t i = 0; i < (*store)->count; i++)
		key_store_slot_wipe(&(*store)->slots[i]);
	secret_free(&(*store)->message);
	free(*store);
	*store = NULL;
}

enum key_status
key_store_status(
    const struct key_store *store, size_t provider, uint64_t now_ms)
{
	const struct key_store_slot *slot = &store->slots[provider];

	if (slot->status == KEY_STATUS_AWAITED && now_ms >= slot->awaited_until)
		return KEY_STATUS_MISSING;
	return slot->status;
}

uint64_t
key_store_awaited_until(const struct key_store *store, size_t provider)
{
	return store->slots[provider].awaited_until;
}

const struct secret *
key_store_key_borrow(const struct key_store *store, size_t provider)
{
	return store->slots[provider].key;
}

const json_t *
key_store_patterns_borrow(const struct key_store *store, size_t provider)
{
	return store->slots[provider].patterns;
}
