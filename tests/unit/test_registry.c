/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Taking packages from a registry's folder, with real keys and files: what
 * is right comes as a sealed copy; everything else is refused by its code
 * before a byte of the artifact was copied.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "supervisor/package/registry.h"
#include "supervisor/package/registry_seen.h"
#include "supervisor/policy/utc_time.h"
#include "tests/support/trust_world.h"

static struct trust_world test_registry_world;

static int
test_registry_setup(void **state)
{
	char config[256];

	(void)state;
	trust_world_new(&test_registry_world);
	snprintf(config, sizeof(config),
	    "{\"trust\":{\"registry_keys\":{\"corp\":\"%%s\"}},"
	    "\"registry\":{\"path\":\"%s\"}}",
	    test_registry_world.folder);
	trust_world_config(&test_registry_world, config);
	trust_world_file(&test_registry_world, "a.tar.gz", "artifact", 8);
	return 0;
}

static int
test_registry_teardown(void **state)
{
	(void)state;
	trust_world_free(&test_registry_world);
	return 0;
}

/* An index with one package and one version, as told. */
static json_t *
test_registry_root(int serial, json_t *row)
{
	char issued[UTC_TIME_LEN + 1], expires[UTC_TIME_LEN + 1];

	assert_true(utc_time_text(test_registry_world.now, issued));
	assert_true(
	    utc_time_text(test_registry_world.now + TRUST_WORLD_DAY, expires));
	return json_pack("{s:i, s:i, s:s, s:s, s:{s:{s:s, s:{s:o}}}}", "format",
	    1, "serial", serial, "issued", issued, "expires", expires,
	    "packages", TRUST_WORLD_SLUG, "latest", TRUST_WORLD_VERSION,
	    "versions", TRUST_WORLD_VERSION, row);
}

static json_t *
test_registry_row(void)
{
	json_t *entry = trust_world_entry(&test_registry_world);
	json_t *row = json_pack("{s:s, s:O, s:i, s:O, s:O}", "file", "a.tar.gz",
	    "artifact_hash", json_object_get(entry, "artifact_hash"), "size", 8,
	    "attestation", json_object_get(entry, "attestation"), "signatures",
	    json_object_get(entry, "_signatures"));

	json_decref(entry);
	assert_non_null(row);
	return row;
}

/* Sign and write; takes root. */
static void
test_registry_write(const struct secret *key, json_t *root)
{
	char *text = json_dumps(root, JSON_INDENT(1));

	assert_non_null(text);
	trust_world_index(&test_registry_world, key, text);
	free(text);
	json_decref(root);
}

static void
test_registry_good(int serial)
{
	test_registry_write(test_registry_world.registry,
	    test_registry_root(serial, test_registry_row()));
}

/* Resolve at now + later; code "": it must be the artifact. */
static void
test_registry_is(const char *name, time_t later, const char *code)
{
	struct trust_world *world = &test_registry_world;
	struct json_fault fault = {""};
	struct registry_item item;
	char bytes[16] = "";
	enum result result = registry_resolve(
	    world->config, name, world->now + later, &item, &fault);

	if (strcmp(item.code, code) != 0)
		fail_msg(
		    "'%s' instead of '%s': %s", item.code, code, fault.text);
	assert_int_equal(result == RESULT_OK, code[0] == '\0');
	assert_int_equal(fault.text[0] == '\0', code[0] == '\0');
	assert_int_equal(item.fd >= 0, code[0] == '\0');
	if (item.fd >= 0) {
		assert_true(fd_is_sealed(item.fd));
		assert_int_equal(read(item.fd, bytes, sizeof(bytes)), 8);
		assert_memory_equal(bytes, "artifact", 8);
		assert_string_equal(item.slug, TRUST_WORLD_SLUG);
		assert_string_equal(item.version, TRUST_WORLD_VERSION);
		assert_int_equal(item.trust.tier, TIER_TRUSTED);
	}
	registry_item_clear(&item);
}

