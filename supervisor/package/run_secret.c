/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Secrets of a run; see run_secret.h. A value goes from locked memory into
 * a sealed memfd, or comes in one that is not read; it must never get into a
 * sentence, a log, an argument or a record.
 */
#include "supervisor/package/run_secret.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/fd.h"
#include "supervisor/policy/caller_secret.h"
#include "supervisor/policy/secret_block.h"
#include "supervisor/policy/secret_grant.h"
#include "supervisor/policy/stored_secret.h"

#define RUN_SECRET_SHOWN_MAX 80U

#define RUN_SECRET_KEPT_MAX 64U
#define RUN_SECRET_ENVIRONMENT "environment"

/* What run_secret_hide fetched: one per consent, until the process ends. */
static struct run_secret_kept {
	char key[DIGEST_HEX + 1];
	struct run_secret secret;
} run_secret_kept[RUN_SECRET_KEPT_MAX];
static size_t run_secret_kept_count;

/* What is being put together. */
struct run_secret_work {
	struct run_entry *run;
	struct run_secret *secret;
	struct secret_block *block;            /* the caller's variables */
	json_t *stored[KEYRING_BACKEND_COUNT]; /* names, by where they lie */
};

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
run_secret_consent(struct run_entry *run, struct run_secret *secret)
{
	enum secret_grant_state state = SECRET_GRANT_NONE;
	char key[DIGEST_HEX + 1];
	enum result result = secret_need_key(&secret->need, key);

	if (result == RESULT_OK)
		result = secret_grant_find(
		    key, time(NULL), &state, &secret->until, &run->fault);
	if (result != RESULT_OK)
		return run_entry_fail(
		    run, result, "credentials_consent_unreadable");
	return state == SECRET_GRANT_GOOD
		   ? RESULT_OK
		   : run_secret_refused(run, secret, state);
}

/* ---- values ---- */

/* name: of the one it came to it with. */
static enum result
run_secret_long(
    struct run_secret_work *work, enum result result, const char *name)
{
	json_field_fault(&work->run->fault,
	    result == RESULT_TOO_LONG
		? "%.60s: the secret %.64s is too long, or there are too many"
		: "%.60s: the secret %.64s cannot be held in locked memory",
	    work->run->slug, name);
	return run_entry_fail(work->run, result,
	    result == RESULT_TOO_LONG ? "credentials_too_long"
				      : "credentials_unavailable");
}

static void
run_secret_note(
    struct run_secret_work *work, const char *name, const char *source)
{
	(void)json_array_append_new(work->secret->names, json_string(name));
	(void)json_object_set_new(
	    work->secret->sources, name, json_string(source));
}

/* It is in nobody's hands: that it may be left out was asked before. */
static enum result
run_secret_missing(struct run_secret_work *work, const char *name, bool empty)
{
	json_field_fault(&work->run->fault,
	    empty ? "%.60s needs the secret %.64s: the variable is empty in "
		    "the environment of agentnode; leave it out there, and "
		    "'agentnode secret set %.64s'"
		  : "%.60s needs the secret %.64s: it is neither in the "
		    "environment of agentnode nor stored; 'agentnode secret "
		    "set %.64s'",
	    work->run->slug, name, name);
	return run_entry_fail(work->run, RESULT_REFUSED,
	    empty ? "credentials_empty" : "credentials_missing");
}

/* Not in the environment: is it stored? */
static enum result
run_secret_look(
    struct run_secret_work *work, const struct secret_need_item *item)
{
	struct json_fault *fault = &work->run->fault;
	enum keyring_backend backend;
	enum result result = stored_secret_find(item->name, &backend, fault);

