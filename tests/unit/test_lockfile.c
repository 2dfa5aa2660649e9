/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lockfile: what is refused and with which words, hashes against other
 * implementations' results, tampering, writers at the same time, and a
 * writer killed at any moment.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/fd.h"
#include "supervisor/package/lockfile.h"
#include "supervisor/package/lockfile_hash.h"
#include "supervisor/package/lockfile_parse.h"
#include "tests/support/test_folder.h"

#define HEX64 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define TEST_LOCKFILE_WRITERS 8
#define TEST_LOCKFILE_KILLS 40

static char test_lockfile_dir[64];
static char test_lockfile_name[128];

static int
test_lockfile_setup(void **state)
{
	(void)state;
	snprintf(test_lockfile_dir, sizeof(test_lockfile_dir),
	    "/tmp/test_lockfile_XXXXXX");
	assert_non_null(test_folder_new(test_lockfile_dir));
	snprintf(test_lockfile_name, sizeof(test_lockfile_name),
	    "%s/agentnode.lock", test_lockfile_dir);
	return 0;
}

/* Returns how many files were there. */
static int
test_lockfile_remove_all(void)
{
	DIR *stream = opendir(test_lockfile_dir);
	struct dirent *entry;
	int count = 0;

	assert_non_null(stream);
	while ((entry = readdir(stream)) != NULL) {
		if (entry->d_name[0] == '.' &&
		    (entry->d_name[1] == '\0' || entry->d_name[1] == '.'))
			continue;
		count++;
		assert_int_equal(unlinkat(dirfd(stream), entry->d_name, 0), 0);
	}
	closedir(stream);
	return count;
}

static int
test_lockfile_teardown(void **state)
{
	(void)state;
	test_lockfile_remove_all();
	return rmdir(test_lockfile_dir);
}

static json_t *
test_lockfile_entry_of(const char *version)
{
	return json_pack(
	    "{s:s, s:s, s:s, s:s, s:s, s:s, s:{s:s, s:[s]}, s:[s, s], s:s}",
	    "version", version, "package_type", "toolpack", "runtime", "mcp",
	    "trust_level", "unverified", "artifact_hash", "sha256:" HEX64,
	    "installed_at", "2026-01-01T00:00:00Z", "permissions",
	    "network_level", "restricted", "allowed_domains", "api.example.com",
	    "mcp_preinstall_command", "node", "/pack/lib/index.js",
	    "volume_content_hash", "sha256:" HEX64);
}

static void
test_lockfile_put_one(const char *slug, const char *version)
{
	json_t *entry = test_lockfile_entry_of(version);
	struct json_fault fault = {""};

	if (lockfile_put(test_lockfile_name, slug, entry, &fault) != RESULT_OK)
		fail_msg("%s: %s", slug, fault.text);
	json_decref(entry);
}

struct test_lockfile_row {
	const char *entry; /* of package "abc" */
	const char *fault; /* NULL: fine */
};

