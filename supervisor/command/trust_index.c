/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `trust sign index`: reads the index of a registry's folder, changes it as
 * told, and writes it anew with a higher serial. Called by trust_sign.c. It
 * must never build on an index whose signature does not hold, nor sign a row
 * that a reader would refuse.
 *
 * Index and signatures are two files. The new signature is written beside
 * the old one first, then the index: readers find one that holds at any time.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/fd.h"
#include "supervisor/command/command.h"
#include "supervisor/command/trust_sign.h"
#include "supervisor/package/registry_file.h"
#include "supervisor/package/registry_index.h"
#include "supervisor/package/registry_server.h"
#include "supervisor/package/slug.h"
#include "supervisor/policy/attestation.h"
#include "supervisor/policy/ed25519.h"
#include "supervisor/policy/signed_text.h"
#include "supervisor/policy/state_dir.h"
#include "supervisor/policy/trust_key.h"

#define TRUST_INDEX_DAYS 30

struct trust_index {
	struct trust_sign *sign;
	struct state_dir folder;
	struct registry_index old; /* root NULL: there is none yet */
	char *old_mark;            /* its line; owned; NULL */
	json_t *root;              /* the new one; owned */
	char slug[SLUG_MAX + 1];   /* of --add or --drop */
	const char *version;       /* of it */
	struct json_fault fault;
};

static int
trust_index_fault(struct trust_index *index, const char *what)
{
	return command_error(COMMAND_NO, "the index was not changed: %s%s%s",
	    what, what[0] != '\0' && index->fault.text[0] != '\0' ? ": " : "",
	    index->fault.text);
}

/* May this key have signed the index that is there? */
static bool
trust_index_is_ours(const struct trust_index *index, const char *key)
{
	char previous[TRUST_KEY_HEX + 1];

	return strcmp(key, index->sign->public_key) == 0 ||
	       (index->sign->previous_key != NULL &&
		   trust_sign_public(index->sign->previous_key, previous) &&
		   strcmp(key, previous) == 0);
}

/* The line of the signature file that holds for these bytes. */
static bool
trust_index_mark(struct trust_index *index, const char *marks, size_t marks_len,
    const char *bytes, size_t len)
{
	struct registry_mark found[REGISTRY_MARKS_MAX];
	size_t count = 0;

	if (registry_index_marks(
		marks, marks_len, found, &count, &index->fault) != REGISTRY_OK)
		return false;
	for (size_t i = 0; i < count; i++) {
		if (!trust_index_is_ours(index, found[i].key) ||
		    ed25519_verify(found[i].key, found[i].signature,
			ED25519_INDEX, bytes, len) != RESULT_OK)
			continue;
		index->old_mark =
		    strndup(marks + i * REGISTRY_MARK_LINE, REGISTRY_MARK_LINE);
		return index->old_mark != NULL;
	}
	json_field_fault(&index->fault,
	    "index.json: it is not signed by this key (nor by "
	    "--previous-key); a registry never builds on such an index");
	return false;
}

/* The index that is there, if there is one; false with a fault. */
static bool
trust_index_read(struct trust_index *index)
{
	char *bytes = NULL, *marks = NULL;
	size_t len = 0, marks_len = 0;
	enum result result;
	bool good = false;

	result = state_dir_read(&index->folder, REGISTRY_INDEX_FILE,
	    STATE_DIR_ANY, REGISTRY_INDEX_MAX, &bytes, &len, &index->fault);
	if (result == RESULT_NOT_FOUND)
		return true;
	if (result == RESULT_OK)
		result = state_dir_read(&index->folder, REGISTRY_INDEX_MARKS,
		    STATE_DIR_ANY,
		    (size_t)REGISTRY_MARK_LINE * REGISTRY_MARKS_MAX, &marks,
		    &marks_len, &index->fault);
	if (result == RESULT_NOT_FOUND)
		json_field_fault(
		    &index->fault, REGISTRY_INDEX_MARKS ": is not there");
	if (result == RESULT_OK)
		good = trust_index_mark(index, marks, marks_len, bytes, len) &&
		       registry_index_parse(bytes, len, &index->old,
			   &index->fault) == REGISTRY_OK;
	free(bytes);
	free(marks);
	return good;
}

static bool
trust_index_split(struct trust_index *index, const char *name)
{
	size_t len = strcspn(name, "@");

	if (len <= SLUG_MAX && name[len] == '@') {
		memcpy(index->slug, name, len);
		index->slug[len] = '\0';
		index->version = name + len + 1;
		if (slug_is_valid(index->slug) &&
		    attestation_is_version(index->version))
			return true;
	}
	json_field_fault(&index->fault, "'%.100s' is no SLUG@VERSION", name);
	return false;
}

