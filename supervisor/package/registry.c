/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The story of taking a package from a registry; see registry.h. The order
 * is signature, form, time, serial, attestation, bytes: it must never parse
 * an index that nobody signed, nor copy an artifact that was not judged.
 */
#include "supervisor/package/registry.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/fd.h"
#include "supervisor/package/registry_file.h"
#include "supervisor/package/registry_seen.h"
#include "supervisor/package/slug.h"
#include "supervisor/policy/attestation.h"
#include "supervisor/policy/digest.h"
#include "supervisor/policy/ed25519.h"
#include "supervisor/policy/utc_time.h"

/* Index and signatures are two files: one may be newer for a moment. */
#define REGISTRY_TRIES 3U
#define REGISTRY_PAUSE_NS 100000000L

struct registry_bytes {
	char *bytes; /* of index.json; owned */
	size_t len;
	struct registry_mark marks[REGISTRY_MARKS_MAX];
	const char *keys[REGISTRY_MARKS_MAX]; /* whose signature holds */
	size_t mark_count, key_count;
};

static enum registry_code
registry_folder(
    const struct config *config, int *folder_r, struct json_fault *fault)
{
	const char *path = config_text(config, "registry.path");

	*folder_r = -1;
	if (path == NULL) {
		json_field_fault(fault,
		    "registry.path is not set: 'agentnode config set "
		    "registry.path /PATH' names the folder of a registry");
		return REGISTRY_UNSET;
	}
	*folder_r = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (*folder_r >= 0)
		return REGISTRY_OK;
	json_field_fault(fault, "registry.path: %.120s: %s", path,
	    errno == ENOENT || errno == ENOTDIR ? "there is no such folder"
						: "cannot be opened");
	return REGISTRY_UNREADABLE;
}

/* The keys that are pinned and whose signature over these bytes holds. */
static enum registry_code
registry_verify(const struct config *config, struct registry_bytes *read,
    struct json_fault *fault)
{
	bool known = false;

	read->key_count = 0;
	for (size_t i = 0; i < read->mark_count; i++) {
		const struct registry_mark *mark = &read->marks[i];

		if (!trust_is_pinned(config, mark->key))
			continue;
		known = true;
		if (ed25519_verify(mark->key, mark->signature, ED25519_INDEX,
			read->bytes, read->len) == RESULT_OK)
			read->keys[read->key_count++] = mark->key;
	}
	if (read->key_count > 0)
		return REGISTRY_OK;
	json_field_fault(fault,
	    known ? "index.json: its signature does not hold"
		  : "index.json: it is signed by none of "
		    "trust.registry_keys; 'agentnode trust keys list' shows "
		    "them");
	return known ? REGISTRY_SIGNATURE : REGISTRY_KEY;
}

static enum registry_code
registry_read_once(const struct config *config, int folder,
    struct registry_bytes *read, struct json_fault *fault)
{
	enum registry_code code;
	char *marks = NULL;
	size_t len = 0;

	code = registry_file_read(folder, REGISTRY_INDEX_MARKS,
	    (size_t)REGISTRY_MARK_LINE * REGISTRY_MARKS_MAX, &marks, &len,
	    fault);
	if (code == REGISTRY_OK)
		code = registry_index_marks(
		    marks, len, read->marks, &read->mark_count, fault);
	free(marks);
	if (code == REGISTRY_OK)
		code = registry_file_read(folder, REGISTRY_INDEX_FILE,
		    REGISTRY_INDEX_MAX, &read->bytes, &read->len, fault);
	if (code == REGISTRY_OK)
		code = registry_verify(config, read, fault);
	return code;
}

static enum registry_code
registry_read(const struct config *config, int folder,
    struct registry_bytes *read, struct json_fault *fault)
{
	const struct timespec pause = {0, REGISTRY_PAUSE_NS};
	enum registry_code code = REGISTRY_SIGNATURE;

	for (unsigned i = 0; code == REGISTRY_SIGNATURE && i < REGISTRY_TRIES;
	     i++) {
		if (i > 0)
			(void)nanosleep(&pause, NULL);
		free(read->bytes);
		*read = (struct registry_bytes){.bytes = NULL};
		*fault = (struct json_fault){""};
		code = registry_read_once(config, folder, read, fault);
	}
	return code;
}

enum registry_code
registry_open(const struct config *config, time_t now,
    struct registry *registry_r, struct json_fault *fault)
{
	struct registry_bytes read = {.bytes = NULL};
	char hash[DIGEST_HEX + 1];
	enum registry_code code;

