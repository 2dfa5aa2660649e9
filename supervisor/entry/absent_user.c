/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks users up (see the header). Called by main before anything is started,
 * and in place of the C library (absent.c); must never say of a user that it
 * does not exist.
 */
#include "supervisor/entry/absent_user.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ABSENT_USER_LINE_MAX 1024U
#define ABSENT_USER_ENTRY_MAX 16384U
#define ABSENT_USER_SPACE " \t\n"

static bool
absent_user_word_is(const char *word, const char *is)
{
	size_t len = strcspn(word, ABSENT_USER_SPACE "[#");

	return len == strlen(is) && strncmp(word, is, len) == 0;
}

bool
absent_user_files_first(const char *sources)
{
	static const char database[] = "passwd:";
	char line[ABSENT_USER_LINE_MAX];
	FILE *file = fopen(sources, "re");
	bool first = true;

	if (file == NULL)
		return errno == ENOENT;
	while (fgets(line, sizeof(line), file) != NULL) {
		const char *word = line + strspn(line, ABSENT_USER_SPACE);

		if (strncmp(word, database, strlen(database)) != 0)
			continue;
		word += strlen(database);
		word += strspn(word, ABSENT_USER_SPACE);
		first = absent_user_word_is(word, "files");
	}
	first = first && ferror(file) == 0;
	(void)fclose(file);
	return first;
}

int
absent_user_find(const char *file, uid_t uid, struct passwd *entry_r,
    char *bytes, size_t size, struct passwd **found_r)
{
	FILE *users = fopen(file, "re");
	int fault = 0;

	*found_r = NULL;
	if (users == NULL)
		return EIO;
	do {
		*found_r = NULL;
		fault = fgetpwent_r(users, entry_r, bytes, size, found_r);
	} while (fault == 0 && *found_r != NULL && entry_r->pw_uid != uid);
	(void)fclose(users);
	if (fault == 0 && *found_r != NULL)
		return 0;
	*found_r = NULL;
	return fault == ERANGE ? ERANGE : EIO;
}

static bool
absent_user_knows(uid_t uid)
{
	char bytes[ABSENT_USER_ENTRY_MAX];
	struct passwd entry, *found;

	return absent_user_find(ABSENT_USER_FILE, uid, &entry, bytes,
		   sizeof(bytes), &found) == 0;
}

/* What is no file is no workspace either. */
static bool
absent_user_knows_owner(const char *path)
{
	struct stat info;

	return stat(path, &info) != 0 || info.st_uid == geteuid() ||
	       absent_user_knows(info.st_uid);
}

bool
absent_user_known(char *const *words, bool owners)
{
	bool known = absent_user_files_first(ABSENT_USER_SOURCES) &&
		     absent_user_knows(geteuid());

	if (owners)
		known = known && absent_user_knows_owner(".");
	for (; owners && known && *words != NULL && strcmp(*words, "--") != 0;
	     words++) {
		const char *value = strchr(*words, '=');

		known = absent_user_knows_owner(*words) &&
			(value == NULL || absent_user_knows_owner(value + 1));
	}
	return known;
}
