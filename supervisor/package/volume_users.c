/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list beside a volume's content (see the header). Called under its
 * lock alone; must never say that nobody uses a volume when it does not
 * understand the list or a lockfile in it.
 */
#include "supervisor/package/volume_users.h"

#include <stdlib.h>
#include <string.h>

#include "common/fd.h"
#include "supervisor/engine/engine_gc.h"
#include "supervisor/package/lockfile.h"

#define VOLUME_USERS_FILE ENGINE_GC_USERS
#define VOLUME_USERS_BYTES_MAX (1U << 20)

static enum result
volume_users_parse(struct volume_users *users, const char *bytes, size_t len,
    struct json_fault *fault)
{
	enum result result = json_field_parse(bytes, len, &users->paths, fault);
	const json_t *path;
	size_t i;

	if (result == RESULT_OK && !json_is_array(users->paths))
		result = RESULT_BAD;
	if (result == RESULT_OK &&
	    json_array_size(users->paths) > VOLUME_USERS_MAX)
		result = RESULT_BAD;
	json_array_foreach(users->paths, i, path)
	{
		if (!json_is_string(path))
			result = RESULT_BAD;
	}
	if (result != RESULT_OK)
		json_field_fault(fault,
		    "%s/" VOLUME_USERS_FILE " must be a list of paths",
		    state_dir_shown(users->dir.path));
	return result;
}

enum result
volume_users_begin(const struct volume *volume, struct volume_users *users_r,
    struct json_fault *fault)
{
	char *bytes = NULL;
	size_t len = 0;
	enum result result;

	*users_r = (struct volume_users){.dir = {.fd = -1}, .lock = -1};
	result =
	    state_dir_open(volume->users, STATE_DIR_OURS, &users_r->dir, fault);
	if (result == RESULT_OK)
		result = state_dir_lock(&users_r->dir, &users_r->lock, fault);
	if (result != RESULT_OK)
		return result;
	result = state_dir_read(&users_r->dir, VOLUME_USERS_FILE,
	    STATE_DIR_OURS, VOLUME_USERS_BYTES_MAX, &bytes, &len, fault);
	if (result == RESULT_OK)
		result = volume_users_parse(users_r, bytes, len, fault);
	else if (result == RESULT_NOT_FOUND)
		result = (users_r->paths = json_array()) == NULL
			     ? RESULT_NO_MEMORY
			     : RESULT_OK;
	free(bytes);
	return result;
}

/* Its place in the list, or the list's length. */
static size_t
volume_users_index(const struct volume_users *users, const char *lockfile)
{
	const json_t *path;
	size_t i;

	json_array_foreach(users->paths, i, path)
	{
		if (strcmp(json_string_value(path), lockfile) == 0)
			return i;
	}
	return json_array_size(users->paths);
}

/* May this lockfile name the volume? */
static bool
volume_users_names(const char *lockfile, const char *volume)
{
	struct json_fault unused = {""};
	struct lockfile *read = NULL;
	const char *slug, *named;
	json_t *entry;
	enum result result = lockfile_load_unverified(lockfile, &read, &unused);
	bool found = result != RESULT_OK && result != RESULT_NOT_FOUND;

	if (result != RESULT_OK)
		return found;
	json_object_foreach((json_t *)lockfile_entries(read), slug, entry)
	{
		named = json_string_value(lockfile_entry_volume(entry));
		if (named != NULL && strcmp(named, volume) == 0)
			found = true;
	}
	lockfile_free(&read);
	return found;
}

/* Those that no longer name it make room when the list is full. */
static void
volume_users_prune(struct volume_users *users, const char *volume)
{
	for (size_t i = json_array_size(users->paths); i > 0; i--) {
		const char *path =
		    json_string_value(json_array_get(users->paths, i - 1));

		if (!volume_users_names(path, volume))
			(void)json_array_remove(users->paths, i - 1);
	}
}

enum result
volume_users_add(
    struct volume_users *users, const char *lockfile, struct json_fault *fault)
{
	const char *name = strrchr(users->dir.path, '/') + 1;
	enum result result = RESULT_NO_MEMORY;
	char *bytes;

	if (volume_users_index(users, lockfile) < json_array_size(users->paths))
		return RESULT_OK;
	if (json_array_size(users->paths) >= VOLUME_USERS_MAX)
		volume_users_prune(users, name);
	if (json_array_size(users->paths) >= VOLUME_USERS_MAX) {
		json_field_fault(fault,
		    "more than %u lockfiles name the volume %s",
		    VOLUME_USERS_MAX, name);
		return RESULT_TOO_LONG;
	}
	if (json_array_append_new(users->paths, json_string(lockfile)) != 0)
		return RESULT_NO_MEMORY;
	bytes = json_dumps(users->paths, JSON_COMPACT);
	if (bytes != NULL)
		result = state_dir_write(&users->dir, VOLUME_USERS_FILE, 0600,
		    bytes, strlen(bytes), fault);
	free(bytes);
	return result;
}

const char *
volume_users_other(
    const struct volume_users *users, const char *lockfile, const char *volume)
{
	const json_t *path;
	size_t i;

	json_array_foreach(users->paths, i, path)
	{
		const char *text = json_string_value(path);

		if (strcmp(text, lockfile) != 0 &&
		    volume_users_names(text, volume))
			return text;
	}
	return NULL;
}

void
volume_users_end(struct volume_users *users)
{
	json_decref(users->paths);
	users->paths = NULL;
	fd_close(&users->lock);
	state_dir_close(&users->dir);
}
