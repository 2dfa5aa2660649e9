/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keys and signed documents for tests; see trust_world.h. It signs with the
 * project's own functions, and the scenario signs the same bytes with
 * another program.
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

#include "supervisor/package/registry_index.h"
#include "supervisor/policy/digest.h"
#include "supervisor/policy/ed25519.h"
#include "supervisor/policy/signed_text.h"
#include "supervisor/policy/utc_time.h"
#include "tests/support/trust_world.h"
#include "tests/support/test_folder.h"

static void
trust_world_key(struct secret **key_r, char hex_r[65])
{
	assert_int_equal(ed25519_generate(key_r), RESULT_OK);
	assert_int_equal(ed25519_public(*key_r, hex_r), RESULT_OK);
}

static void
trust_world_write(const char *path, const char *bytes, size_t len)
{
	FILE *file = fopen(path, "wb");

	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, len, file), len);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(chmod(path, 0600), 0);
}

void
trust_world_config(struct trust_world *world, const char *format)
{
	char path[96], text[2048];
	struct json_fault fault = {""};
	const char *at = strstr(format, "%s");
	size_t head = at != NULL ? (size_t)(at - format) : strlen(format);

	snprintf(text, sizeof(text), "%.*s%s%s", (int)head, format,
	    at != NULL ? world->registry_key : "", at != NULL ? at + 2 : "");
	snprintf(path, sizeof(path), "%s/" CONFIG_FILE, world->home);
	trust_world_write(path, text, strlen(text));
	config_free(&world->config);
	if (config_load(&world->config, &fault) != RESULT_OK)
		fail_msg("%s", fault.text);
}

void
trust_world_new(struct trust_world *world_r)
{
	memset(world_r, 0, sizeof(*world_r));
	snprintf(
	    world_r->home, sizeof(world_r->home), "/tmp/test_trust_XXXXXX");
	assert_non_null(test_folder_new(world_r->home));
	assert_int_equal(setenv("AGENTNODE_HOME", world_r->home, 1), 0);
	snprintf(world_r->folder, sizeof(world_r->folder), "%s/registry",
	    world_r->home);
	assert_int_equal(mkdir(world_r->folder, 0700), 0);
	trust_world_key(&world_r->registry, world_r->registry_key);
	trust_world_key(&world_r->publisher, world_r->publisher_key);
	trust_world_key(&world_r->stranger, world_r->stranger_key);
	world_r->now = time(NULL);
	trust_world_config(
	    world_r, "{\"trust\":{\"registry_keys\":{\"corp\":\"%s\"}}}");
}

static void
trust_world_unlink(const char *folder, const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	(void)unlink(path);
}

void
trust_world_free(struct trust_world *world)
{
	static const char *const ours[] = {
	    "config.json", "attested.json", "registry.json", NULL};
	static const char *const theirs[] = {"index.json", "index.json.sig",
	    "a.tar.gz", "b.tar.gz", "link", NULL};

	for (size_t i = 0; ours[i] != NULL; i++)
		trust_world_unlink(world->home, ours[i]);
	for (size_t i = 0; theirs[i] != NULL; i++)
		trust_world_unlink(world->folder, theirs[i]);
	assert_int_equal(rmdir(world->folder), 0);
	assert_int_equal(rmdir(world->home), 0);
	config_free(&world->config);
	secret_free(&world->registry);
	secret_free(&world->publisher);
	secret_free(&world->stranger);
}

const char *
trust_world_hash(const char *text)
{
	static char hash[8 + DIGEST_HEX];

	memcpy(hash, "sha256:", 8);
	assert_int_equal(
	    digest_sha256(text, strlen(text), hash + 7), RESULT_OK);
	return hash;
}

json_t *
trust_world_statement(
    const struct trust_world *world, const char *hash, const char *tier)
{
	char issued[UTC_TIME_LEN + 1], expires[UTC_TIME_LEN + 1];
	json_t *statement;

	assert_true(utc_time_text(world->now, issued));
	assert_true(utc_time_text(world->now + TRUST_WORLD_DAY, expires));
	statement = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:i}",
	    "slug", TRUST_WORLD_SLUG, "version", TRUST_WORLD_VERSION,
	    "artifact_hash", hash, "tier", tier, "publisher", "acme-tools",
	    "publisher_key", world->publisher_key, "issued", issued, "expires",
	    expires, "serial", 7);
	assert_non_null(statement);
	return statement;
}

json_t *
trust_world_attest(const struct secret *key, json_t *statement)
{
	char mark[2 * ED25519_SIGNATURE + 1], public[65];
	char *text;
	size_t len;

	assert_int_equal(ed25519_public(key, public), RESULT_OK);
	json_object_set_new(statement, "registry_key", json_string(public));
	assert_int_equal(
	    signed_text_attestation(statement, &text, &len), RESULT_OK);
	assert_int_equal(
	    ed25519_sign(key, ED25519_ATTESTATION, text, len, mark), RESULT_OK);
	json_object_set_new(statement, "signature", json_string(mark));
	free(text);
	return statement;
}

json_t *
trust_world_signatures(const struct secret *key, const char *slug,
    const char *version, const char *hash)
{
	char mark[2 * ED25519_SIGNATURE + 1], public[65];
	char *text;
	size_t len;

	assert_int_equal(ed25519_public(key, public), RESULT_OK);
	assert_int_equal(
	    signed_text_artifact(slug, version, hash, &text, &len), RESULT_OK);
	assert_int_equal(
	    ed25519_sign(key, ED25519_ARTIFACT, text, len, mark), RESULT_OK);
	free(text);
	return json_pack(
	    "{s:{s:s, s:s}}", "publisher", "key", public, "signature", mark);
}

json_t *
trust_world_entry(const struct trust_world *world)
{
	const char *hash = trust_world_hash("artifact");
	json_t *entry = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:o, s:o}",
	    "version", TRUST_WORLD_VERSION, "package_type", "toolpack",
	    "publisher_slug", "acme-tools", "artifact_hash", hash,
	    "trust_level", "trusted", "volume_content_hash",
	    "sha256:00000000000000000000000000000000000000000000000000000000"
	    "00000000",
	    "attestation",
	    trust_world_attest(
		world->registry, trust_world_statement(world, hash, "trusted")),
	    "_signatures",
	    trust_world_signatures(
		world->publisher, TRUST_WORLD_SLUG, TRUST_WORLD_VERSION, hash));

	assert_non_null(entry);
	return entry;
}

void
trust_world_file(const struct trust_world *world, const char *name,
    const char *bytes, size_t len)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", world->folder, name);
	trust_world_write(path, bytes, len);
}

void
trust_world_index(const struct trust_world *world, const struct secret *key,
    const char *bytes)
{
	char mark[2 * ED25519_SIGNATURE + 1], public[65];
	char line[REGISTRY_MARK_LINE + 1];

	assert_int_equal(ed25519_public(key, public), RESULT_OK);
	assert_int_equal(
	    ed25519_sign(key, ED25519_INDEX, bytes, strlen(bytes), mark),
	    RESULT_OK);
	snprintf(line, sizeof(line), "%s %s\n", public, mark);
	trust_world_file(world, REGISTRY_INDEX_MARKS, line, REGISTRY_MARK_LINE);
	trust_world_file(world, REGISTRY_INDEX_FILE, bytes, strlen(bytes));
}