	if (result == RESULT_NOT_FOUND)
		return item->required
			   ? run_secret_missing(work, item->name, false)
			   : RESULT_OK;
	if (result != RESULT_OK) {
		if (fault->text[0] == '\0')
			json_field_fault(fault, "secrets.json cannot be read");
		return run_entry_fail(
		    work->run, result, "credentials_unavailable");
	}
	if (work->stored[backend] == NULL)
		work->stored[backend] = json_array();
	(void)json_array_append_new(
	    work->stored[backend], json_string(item->name));
	run_secret_note(work, item->name, keyring_words_backend(backend));
	return RESULT_OK;
}

/* One name: a variable that is set counts, also an empty one. */
static enum result
run_secret_value(
    struct run_secret_work *work, const struct secret_need_item *item)
{
	const struct secret *value;
	enum result result = caller_secret_take(item->name, &value);

	if (result == RESULT_NOT_FOUND)
		return run_secret_look(work, item);
	if (result == RESULT_OK && value == NULL)
		return item->required
			   ? run_secret_missing(work, item->name, true)
			   : RESULT_OK;
	if (result == RESULT_OK && work->block == NULL)
		result = secret_block_new(&work->block);
	if (result == RESULT_OK)
		result = secret_block_add(work->block, item->name, value);
	if (result != RESULT_OK)
		return run_secret_long(work, result, item->name);
	run_secret_note(work, item->name, RUN_SECRET_ENVIRONMENT);
	return RESULT_OK;
}

static const char *
run_secret_code(enum keyring_status status)
{
	if (status == KEYRING_MISSING)
		return "credentials_missing";
	return status == KEYRING_BAD_KEY ? "credentials_too_long"
					 : "credentials_unavailable";
}

/* What is stored joins what the environment has; nobody here reads it. */
static enum result
run_secret_fetch(struct run_secret_work *work, int *block_fd)
{
	char detail[512], names[RUN_SECRET_SHOWN_MAX];
	enum keyring_status status;

	for (unsigned i = 0; i < KEYRING_BACKEND_COUNT; i++) {
		if (work->stored[i] == NULL)
			continue;
		status = stored_secret_fetch((enum keyring_backend)i,
		    work->stored[i], block_fd, detail, sizeof(detail));
		if (status == KEYRING_OK)
			continue;
		json_field_fault(&work->run->fault,
		    "%.40s: the secrets %s are stored in %s and cannot be had: "
		    "%.250s",
		    work->run->slug, run_secret_shown(work->stored[i], names),
		    keyring_words_backend((enum keyring_backend)i), detail);
		return run_entry_fail(
		    work->run, RESULT_REFUSED, run_secret_code(status));
	}
	return RESULT_OK;
}

static enum result
run_secret_all(struct run_secret_work *work, int *block_fd)
{
	const struct secret_need *need = &work->secret->need;
	enum result result = RESULT_OK;

	for (size_t i = 0; i < need->count && result == RESULT_OK; i++)
		result = run_secret_value(work, &need->items[i]);
	if (result == RESULT_OK && work->block != NULL) {
		result = secret_block_seal(work->block, block_fd);
		if (result != RESULT_OK)
			return run_secret_long(
			    work, result, need->items[0].name);
	}
	return result == RESULT_OK ? run_secret_fetch(work, block_fd) : result;
}

static enum result
run_secret_values(struct run_entry *run, struct run_secret *secret)
{
	struct run_secret_work work = {.run = run, .secret = secret};
	int block_fd = -1;
	enum result result;

	json_array_clear(secret->names);
	secret->sources = json_object();
	result = run_secret_all(&work, &block_fd);
	secret_block_free(&work.block);
	for (unsigned i = 0; i < KEYRING_BACKEND_COUNT; i++)
		json_decref(work.stored[i]);
	secret->has_block = block_fd >= 0;
	secret->block_fd = block_fd;
	return result;
}

/* ---- what was fetched before anything ran ---- */