static void
test_lockfile_fields(void **state)
{
	static const struct test_lockfile_row rows[] = {
	    {"{}", NULL},
	    {"{\"version\":\"1.0.0\",\"tools\":[{\"name\":\"x\","
	     "\"input_schema\":{\"n\":0.5}}]}",
		NULL},
	    {"{\"version\":null}", NULL},
	    {"{\"state\":{},\"files\":{\"dir\":\"/srv/x\"}}", NULL},
	    {"{\"mcp_preinstall\":{\"manager\":\"npm\",\"package\":\"x\","
	     "\"version\":\"1.0.0\",\"artifact_hash\":\"sha256:" HEX64 "\"}}",
		NULL},
	    {"{\"dependencies\":[{\"name\":\"a\",\"version\":\"1\","
	     "\"integrity\":\"sha512-x\"}]}",
		NULL},
	    {"[]", "packages.abc: must be an object"},
	    {"{\"colour\":1}", "packages.abc.colour: unknown field"},
	    {"{\"version\":1}", "packages.abc.version: must be a text"},
	    {"{\"runtime\":\"ruby\"}", "'ruby' is unknown"},
	    {"{\"package_type\":\"virus\"}", "'virus' is unknown"},
	    {"{\"tools\":{}}", "abc.tools: must be a list"},
	    {"{\"permissions\":[]}", "abc.permissions: must be an object"},
	    {"{\"permissions\":{\"allowed_domains\":[1]}}",
		"abc.permissions[0]"},
	    {"{\"sandboxed\":\"yes\"}", "abc.sandboxed: must be true"},
	    {"{\"mcp_command\":[\"a\\u001bb\"]}", "control byte"},
	    {"{\"mcp_preinstall_command\":[\"node\"]}",
		"mcp_preinstall_command"},
	    {"{\"mcp_preinstall_command\":[\"sh\",\"/pack/x\"]}",
		"mcp_preinstall_command"},
	    {"{\"mcp_preinstall_command\":[\"node\",\"/etc/x\"]}",
		"mcp_preinstall_command"},
	    {"{\"mcp_preinstall_command\":[\"node\",\"/pack/../x\"]}",
		"mcp_preinstall_command"},
	    {"{\"mcp_preinstall_command\":[\"node\",\"/pack//x\"]}",
		"mcp_preinstall_command"},
	    {"{\"mcp_preinstall_command\":[\"node\",\"/pack/a b\"]}",
		"mcp_preinstall_command"},
	    {"{\"mcp_preinstall_command\":[\"node\",\"/pack/$(x)\"]}",
		"mcp_preinstall_command"},
	    {"{\"mcp_preinstall\":{\"manager\":\"npm\",\"package\":\"x\","
	     "\"version\":\"1.0.0\"}}",
		"artifact_hash"},
	    {"{\"mcp_preinstall\":{\"manager\":\"npm\",\"package\":\"x\","
	     "\"version\":\"1.0.0\",\"artifact_hash\":\"sha256:" HEX64
	     "\",\"extra\":1}}",
		"extra"},
	    {"{\"mcp_install\":{\"manager\":\"git\",\"package\":\"x\","
	     "\"version\":\"1\"}}",
		"'git' is unknown"},
	    {"{\"volume_content_hash\":\"sha256:abc\"}",
		"volume_content_hash: must be sha256:"},
	    {"{\"volume_content_hash\":\"sha256:" HEX64 "0\"}",
		"volume_content_hash"},
	    {"{\"mcp_sandbox_volume\":\"../x\"}", "plain volume name"},
	    {"{\"mcp_sandbox_volume\":\"-v\"}", "plain volume name"},
	    {"{\"volume_host_path\":\"x\"}", "absolute path"},
	    {"{\"files\":{}}", "files.dir"},
	    {"{\"state\":{\"size\":0}}", "state.size"},
	    {"{\"state\":{\"size\":\"1m\"}}", "state.size"},
	    {"{\"dependencies\":[{\"name\":\"a\"}]}",
		"dependencies[0].version"},
	    {"{\"dependencies\":[\"a\"]}", "dependencies[0]: must be an"},
	};
	char text[1024];
	json_t *root;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct json_fault fault = {""};
		enum result result;

		snprintf(text, sizeof(text),
		    "{\"lockfile_version\":\"0.1\",\"updated_at\":\"\","
		    "\"packages\":{\"abc\":%s}}",
		    rows[i].entry);
		result = lockfile_parse("F", text, strlen(text), &root, &fault);
		if ((result == RESULT_OK) != (rows[i].fault == NULL))
			fail_msg("%s: %s", rows[i].entry, fault.text);
		if (rows[i].fault != NULL &&
		    strstr(fault.text, rows[i].fault) == NULL)
			fail_msg("%s: '%s' lacks '%s'", rows[i].entry,
			    fault.text, rows[i].fault);
		json_decref(root);
	}
}

