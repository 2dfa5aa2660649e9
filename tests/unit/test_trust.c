/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tier of an entry, with real keys: what holds, and every way in which
 * an attestation or signature does not, each refused by its code and never
 * taken for "unverified".
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "supervisor/package/run_entry.h"
#include "supervisor/policy/trust.h"
#include "supervisor/policy/trust_bound.h"
#include "tests/support/trust_world.h"

static struct trust_world test_trust_world;

static int
test_trust_setup(void **state)
{
	(void)state;
	trust_world_new(&test_trust_world);
	return 0;
}

static int
test_trust_teardown(void **state)
{
	(void)state;
	trust_world_free(&test_trust_world);
	return 0;
}

/* Judge and free; the code, or "" when it holds with this tier. */
static void
test_trust_is(json_t *entry, time_t later, enum tier tier, const char *code)
{
	struct trust_world *world = &test_trust_world;
	struct json_fault fault = {""};
	struct trust_verdict verdict;
	enum result result = trust_prove(world->config, TRUST_WORLD_SLUG, entry,
	    world->now + later, &verdict, &fault);

	if (strcmp(verdict.code, code) != 0)
		fail_msg(
		    "'%s' instead of '%s': %s", verdict.code, code, fault.text);
	assert_int_equal(verdict.tier, tier);
	assert_int_equal(result == RESULT_OK, code[0] == '\0');
	assert_int_equal(fault.text[0] == '\0', code[0] == '\0');
	json_decref(entry);
}

static void
test_trust_no(json_t *entry, const char *code)
{
	test_trust_is(entry, 0, TIER_UNKNOWN, code);
}

static json_t *
test_trust_entry(void)
{
	return trust_world_entry(&test_trust_world);
}

static json_t *
test_trust_attestation(json_t *entry)
{
	return json_object_get(entry, "attestation");
}

static void
test_trust_holds(void **state)
{
	static const char *const tiers[] = {"verified", "trusted", "curated"};
	struct trust_world *world = &test_trust_world;
	json_t *entry;

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		entry = test_trust_entry();
		json_object_set_new(entry, "attestation",
		    trust_world_attest(world->registry,
			trust_world_statement(
			    world, trust_world_hash("artifact"), tiers[i])));
		test_trust_is(entry, 0, tier_parse(tiers[i]), "");
	}
	test_trust_is(json_object(), 0, TIER_UNVERIFIED, "");
	test_trust_is(json_pack("{s:n, s:n}", "attestation", "_signatures"), 0,
	    TIER_UNVERIFIED, "");
	/* A word that nobody signed is no tier. */
	test_trust_is(json_pack("{s:s}", "trust_level", "curated"), 0,
	    TIER_UNVERIFIED, "");
	/* Attested as unverified: no publisher has to sign. */
	entry = test_trust_entry();
	json_object_del(entry, "_signatures");
	json_object_set_new(entry, "attestation",
	    trust_world_attest(world->registry,
		trust_world_statement(
		    world, trust_world_hash("artifact"), "unverified")));
	test_trust_is(entry, 0, TIER_UNVERIFIED, "");
}

/* Change one byte of a text so that it keeps its length. */
static void
test_trust_flip(json_t *object, const char *key, size_t at)
{
	char *text = strdup(json_string_value(json_object_get(object, key)));

	assert_non_null(text);
	text[at] = text[at] == 'a' || text[at] == '1' ? 'b' : 'a';
	if (strspn(json_string_value(json_object_get(object, key)) + at,
		"0123456789") > 0)
		text[at] = text[at] == '0' || text[at] == 'b' ? '2' : '1';
	assert_string_not_equal(
	    text, json_string_value(json_object_get(object, key)));
	json_object_set_new(object, key, json_string(text));
	free(text);
}

