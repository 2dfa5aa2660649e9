/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Secrets of a run; see run_secret.h. A value goes from locked memory into
 * locked memory; it must never get into a sentence, a log, an argument or a
 * record.
 */
#include "supervisor/package/run_secret.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "supervisor/init/init_protocol.h"
#include "supervisor/policy/caller_secret.h"
#include "supervisor/policy/secret_grant.h"

#define RUN_SECRET_SHOWN_MAX 80U

struct run_secret_value {
	const char *name;
	const struct secret *value;
};

/* ---- the block: as init_go.h wants it, environment alone ---- */

static size_t
run_secret_size(const struct run_secret_value *values, size_t count)
{
	size_t size = sizeof(struct init_go) + count * sizeof(uint32_t);

	for (size_t i = 0; i < count; i++)
		size += strlen(values[i].name) + 1 +
			secret_len(values[i].value) + 1;
	return size;
}

static void
run_secret_fill(
    uint8_t *bytes, const struct run_secret_value *values, size_t count)
{
	struct init_go header = {.magic = INIT_MAGIC,
	    .version = INIT_PROTOCOL_VERSION,
	    .envc = (uint32_t)count,
	    .argv_offset = sizeof(header),
	    .env_offset = sizeof(header)};
	size_t used = sizeof(header) + count * sizeof(uint32_t);

	for (size_t i = 0; i < count; i++) {
		size_t name = strlen(values[i].name);
		size_t len = secret_len(values[i].value);
		uint32_t offset = (uint32_t)used;

		memcpy(bytes + sizeof(header) + i * sizeof(offset), &offset,
		    sizeof(offset));
		memcpy(bytes + used, values[i].name, name);
		bytes[used + name] = '=';
		memcpy(bytes + used + name + 1,
		    secret_bytes_borrow(values[i].value), len);
		used += name + 1 + len;
		bytes[used++] = '\0';
	}
	header.size = (uint32_t)used;
	memcpy(bytes, &header, sizeof(header));
}

static enum result
run_secret_block(struct run_secret *secret,
    const struct run_secret_value *values, size_t count)
{
	size_t size = run_secret_size(values, count);
	enum result result;
	uint8_t *bytes;

	if (size > SECRET_MAX)
		return RESULT_TOO_LONG;
	result = secret_new(size, &secret->block);
	if (result != RESULT_OK)
		return result;
	bytes = secret_resize(secret->block, size);
	if (bytes == NULL)
		return RESULT_TOO_LONG;
	run_secret_fill(bytes, values, count);
	return RESULT_OK;
}

/* ---- consent ---- */

static const char *
run_secret_shown(const json_t *list, char text_r[RUN_SECRET_SHOWN_MAX])
{
	size_t count = json_array_size(list), used = 0, i;

	text_r[0] = '\0';
	for (i = 0; i < count; i++) {
		const char *item = json_string_value(json_array_get(list, i));

		if (item == NULL ||
		    used + strlen(item) + 16 > RUN_SECRET_SHOWN_MAX)
			break;
		used +=
		    (size_t)snprintf(text_r + used, RUN_SECRET_SHOWN_MAX - used,
			"%s%s", i > 0 ? ", " : "", item);
	}
	if (i < count)
		(void)snprintf(text_r + used, RUN_SECRET_SHOWN_MAX - used,
		    "%s%zu more", i > 0 ? ", " : "", count - i);
	return text_r;
}

static enum result
run_secret_refused(struct run_entry *run, const struct run_secret *secret,
    enum secret_grant_state state)
{
	char names[RUN_SECRET_SHOWN_MAX], hosts[RUN_SECRET_SHOWN_MAX];
	bool none = secret->need.domains == NULL;
	const char *what = "nobody on this host consented";
	const char *code = "credentials_consent_missing";

	if (state == SECRET_GRANT_EXPIRED) {
		what = "the consent has expired";
		code = "credentials_consent_expired";
	} else if (state == SECRET_GRANT_REVOKED) {
		what = "the consent was revoked";
		code = "credentials_consent_revoked";
	}
	json_field_fault(&run->fault,
	    "%.40s reads the secrets %s and reaches %s: %s; 'agentnode "
	    "consent add %.40s' does",
	    run->slug, run_secret_shown(secret->names, names),
	    none ? "no host" : run_secret_shown(secret->need.domains, hosts),
	    what, run->slug);
	return run_entry_fail(run, RESULT_REFUSED, code);
}

static enum result
run_secret_consent(struct run_entry *run, const struct run_secret *secret)
{
	enum secret_grant_state state = SECRET_GRANT_NONE;
	char key[DIGEST_HEX + 1];
	time_t expires;
	enum result result = secret_need_key(&secret->need, key);

	if (result == RESULT_OK)
		result = secret_grant_find(
		    key, time(NULL), &state, &expires, &run->fault);
	if (result != RESULT_OK)
		return run_entry_fail(
		    run, result, "credentials_consent_unreadable");
	return state == SECRET_GRANT_GOOD
		   ? RESULT_OK
		   : run_secret_refused(run, secret, state);
}