static void
test_lockfile_files(void **state)
{
	static const struct test_lockfile_row rows[] = {
	    {"", "F: line 1"},
	    {"{", "F: line 1, column"},
	    {"{\"lockfile_version\":\"0.1\",\n \"packages\":{\n  ]}}",
		"F: line 3"},
	    {"[]", "one JSON object"},
	    {"{}", "lockfile_version"},
	    {"{\"lockfile_version\":\"0.2\",\"packages\":{}}",
		"'0.2' is unknown; this agentnode reads '0.1'"},
	    {"{\"lockfile_version\":1,\"packages\":{}}", "lockfile_version"},
	    {"{\"lockfile_version\":\"0.1\"}", "packages"},
	    {"{\"lockfile_version\":\"0.1\",\"packages\":[]}", "packages"},
	    {"{\"lockfile_version\":\"0.1\",\"packages\":{},\"x\":1}", "x"},
	    {"{\"lockfile_version\":\"0.1\",\"lockfile_version\":\"0.1\","
	     "\"packages\":{}}",
		"duplicate"},
	    {"{\"lockfile_version\":\"0.1\",\"packages\":{\"abc\":{},"
	     "\"abc\":{}}}",
		"duplicate"},
	    {"{\"lockfile_version\":\"0.1\",\"packages\":{\"abc\":"
	     "{\"agent\":{\"a\":1,\"a\":2}}}}",
		"duplicate"},
	    {"{\"lockfile_version\":\"0.1\",\"packages\":{\"../x\":{}}}",
		"packages.../x: a package's name is"},
	    {"{\"lockfile_version\":\"0.1\",\"packages\":{\"abc\":{\"agent\":"
	     "{\"a\":[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]}}}}",
		"deeper"},
	    {"{\"lockfile_version\":\"0.1\",\"packages\":{}} trailing",
		"line 1"},
	};
	json_t *root;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct json_fault fault = {""};

		assert_int_equal(lockfile_parse("F", rows[i].entry,
				     strlen(rows[i].entry), &root, &fault),
		    RESULT_BAD);
		if (strstr(fault.text, rows[i].fault) == NULL)
			fail_msg("%s: '%s' lacks '%s'", rows[i].entry,
			    fault.text, rows[i].fault);
		assert_null(root);
	}
}

static json_t *
test_lockfile_json(const char *text)
{
	struct json_fault fault = {""};
	json_t *value;

	assert_int_equal(
	    json_field_parse(text, strlen(text), &value, &fault), RESULT_OK);
	return value;
}

/* The fields and results of the AgentNode SDK's own algorithm. */
static void
test_lockfile_hashes(void **state)
{
	static const char base[] =
	    "{\"version\":\"1.0.0\",\"package_type\":\"toolpack\",\"runtime\":"
	    "\"python\",\"entrypoint\":\"m.tool\",\"artifact_hash\":"
	    "\"sha256:x\",\"tools\":[],\"permissions\":{\"network_level\":"
	    "\"none\"},\"trust_level\":\"curated\",\"installed_at\":\"x\"}";
	static const struct {
		const char *key, *value;
		int version;
		const char *hash;
	} rows[] = {
	    {"source", "null", 1,
		"d4ab018b78725ca6dff47d6188c89b61312bfa05368200c3616e0b9d747b0"
		"eb4"},
	    {"_signatures", "{}", 1,
		"d4ab018b78725ca6dff47d6188c89b61312bfa05368200c3616e0b9d747b0"
		"eb4"},
	    {"_signatures", "{\"k\":\"v\"}", 2,
		"89cdbb511b4ad7dfaf4efb39b4559f5c5e665aac3dae18fc806cb4424f84a"
		"0df"},
	    {"publisher_slug", "\"acme\"", 3,
		"7b18a4165325a93e35163005d7b38cb692477e60fa635ef1a7811dd85075b"
		"0c4"},
	};
	json_t *entry, *seal;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		entry = test_lockfile_json(base);
		json_object_set_new(entry, rows[i].key,
		    json_loads(rows[i].value, JSON_DECODE_ANY, NULL));
		assert_int_equal(
		    lockfile_hash_entry(entry), LOCKFILE_HASH_MISSING);
		assert_int_equal(lockfile_hash_seal_entry(entry), RESULT_OK);
		seal = json_object_get(entry, "_integrity");
		assert_int_equal(json_integer_value(json_object_get(
				     seal, "canonical_version")),
		    rows[i].version);
		assert_string_equal(
		    json_string_value(json_object_get(seal, "hash")),
		    rows[i].hash);
		assert_int_equal(
		    lockfile_hash_entry(entry), LOCKFILE_HASH_VERIFIED);
		json_decref(entry);
	}
}

