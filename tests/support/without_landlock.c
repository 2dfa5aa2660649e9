/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Run a command on a kernel that seems to have no Landlock: its calls
 * answer ENOSYS, as such a kernel does, for the command and everything it
 * starts. Used by tests of missing layers; never installed.
 */
#include <errno.h>
#include <seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

int
main(int argc, char **argv)
{
	static const int calls[] = {SCMP_SYS(landlock_create_ruleset),
	    SCMP_SYS(landlock_add_rule), SCMP_SYS(landlock_restrict_self)};
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
	int failed = filter == NULL || argc < 2;

	/* Setuid programs must go on working for the engine. */
	if (!failed)
		failed = seccomp_attr_set(filter, SCMP_FLTATR_CTL_NNP, 0);
	for (size_t i = 0; !failed && i < sizeof(calls) / sizeof(calls[0]); i++)
		failed = seccomp_rule_add(
		    filter, SCMP_ACT_ERRNO(ENOSYS), calls[i], 0);
	if (failed || seccomp_load(filter) != 0) {
		(void)fprintf(stderr, "without_landlock: no filter\n");
		return 125;
	}
	(void)execv(argv[1], argv + 1);
	perror(argv[1]);
	return 125;
}
