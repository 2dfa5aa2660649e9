/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a running sandbox may still reach after the configuration changed:
 * tables of before, configuration and after; and that whatever comes out is
 * narrower by the proxy's own judgement.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "egress-proxy/host_policy_json.h"
#include "supervisor/engine/egress_narrow.h"

static json_t *
test_egress_narrow_json(const char *text)
{
	json_error_t error;
	json_t *value;

	if (text == NULL)
		return NULL;
	value = json_loads(text, JSON_REJECT_DUPLICATES, &error);
	if (value == NULL)
		fail_msg("%s: %s", text, error.text);
	return value;
}

/* What the team policy of the test lets through; context NULL: all. */
static bool
test_egress_narrow_permits(const void *context, const char *entry)
{
	return context == NULL || strstr(entry, context) != NULL;
}

struct test_egress_narrow_row {
	const char *name;
	const char *policy;
	const char *configured;
	/* the configuration now */
	const char *allow, *deny, *ranges, *ech, *team;
	const char *next; /* NULL: as policy */
	const char *own;  /* the host's addresses now; NULL: not looked at */
};

#define FULL                                                             \
	"{\"allow\":[\"a.example.com:443\",\"*.b.example.com:443\","     \
	"\"tcp://10.1.2.3:22\"],\"deny\":[\"x.b.example.com\"],"         \
	"\"extra_ranges\":[{\"name\":\"a.example.com\",\"cidrs\":["      \
	"\"10.1.0.0/16\",\"10.9.9.9/32\"]}],\"own\":[\"192.0.2.1/32\"]," \
	"\"ech\":[\"a.example.com\"]}"
#define RANGES "{\"a.example.com\":[\"10.1.0.0/16\",\"10.9.9.9/32\"]}"
#define AFTER(allow, deny, ranges, ech)                               \
	"{\"allow\":[" allow "],\"deny\":[\"x.b.example.com\"" deny   \
	"],\"extra_ranges\":[" ranges "],\"own\":[\"192.0.2.1/32\"]," \
	"\"ech\":[" ech "]}"
#define T4 "\"tcp://8.8.4.10:5432\""
#define N4 "\"tcp://8.8.0.0/16:5432\""
#define R4 "{\"name\":\"a.example.com\",\"cidrs\":[\"8.8.4.0/24\"]}"
#define OWNED(allow, ranges, own)                                     \
	"{\"allow\":[" allow "],\"deny\":[\"x.b.example.com\"],"      \
	"\"extra_ranges\":[" ranges "],\"own\":[\"192.0.2.1/32\"" own \
	"],\"ech\":[" E "]}"
#define FULL_ALLOW A "," B "," T
#define A "\"a.example.com:443\""
#define B "\"*.b.example.com:443\""
#define T "\"tcp://10.1.2.3:22\""
#define R1 "{\"name\":\"a.example.com\",\"cidrs\":[\"10.1.0.0/16\"]}"
#define R2 "{\"name\":\"a.example.com\",\"cidrs\":[\"10.9.9.9/32\"]}"
#define R                                                                    \
	"{\"name\":\"a.example.com\",\"cidrs\":[\"10.1.0.0/16\",\"10.9.9.9/" \
	"32\"]}"
#define E "\"a.example.com\""