static void
test_lockfile_structure(void **state)
{
	json_t *root = test_lockfile_json(
	    "{\"lockfile_version\":\"0.1\",\"packages\":{\"b-pack\":{"
	    "\"_integrity\":{\"algorithm\":\"sha256\",\"canonical_version\":1,"
	    "\"hash\":\"d4ab018b78725ca6dff47d6188c89b61312bfa05368200c3616e0b"
	    "9d747b0eb4\"}},\"a-pack\":{\"_integrity\":{\"algorithm\":"
	    "\"sha256\",\"canonical_version\":3,\"hash\":\"7b18a4165325a93e35"
	    "163005d7b38cb692477e60fa635ef1a7811dd85075b0c4\"}}}}");
	json_t *digest;

	(void)state;
	assert_int_equal(lockfile_hash_structure(root), LOCKFILE_HASH_MISSING);
	assert_int_equal(lockfile_hash_seal_structure(root), RESULT_OK);
	digest = json_object_get(root, "structure_digest");
	assert_string_equal(json_string_value(json_object_get(digest, "hash")),
	    "3068d6b3e57e5beb78dced879027416b247c15e53cd6913fb17d542cde91e9d5");
	assert_int_equal(lockfile_hash_structure(root), LOCKFILE_HASH_VERIFIED);
	json_object_set_new(
	    digest, "canonicalization_version", json_integer(2));
	assert_int_equal(
	    lockfile_hash_structure(root), LOCKFILE_HASH_UNSUPPORTED);
	json_object_set_new(digest, "hash", json_string("x"));
	assert_int_equal(lockfile_hash_structure(root), LOCKFILE_HASH_INVALID);
	json_object_set_new(root, "structure_digest", json_null());
	assert_int_equal(lockfile_hash_structure(root), LOCKFILE_HASH_INVALID);
	json_decref(root);
}

static enum result
test_lockfile_load_it(struct json_fault *fault)
{
	struct lockfile *lockfile;
	enum result result;

	fault->text[0] = '\0';
	result = lockfile_load(test_lockfile_name, &lockfile, fault);
	lockfile_free(&lockfile);
	return result;
}

static void
test_lockfile_round(void **state)
{
	struct lockfile *lockfile;
	struct json_fault fault;
	struct stat before, after;
	const json_t *entry;

	(void)state;
	assert_int_equal(test_lockfile_load_it(&fault), RESULT_NOT_FOUND);
	fault.text[0] = '\0';
	test_lockfile_put_one("first-pack", "1.0.0");
	test_lockfile_put_one("second-pack", "2.0.0");
	assert_int_equal(
	    lockfile_load(test_lockfile_name, &lockfile, &fault), RESULT_OK);
	assert_int_equal(json_object_size(lockfile_entries(lockfile)), 2);
	entry = lockfile_entry(lockfile, "second-pack");
	assert_string_equal(
	    json_string_value(json_object_get(entry, "version")), "2.0.0");
	assert_null(lockfile_entry(lockfile, "third-pack"));
	lockfile_free(&lockfile);
	fault.text[0] = '\0';
	/* The same again writes nothing. */
	assert_int_equal(stat(test_lockfile_name, &before), 0);
	test_lockfile_put_one("second-pack", "2.0.0");
	assert_int_equal(stat(test_lockfile_name, &after), 0);
	assert_int_equal(before.st_ino, after.st_ino);
	assert_int_equal(after.st_mode & 0777, 0644);
	assert_int_equal(
	    lockfile_put(test_lockfile_name, "first-pack", NULL, &fault),
	    RESULT_OK);
	assert_int_equal(
	    lockfile_put(test_lockfile_name, "first-pack", NULL, &fault),
	    RESULT_NOT_FOUND);
	assert_int_equal(test_lockfile_load_it(&fault), RESULT_OK);
	assert_int_equal(test_lockfile_remove_all(), 1);
}

