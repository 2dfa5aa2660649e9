/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds, reads, verifies and rewrites agentnode.lock. Called by install,
 * run and lock commands. It must never hand out an entry whose seal was not
 * compared (but for `lock verify`), nor write over a file it cannot read.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/fd.h"
#include "supervisor/package/lockfile.h"
#include "supervisor/package/lockfile_field.h"
#include "supervisor/package/lockfile_hash.h"
#include "supervisor/package/lockfile_parse.h"
#include "supervisor/package/slug.h"
#include "supervisor/policy/state_dir.h"

#define LOCKFILE_MODE 0644 /* meant to be committed beside the project */

struct lockfile {
	json_t *root;
};

/* An absolute path: a relative one starts at the current folder. */
static enum result
lockfile_absolute(
    const char *name, char *path_r, size_t size, struct json_fault *fault)
{
	char here[STATE_DIR_PATH_MAX] = "";
	int len;

	if (name[0] != '/' && getcwd(here, sizeof(here)) == NULL) {
		json_field_fault(fault, "the current folder cannot be read: %s",
		    strerror(errno));
		return RESULT_BAD;
	}
	len = snprintf(path_r, size, "%s%s%s", here,
	    name[0] != '/' && strcmp(here, "/") != 0 ? "/" : "", name);
	if (len >= 0 && (size_t)len < size)
		return RESULT_OK;
	json_field_fault(fault, "the path of the lockfile is too long");
	return RESULT_TOO_LONG;
}

enum result
lockfile_path(
    const char *option, char *path_r, size_t size, struct json_fault *fault)
{
	const char *name = option;
	struct state_dir home;
	enum result result;
	struct stat status;

	/* A script's variable that is not set must not mean another file. */
	if (option != NULL && option[0] == '\0') {
		json_field_fault(fault,
		    "--lockfile: an empty path; leave it out or name a file");
		return RESULT_BAD;
	}
	if (name == NULL)
		name = getenv("AGENTNODE_LOCKFILE");
	if (name != NULL && name[0] != '\0')
		return lockfile_absolute(name, path_r, size, fault);
	if (lstat(LOCKFILE_NAME, &status) == 0)
		return lockfile_absolute(LOCKFILE_NAME, path_r, size, fault);
	result = state_dir_home(false, &home, fault);
	state_dir_close(&home);
	if (result != RESULT_OK && result != RESULT_NOT_FOUND)
		return result;
	if ((size_t)snprintf(path_r, size, "%s/" LOCKFILE_NAME, home.path) <
	    size)
		return RESULT_OK;
	json_field_fault(fault, "the path of the lockfile is too long");
	return RESULT_TOO_LONG;
}

/* Split path into the folder (opened) and the file's name (borrowed). */
static enum result
lockfile_open_dir(const char *path, bool make, struct state_dir *dir_r,
    const char **name_r, struct json_fault *fault)
{
	char folder[STATE_DIR_PATH_MAX];
	const char *slash = strrchr(path, '/');
	size_t len;

	dir_r->fd = -1;
	*name_r = slash != NULL ? slash + 1 : path;
	len = slash != NULL ? (size_t)(slash - path) : 0;
	if (len >= sizeof(folder) || strlen(*name_r) > STATE_DIR_NAME_MAX ||
	    (*name_r)[0] == '\0') {
		json_field_fault(fault, "%s: is no name of a lockfile",
		    state_dir_shown(path));
		return RESULT_BAD;
	}
	snprintf(folder, sizeof(folder), "%.*s", (int)len, path);
	if (len == 0)
		snprintf(folder, sizeof(folder), slash != NULL ? "/" : ".");
	if (make)
		(void)mkdir(folder, 0700); /* open says what is wrong */
	return state_dir_open(folder, STATE_DIR_ANY, dir_r, fault);
}

/* RESULT_NOT_FOUND: no such file, nothing said. */
static enum result
lockfile_read(const struct state_dir *dir, const char *name, const char *path,
    json_t **root_r, struct json_fault *fault)
{
	enum result result;
	size_t len;
	char *bytes;

	*root_r = NULL;
	result = state_dir_read(
	    dir, name, STATE_DIR_ANY, LOCKFILE_PARSE_MAX, &bytes, &len, fault);
	if (result != RESULT_OK)
		return result == RESULT_TOO_LONG ? RESULT_BAD : result;
	result =
	    lockfile_parse(state_dir_shown(path), bytes, len, root_r, fault);
	free(bytes);
	return result;
}

static enum result
lockfile_verify_entry(const char *slug, const json_t *entry, const char *path,
    struct json_fault *fault)
{
	enum lockfile_hash_status status = lockfile_hash_entry(entry);

