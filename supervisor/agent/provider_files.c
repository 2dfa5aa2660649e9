/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads provider files; see provider_files.h. They are the host's own, not
 * a package's. Called before anything starts; it must never leave one out
 * because it is wrong.
 */
#include "supervisor/agent/provider_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "llm-broker/provider_file.h"
#include "supervisor/child.h"
#include "supervisor/policy/state_dir.h"

#define PROVIDER_FILES_PATH_MAX 4096U
#define PROVIDER_FILES_END ".json"

static bool
provider_files_is_file(const char *name)
{
	size_t len = strlen(name), end = sizeof(PROVIDER_FILES_END) - 1;

	return len > end && name[0] != '.' &&
	       strcmp(name + len - end, PROVIDER_FILES_END) == 0;
}

static enum result
provider_files_one(
    int dir, const char *file, json_t *providers, struct json_fault *fault)
{
	struct provider *provider = NULL;
	json_t *object = NULL;
	const char *name;
	enum result result =
	    provider_file_load(dir, file, &provider, &object, fault);

	name = json_string_value(json_object_get(object, "name"));
	if (result == RESULT_OK && json_object_get(providers, name) != NULL) {
		json_field_fault(fault,
		    "%.100s: a provider of that name comes with agentnode; "
		    "llm.upstream changes where it is, or choose another name",
		    file);
		result = RESULT_EXISTS;
	}
	if (result == RESULT_OK &&
	    json_object_size(providers) >= PROVIDER_FILES_MAX) {
		json_field_fault(fault, "there are more than %u provider files",
		    PROVIDER_FILES_MAX);
		result = RESULT_TOO_LONG;
	}
	if (result == RESULT_OK &&
	    json_object_set(providers, name, object) != 0)
		result = RESULT_NO_MEMORY;
	provider_free(&provider);
	json_decref(object);
	return result;
}

/* Every file of one folder; a folder that is not there has none. Others
 * must not be able to add to the user's. */
static enum result
provider_files_folder(const char *path, enum state_dir_trust trust,
    json_t *providers, struct json_fault *fault)
{
	struct state_dir dir;
	struct json_fault wrong = {""};
	enum result result = state_dir_open(path, trust, &dir, fault);
	const struct dirent *entry;
	DIR *folder;

	if (result != RESULT_OK)
		return result == RESULT_NOT_FOUND ? RESULT_OK : result;
	folder = fdopendir(dir.fd);
	if (folder == NULL) {
		state_dir_close(&dir);
		return RESULT_SYSTEM;
	}
	while (result == RESULT_OK && (entry = readdir(folder)) != NULL)
		if (provider_files_is_file(entry->d_name))
			result = provider_files_one(
			    dir.fd, entry->d_name, providers, &wrong);
	(void)closedir(folder);
	if (result != RESULT_OK)
		json_field_fault(fault, "%.100s/%s", path,
		    wrong.text[0] != '\0' ? wrong.text : result_text(result));
	return result;
}

enum result
provider_files_load(
    const char *home, json_t **providers_r, struct json_fault *fault)
{
	char path[PROVIDER_FILES_PATH_MAX];
	json_t *providers = json_object();
	enum result result = providers == NULL ? RESULT_NO_MEMORY : RESULT_OK;

	*providers_r = NULL;
	if (result == RESULT_OK)
		result =
		    child_shared_path(PROVIDER_FILES_DIR, path, sizeof(path));
	if (result == RESULT_NOT_FOUND)
		json_field_fault(fault, "%s is not installed", path);
	if (result == RESULT_OK)
		result = provider_files_folder(
		    path, STATE_DIR_ANY, providers, fault);
	if (result == RESULT_OK &&
	    (size_t)snprintf(path, sizeof(path), "%s/" PROVIDER_FILES_DIR,
		home) < sizeof(path))
		result = provider_files_folder(
		    path, STATE_DIR_OURS, providers, fault);
	if (result == RESULT_OK)
		*providers_r = providers;
	else
		json_decref(providers);
	return result;
}