	memset(registry_r, 0, sizeof(*registry_r));
	code = registry_folder(config, &registry_r->folder, fault);
	if (code == REGISTRY_OK)
		code = registry_read(config, registry_r->folder, &read, fault);
	if (code == REGISTRY_OK)
		code = registry_index_parse(
		    read.bytes, read.len, &registry_r->index, fault);
	if (code == REGISTRY_OK)
		code = registry_index_current(&registry_r->index, now, fault);
	if (code == REGISTRY_OK &&
	    digest_sha256(read.bytes, read.len, hash) != RESULT_OK)
		code = REGISTRY_STATE;
	if (code == REGISTRY_OK)
		code = registry_seen_note(read.keys, read.key_count,
		    registry_r->index.serial, hash, fault);
	free(read.bytes);
	return code;
}

void
registry_close(struct registry *registry)
{
	fd_close(&registry->folder);
	registry_index_clear(&registry->index);
}

/* SLUG[@VERSION] apart; *version_r is NULL without one. */
static bool
registry_split(
    const char *name, char slug_r[SLUG_MAX + 1], const char **version_r)
{
	size_t len = strcspn(name, "@");

	*version_r = name[len] == '@' ? name + len + 1 : NULL;
	if (len > SLUG_MAX)
		return false;
	memcpy(slug_r, name, len);
	slug_r[len] = '\0';
	return slug_is_valid(slug_r) &&
	       (*version_r == NULL || attestation_is_version(*version_r));
}

bool
registry_is_name(const char *text)
{
	char slug[SLUG_MAX + 1];
	const char *version;

	return registry_split(text, slug, &version);
}

/* What trust_prove judges. */
static json_t *
registry_row_entry(const struct registry_row *row)
{
	return json_pack("{s:s, s:s, s:O*, s:O*}", "version", row->version,
	    "artifact_hash", row->artifact_hash, "attestation",
	    row->attestation, "_signatures", row->signatures);
}

static enum result
registry_row_prove(const struct config *config, const struct registry_row *row,
    time_t now, struct trust_verdict *verdict_r, struct json_fault *fault)
{
	json_t *entry = registry_row_entry(row);
	enum result result = entry == NULL ? RESULT_NO_MEMORY
					   : trust_prove(config, row->slug,
						 entry, now, verdict_r, fault);

	json_decref(entry);
	return result;
}

static enum result
registry_result(enum registry_code code)
{
	switch (code) {
	case REGISTRY_OK:
		return RESULT_OK;
	case REGISTRY_PACKAGE:
	case REGISTRY_VERSION:
		return RESULT_NOT_FOUND;
	case REGISTRY_UNSET:
	case REGISTRY_UNREADABLE:
	case REGISTRY_STATE:
		return RESULT_BAD;
	case REGISTRY_KEY:
	case REGISTRY_FUTURE:
	case REGISTRY_EXPIRED:
		return RESULT_REFUSED;
	case REGISTRY_MARKS:
	case REGISTRY_SIGNATURE:
	case REGISTRY_SYNTAX:
	case REGISTRY_DUPLICATE:
	case REGISTRY_FIELD:
	case REGISTRY_TIME:
	case REGISTRY_ROLLBACK:
	case REGISTRY_FORK:
	case REGISTRY_FILE:
	case REGISTRY_HASH:
	case REGISTRY_KIND:
	case REGISTRY_SERVER:
	case REGISTRY_CODE_COUNT:
		break;
	}
	return RESULT_MISMATCH;
}

/* What the copy of an MCP server's file says. */
static enum registry_code
registry_take_server(const struct registry_row *row, struct registry_item *item,
    struct json_fault *fault)
{
	enum registry_code code = REGISTRY_SERVER;
	char *bytes = NULL;
	size_t len = 0;

	if (fd_read_all(item->fd, REGISTRY_SERVER_BYTES_MAX, &bytes, &len) !=
		RESULT_OK ||
	    lseek(item->fd, 0, SEEK_SET) != 0)
		json_field_fault(fault, "%.100s: cannot be read", row->file);
	else if (registry_server_parse(bytes, len, row->version, &item->server,
		     fault) == RESULT_OK)
		code = REGISTRY_OK;
	free(bytes);
	if (code != REGISTRY_OK)
		fd_close(&item->fd);
	return code;
}

static enum result
registry_take(const struct registry *registry, const struct registry_row *row,
    struct registry_item *item, struct json_fault *fault)
{
	enum registry_code code = registry_file_take(registry->folder,
	    row->file, row->size, row->artifact_hash, &item->fd, fault);

	if (code == REGISTRY_OK && row->kind == REGISTRY_MCP)
		code = registry_take_server(row, item, fault);
	(void)snprintf(item->code, sizeof(item->code), "%s",
	    registry_index_code_text(code));
	if (code != REGISTRY_OK)
		return registry_result(code);
	(void)snprintf(item->slug, sizeof(item->slug), "%s", row->slug);
	(void)snprintf(
	    item->version, sizeof(item->version), "%s", row->version);
	(void)snprintf(item->artifact_hash, sizeof(item->artifact_hash), "%s",
	    row->artifact_hash);
	item->attestation = json_incref((json_t *)(uintptr_t)row->attestation);
	item->signatures = json_incref((json_t *)(uintptr_t)row->signatures);
	return RESULT_OK;
}

