/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Users as bin/agentnode knows them: those of /etc/passwd. It is linked whole,
 * so it cannot load the other sources a host may have (NSS). Where one of
 * them is asked first, or is needed, the whole program is run instead.
 */
#ifndef SUPERVISOR_ENTRY_ABSENT_USER_H
#define SUPERVISOR_ENTRY_ABSENT_USER_H

#include <pwd.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define ABSENT_USER_SOURCES "/etc/nsswitch.conf"
#define ABSENT_USER_FILE "/etc/passwd"

/* Whether sources (a file as nsswitch.conf(5) says) names users' files first.
 * A file that is not there means that; one that cannot be read does not. */
bool absent_user_files_first(const char *sources);

/* As getpwuid_r(3), of one file of users. EIO: it is not there, and nobody
 * else was asked. */
int absent_user_find(const char *file, uid_t uid, struct passwd *entry_r,
    char *bytes, size_t size, struct passwd **found_r);

/* Whether this program can answer for the user it runs as and, where words
 * name a workspace, for the owner of each file among them and of the
 * current directory. words end with NULL or "--". */
bool absent_user_known(char *const *words, bool owners);

#endif