	if (status == LOCKFILE_HASH_VERIFIED)
		return RESULT_OK;
	json_field_fault(fault,
	    "%s: the seal of package '%s' is: %s; install it again, or "
	    "'agentnode lock seal' what you changed yourself",
	    state_dir_shown(path), slug, lockfile_hash_status_text(status));
	return RESULT_MISMATCH;
}

static enum result
lockfile_verify(const json_t *root, const char *path, struct json_fault *fault)
{
	enum lockfile_hash_status status;
	const char *slug;
	json_t *entry;

	json_object_foreach(json_object_get(root, "packages"), slug,
	    entry) if (lockfile_verify_entry(slug, entry, path, fault) !=
		       RESULT_OK) return RESULT_MISMATCH;
	status = lockfile_hash_structure(root);
	if (status == LOCKFILE_HASH_VERIFIED)
		return RESULT_OK;
	json_field_fault(fault,
	    "%s: the digest over all packages is: %s; one was added, removed "
	    "or moved by hand; 'agentnode lock seal' if that was you",
	    state_dir_shown(path), lockfile_hash_status_text(status));
	return RESULT_MISMATCH;
}

/* The one sentence, for all who look for what is in it. */
static void
lockfile_is_missing(const char *path, struct json_fault *fault)
{
	json_field_fault(fault,
	    "%s: there is no such lockfile; 'agentnode mcp install' and "
	    "'agentnode install' make one",
	    state_dir_shown(path));
}

enum result
lockfile_load_unverified(
    const char *path, struct lockfile **lockfile_r, struct json_fault *fault)
{
	struct state_dir dir;
	enum result result;
	const char *name;
	json_t *root = NULL;

	*lockfile_r = NULL;
	result = lockfile_open_dir(path, false, &dir, &name, fault);
	if (result == RESULT_OK)
		result = lockfile_read(&dir, name, path, &root, fault);
	state_dir_close(&dir);
	if (result == RESULT_NOT_FOUND)
		lockfile_is_missing(path, fault);
	if (result != RESULT_OK)
		return result;
	*lockfile_r = malloc(sizeof(**lockfile_r));
	if (*lockfile_r == NULL) {
		json_decref(root);
		return RESULT_NO_MEMORY;
	}
	(*lockfile_r)->root = root;
	return RESULT_OK;
}

enum result
lockfile_load(
    const char *path, struct lockfile **lockfile_r, struct json_fault *fault)
{
	enum result result;

	result = lockfile_load_unverified(path, lockfile_r, fault);
	if (result == RESULT_OK)
		result = lockfile_verify((*lockfile_r)->root, path, fault);
	if (result != RESULT_OK)
		lockfile_free(lockfile_r);
	return result;
}

void
lockfile_free(struct lockfile **lockfile)
{
	if (*lockfile == NULL)
		return;
	json_decref((*lockfile)->root);
	free(*lockfile);
	*lockfile = NULL;
}

const json_t *
lockfile_root(const struct lockfile *lockfile)
{
	return lockfile->root;
}

const json_t *
lockfile_entries(const struct lockfile *lockfile)
{
	return json_object_get(lockfile->root, "packages");
}

const json_t *
lockfile_entry(const struct lockfile *lockfile, const char *slug)
{
	return json_object_get(lockfile_entries(lockfile), slug);
}

/* Seal the file and write it. The lock is held. */
static enum result
lockfile_write(const struct state_dir *dir, const char *name, json_t *root,
    struct json_fault *fault)
{
	char stamp[32] = "";
	time_t now = time(NULL);
	struct tm utc;
	enum result result;
	char *text;
	size_t len;

	if (gmtime_r(&now, &utc) != NULL)
		strftime(stamp, sizeof(stamp), "%Y-%m-%dT%H:%M:%SZ", &utc);
	json_object_set_new(root, "updated_at", json_string(stamp));
	result = lockfile_hash_seal_structure(root);
	if (result != RESULT_OK)
		return result;
	text = json_dumps(root, JSON_INDENT(2) | JSON_SORT_KEYS);
	if (text == NULL)
		return RESULT_NO_MEMORY;
	len = strlen(text);
	text[len] = '\n'; /* in place of the NUL */
	result =
	    state_dir_write(dir, name, LOCKFILE_MODE, text, len + 1, fault);
	free(text);
	return result;
}

/* The file as it is, verified; an empty one when there is none. */
static enum result
lockfile_read_verified(const struct state_dir *dir, const char *name,
    const char *path, json_t **root_r, struct json_fault *fault)
{
	enum result result;

	result = lockfile_read(dir, name, path, root_r, fault);
	if (result == RESULT_NOT_FOUND) {
		*root_r = lockfile_parse_empty();
		return *root_r == NULL ? RESULT_NO_MEMORY : RESULT_OK;
	}
	if (result == RESULT_OK)
		result = lockfile_verify(*root_r, path, fault);
	if (result != RESULT_OK) {
		json_decref(*root_r);
		*root_r = NULL;
	}
	return result;
}