static const struct test_egress_narrow_row test_egress_narrow_rows[] = {
    {"nothing changed", FULL, "[]", "[]", "[\"x.b.example.com\"]", RANGES,
	"[" E "]", NULL, NULL, NULL},
    {"nothing is set", FULL, "[]", NULL, NULL, RANGES, "[" E "]", NULL, NULL,
	NULL},
    {"a deny entry more", FULL, "[]", NULL, "[\"a.example.com\"]", RANGES,
	"[" E "]", NULL, AFTER(A "," B "," T, ",\"a.example.com\"", R, E),
	NULL},
    {"a deny entry less", FULL, "[]", NULL, "[]", RANGES, "[" E "]", NULL, NULL,
	NULL},
    {"an allow entry more", FULL, "[]",
	"[\"c.example.com:443\",\"*.example.com:443\"]", NULL, RANGES,
	"[" E "]", NULL, NULL, NULL},
    {"a configured entry is gone", FULL, "[" A "]", "[]", NULL, RANGES,
	"[" E "]", NULL, AFTER(B "," T, "", R, E), NULL},
    {"nothing configured is left", FULL, "[" A "," B "," T "]", NULL, NULL,
	RANGES, "[" E "]", NULL, AFTER("", "", R, E), NULL},
    {"a configured entry is covered by another", FULL, "[" A "]",
	"[\"*.example.com:443\"]", NULL, RANGES, "[" E "]", NULL, NULL, NULL},
    {"a configured entry has another port", FULL, "[" A "]",
	"[\"a.example.com:8443\"]", NULL, RANGES, "[" E "]", NULL,
	AFTER(B "," T, "", R, E), NULL},
    {"a configured wildcard becomes one name", FULL, "[" B "]",
	"[\"y.b.example.com:443\"]", NULL, RANGES, "[" E "]", NULL,
	AFTER(A "," T, "", R, E), NULL},
    {"the team policy permits less", FULL, "[]", NULL, NULL, RANGES, "[" E "]",
	"b.example", AFTER(B, "", R, E), NULL},
    {"all ranges are gone", FULL, "[]", NULL, NULL, NULL, "[" E "]", NULL,
	AFTER(A "," B "," T, "", "", E), NULL},
    {"ranges of another name", FULL, "[]", NULL, NULL,
	"{\"c.example.com\":[\"10.1.0.0/16\"]}", "[" E "]", NULL,
	AFTER(A "," B "," T, "", "", E), NULL},
    {"one range is gone", FULL, "[]", NULL, NULL,
	"{\"a.example.com\":[\"10.1.0.0/16\"]}", "[" E "]", NULL,
	AFTER(A "," B "," T, "", R1, E), NULL},
    {"a wider range keeps the network, not the single address", FULL, "[]",
	NULL, NULL, "{\"a.example.com\":[\"10.0.0.0/8\"]}", "[" E "]", NULL,
	AFTER(A "," B "," T, "", R1, E), NULL},
    {"a range around it beside a smaller one", FULL, "[]", NULL, NULL,
	"{\"a.example.com\":[\"10.1.1.0/24\",\"10.9.9.9/32\",\"0.0.0.0/0\"]}",
	"[" E "]", NULL, NULL, NULL},
    {"a smaller range closes: it could open another kind", FULL, "[]", NULL,
	NULL, "{\"a.example.com\":[\"10.1.1.0/24\",\"10.9.9.9/32\"]}",
	"[" E "]", NULL, AFTER(A "," B "," T, "", R2, E), NULL},
    {"ech no more", FULL, "[]", NULL, NULL, RANGES, "[\"c.example.com\"]", NULL,
	AFTER(A "," B "," T, "", R, ""), NULL},
    {"a name more with ech", FULL, "[]", NULL, NULL, RANGES,
	"[\"c.example.com\"," E "]", NULL, NULL, NULL},
    {"all at once", FULL, "[" A "]", NULL, "[\"z.example.com\"]", NULL, NULL,
	"tcp", AFTER(T, ",\"z.example.com\"", "", ""), NULL},
    {"the host has what it had", FULL, "[]", NULL, NULL, RANGES, "[" E "]",
	NULL, NULL, "[\"192.0.2.1/32\"]"},
    {"an address of the host is gone", FULL, "[]", NULL, NULL, RANGES,
	"[" E "]", NULL, NULL, "[]"},
    {"addresses that came: a range may open a private one", FULL, "[]", NULL,
	NULL, RANGES, "[" E "]", NULL,
	OWNED(FULL_ALLOW, R,
	    ",\"8.8.4.4/32\",\"10.1.2.9/32\",\"2001:4860::1/128\""),
	"[\"8.8.4.4/32\",\"10.1.2.9/32\",\"fe80::1/128\",\"fe80::/64\","
	"\"2001:4860::1/128\",\"192.0.2.1/32\"]"},
    {"nothing opens a private one", OWNED(A, "", ""), "[]", NULL, NULL, NULL,
	"[" E "]", NULL, OWNED(A, "", ",\"8.8.4.4/32\""),
	"[\"10.1.2.9/32\",\"8.8.4.4/32\",\"fc00::1/128\",\"127.0.0.1/32\"]"},
    {"an address that is written down alone opens itself", OWNED(T4, "", ""),
	"[]", NULL, NULL, NULL, "[" E "]", NULL,
	OWNED(T4, "", ",\"8.8.4.10/32\",\"8.8.4.0/24\""),
	"[\"8.8.4.10/32\",\"8.8.4.0/24\"]"},
    {"a range whose base became the host's goes whole", OWNED(A, R4, ""), "[]",
	NULL, NULL, "{\"a.example.com\":[\"8.8.4.0/24\"]}", "[" E "]", NULL,
	OWNED(A, "", ",\"8.8.4.4/32\",\"8.8.4.0/24\""),
	"[\"8.8.4.4/32\",\"8.8.4.0/24\"]"},
    {"so does an entry that is a network",
	OWNED(A "," N4, "", ",\"8.8.4.0/24\""), "[]", NULL, NULL, NULL,
	"[" E "]", NULL,
	OWNED(A, "", ",\"8.8.4.0/24\",\"8.8.0.1/32\",\"8.8.0.0/24\""),
	"[\"8.8.0.1/32\",\"8.8.0.0/24\"]"},
    {"a range around an address of the host stays", OWNED(A, R4, ""), "[]",
	NULL, NULL, "{\"a.example.com\":[\"8.8.4.0/24\"]}", "[" E "]", NULL,
	OWNED(A, R4, ",\"8.8.4.4/32\""), "[\"8.8.4.4/32\"]"},
    {"an entry with an address may", OWNED(T, "", ""), "[]", NULL, NULL, NULL,
	"[" E "]", NULL, OWNED(T, "", ",\"10.1.2.9/32\""), "[\"10.1.2.9/32\"]"},
};