static void
test_registry_holds(void **state)
{
	struct json_fault fault = {""};
	struct registry_item item;
	json_t *entry = json_object(), *facts = NULL;
	char code[TRUST_CODE_MAX];

	(void)state;
	test_registry_good(1);
	test_registry_is(TRUST_WORLD_SLUG, 0, "");
	test_registry_is(TRUST_WORLD_SLUG "@" TRUST_WORLD_VERSION, 0, "");
	assert_int_equal(
	    registry_resolve(test_registry_world.config, TRUST_WORLD_SLUG,
		test_registry_world.now, &item, &fault),
	    RESULT_OK);
	assert_int_equal(registry_item_mark(&item, entry), RESULT_OK);
	assert_string_equal(
	    json_string_value(json_object_get(entry, "trust_level")),
	    "trusted");
	assert_non_null(json_object_get(entry, "attestation"));
	assert_non_null(json_object_get(entry, "_signatures"));
	json_decref(entry);
	registry_item_clear(&item);
	assert_int_equal(
	    registry_facts(test_registry_world.config, TRUST_WORLD_SLUG,
		test_registry_world.now, &facts, code, &fault),
	    RESULT_OK);
	assert_string_equal(
	    json_string_value(json_object_get(
		json_array_get(json_object_get(facts, "versions"), 0), "tier")),
	    "trusted");
	json_decref(facts);
}

static void
test_registry_names(void **state)
{
	static const char *const wrong[] = {"", "a", "./word-count", "/a/b",
	    "word-count@", "word-count@-1", "word-count@1.0 ", "Word-count",
	    "word-count.tar.gz", "@scope/name", "word--count"};

	(void)state;
	assert_true(registry_is_name("word-count"));
	assert_true(registry_is_name("word-count@1.0.0-rc.1+b2"));
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		if (registry_is_name(wrong[i]))
			fail_msg("'%s'", wrong[i]);
	test_registry_good(1);
	test_registry_is("other-pack", 0, "registry_package_unknown");
	test_registry_is("word-count@1.1.0", 0, "registry_version_unknown");
}

static void
test_registry_signatures(void **state)
{
	struct trust_world *world = &test_registry_world;
	char text[REGISTRY_MARK_LINE + 1];
	char path[512];
	FILE *file;

	(void)state;
	snprintf(path, sizeof(path), "%s/" REGISTRY_INDEX_MARKS, world->folder);
	test_registry_is(TRUST_WORLD_SLUG, 0, "registry_unreadable");
	test_registry_write(
	    world->stranger, test_registry_root(1, test_registry_row()));
	test_registry_is(TRUST_WORLD_SLUG, 0, "registry_key_unknown");
	test_registry_good(1);
	trust_world_file(world, REGISTRY_INDEX_FILE, "{}", 2);
	test_registry_is(TRUST_WORLD_SLUG, 0, "registry_signature");
	/* A stranger's signature under the registry's name. */
	test_registry_write(
	    world->stranger, test_registry_root(1, test_registry_row()));
	file = fopen(path, "r+");
	assert_non_null(file);
	fputs(world->registry_key, file);
	fclose(file);
	test_registry_is(TRUST_WORLD_SLUG, 0, "registry_signature");
	memset(text, 'a', sizeof(text));
	trust_world_file(world, REGISTRY_INDEX_MARKS, text, sizeof(text));
	test_registry_is(TRUST_WORLD_SLUG, 0, "registry_signature_form");
	trust_world_file(world, REGISTRY_INDEX_MARKS, "", 0);
	test_registry_is(TRUST_WORLD_SLUG, 0, "registry_signature_form");
	/* A link is no index. */
	test_registry_good(1);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink("/etc/hostname", path), 0);
	test_registry_is(TRUST_WORLD_SLUG, 0, "registry_unreadable");
}

static void
test_registry_form(const char *key, json_t *value, const char *code)
{
	json_t *root = test_registry_root(1, test_registry_row());

	if (value == NULL)
		json_object_del(root, key);
	else
		json_object_set_new(root, key, value);
	test_registry_write(test_registry_world.registry, root);
	test_registry_is(TRUST_WORLD_SLUG, 0, code);
}