/* Each byte of each field of the attestation, one after the other. */
static void
test_trust_forged_bytes(void **state)
{
	struct trust_world *world = &test_trust_world;
	json_t *model = test_trust_entry(), *value;
	size_t forged = 0, held = 0;
	const char *key;

	(void)state;
	json_object_foreach(test_trust_attestation(model), key, value)
	{
		size_t len = json_string_length(value);

		for (size_t at = 0; at < len; at++) {
			json_t *entry = json_deep_copy(model);
			struct json_fault fault = {""};
			struct trust_verdict verdict;

			test_trust_flip(test_trust_attestation(entry), key, at);
			held +=
			    trust_prove(world->config, TRUST_WORLD_SLUG, entry,
				world->now, &verdict, &fault) == RESULT_OK;
			assert_int_equal(verdict.tier, TIER_UNKNOWN);
			assert_true(verdict.code[0] != '\0');
			assert_true(fault.text[0] != '\0');
			forged++;
			json_decref(entry);
		}
	}
	json_decref(model);
	assert_true(forged > 390);
	assert_int_equal(held, 0);
}

static void
test_trust_forged_fields(void **state)
{
	static const struct {
		const char *key, *code;
		size_t at;
	} rows[] = {
	    {"slug", "trust_other_slug", 1},
	    {"version", "trust_other_version", 0},
	    {"artifact_hash", "trust_other_hash", 20},
	    {"tier", "trust_tier", 0},
	    {"publisher", "trust_other_publisher", 1},
	    {"publisher_key", "trust_signature", 9},
	    {"issued", "trust_signature", 18},
	    {"expires", "trust_signature", 18},
	    {"registry_key", "trust_key_unknown", 9},
	    {"signature", "trust_signature", 9},
	};
	json_t *entry;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		entry = test_trust_entry();
		test_trust_flip(
		    test_trust_attestation(entry), rows[i].key, rows[i].at);
		test_trust_no(entry, rows[i].code);
		entry = test_trust_entry();
		json_object_del(test_trust_attestation(entry), rows[i].key);
		test_trust_no(entry, strcmp(rows[i].key, "tier") == 0
					 ? "trust_tier"
				     : rows[i].at == 18 ? "trust_time"
							: "trust_field");
	}
	entry = test_trust_entry();
	json_object_set_new(
	    test_trust_attestation(entry), "serial", json_integer(8));
	test_trust_no(entry, "trust_signature");
	entry = test_trust_entry();
	json_object_set_new(
	    test_trust_attestation(entry), "tier", json_string("curated"));
	test_trust_no(entry, "trust_signature");
	entry = test_trust_entry();
	json_object_set_new(
	    test_trust_attestation(entry), "note", json_string("x"));
	test_trust_no(entry, "trust_field");
	entry = test_trust_entry();
	json_object_set_new(entry, "attestation", json_object());
	test_trust_no(entry, "trust_field");
	entry = test_trust_entry();
	json_object_set_new(entry, "attestation", json_string("trusted"));
	test_trust_no(entry, "trust_field");
}

/* The right attestation beside another artifact, version, slug. */
static void
test_trust_elsewhere(void **state)
{
	struct trust_world *world = &test_trust_world;
	struct json_fault fault = {""};
	struct trust_verdict verdict;
	json_t *entry = test_trust_entry();

	(void)state;
	json_object_set_new(entry, "artifact_hash",
	    json_string(trust_world_hash("another artifact")));
	test_trust_no(entry, "trust_other_hash");
	entry = test_trust_entry();
	json_object_set_new(entry, "version", json_string("1.2.1"));
	test_trust_no(entry, "trust_other_version");
	entry = test_trust_entry();
	json_object_set_new(entry, "publisher_slug", json_string("other"));
	test_trust_no(entry, "trust_other_publisher");
	entry = test_trust_entry();
	assert_int_equal(trust_prove(world->config, "word-counts", entry,
			     world->now, &verdict, &fault),
	    RESULT_MISMATCH);
	assert_string_equal(verdict.code, "trust_other_slug");
	json_decref(entry);
}

static void
test_trust_times(void **state)
{
	(void)state;
	test_trust_is(
	    test_trust_entry(), TRUST_WORLD_DAY - 1, TIER_TRUSTED, "");
	test_trust_is(
	    test_trust_entry(), TRUST_WORLD_DAY, TIER_UNKNOWN, "trust_expired");
	test_trust_is(test_trust_entry(), -300, TIER_TRUSTED, "");
	test_trust_is(test_trust_entry(), -301, TIER_UNKNOWN, "trust_future");
}

