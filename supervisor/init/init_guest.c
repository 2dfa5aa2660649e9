/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gives up rights (see the header). Called by init before its first word,
 * and by each child of it; must never go on with a right too many.
 */
#include "supervisor/init/init_guest.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define INIT_GUEST_RIGHTS_MAX 64
#define INIT_GUEST_KEPT (1U << CAP_SETUID | 1U << CAP_SETGID | 1U << CAP_KILL)

static uint32_t init_guest_uid; /* 0: no guest */

/* Both sets are exactly mask, and nothing can be inherited. */
static int
init_guest_keep(uint32_t mask)
{
	struct __user_cap_header_struct header = {
	    .version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct sets[2] = {
	    {.effective = mask, .permitted = mask}};

	if (syscall(SYS_capset, &header, sets) != 0)
		return errno;
	memset(sets, 0xff, sizeof(sets));
	header.version = _LINUX_CAPABILITY_VERSION_3;
	if (syscall(SYS_capget, &header, sets) != 0)
		return errno;
	return sets[0].effective == mask && sets[0].permitted == mask &&
		       sets[1].effective == 0 && sets[1].permitted == 0 &&
		       sets[0].inheritable == 0 && sets[1].inheritable == 0
		   ? 0
		   : EPERM;
}

int
init_guest_start(void)
{
	/* The kernel says which number is one too high. */
	for (int right = 0; right < INIT_GUEST_RIGHTS_MAX; right++) {
		if (prctl(PR_CAPBSET_DROP, right, 0, 0, 0) == 0)
			continue;
		if (errno != EINVAL || right == 0)
			return errno;
		break;
	}
	return init_guest_keep(INIT_GUEST_KEPT);
}

void
init_guest_children(uint32_t uid)
{
	init_guest_uid = uid;
}

int
init_guest_lower(void)
{
	uint32_t uid = init_guest_uid;

	if (uid == 0)
		return 0;
	if (setgroups(0, NULL) != 0 || setresgid(uid, uid, uid) != 0 ||
	    setresuid(uid, uid, uid) != 0)
		return errno;
	return init_guest_keep(0);
}