static struct host_policy *
test_egress_narrow_load(const json_t *policy)
{
	struct host_policy *loaded = NULL;
	struct json_fault fault = {""};

	if (host_policy_json_load(policy, "policy", &loaded, &fault) !=
	    RESULT_OK)
		fail_msg("%s", fault.text);
	return loaded;
}

static void
test_egress_narrow_one(const struct test_egress_narrow_row *row)
{
	json_t *policy = test_egress_narrow_json(row->policy);
	json_t *configured = test_egress_narrow_json(row->configured);
	json_t *allow = test_egress_narrow_json(row->allow);
	json_t *deny = test_egress_narrow_json(row->deny);
	json_t *ranges = test_egress_narrow_json(row->ranges);
	json_t *ech = test_egress_narrow_json(row->ech);
	json_t *own = test_egress_narrow_json(row->own);
	json_t *expected = test_egress_narrow_json(
	    row->next != NULL ? row->next : row->policy);
	const struct egress_narrow_host host = {allow, deny, ranges, ech, own,
	    test_egress_narrow_permits, row->team};
	struct host_policy *before, *after;
	json_t *next, *again;
	char *text;

	assert_int_equal(
	    egress_narrow(policy, configured, &host, &next), RESULT_OK);
	text = json_dumps(next, JSON_COMPACT);
	if (!json_equal(next, expected))
		fail_msg("%s: %s", row->name, text);
	free(text);
	before = test_egress_narrow_load(policy);
	after = test_egress_narrow_load(next);
	assert_true(host_policy_is_narrower(after, before));
	/* A second time changes nothing. */
	assert_int_equal(
	    egress_narrow(next, configured, &host, &again), RESULT_OK);
	assert_true(json_equal(again, next));
	host_policy_free(&before);
	host_policy_free(&after);
	json_decref(again);
	json_decref(next);
	json_decref(expected);
	json_decref(policy);
	json_decref(configured);
	json_decref(allow);
	json_decref(deny);
	json_decref(ranges);
	json_decref(ech);
	json_decref(own);
}