static void
test_trust_keys(void **state)
{
	struct trust_world *world = &test_trust_world;
	const char *hash = trust_world_hash("artifact");
	json_t *entry = test_trust_entry(), *statement;

	(void)state;
	/* Signed by a stranger, who says so. */
	statement = trust_world_statement(world, hash, "curated");
	json_object_set_new(entry, "attestation",
	    trust_world_attest(world->stranger, statement));
	test_trust_no(entry, "trust_key_unknown");
	/* Signed by a stranger, who says it was the registry. */
	entry = test_trust_entry();
	statement = trust_world_attest(
	    world->stranger, trust_world_statement(world, hash, "curated"));
	json_object_set_new(
	    statement, "registry_key", json_string(world->registry_key));
	json_object_set_new(entry, "attestation", statement);
	test_trust_no(entry, "trust_signature");
	/* Not pinned any more, or revoked though pinned. */
	trust_world_config(world, "{}");
	test_trust_no(test_trust_entry(), "trust_key_unknown");
	trust_world_config(world,
	    "{\"trust\":{\"revoked_keys\":[\"%s\"],\"registry_keys\":{}}}");
	test_trust_no(test_trust_entry(), "trust_key_revoked");
}

static void
test_trust_publisher(void **state)
{
	struct trust_world *world = &test_trust_world;
	const char *hash = trust_world_hash("artifact");
	json_t *entry = test_trust_entry();
	char config[256];

	(void)state;
	json_object_del(entry, "_signatures");
	test_trust_no(entry, "trust_publisher_missing");
	entry = test_trust_entry();
	json_object_set_new(entry, "_signatures", json_object());
	test_trust_no(entry, "trust_publisher_missing");
	entry = test_trust_entry();
	json_object_set_new(
	    entry, "_signatures", json_pack("{s:s}", "publisher", "x"));
	test_trust_no(entry, "trust_publisher_field");
	entry = test_trust_entry();
	json_object_set_new(entry, "_signatures",
	    trust_world_signatures(
		world->stranger, TRUST_WORLD_SLUG, TRUST_WORLD_VERSION, hash));
	test_trust_no(entry, "trust_publisher_key");
	entry = test_trust_entry();
	json_object_set_new(entry, "_signatures",
	    trust_world_signatures(
		world->publisher, TRUST_WORLD_SLUG, "1.1.0", hash));
	test_trust_no(entry, "trust_publisher_signature");
	/* Without an attestation a wrong signature is refused too. */
	entry = test_trust_entry();
	json_object_del(entry, "attestation");
	test_trust_is(json_incref(entry), 0, TIER_UNVERIFIED, "");
	json_object_set_new(entry, "version", json_string("9"));
	test_trust_no(entry, "trust_publisher_signature");
	test_trust_no(json_pack("{s:{s:s}}", "_signatures", "k", "v"),
	    "trust_publisher_field");
	snprintf(config, sizeof(config),
	    "{\"trust\":{\"registry_keys\":{\"corp\":\"%%s\"},"
	    "\"revoked_keys\":[\"%s\"]}}",
	    world->publisher_key);
	trust_world_config(world, config);
	test_trust_no(test_trust_entry(), "trust_publisher_revoked");
}

static void
test_trust_judged(json_t *entry, const char *code)
{
	struct json_fault fault = {""};
	struct trust_verdict verdict;

	(void)trust_judge(test_trust_world.config, TRUST_WORLD_SLUG, entry,
	    test_trust_world.now, &verdict, &fault);
	if (strcmp(verdict.code, code) != 0)
		fail_msg(
		    "'%s' instead of '%s': %s", verdict.code, code, fault.text);
	assert_int_equal(
	    verdict.tier, code[0] == '\0' ? TIER_TRUSTED : TIER_UNKNOWN);
}