/* RESULT_EXISTS: it is there just so. */
static enum result
lockfile_change(json_t *root, const char *slug, const json_t *entry)
{
	json_t *packages = json_object_get(root, "packages");
	const json_t *old = json_object_get(packages, slug);
	enum result result;
	json_t *sealed;

	if (entry == NULL)
		return json_object_del(packages, slug) == 0 ? RESULT_OK
							    : RESULT_NOT_FOUND;
	sealed = json_deep_copy(entry);
	if (sealed == NULL)
		return RESULT_NO_MEMORY;
	result = lockfile_hash_seal_entry(sealed);
	if (result == RESULT_OK && old != NULL && json_equal(old, sealed))
		result = RESULT_EXISTS;
	if (result == RESULT_OK && json_object_set(packages, slug, sealed) != 0)
		result = RESULT_NO_MEMORY;
	json_decref(sealed);
	return result;
}

static enum result
lockfile_put_locked(const struct state_dir *dir, const char *name,
    const char *path, const char *slug, const json_t *entry,
    struct json_fault *fault)
{
	enum result result;
	json_t *root;

	result = lockfile_read_verified(dir, name, path, &root, fault);
	if (result != RESULT_OK)
		return result;
	result = lockfile_change(root, slug, entry);
	if (result == RESULT_OK)
		result = lockfile_write(dir, name, root, fault);
	else if (result == RESULT_NOT_FOUND)
		json_field_fault(fault, "%s: there is no package '%s'",
		    state_dir_shown(path), slug);
	json_decref(root);
	return result == RESULT_EXISTS ? RESULT_OK : result;
}

enum result
lockfile_put(const char *path, const char *slug, const json_t *entry,
    struct json_fault *fault)
{
	FD_CLEANUP int lock = -1;
	struct state_dir dir;
	enum result result;
	const char *name;

	if (!slug_is_valid(slug)) {
		json_field_fault(
		    fault, "'%.64s': a package's name is " SLUG_RULE, slug);
		return RESULT_BAD;
	}
	if (entry != NULL)
		lockfile_field_check(entry, slug, fault);
	if (fault->text[0] != '\0')
		return RESULT_BAD;
	result = lockfile_open_dir(path, entry != NULL, &dir, &name, fault);
	if (result == RESULT_NOT_FOUND)
		json_field_fault(fault, "%s: its folder does not exist",
		    state_dir_shown(path));
	if (result == RESULT_OK)
		result = state_dir_lock(&dir, &lock, fault);
	if (result == RESULT_OK)
		result =
		    lockfile_put_locked(&dir, name, path, slug, entry, fault);
	state_dir_close(&dir);
	return result;
}

static enum result
lockfile_seal_entries(
    json_t *root, const char *path, bool force, struct json_fault *fault)
{
	enum lockfile_hash_status status;
	enum result result;
	const char *slug;
	json_t *entry;

	json_object_foreach(json_object_get(root, "packages"), slug, entry)
	{
		status = lockfile_hash_entry(entry);
		if (status == LOCKFILE_HASH_VERIFIED)
			continue;
		if (status != LOCKFILE_HASH_MISSING && !force) {
			json_field_fault(fault,
			    "%s: package '%s' was changed after it was "
			    "sealed; --force seals it as it is now",
			    state_dir_shown(path), slug);
			return RESULT_MISMATCH;
		}
		result = lockfile_hash_seal_entry(entry);
		if (result != RESULT_OK)
			return result;
	}
	return RESULT_OK;
}

enum result
lockfile_seal(const char *path, bool force, struct json_fault *fault)
{
	FD_CLEANUP int lock = -1;
	struct state_dir dir;
	json_t *root = NULL;
	enum result result;
	const char *name;

	result = lockfile_open_dir(path, false, &dir, &name, fault);
	if (result == RESULT_OK)
		result = state_dir_lock(&dir, &lock, fault);
	if (result == RESULT_OK)
		result = lockfile_read(&dir, name, path, &root, fault);
	if (result == RESULT_NOT_FOUND)
		lockfile_is_missing(path, fault);
	if (result == RESULT_OK)
		result = lockfile_seal_entries(root, path, force, fault);
	if (result == RESULT_OK)
		result = lockfile_write(&dir, name, root, fault);
	json_decref(root);
	state_dir_close(&dir);
	return result;
}

const json_t *
lockfile_entry_volume(const json_t *entry)
{
	const json_t *volume = json_object_get(entry, "mcp_sandbox_volume");

	return volume != NULL ? volume
			      : json_object_get(entry, "sandbox_volume");
}