enum result
registry_resolve(const struct config *config, const char *name, time_t now,
    struct registry_item *item_r, struct json_fault *fault)
{
	struct registry registry = {.folder = -1};
	enum registry_code code = REGISTRY_PACKAGE;
	struct registry_row row = {.slug = NULL};
	char slug[SLUG_MAX + 1];
	const char *version;
	enum result result;

	*item_r = (struct registry_item){.fd = -1};
	if (!registry_split(name, slug, &version))
		json_field_fault(fault,
		    "'%.100s' is no SLUG or SLUG@VERSION: a slug has %s", name,
		    SLUG_RULE);
	else
		code = registry_open(config, now, &registry, fault);
	if (code == REGISTRY_OK)
		code = registry_index_find(
		    &registry.index, slug, version, &row, fault);
	(void)snprintf(item_r->code, sizeof(item_r->code), "%s",
	    registry_index_code_text(code));
	result = registry_result(code);
	if (result == RESULT_OK) {
		result = registry_row_prove(
		    config, &row, now, &item_r->trust, fault);
		(void)snprintf(item_r->code, sizeof(item_r->code), "%s",
		    item_r->trust.code);
	}
	if (result == RESULT_OK)
		result = registry_take(&registry, &row, item_r, fault);
	registry_close(&registry);
	return result;
}

void
registry_item_clear(struct registry_item *item)
{
	fd_close(&item->fd);
	registry_server_clear(&item->server);
	json_decref(item->attestation);
	json_decref(item->signatures);
	item->attestation = item->signatures = NULL;
}

enum result
registry_item_mark(const struct registry_item *item, json_t *entry)
{
	if ((item->attestation != NULL && json_object_set(entry, "attestation",
					      item->attestation) != 0) ||
	    (item->signatures != NULL &&
		json_object_set(entry, "_signatures", item->signatures) != 0) ||
	    json_object_set_new(entry, "trust_level",
		json_string(tier_name(item->trust.tier))) != 0)
		return RESULT_NO_MEMORY;
	return RESULT_OK;
}

static json_t *
registry_facts_row(
    const struct config *config, const struct registry_row *row, time_t now)
{
	char expires[UTC_TIME_LEN + 1] = "";
	struct json_fault fault = {""};
	struct trust_verdict verdict;

	(void)registry_row_prove(config, row, now, &verdict, &fault);
	if (verdict.expires != 0)
		(void)utc_time_text(verdict.expires, expires);
	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s}", "version",
	    row->version, "kind", registry_index_kind_text(row->kind),
	    "artifact_hash", row->artifact_hash, "tier",
	    tier_name(verdict.tier), "code", verdict.code, "detail", fault.text,
	    "expires", expires);
}

static json_t *
registry_facts_versions(const struct config *config,
    const struct registry_index *index, const char *slug, time_t now)
{
	json_t *package =
	    json_object_get(json_object_get(index->root, "packages"), slug);
	json_t *rows = json_array(), *value;
	struct json_fault fault = {""};
	struct registry_row row = {.slug = NULL};
	const char *version;

	json_object_foreach(
	    json_object_get(package, "versions"), version, value)
	{
		if (registry_index_find(index, slug, version, &row, &fault) ==
		    REGISTRY_OK)
			(void)json_array_append_new(
			    rows, registry_facts_row(config, &row, now));
	}
	return rows;
}

enum result
registry_facts(const struct config *config, const char *slug, time_t now,
    json_t **facts_r, char code_r[TRUST_CODE_MAX], struct json_fault *fault)
{
	struct registry registry;
	char expires[UTC_TIME_LEN + 1] = "";
	enum registry_code code = registry_open(config, now, &registry, fault);
	struct registry_row latest = {.slug = NULL};

	*facts_r = NULL;
	if (code == REGISTRY_OK)
		code = registry_index_find(
		    &registry.index, slug, NULL, &latest, fault);
	if (code == REGISTRY_OK) {
		(void)utc_time_text(registry.index.expires, expires);
		*facts_r =
		    json_pack("{s:s, s:s, s:I, s:s, s:s, s:o}", "package", slug,
			"path", config_text(config, "registry.path"), "serial",
			(json_int_t)registry.index.serial, "expires", expires,
			"latest", latest.version, "versions",
			registry_facts_versions(
			    config, &registry.index, slug, now));
	}
	registry_close(&registry);
	(void)snprintf(
	    code_r, TRUST_CODE_MAX, "%s", registry_index_code_text(code));
	if (code == REGISTRY_OK && *facts_r == NULL)
		return RESULT_NO_MEMORY;
	return registry_result(code);
}