/* Only what this host's install made keeps its tier. */
static void
test_trust_bound_entry(void **state)
{
	static const char *const decides[] = {"volume_content_hash",
	    "package_type", "entrypoint", "sandbox_volume", "permissions",
	    "build_mode", NULL};
	struct json_fault fault = {""};
	json_t *entry = test_trust_entry(), *other;
	char hash[DIGEST_HEX + 1];

	(void)state;
	test_trust_judged(entry, "trust_unbound");
	assert_int_equal(
	    trust_bound_add(TRUST_WORLD_SLUG, entry, &fault), RESULT_OK);
	test_trust_judged(entry, "");
	for (size_t i = 0; decides[i] != NULL; i++) {
		other = json_deep_copy(entry);
		json_object_set_new(other, decides[i], json_string("x"));
		test_trust_judged(other, "trust_unbound");
		json_decref(other);
	}
	/* Written later, by us: no part of it. */
	json_object_set_new(entry, "last_trust_check", json_string("x"));
	json_object_set_new(entry, "trust_level", json_string("unverified"));
	test_trust_judged(entry, "");
	/* A claim, which raises nothing. */
	json_object_set_new(entry, "trust_level", json_string("curated"));
	test_trust_judged(entry, "");
	assert_int_equal(
	    trust_bound_hash(TRUST_WORLD_SLUG, entry, hash), RESULT_OK);
	assert_int_equal(
	    trust_bound_drop(TRUST_WORLD_SLUG, hash, &fault), RESULT_OK);
	assert_int_equal(
	    trust_bound_drop(TRUST_WORLD_SLUG, hash, &fault), RESULT_OK);
	test_trust_judged(entry, "trust_unbound");
	json_decref(entry);
}

/* What runs already is asked again when the configuration changes. */
static void
test_trust_living(void **state)
{
	struct trust_world *world = &test_trust_world;
	struct json_fault fault = {""};
	json_t *entry = test_trust_entry();
	struct run_entry run = {.slug = TRUST_WORLD_SLUG,
	    .entry = entry,
	    .kind = BOUNDARY_TOOLPACK};

	(void)state;
	assert_int_equal(
	    trust_bound_add(TRUST_WORLD_SLUG, entry, &fault), RESULT_OK);
	assert_int_equal(trust_judge(world->config, run.slug, entry, world->now,
			     &run.trust, &fault),
	    RESULT_OK);
	assert_true(run_entry_still(&run, world->config));
	trust_world_config(world,
	    "{\"trust\":{\"registry_keys\":{\"corp\":\"%s\"},"
	    "\"minimum_trust_level\":\"curated\"}}");
	assert_false(run_entry_still(&run, world->config));
	trust_world_config(world, "{\"trust\":{\"revoked_keys\":[\"%s\"]}}");
	assert_false(run_entry_still(&run, world->config));
	trust_world_config(world, "{}");
	assert_false(run_entry_still(&run, world->config));
	trust_world_config(
	    world, "{\"trust\":{\"registry_keys\":{\"other\":\"%s\"}}}");
	assert_true(run_entry_still(&run, world->config));
	json_decref(entry);
}

#define TEST_TRUST_HEX                     \
	"00112233445566778899aabbccddeeff" \
	"00112233445566778899aabbccddeeff"

static json_t *
test_trust_for(const json_t *entry, const char *version, bool is_host)
{
	json_t *other = json_deep_copy(entry);

	json_object_set_new(other, "entrypoint", json_string(version));
	if (is_host)
		json_object_set_new(other, "host_path", json_string("/x"));
	return other;
}

static void
test_trust_add(const char *slug, const json_t *entry)
{
	struct json_fault fault = {""};

	assert_int_equal(trust_bound_add(slug, entry, &fault), RESULT_OK);
}

static bool
test_trust_has(const char *slug, const json_t *entry)
{
	struct json_fault fault = {""};
	bool there;

	assert_int_equal(
	    trust_bound_has(slug, entry, &there, &fault), RESULT_OK);
	return there;
}

/* One for the sandbox, and a removal, end every one for the host of that
 * slug, of whatever version and lockfile; those for the sandbox stay. */