/* Signed, and still not what an index is. */
static void
test_registry_forms(void **state)
{
	static const char *const files[] = {"../a.tar.gz", "/a.tar.gz", ".a",
	    "x/../a.tar.gz", "x//a", "", "-a", "a b", "x/.a", "a/"};
	struct trust_world *world = &test_registry_world;
	json_t *row;

	(void)state;
	test_registry_form("format", json_integer(2), "registry_field");
	test_registry_form("serial", json_integer(0), "registry_field");
	test_registry_form("serial", NULL, "registry_field");
	test_registry_form("more", json_integer(1), "registry_field");
	test_registry_form("packages", json_array(), "registry_field");
	test_registry_form("packages",
	    json_pack(
		"{s:{s:s, s:{}}}", TRUST_WORLD_SLUG, "latest", "1", "versions"),
	    "registry_field");
	test_registry_form(
	    "packages", json_pack("{s:{}}", "No_Slug"), "registry_field");
	test_registry_form("issued", json_string("now"), "registry_time");
	test_registry_form(
	    "expires", json_string("2001-01-01T00:00:00Z"), "registry_time");
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		row = test_registry_row();
		json_object_set_new(row, "file", json_string(files[i]));
		test_registry_write(
		    world->registry, test_registry_root(1, row));
		test_registry_is(TRUST_WORLD_SLUG, 0, "registry_field");
	}
	trust_world_index(world, world->registry, "{\"a\":1,\"a\":1}");
	test_registry_is(TRUST_WORLD_SLUG, 0, "registry_duplicate");
	trust_world_index(world, world->registry, "{");
	test_registry_is(TRUST_WORLD_SLUG, 0, "registry_syntax");
}

static void
test_registry_times(void **state)
{
	(void)state;
	test_registry_good(1);
	test_registry_is(TRUST_WORLD_SLUG, -301, "registry_future");
	test_registry_is(TRUST_WORLD_SLUG, TRUST_WORLD_DAY, "registry_expired");
	test_registry_is(TRUST_WORLD_SLUG, TRUST_WORLD_DAY - 1, "");
}

/* An older index, and another one of the same serial, with good signatures. */
static void
test_registry_rollback(void **state)
{
	struct trust_world *world = &test_registry_world;
	json_t *row;

	(void)state;
	test_registry_good(5);
	test_registry_is(TRUST_WORLD_SLUG, 0, "");
	test_registry_good(4);
	test_registry_is(TRUST_WORLD_SLUG, 0, "registry_rollback");
	row = test_registry_row();
	json_object_del(row, "attestation");
	test_registry_write(world->registry, test_registry_root(5, row));
	test_registry_is(TRUST_WORLD_SLUG, 0, "registry_fork");
	test_registry_good(5);
	test_registry_is(TRUST_WORLD_SLUG, 0, "");
	test_registry_good(6);
	test_registry_is(TRUST_WORLD_SLUG, 0, "");
	test_registry_good(5);
	test_registry_is(TRUST_WORLD_SLUG, 0, "registry_rollback");
}

/* What was seen is read strictly: a file that cannot be read is no "never
 * seen". */
static void
test_registry_state(void **state)
{
	static const char *const texts[] = {"", "{}", "{\"version\":1}",
	    "{\"version\":1,\"seen\":{\"k\":{}}}", "[1]"};
	char path[512];
	FILE *file;

	(void)state;
	test_registry_good(5);
	test_registry_is(TRUST_WORLD_SLUG, 0, "");
	snprintf(path, sizeof(path), "%s/" REGISTRY_SEEN_NAME,
	    test_registry_world.home);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		file = fopen(path, "w");
		assert_non_null(file);
		fputs(texts[i], file);
		fclose(file);
		test_registry_is(TRUST_WORLD_SLUG, 0, "registry_state");
	}
	assert_int_equal(chmod(path, 0666), 0);
	test_registry_is(TRUST_WORLD_SLUG, 0, "registry_state");
}