/* A JSON file that another `trust sign` made. */
static json_t *
trust_index_part(struct trust_index *index, const char *path)
{
	FD_CLEANUP int fd =
	    open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct json_fault inner = {""};
	json_t *value = NULL;
	char *bytes = NULL;
	size_t len = 0;

	if (fd < 0 ||
	    fd_read_all(fd, ATTESTATION_BYTES_MAX, &bytes, &len) != RESULT_OK)
		json_field_fault(&inner, "cannot be read");
	else
		(void)json_field_parse(bytes, len, &value, &inner);
	free(bytes);
	if (value == NULL)
		json_field_fault(&index->fault, "%.120s: %s", path, inner.text);
	return value;
}

/* Does the publisher's signature hold for this artifact? */
static bool
trust_index_signed(
    struct trust_index *index, const json_t *signatures, const char *hash)
{
	const char *key, *mark;
	enum result result;
	char *text = NULL;
	size_t len = 0;

	if (attestation_publisher(signatures, &key, &mark, &index->fault) !=
	    ATTESTATION_OK)
		return false;
	result = signed_text_artifact(
	    index->slug, index->version, hash, &text, &len);
	if (result == RESULT_OK)
		result = ed25519_verify(key, mark, ED25519_ARTIFACT, text, len);
	free(text);
	if (result != RESULT_OK)
		json_field_fault(&index->fault,
		    "--signatures: it does not hold for this artifact");
	return result == RESULT_OK;
}

static bool
trust_index_attested(
    struct trust_index *index, const json_t *object, const char *hash)
{
	struct attestation attestation;
	enum result result = RESULT_BAD;
	char *text = NULL;
	size_t len = 0;

	if (attestation_read(object, &attestation, &index->fault) !=
		ATTESTATION_OK ||
	    attestation_fits(&attestation, index->slug, index->version, hash,
		time(NULL), &index->fault) != ATTESTATION_OK)
		return false;
	if (attestation.tier > TIER_UNVERIFIED &&
	    index->sign->signatures == NULL) {
		json_field_fault(&index->fault,
		    "a tier above unverified needs --signatures");
		return false;
	}
	if (signed_text_attestation(object, &text, &len) == RESULT_OK)
		result = ed25519_verify(attestation.registry_key,
		    attestation.signature, ED25519_ATTESTATION, text, len);
	free(text);
	if (result != RESULT_OK)
		json_field_fault(
		    &index->fault, "--attestation: its signature is wrong");
	return result == RESULT_OK;
}

/* --kind mcp: is it the file of such a server? */
static bool
trust_index_server(struct trust_index *index, int fd)
{
	struct registry_server server = {.root = NULL};
	char *bytes = NULL;
	size_t len = 0;

	if (index->sign->kind == NULL)
		return true;
	if (lseek(fd, 0, SEEK_SET) != 0 ||
	    fd_read_all(fd, REGISTRY_SERVER_BYTES_MAX, &bytes, &len) !=
		RESULT_OK)
		json_field_fault(&index->fault,
		    "--file: no file of an MCP server: it cannot be read");
	else
		(void)registry_server_parse(
		    bytes, len, index->version, &server, &index->fault);
	registry_server_clear(&server);
	free(bytes);
	return index->fault.text[0] == '\0';
}

