/* SPDX-License-Identifier: Apache-2.0 */
/*
 * supervisor/policy/egress_lint: which entries there is something to say
 * about. b028 and b120 are items of the list of known bypasses.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "supervisor/policy/egress_lint.h"

static void
test_egress_lint_says(const char *entry, const char *word)
{
	const char *said = egress_lint_entry(entry);

	if (said == NULL || strstr(said, word) == NULL)
		fail_msg("%s: %s", entry, said != NULL ? said : "nothing");
}

static void
b028_resolvers(void **state)
{
	(void)state;
	test_egress_lint_says("dns.google:443", "resolver");
	test_egress_lint_says("mozilla.cloudflare-dns.com:443", "resolver");
	test_egress_lint_says("*.quad9.net:443", "resolver");
	test_egress_lint_says("*.mullvad.net:443", "resolver");
	test_egress_lint_says("http://dns.google:80", "resolver");
	test_egress_lint_says("any.example.com:853", "resolver");
}

static void
b120_shared_hosts(void **state)
{
	(void)state;
	test_egress_lint_says("sentry.io:443", "tenants");
	test_egress_lint_says("o1.ingest.sentry.io:443", "tenants");
	test_egress_lint_says("bucket.s3.amazonaws.com:443", "tenants");
	test_egress_lint_says("*.googleapis.com:443", "tenants");
}

static void
test_egress_lint_silent(void **state)
{
	static const char *const entries[] = {"api.example.com:443",
	    "*.example.com:443", "notdns.google.example:443", "xdns.google:443",
	    "evilsentry.io:443", "sentry.io.example:443", "googleapis.com:443",
	    "tcp://8.8.8.8:853", "http://example.com:80", "google:443", ""};

	(void)state;
	for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++)
		if (egress_lint_entry(entries[i]) != NULL)
			fail_msg("%s", entries[i]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(b028_resolvers),
	    cmocka_unit_test(b120_shared_hosts),
	    cmocka_unit_test(test_egress_lint_silent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
