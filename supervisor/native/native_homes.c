/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds homes (see the header). Called by native_given; must never take one
 * that it could not look up for one that is not there.
 */
#include "supervisor/native/native_homes.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define NATIVE_HOMES_ENTRY_MAX 16384U
#define NATIVE_HOMES_ABOVE "/home/"
#define NATIVE_HOMES_DATABASE "/etc/passwd"

/* "/" is the home of users that have none. */
static enum result
native_homes_add(struct native_homes *homes, const char *path, size_t len)
{
	if (len < 2 || path[0] != '/')
		return RESULT_OK;
	if (homes->count == NATIVE_HOMES_MAX || len >= NATIVE_VIEW_PATH_MAX)
		return RESULT_SYSTEM;
	memcpy(homes->paths[homes->count], path, len);
	homes->paths[homes->count++][len] = '\0';
	return RESULT_OK;
}

static enum result
native_homes_user(struct native_homes *homes, uid_t uid)
{
	char bytes[NATIVE_HOMES_ENTRY_MAX];
	struct passwd entry, *found = NULL;
	int fault = getpwuid_r(uid, &entry, bytes, sizeof(bytes), &found);

	if (found != NULL)
		return native_homes_add(
		    homes, entry.pw_dir, strlen(entry.pw_dir));
	/* Sources say "no entry" in several ways; these mean "not asked". */
	return fault == ERANGE || fault == EIO || fault == EMFILE ||
		       fault == ENFILE || fault == ENOMEM || fault == EINTR
		   ? RESULT_SYSTEM
		   : RESULT_OK;
}

enum result
native_homes_find(const char *chosen, const char *path, uid_t owner,
    struct native_homes *homes_r)
{
	size_t above = strlen(NATIVE_HOMES_ABOVE);
	enum result result;

	memset(homes_r, 0, sizeof(*homes_r));
	result = native_homes_add(homes_r, chosen, strlen(chosen));
	if (result == RESULT_OK)
		result = native_homes_user(homes_r, geteuid());
	if (result == RESULT_OK && owner != geteuid())
		result = native_homes_user(homes_r, owner);
	if (result == RESULT_OK &&
	    strncmp(path, NATIVE_HOMES_ABOVE, above) == 0)
		result = native_homes_add(
		    homes_r, path, above + strcspn(path + above, "/"));
	return result;
}

/* The own one by whatever source knows it. */
static enum result
native_homes_own(native_homes_visit *visit, void *context)
{
	struct native_homes own = {.count = 0};
	enum result result = native_homes_user(&own, geteuid());

	if (result == RESULT_OK && own.count > 0)
		result = visit(own.paths[0], geteuid(), context);
	return result;
}

enum result
native_homes_each(native_homes_visit *visit, void *context)
{
	char bytes[NATIVE_HOMES_ENTRY_MAX];
	struct passwd entry, *found = NULL;
	FILE *file = fopen(NATIVE_HOMES_DATABASE, "re");
	enum result result = RESULT_OK;
	bool own = false;
	int fault = 0;

	if (file == NULL && errno != ENOENT)
		return RESULT_SYSTEM;
	while (file != NULL && result == RESULT_OK) {
		fault = fgetpwent_r(file, &entry, bytes, sizeof(bytes), &found);
		if (fault != 0)
			break;
		own = own || entry.pw_uid == geteuid();
		result = visit(entry.pw_dir, entry.pw_uid, context);
	}
	if (file != NULL)
		(void)fclose(file);
	if (result == RESULT_OK && fault != 0 && fault != ENOENT)
		result = RESULT_SYSTEM;
	return result == RESULT_OK && !own ? native_homes_own(visit, context)
					   : result;
}