static void
test_trust_bound_host(void **state)
{
	struct json_fault fault = {""};
	json_t *entry = test_trust_entry();
	json_t *host[2] = {test_trust_for(entry, "one:x", true),
	    test_trust_for(entry, "two:x", true)};
	json_t *inside[2] = {test_trust_for(entry, "one:x", false),
	    test_trust_for(entry, "two:x", false)};

	(void)state;
	for (int by_remove = 0; by_remove < 2; by_remove++) {
		test_trust_add("word-count", inside[0]);
		test_trust_add("word-count", host[0]);
		test_trust_add("word-count", host[1]);
		test_trust_add("other-pack", host[0]);
		assert_true(test_trust_has("word-count", host[0]));
		assert_true(test_trust_has("word-count", host[1]));
		if (by_remove)
			assert_int_equal(
			    trust_bound_drop("word-count", NULL, &fault),
			    RESULT_OK);
		else
			test_trust_add("word-count", inside[1]);
		assert_false(test_trust_has("word-count", host[0]));
		assert_false(test_trust_has("word-count", host[1]));
		assert_true(test_trust_has("word-count", inside[0]));
		assert_true(test_trust_has("other-pack", host[0]));
	}
	for (int i = 0; i < 2; i++) {
		json_decref(host[i]);
		json_decref(inside[i]);
	}
	json_decref(entry);
}

/* A file of before, which does not say for where: it holds, and every one
 * may be for the host. */
static void
test_trust_bound_older(void **state)
{
	json_t *entry = test_trust_entry();
	json_t *host = test_trust_for(entry, "one:x", true);
	char path[128], hash[DIGEST_HEX + 1];
	FILE *file;

	(void)state;
	assert_int_equal(trust_bound_hash("word-count", host, hash), RESULT_OK);
	snprintf(
	    path, sizeof(path), "%s/" TRUST_BOUND_NAME, test_trust_world.home);
	file = fopen(path, "w");
	assert_non_null(file);
	fprintf(file,
	    "{\"version\":1,\"attested\":{\"%s\":\"word-count\","
	    "\"" TEST_TRUST_HEX "\":\"other-pack\"}}",
	    hash);
	fclose(file);
	assert_true(test_trust_has("word-count", host));
	test_trust_add("other-pack", host);
	assert_true(test_trust_has("word-count", host));
	test_trust_add("word-count", entry);
	assert_false(test_trust_has("word-count", host));
	assert_true(test_trust_has("word-count", entry));
	assert_true(test_trust_has("other-pack", host));
	json_decref(host);
	json_decref(entry);
}

/* A file that is not well formed is no answer, and is not written over. */
static void
test_trust_bound_file(void **state)
{
	static const char *const texts[] = {"", "[]", "{}",
	    "{\"version\":3,\"attested\":{}}",
	    "{\"version\":2,\"attested\":{\"" TEST_TRUST_HEX
	    "\":\"word-count\"}}",
	    "{\"version\":2,\"attested\":{\"" TEST_TRUST_HEX
	    "\":{\"slug\":\"word-count\"}}}",
	    "{\"version\":2,\"attested\":{\"" TEST_TRUST_HEX
	    "\":{\"slug\":\"word-count\",\"host\":1}}}",
	    "{\"version\":1,\"attested\":{\"" TEST_TRUST_HEX
	    "\":{\"slug\":\"word-count\",\"host\":true}}}",
	    "{\"version\":1,\"attested\":{\"x\":\"y\"}}",
	    "{\"version\":1,\"attested\":{},\"more\":1}"};
	json_t *entry = test_trust_entry();
	char path[128];
	FILE *file;

	(void)state;
	snprintf(
	    path, sizeof(path), "%s/" TRUST_BOUND_NAME, test_trust_world.home);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct json_fault fault = {""};

		file = fopen(path, "w");
		assert_non_null(file);
		fputs(texts[i], file);
		fclose(file);
		test_trust_judged(entry, "trust_unbound");
		assert_int_equal(
		    trust_bound_add(TRUST_WORLD_SLUG, entry, &fault),
		    RESULT_BAD);
		assert_non_null(strstr(fault.text, TRUST_BOUND_NAME));
	}
	json_decref(entry);
}

#define TEST(function)                   \
	cmocka_unit_test_setup_teardown( \
	    function, test_trust_setup, test_trust_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(test_trust_holds),
	    TEST(test_trust_forged_bytes),
	    TEST(test_trust_forged_fields),
	    TEST(test_trust_elsewhere),
	    TEST(test_trust_times),
	    TEST(test_trust_keys),
	    TEST(test_trust_publisher),
	    TEST(test_trust_bound_entry),
	    TEST(test_trust_bound_host),
	    TEST(test_trust_bound_older),
	    TEST(test_trust_living),
	    TEST(test_trust_bound_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