static bool
run_secret_again(struct run_secret *secret)
{
	char key[DIGEST_HEX + 1];
	int fd;

	if (secret_need_key(&secret->need, key) != RESULT_OK)
		return false;
	for (size_t i = 0; i < run_secret_kept_count; i++) {
		const struct run_secret_kept *kept = &run_secret_kept[i];

		if (strcmp(kept->key, key) != 0)
			continue;
		fd = fcntl(kept->secret.block_fd, F_DUPFD_CLOEXEC, 3);
		if (fd < 0)
			return false;
		json_decref(secret->names);
		secret->names = json_incref(kept->secret.names);
		secret->sources = json_incref(kept->secret.sources);
		secret->block_fd = fd;
		secret->has_block = true;
		return true;
	}
	return false;
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
	if (result != RESULT_OK || run_secret_again(secret_r))
		return result;
	return run_secret_values(run, secret_r);
}

void
run_secret_clear(struct run_secret *secret)
{
	if (secret->has_block)
		fd_close(&secret->block_fd);
	secret->has_block = false;
	json_decref(secret->names);
	json_decref(secret->sources);
	secret->names = secret->sources = NULL;
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
		    "environment of agentnode or from 'agentnode secret set' "
		    "alone: leave it out",
		    run->slug, name);
		return run_entry_fail(run, RESULT_REFUSED, "bad_args");
	}
	return RESULT_OK;
}

/* Those that were read before a fault, too: it cannot run, but the others
 * can see our environment. */
static bool
run_secret_need(const char *slug, const json_t *entry,
    enum boundary_kind *kind_r, struct secret_need *need_r)
{
	struct json_fault fault = {""};

	if (!boundary_kind_parse(
		json_string_value(json_object_get(entry, "package_type")),
		json_string_value(json_object_get(entry, "runtime")), kind_r))
		return false;
	(void)secret_need_read(slug, entry, *kind_r, need_r, &fault);
	return need_r->count > 0;
}

void
run_secret_hide(const char *slug, const json_t *entry)
{
	const struct secret *value;
	struct secret_need need;
	enum boundary_kind kind;

	if (!run_secret_need(slug, entry, &kind, &need))
		return;
	for (size_t i = 0; i < need.count; i++)
		(void)caller_secret_take(need.items[i].name, &value);
}

/* Does one of them lie in a keychain, for a package that may have it? */
static bool
run_secret_wants(const struct secret_need *need, char key_r[DIGEST_HEX + 1])
{
	enum secret_grant_state state = SECRET_GRANT_NONE;
	struct json_fault fault = {""};
	const struct secret *value;
	enum keyring_backend backend;
	time_t expires;

	if (secret_need_key(need, key_r) != RESULT_OK ||
	    secret_grant_find(key_r, time(NULL), &state, &expires, &fault) !=
		RESULT_OK ||
	    state != SECRET_GRANT_GOOD)
		return false;
	for (size_t i = 0; i < need->count; i++) {
		const char *name = need->items[i].name;

		if (caller_secret_take(name, &value) == RESULT_NOT_FOUND &&
		    stored_secret_find(name, &backend, &fault) == RESULT_OK)
			return true;
	}
	return false;
}

void
run_secret_prefetch(const char *slug, const json_t *entry)
{
	struct run_secret_kept *kept = &run_secret_kept[run_secret_kept_count];
	struct run_entry *run;
	struct secret_need need;
	enum boundary_kind kind;

	if (run_secret_kept_count == RUN_SECRET_KEPT_MAX ||
	    !run_secret_need(slug, entry, &kind, &need) ||
	    !run_secret_wants(&need, kept->key))
		return;
	run = calloc(1, sizeof(*run));
	if (run == NULL)
		return;
	run->slug = slug;
	run->entry = entry;
	run->kind = kind;
	if (run_secret_make(run, false, &kept->secret) == RESULT_OK &&
	    kept->secret.has_block)
		run_secret_kept_count++;
	else
		run_secret_clear(&kept->secret);
	/* It borrows from the entry, which may go. */
	memset(&kept->secret.need, 0, sizeof(kept->secret.need));
	free(run);
}