/* ---- values ---- */

/* One name. RESULT_NOT_FOUND: it may be left out. */
static enum result
run_secret_value(struct run_entry *run, const struct secret_need_item *item,
    struct run_secret_value *value_r)
{
	enum result result = caller_secret_take(item->name, &value_r->value);
	bool unset = result == RESULT_NOT_FOUND;

	value_r->name = item->name;
	if (result == RESULT_OK && value_r->value != NULL)
		return RESULT_OK;
	if ((unset || result == RESULT_OK) && !item->required)
		return RESULT_NOT_FOUND;
	if (unset || result == RESULT_OK) {
		json_field_fault(&run->fault,
		    "%.60s needs the secret %.64s: the variable is %s in the "
		    "environment of agentnode",
		    run->slug, item->name, unset ? "not set" : "empty");
		return run_entry_fail(run, RESULT_REFUSED,
		    unset ? "credentials_missing" : "credentials_empty");
	}
	json_field_fault(&run->fault,
	    result == RESULT_TOO_LONG
		? "%.60s: the secret %.64s is too long, or there are too many"
		: "%.60s: the secret %.64s cannot be held in locked memory",
	    run->slug, item->name);
	return run_entry_fail(run, result,
	    result == RESULT_TOO_LONG ? "credentials_too_long"
				      : "credentials_unavailable");
}

static enum result
run_secret_values(struct run_entry *run, struct run_secret *secret)
{
	struct run_secret_value values[SECRET_NEED_MAX];
	enum result result;
	size_t count = 0;

	json_array_clear(secret->names);
	for (size_t i = 0; i < secret->need.count; i++) {
		result = run_secret_value(
		    run, &secret->need.items[i], &values[count]);
		if (result == RESULT_NOT_FOUND)
			continue;
		if (result != RESULT_OK)
			return result;
		(void)json_array_append_new(
		    secret->names, json_string(values[count++].name));
	}
	if (count == 0)
		return RESULT_OK;
	result = run_secret_block(secret, values, count);
	if (result == RESULT_OK)
		return RESULT_OK;
	json_field_fault(&run->fault,
	    "%.60s: its secrets are too long together, or cannot be held in "
	    "locked memory",
	    run->slug);
	return run_entry_fail(run, result,
	    result == RESULT_TOO_LONG ? "credentials_too_long"
				      : "credentials_unavailable");
}

enum result
run_secret_make(struct run_entry *run, bool once, struct run_secret *secret_r)
{
	enum result result;

	memset(secret_r, 0, sizeof(*secret_r));
	result = secret_need_read(
	    run->slug, run->entry, run->kind, &secret_r->need, &run->fault);
	if (result != RESULT_OK)
		return run_entry_fail(run, result,
		    result == RESULT_UNSUPPORTED ? "credentials_network"
						 : "not_runnable");
	if (secret_r->need.count == 0)
		return RESULT_OK;
	secret_r->names = secret_need_names(&secret_r->need);
	if (secret_r->names == NULL)
		return run_entry_fail(run, RESULT_NO_MEMORY, "internal");
	if (!once)
		result = run_secret_consent(run, secret_r);
	return result == RESULT_OK ? run_secret_values(run, secret_r) : result;
}

void
run_secret_clear(struct run_secret *secret)
{
	secret_free(&secret->block);
	json_decref(secret->names);
	secret->names = NULL;
}

enum result
run_secret_clash(
    struct run_entry *run, const struct run_secret *secret, const char *entry)
{
	for (size_t i = 0; i < secret->need.count; i++) {
		const char *name = secret->need.items[i].name;
		size_t len = strlen(name);

		if (strncmp(entry, name, len) != 0 || entry[len] != '=')
			continue;
		json_field_fault(&run->fault,
		    "%.60s: %.64s is one of its secrets and comes from the "
		    "environment of agentnode alone: leave it out",
		    run->slug, name);
		return run_entry_fail(run, RESULT_REFUSED, "bad_args");
	}
	return RESULT_OK;
}

void
run_secret_hide(const char *slug, const json_t *entry)
{
	struct json_fault fault = {""};
	const struct secret *value;
	struct secret_need need;
	enum boundary_kind kind;

	if (!boundary_kind_parse(
		json_string_value(json_object_get(entry, "package_type")),
		json_string_value(json_object_get(entry, "runtime")), &kind))
		return;
	/* Those that were read before a fault, too: it cannot run, but the
	 * others can see our environment. */
	(void)secret_need_read(slug, entry, kind, &need, &fault);
	for (size_t i = 0; i < need.count; i++)
		(void)caller_secret_take(need.items[i].name, &value);
}