static void
test_lockfile_overwrite(const char *text)
{
	int fd = open(
	    test_lockfile_name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	assert_int_equal(fd_write_all(fd, text, strlen(text)), RESULT_OK);
	close(fd);
}

/* Every change of a sealed value is noticed, and nothing is put on top. */
static void
test_lockfile_tampered(void **state)
{
	static const char *const rows[][2] = {
	    {"1.0.0", "1.0.1"},
	    {"api.example.com", "api.evil.example"},
	    {"/pack/lib/index.js", "/pack/lib/index.ts"},
	    {"\"restricted\"", "\"none\""},
	    {"first-pack", "third-pack"},
	    {"\"canonical_version\": 4", "\"canonical_version\": 3"},
	    {"\"volume_content_hash\": \"sha256:0",
		"\"volume_content_hash\": \"sha256:1"},
	};
	json_t *entry = test_lockfile_entry_of("9.9.9");
	char *text, *place, changed[8192];
	struct json_fault fault;
	size_t len, i;
	int fd;

	(void)state;
	test_lockfile_put_one("first-pack", "1.0.0");
	fd = open(test_lockfile_name, O_RDONLY | O_CLOEXEC);
	assert_int_equal(fd_read_all(fd, 8000, &text, &len), RESULT_OK);
	close(fd);
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		place = strstr(text, rows[i][0]);
		if (place == NULL)
			fail_msg("%s is not there: %s", rows[i][0], text);
		snprintf(changed, sizeof(changed), "%.*s%s%s",
		    (int)(place - text), text, rows[i][1],
		    place + strlen(rows[i][0]));
		test_lockfile_overwrite(changed);
		if (test_lockfile_load_it(&fault) != RESULT_MISMATCH)
			fail_msg("%s: %s", rows[i][1], fault.text);
		fault.text[0] = '\0';
		assert_int_equal(
		    lockfile_put(test_lockfile_name, "new-pack", entry, &fault),
		    RESULT_MISMATCH);
	}
	/* What is not sealed may change: trust comes from elsewhere. */
	place = strstr(text, "unverified");
	snprintf(changed, sizeof(changed), "%.*s%s%s", (int)(place - text),
	    text, "curated", place + strlen("unverified"));
	test_lockfile_overwrite(changed);
	assert_int_equal(test_lockfile_load_it(&fault), RESULT_OK);
	json_decref(entry);
	free(text);
}

static void
test_lockfile_sealing(void **state)
{
	struct json_fault fault = {""};

	(void)state;
	test_lockfile_overwrite(
	    "{\"lockfile_version\":\"0.1\",\"packages\":{\"abc\":{"
	    "\"version\":\"1\"}}}");
	assert_int_equal(test_lockfile_load_it(&fault), RESULT_MISMATCH);
	assert_non_null(strstr(fault.text, "missing"));
	assert_int_equal(
	    lockfile_seal(test_lockfile_name, false, &fault), RESULT_OK);
	assert_int_equal(test_lockfile_load_it(&fault), RESULT_OK);
	test_lockfile_overwrite(
	    "{\"lockfile_version\":\"0.1\",\"packages\":{\"abc\":{"
	    "\"version\":\"1\",\"_integrity\":{\"algorithm\":\"sha256\","
	    "\"canonical_version\":1,\"hash\":\"" HEX64 "\"}}}}");
	fault.text[0] = '\0';
	assert_int_equal(
	    lockfile_seal(test_lockfile_name, false, &fault), RESULT_MISMATCH);
	assert_int_equal(
	    lockfile_seal(test_lockfile_name, true, &fault), RESULT_OK);
	assert_int_equal(test_lockfile_load_it(&fault), RESULT_OK);
}