static void
test_egress_narrow_table(void **state)
{
	size_t i, count = sizeof(test_egress_narrow_rows) /
			  sizeof(test_egress_narrow_rows[0]);

	(void)state;
	for (i = 0; i < count; i++)
		test_egress_narrow_one(&test_egress_narrow_rows[i]);
}

/* A policy that names no addresses of the host is none: it is not taken for
 * one where nothing has to be looked through. */
static void
test_egress_narrow_without_own(void **state)
{
	json_t *policy = test_egress_narrow_json(OWNED(A "," N4, "", ""));
	json_t *none = json_array(), *next = NULL;
	const struct egress_narrow_host host = {
	    .own = none, .permits = test_egress_narrow_permits};

	(void)state;
	assert_int_equal(json_object_del(policy, "own"), 0);
	assert_int_not_equal(
	    egress_narrow(policy, none, &host, &next), RESULT_OK);
	assert_null(next);
	json_decref(none);
	json_decref(policy);
}

/* From any configuration to any other and back: never wider. */
static void
test_egress_narrow_never_widens(void **state)
{
	size_t i, j,
	    count = sizeof(test_egress_narrow_rows) /
		    sizeof(test_egress_narrow_rows[0]);

	(void)state;
	for (i = 0; i < count; i++) {
		for (j = 0; j < count; j++) {
			struct test_egress_narrow_row row =
			    test_egress_narrow_rows[j];
			const struct test_egress_narrow_row *first =
			    &test_egress_narrow_rows[i];
			struct egress_narrow_host host = {
			    .permits = test_egress_narrow_permits,
			    .context = row.team};
			json_t *policy = test_egress_narrow_json(
			    first->next != NULL ? first->next : first->policy);
			json_t *allow = test_egress_narrow_json(row.allow);
			json_t *deny = test_egress_narrow_json(row.deny);
			json_t *ranges = test_egress_narrow_json(row.ranges);
			json_t *ech = test_egress_narrow_json(row.ech);
			json_t *own = test_egress_narrow_json(row.own);
			struct host_policy *before, *after;
			json_t *next;

			host.allow = allow;
			host.deny = deny;
			host.extra_ranges = ranges;
			host.ech = ech;
			host.own = own;
			assert_int_equal(
			    egress_narrow(policy, NULL, &host, &next),
			    RESULT_OK);
			before = test_egress_narrow_load(policy);
			after = test_egress_narrow_load(next);
			assert_true(host_policy_is_narrower(after, before));
			host_policy_free(&before);
			host_policy_free(&after);
			json_decref(next);
			json_decref(policy);
			json_decref(allow);
			json_decref(deny);
			json_decref(ranges);
			json_decref(ech);
			json_decref(own);
		}
	}
}

static void
test_egress_narrow_difference(void **state)
{
	json_t *a = test_egress_narrow_json("[\"a\",\"b\",{\"c\":1}]");
	json_t *b = test_egress_narrow_json("[\"b\",\"d\"]");
	json_t *expected = test_egress_narrow_json("[\"a\",{\"c\":1}]");
	json_t *list = egress_narrow_without(a, b);

	(void)state;
	assert_true(json_equal(list, expected));
	json_decref(list);
	list = egress_narrow_without(NULL, b);
	assert_int_equal(json_array_size(list), 0);
	json_decref(list);
	json_decref(a);
	json_decref(b);
	json_decref(expected);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_egress_narrow_table),
	    cmocka_unit_test(test_egress_narrow_without_own),
	    cmocka_unit_test(test_egress_narrow_never_widens),
	    cmocka_unit_test(test_egress_narrow_difference),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
