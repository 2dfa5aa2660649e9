/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Provider files on disk. Called by the supervisor when a run starts and by
 * its checks. It must never follow a link out of the folder, nor read more
 * than a provider's file may have.
 */
#include "llm-broker/provider_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* All of a regular file; the caller frees. */
static char *
provider_file_read(int fd, size_t *len_r)
{
	char *bytes = malloc(PROVIDER_FILE_MAX + 1);
	size_t len = 0;
	ssize_t got = 1;

	while (bytes != NULL && got != 0 && len <= PROVIDER_FILE_MAX) {
		got = read(fd, bytes + len, PROVIDER_FILE_MAX + 1 - len);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0) {
			free(bytes);
			return NULL;
		}
		len += (size_t)got;
	}
	*len_r = len;
	return bytes;
}

static enum result
provider_file_parse(
    int fd, const char *name, json_t **object_r, struct json_fault *fault)
{
	struct json_fault inner = {""};
	struct stat facts;
	size_t len = 0;
	char *bytes = NULL;
	enum result result = RESULT_BAD;

	if (fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode))
		bytes = provider_file_read(fd, &len);
	if (bytes == NULL) {
		json_field_fault(fault, "%s is no file that can be read", name);
	} else if (len > PROVIDER_FILE_MAX) {
		json_field_fault(fault, "%s has more than %u bytes", name,
		    PROVIDER_FILE_MAX);
	} else {
		result = json_field_parse(bytes, len, object_r, &inner);
		if (result != RESULT_OK)
			json_field_fault(fault, "%s: %s", name, inner.text);
	}
	free(bytes);
	return result;
}

/* "openai.json" holds openai. */
static void
provider_file_check_name(
    const struct provider *provider, const char *name, struct json_fault *fault)
{
	size_t len = strlen(provider_name(provider));

	if (strncmp(name, provider_name(provider), len) != 0 ||
	    strcmp(name + len, ".json") != 0)
		json_field_fault(
		    fault, "%s: the provider is named differently", name);
}

enum result
provider_file_load(int folder_fd, const char *name,
    struct provider **provider_r, json_t **object_r, struct json_fault *fault)
{
	struct json_fault inner = {""};
	enum result result;
	int fd;

	*provider_r = NULL;
	*object_r = NULL;
	fd = openat(folder_fd, name,
	    O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 && errno == ENOENT)
		return RESULT_NOT_FOUND;
	result = fd < 0 ? RESULT_BAD
			: provider_file_parse(fd, name, object_r, fault);
	if (fd < 0)
		json_field_fault(fault, "%s cannot be opened", name);
	else
		(void)close(fd);
	if (result == RESULT_OK)
		result =
		    provider_load(*object_r, "provider", provider_r, &inner);
	if (inner.text[0] != '\0')
		json_field_fault(fault, "%s: %s", name, inner.text);
	if (result == RESULT_OK)
		provider_file_check_name(*provider_r, name, fault);
	if (result == RESULT_OK && fault->text[0] == '\0')
		return RESULT_OK;
	provider_free(provider_r);
	json_decref(*object_r);
	*object_r = NULL;
	return result == RESULT_OK ? RESULT_BAD : result;
}