/* Eight processes put ten packages each: none is lost. */
static void
test_lockfile_concurrent(void **state)
{
	pid_t pids[TEST_LOCKFILE_WRITERS];
	struct lockfile *lockfile;
	struct json_fault fault;
	int i, j, status;

	(void)state;
	for (i = 0; i < TEST_LOCKFILE_WRITERS; i++) {
		pids[i] = fork();
		assert_true(pids[i] >= 0);
		if (pids[i] != 0)
			continue;
		for (j = 0; j < 10; j++) {
			char slug[32];
			json_t *entry = test_lockfile_entry_of("1.0.0");

			fault.text[0] = '\0';
			snprintf(slug, sizeof(slug), "pack-%d-%d", i, j);
			if (lockfile_put(test_lockfile_name, slug, entry,
				&fault) != RESULT_OK)
				_exit(1);
			json_decref(entry);
		}
		_exit(0);
	}
	for (i = 0; i < TEST_LOCKFILE_WRITERS; i++) {
		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		assert_int_equal(status, 0);
	}
	fault.text[0] = '\0';
	assert_int_equal(
	    lockfile_load(test_lockfile_name, &lockfile, &fault), RESULT_OK);
	assert_int_equal(json_object_size(lockfile_entries(lockfile)),
	    TEST_LOCKFILE_WRITERS * 10);
	lockfile_free(&lockfile);
}

/* A writer is killed again and again; the file is whole each time. */
static _Noreturn void
test_lockfile_put_for_ever(void)
{
	struct json_fault fault;
	json_t *entry;
	char slug[32];

	for (int n = 0;; n++) {
		entry = test_lockfile_entry_of("1.0.0");
		fault.text[0] = '\0';
		snprintf(slug, sizeof(slug), "pack-%d", n % 40);
		lockfile_put(test_lockfile_name, slug,
		    n % 80 < 40 ? entry : NULL, &fault);
		json_decref(entry);
	}
}

static void
test_lockfile_killed(void **state)
{
	struct timespec moment = {0, 0};
	struct json_fault fault;
	pid_t pid;
	int i;

	(void)state;
	test_lockfile_put_one("first-pack", "1.0.0");
	for (i = 0; i < TEST_LOCKFILE_KILLS; i++) {
		pid = fork();
		assert_true(pid >= 0);
		if (pid == 0)
			test_lockfile_put_for_ever();
		moment.tv_nsec = 1000000L + (i * 7919 % 5000) * 1000L;
		nanosleep(&moment, NULL);
		kill(pid, SIGKILL);
		assert_int_equal(waitpid(pid, NULL, 0), pid);
		if (test_lockfile_load_it(&fault) != RESULT_OK)
			fail_msg("kill %d: %s", i, fault.text);
	}
	/* What the dead left is cleared by the next one. */
	test_lockfile_put_one("last-pack", "1.0.0");
	assert_int_equal(test_lockfile_remove_all(), 1);
}

#define TEST(function)                   \
	cmocka_unit_test_setup_teardown( \
	    function, test_lockfile_setup, test_lockfile_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_lockfile_fields),
	    cmocka_unit_test(test_lockfile_files),
	    cmocka_unit_test(test_lockfile_hashes),
	    cmocka_unit_test(test_lockfile_structure),
	    TEST(test_lockfile_round),
	    TEST(test_lockfile_tampered),
	    TEST(test_lockfile_sealing),
	    TEST(test_lockfile_concurrent),
	    TEST(test_lockfile_killed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