/* The row of --add, judged as a reader will. */
static json_t *
trust_index_row(struct trust_index *index)
{
	const struct trust_sign *sign = index->sign;
	char hash[ATTESTATION_HASH_LEN + 1];
	json_t *attestation = NULL, *signatures = NULL, *row = NULL;
	FD_CLEANUP int fd = openat(index->folder.fd, sign->file,
	    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	int64_t size = 0;
	bool good;

	if (fd < 0)
		json_field_fault(&index->fault,
		    "--file %.100s: is not in the registry's folder",
		    sign->file);
	good =
	    fd >= 0 &&
	    registry_file_hash(fd, hash, &size, &index->fault) == REGISTRY_OK &&
	    trust_index_server(index, fd);
	if (good && sign->signatures != NULL) {
		signatures = trust_index_part(index, sign->signatures);
		good = signatures != NULL &&
		       trust_index_signed(index, signatures, hash);
	}
	if (good && sign->attestation != NULL) {
		attestation = trust_index_part(index, sign->attestation);
		good = attestation != NULL &&
		       trust_index_attested(index, attestation, hash);
	}
	if (good)
		row = json_pack("{s:s*, s:s, s:s, s:I, s:O*, s:O*}", "kind",
		    sign->kind, "file", sign->file, "artifact_hash", hash,
		    "size", (json_int_t)size, "attestation", attestation,
		    "signatures", signatures);
	json_decref(attestation);
	json_decref(signatures);
	return row;
}

static bool
trust_index_add(struct trust_index *index, json_t *packages)
{
	json_t *row, *package;

	if (index->sign->file == NULL) {
		json_field_fault(&index->fault,
		    "--add needs --file, a path inside the registry's folder");
		return false;
	}
	row = trust_index_row(index);
	if (row == NULL)
		return false;
	package = json_object_get(packages, index->slug);
	if (package == NULL) {
		package = json_pack(
		    "{s:s, s:{}}", "latest", index->version, "versions");
		if (json_object_set_new(packages, index->slug, package) != 0)
			return false;
	}
	if (!index->sign->keep_latest)
		(void)json_object_set_new(
		    package, "latest", json_string(index->version));
	return json_object_set_new(json_object_get(package, "versions"),
		   index->version, row) == 0;
}

/* Without the version; the newest that is left becomes the latest. */
static bool
trust_index_drop(struct trust_index *index, json_t *packages)
{
	json_t *package = json_object_get(packages, index->slug), *value;
	json_t *versions = json_object_get(package, "versions");
	const char *latest = NULL, *version;

	if (json_object_del(versions, index->version) != 0) {
		json_field_fault(&index->fault, "--drop: it has no %s@%.100s",
		    index->slug, index->version);
		return false;
	}
	if (json_object_size(versions) == 0)
		return json_object_del(packages, index->slug) == 0;
	latest = json_string_value(json_object_get(package, "latest"));
	if (json_object_get(versions, latest) != NULL)
		return true;
	json_object_foreach(versions, version, value) latest = version;
	return json_object_set_new(package, "latest", json_string(latest)) == 0;
}

/* The new document, with serial and times. */
static bool
trust_index_make(struct trust_index *index)
{
	const struct trust_sign *sign = index->sign;
	int64_t days = sign->days > 0 ? sign->days : TRUST_INDEX_DAYS;
	char issued[24], expires[24];
	json_t *packages =
	    json_deep_copy(json_object_get(index->old.root, "packages"));
	bool good;

	if (packages == NULL)
		packages = json_object();
	good = true;
	if (sign->add != NULL)
		good = trust_index_split(index, sign->add) &&
		       trust_index_add(index, packages);
	if (good && sign->drop != NULL)
		good = trust_index_split(index, sign->drop) &&
		       trust_index_drop(index, packages);
	if (good)
		good = trust_sign_times(days, issued, expires);
	if (good)
		index->root = json_pack("{s:i, s:I, s:s, s:s, s:O}", "format",
		    1, "serial",
		    sign->serial > index->old.serial
			? (json_int_t)sign->serial
			: (json_int_t)index->old.serial + 1,
		    "issued", issued, "expires", expires, "packages", packages);
	json_decref(packages);
	return good && index->root != NULL;
}

/* Signature lines first, then the index. */
static bool
trust_index_write(struct trust_index *index, const char *text, size_t len)
{
	char mark[2 * ED25519_SIGNATURE + 1];
	char lines[2 * REGISTRY_MARK_LINE + 1];
	enum result result;

	result = ed25519_sign(index->sign->key, ED25519_INDEX, text, len, mark);
	if (result != RESULT_OK)
		return false;
	(void)snprintf(lines, sizeof(lines), "%s %s\n%s",
	    index->sign->public_key, mark,
	    index->old_mark != NULL ? index->old_mark : "");
	result = state_dir_write(&index->folder, REGISTRY_INDEX_MARKS, 0644,
	    lines, strlen(lines), &index->fault);
	if (result == RESULT_OK)
		result = state_dir_write(&index->folder, REGISTRY_INDEX_FILE,
		    0644, text, len, &index->fault);
	return result == RESULT_OK;
}

/* What is written is what a reader takes: it is read before it is signed. */
static bool
trust_index_finish(struct trust_index *index)
{
	char *text = json_dumps(index->root, JSON_INDENT(1) | JSON_SORT_KEYS);
	struct registry_index again = {.root = NULL};
	bool good = text != NULL &&
		    registry_index_parse(text, strlen(text), &again,
			&index->fault) == REGISTRY_OK &&
		    trust_index_write(index, text, strlen(text));

	if (good)
		printf("serial %lld, %zu packages\n", (long long)again.serial,
		    json_object_size(json_object_get(again.root, "packages")));
	registry_index_clear(&again);
	free(text);
	return good;
}

int
trust_index_sign(struct trust_sign *sign)
{
	struct trust_index index = {.sign = sign, .folder = {.fd = -1}};
	FD_CLEANUP int lock = -1;
	enum result result;
	int code = COMMAND_DONE;

	result = state_dir_open(
	    sign->target, STATE_DIR_ANY, &index.folder, &index.fault);
	if (result == RESULT_NOT_FOUND)
		json_field_fault(&index.fault,
		    "%.120s: there is no such folder", sign->target);
	if (result == RESULT_OK)
		result = state_dir_lock(&index.folder, &lock, &index.fault);
	if (result != RESULT_OK || !trust_index_read(&index) ||
	    !trust_index_make(&index) || !trust_index_finish(&index))
		code = trust_index_fault(
		    &index, index.fault.text[0] != '\0' ? "" : "out of memory");
	registry_index_clear(&index.old);
	json_decref(index.root);
	free(index.old_mark);
	state_dir_close(&index.folder);
	return code;
}
