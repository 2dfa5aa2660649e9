/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stands for the functions that need a library agentnode is linked without:
 * supervisor/entry/CMakeLists.txt puts each in the place of the function of
 * its name. Reached by an entry of the configuration with a wildcard or a
 * name that is no ASCII, before anything is started.
 */
#include "supervisor/entry/absent.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "supervisor/child.h"
#include "supervisor/command/command.h"
#include "supervisor/entry/absent_user.h"
#include "supervisor/policy/config_idn2.h"
#include "supervisor/policy/ed25519.h"
#include "supervisor/policy/suffix_check.h"

#define ABSENT_PROGRAM "command/agentnode"
#define ABSENT_ENTRY_MAX 16384U /* of a user */

static char **absent_argv;

void
absent_words(char **argv)
{
	absent_argv = argv;
}

bool
absent_has_children(void)
{
	siginfo_t info;

	return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 ||
	       errno != ECHILD;
}

void
absent_become_whole(void)
{
	char path[PATH_MAX];

	if (child_program_path(ABSENT_PROGRAM, path, sizeof(path)) == RESULT_OK)
		(void)execv(path, absent_argv);
	_exit(command_error(COMMAND_INTERNAL,
	    "libexec/agentnode/" ABSENT_PROGRAM " is not installed: install "
	    "AgentNode Sandbox again"));
}

void
absent_hand_over(void)
{
	if (!absent_has_children())
		absent_become_whole();
}

enum result absent_ed25519_verify(const char *key, const char *signature,
    enum ed25519_domain domain, const void *bytes, size_t len);
ABSENT_LIKE(ed25519_verify);

enum result
absent_ed25519_verify(const char *key, const char *signature,
    enum ed25519_domain domain, const void *bytes, size_t len)
{
	(void)key;
	(void)signature;
	(void)domain;
	(void)bytes;
	(void)len;
	absent_hand_over();
	return RESULT_UNSUPPORTED;
}

enum result absent_suffix_check_wildcard(
    const struct domain *base, char why_r[SUFFIX_CHECK_WHY_MAX]);
ABSENT_LIKE(suffix_check_wildcard);

enum result
absent_suffix_check_wildcard(
    const struct domain *base, char why_r[SUFFIX_CHECK_WHY_MAX])
{
	(void)base;
	absent_hand_over();
	(void)snprintf(why_r, SUFFIX_CHECK_WHY_MAX, "cannot be checked here");
	return RESULT_NOT_FOUND;
}

bool absent_config_idn2_ascii(const char *host, char *ascii_r, size_t size,
    char why_r[CONFIG_IDN_WHY_MAX]);
ABSENT_LIKE(config_idn2_ascii);

bool
absent_config_idn2_ascii(const char *host, char *ascii_r, size_t size,
    char why_r[CONFIG_IDN_WHY_MAX])
{
	(void)host;
	(void)ascii_r;
	(void)size;
	absent_hand_over();
	(void)snprintf(why_r, CONFIG_IDN_WHY_MAX, "cannot be read here");
	return false;
}

/* As the functions of the C library. One that is not in the file was not
 * expected: main asks first. */
int absent_getpwuid_r(uid_t uid, struct passwd *entry_r, char *bytes,
    size_t size, struct passwd **found_r);
ABSENT_LIKE(getpwuid_r);

int
absent_getpwuid_r(uid_t uid, struct passwd *entry_r, char *bytes, size_t size,
    struct passwd **found_r)
{
	int fault = absent_user_find(
	    ABSENT_USER_FILE, uid, entry_r, bytes, size, found_r);

	if (fault == EIO)
		absent_hand_over();
	return fault;
}

struct passwd *absent_getpwuid(uid_t uid);
ABSENT_LIKE(getpwuid);

struct passwd *
absent_getpwuid(uid_t uid)
{
	static char bytes[ABSENT_ENTRY_MAX];
	static struct passwd entry;
	struct passwd *found;

	return absent_getpwuid_r(uid, &entry, bytes, sizeof(bytes), &found) == 0
		   ? found
		   : NULL;
}