static void
test_registry_artifacts(void **state)
{
	struct trust_world *world = &test_registry_world;
	char path[512];
	json_t *row;

	(void)state;
	snprintf(path, sizeof(path), "%s/a.tar.gz", world->folder);
	test_registry_good(1);
	trust_world_file(world, "a.tar.gz", "artifacT", 8);
	test_registry_is(TRUST_WORLD_SLUG, 0, "registry_file_hash");
	trust_world_file(world, "a.tar.gz", "artifact ", 9);
	test_registry_is(TRUST_WORLD_SLUG, 0, "registry_file");
	trust_world_file(world, "a.tar.gz", "artifac", 7);
	test_registry_is(TRUST_WORLD_SLUG, 0, "registry_file");
	trust_world_file(world, "b.tar.gz", "artifact", 8);
	assert_int_equal(unlink(path), 0);
	test_registry_is(TRUST_WORLD_SLUG, 0, "registry_file");
	assert_int_equal(symlink("b.tar.gz", path), 0);
	test_registry_is(TRUST_WORLD_SLUG, 0, "registry_file");
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	test_registry_is(TRUST_WORLD_SLUG, 0, "registry_file");
	/* Attested for another artifact than the one that the row names. */
	row = test_registry_row();
	json_object_set_new(
	    row, "artifact_hash", json_string(trust_world_hash("other")));
	test_registry_write(world->registry, test_registry_root(2, row));
	test_registry_is(TRUST_WORLD_SLUG, 0, "trust_other_hash");
	row = test_registry_row();
	json_object_del(row, "signatures");
	test_registry_write(world->registry, test_registry_root(3, row));
	test_registry_is(TRUST_WORLD_SLUG, 0, "trust_publisher_missing");
}

/* The row of an MCP server whose file has these bytes. */
static void
test_registry_server_row(int serial, const char *kind, const char *bytes)
{
	struct trust_world *world = &test_registry_world;
	const char *hash = trust_world_hash(bytes);
	json_t *row = json_pack("{s:s, s:s, s:s, s:i}", "kind", kind, "file",
	    "a.tar.gz", "artifact_hash", hash, "size", (int)strlen(bytes));

	assert_non_null(row);
	trust_world_file(world, "a.tar.gz", bytes, strlen(bytes));
	test_registry_write(world->registry, test_registry_root(serial, row));
}

static void
test_registry_servers(void **state)
{
	static const char good[] =
	    "{\"format\":1,\"kind\":\"mcp\",\"manager\":\"npm\","
	    "\"package\":\"a-server\",\"version\":\"" TRUST_WORLD_VERSION
	    "\",\"dependencies\":[{\"name\":\"a-server\",\"version\":"
	    "\"" TRUST_WORLD_VERSION "\",\"integrity\":\"sha512-aa==\"}],"
	    "\"mcp_allowed_domains\":[]}";
	struct trust_world *world = &test_registry_world;
	struct json_fault fault = {""};
	struct registry_item item;

	(void)state;
	test_registry_server_row(1, "mcp", good);
	assert_int_equal(registry_resolve(world->config, TRUST_WORLD_SLUG,
			     world->now, &item, &fault),
	    RESULT_OK);
	assert_string_equal(item.server.pin.name, "a-server");
	assert_int_equal(item.trust.tier, TIER_UNVERIFIED);
	assert_int_equal(lseek(item.fd, 0, SEEK_CUR), 0);
	registry_item_clear(&item);
	test_registry_server_row(2, "mcp", "{}");
	test_registry_is(TRUST_WORLD_SLUG, 0, "registry_server");
	/* Another file under the signed hash. */
	test_registry_server_row(3, "mcp", good);
	trust_world_file(world, "a.tar.gz", "{}", 2);
	test_registry_is(TRUST_WORLD_SLUG, 0, "registry_file");
	test_registry_server_row(4, "agent", good);
	test_registry_is(TRUST_WORLD_SLUG, 0, "registry_kind");
	test_registry_server_row(5, "", good);
	test_registry_is(TRUST_WORLD_SLUG, 0, "registry_kind");
}

#define TEST(function)                   \
	cmocka_unit_test_setup_teardown( \
	    function, test_registry_setup, test_registry_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(test_registry_holds),
	    TEST(test_registry_names),
	    TEST(test_registry_signatures),
	    TEST(test_registry_forms),
	    TEST(test_registry_times),
	    TEST(test_registry_rollback),
	    TEST(test_registry_state),
	    TEST(test_registry_artifacts),
	    TEST(test_registry_servers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
