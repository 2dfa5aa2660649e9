/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose home a directory could lie in, or be: HOME can be set to anything,
 * and root works for others. Used by native_given before a directory is
 * handed to a command.
 */
#ifndef SUPERVISOR_NATIVE_NATIVE_HOMES_H
#define SUPERVISOR_NATIVE_NATIVE_HOMES_H

#include <stddef.h>
#include <sys/types.h>

#include "common/result.h"
#include "supervisor/native/native_view.h"

#define NATIVE_HOMES_MAX 4U

struct native_homes {
	char paths[NATIVE_HOMES_MAX][NATIVE_VIEW_PATH_MAX]; /* absolute */
	size_t count;
};

/* Those of the choice, of the effective user and of the directory's owner by
 * the user database, and /home/NAME where path lies below it. A user without
 * an entry has none. RESULT_SYSTEM: the database cannot be asked. */
enum result native_homes_find(const char *chosen, const char *path, uid_t owner,
    struct native_homes *homes_r);

/* Every home of /etc/passwd, and the effective user's where it is not in it,
 * until visit answers with a fault; nothing is looked up. */
typedef enum result native_homes_visit(
    const char *home, uid_t user, void *context);
enum result native_homes_each(native_homes_visit *visit, void *context);

#endif
