/* SPDX-License-Identifier: Apache-2.0 */
/* The pure parts of a sandbox without an engine: what an image names, what
 * a layer removes, whose subordinate id it is, what a runtime is told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/engine/oci_bundle.h"
#include "supervisor/engine/selftest_guest.h"
#include "supervisor/engine/oci_image.h"
#include "supervisor/engine/oci_subid.h"
#include "supervisor/unpack/layer_mark.h"

#define TEST_HEX \
	"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define TEST_OTHER \
	"1123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

/* Single quotes for double ones. */
static json_t *
test_oci_parts_load(const char *text)
{
	char copy[1024];
	json_t *value;

	(void)snprintf(copy, sizeof(copy), "%s", text);
	for (char *at = copy; *at != '\0'; at++)
		*at = *at == '\'' ? '"' : *at;
	value = json_loads(copy, 0, NULL);
	assert_non_null(value);
	return value;
}

static void
test_oci_parts_manifest(void **state)
{
	static const struct {
		const char *json;
		enum result want;
	} rows[] = {
	    {"{'config':{'digest':'sha256:" TEST_HEX "'}}", RESULT_OK},
	    {"{'config':{'digest':'sha512:" TEST_HEX "'}}", RESULT_BAD},
	    {"{'config':{'digest':'sha256:" TEST_HEX "0'}}", RESULT_BAD},
	    {"{'config':{'digest':'sha256:" TEST_HEX "\\u0000'}}", RESULT_BAD},
	    {"{'config':{'digest':'sha256:../../../etc/passwd'}}", RESULT_BAD},
	    {"{'config':{'digest':7}}", RESULT_BAD},
	    {"{'config':[]}", RESULT_BAD},
	    {"[]", RESULT_BAD},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char copy[1024];
		struct oci_image_digest digest;
		json_t *value;

		(void)snprintf(copy, sizeof(copy), "%s", rows[i].json);
		for (char *at = copy; *at != '\0'; at++)
			*at = *at == '\'' ? '"' : *at;
		value = json_loads(copy, JSON_ALLOW_NUL, NULL);
		assert_non_null(value);
		if (oci_image_config(value, &digest) != rows[i].want)
			fail_msg("%s", rows[i].json);
		if (rows[i].want == RESULT_OK)
			assert_string_equal(digest.hex, TEST_HEX);
		json_decref(value);
	}
}

static void
test_oci_parts_index(void **state)
{
	json_t *index =
	    test_oci_parts_load("{'manifests':[{'digest':'sha256:x'},"
				"{'digest':'sha256:" TEST_HEX "'}]}");
	struct oci_image_digest has = {TEST_HEX}, lacks = {TEST_OTHER};

	(void)state;
	assert_true(oci_image_index_has(index, &has));
	assert_false(oci_image_index_has(index, &lacks));
	json_decref(index);
}

static void
test_oci_parts_layers(void **state)
{
	static const struct {
		const char *json;
		size_t count; /* 0: refused */
	} rows[] = {
	    {"{'rootfs':{'type':'layers','diff_ids':['sha256:" TEST_HEX
	     "','sha256:" TEST_OTHER "']}}",
		2},
	    {"{'rootfs':{'type':'layers','diff_ids':[]}}", 0},
	    {"{'rootfs':{'type':'layers','diff_ids':['" TEST_HEX "']}}", 0},
	    {"{'rootfs':{'type':'other','diff_ids':['sha256:" TEST_HEX "']}}",
		0},
	    {"{'rootfs':{'type':'layers','diff_ids':{}}}", 0},
	    {"{}", 0},
	};
	static struct oci_image_layers layers;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		json_t *value = test_oci_parts_load(rows[i].json);
		enum result result = oci_image_layers(value, &layers);

		assert_int_equal(result == RESULT_OK, rows[i].count > 0);
		assert_int_equal(layers.count, rows[i].count);
		json_decref(value);
	}
}

static void
test_oci_parts_marks(void **state)
{
	static const struct {
		const char *path;
		enum layer_mark mark;
		const char *left;
	} rows[] = {
	    {"a/b", LAYER_MARK_NONE, "a/b"},
	    {"a/.wh.b", LAYER_MARK_REMOVE, "a/b"},
	    {".wh.b", LAYER_MARK_REMOVE, "b"},
	    {"a/.wh..wh..opq", LAYER_MARK_EMPTY, "a"},
	    {".wh..wh..opq", LAYER_MARK_EMPTY, ""},
	    {"a/.wh..wh.plnk", LAYER_MARK_OTHER, "a/.wh..wh.plnk"},
	    {"a/.wh.", LAYER_MARK_BAD, "a/.wh."},
	    {"a/.wh..", LAYER_MARK_BAD, "a/.wh.."},
	    {"a/.wh...", LAYER_MARK_BAD, "a/.wh..."},
	    {"a/.wh..hidden", LAYER_MARK_REMOVE, "a/.hidden"},
	    {".wh.a/b", LAYER_MARK_NONE, ".wh.a/b"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char path[64];
		size_t len = strlen(rows[i].path);

		(void)snprintf(path, sizeof(path), "%s", rows[i].path);
		assert_int_equal(layer_mark_read(path, &len), rows[i].mark);
		assert_string_equal(path, rows[i].left);
		assert_int_equal(len, strlen(path));
	}
}

static void
test_oci_parts_subids(void **state)
{
	static const char text[] = "other:1:5\nme:100000:10\nmine:7:7\n"
				   "1001:200000:65536\nme:bad:9\nme:5\n";
	static const struct {
		uint32_t inside, outside; /* 0: none */
	} rows[] = {{1, 100000}, {10, 100009}, {11, 200000}, {10010, 209999},
	    {65546, 265535}, {65547, 0}, {0, 0}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint32_t outside = 0;
		enum result result =
		    oci_subid_in(text, "me", 1001, rows[i].inside, &outside);

		assert_int_equal(result == RESULT_OK, rows[i].outside != 0);
		assert_int_equal(outside, rows[i].outside);
	}
}

/* A range for who has none is nobody's: whoever shares one is the other. */
static void
test_oci_parts_subids_free(void **state)
{
	static const struct {
		const char *uids, *gids;
		uint32_t first;
	} rows[] = {{"", "", 100000}, {"a:100000:65536\n", "", 165536},
	    {"a:100000:65536", "a:100000:65536\nb:165536:65536\n", 231072},
	    {"a:99999:1\n", "a:165536:1\n", 100000},
	    {"a:99999:2\n", "a:165535:1\n", 165536},
	    {"a:x:1\n#:\n\na:200000:65536\n", "", 100000},
	    {"a:1:700000000\n", "", 0}};
	static const char *const mine =
	    "me:1:65535\nme:x:9\nmine:7:7\n1001:70000:1\n";

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(
		    oci_subid_free(rows[i].uids, rows[i].gids, 65536),
		    rows[i].first);
	assert_int_equal(oci_subid_count(mine, "me", 1001), 65536);
	assert_int_equal(oci_subid_count(mine, "me", 1002), 65535);
	assert_int_equal(oci_subid_count("", "me", 1001), 0);
}

static struct run_argv_input
test_oci_parts_input(void)
{
	struct run_argv_input input = {.uid = 70001,
	    .gid = 70002,
	    .pids = 64,
	    .files = 4096,
	    .entrypoint = "/proc/self/fd/4",
	    .mount_count = 1,
	    .tmpfs_count = 2,
	    .host_count = 1};

	input.mounts[0] = (struct run_argv_mount){"pack", "/pack"};
	input.tmpfs[0] =
	    (struct run_argv_tmpfs){"/tmp", 4096, 01777, false, false};
	input.tmpfs[1] =
	    (struct run_argv_tmpfs){"/work", 8192, 0700, true, true};
	input.hosts[0] = (struct run_argv_host){"api.example", "127.64.0.1"};
	return input;
}

static bool
test_oci_parts_has(const json_t *list, const char *word)
{
	size_t i;
	json_t *one;

	json_array_foreach((json_t *)(uintptr_t)list, i, one)
	{
		if (strcmp(json_string_value(one), word) == 0)
			return true;
	}
	return false;
}

/* The mount at target; each is there once. */
static const json_t *
test_oci_parts_mount(const json_t *config, const char *target)
{
	const json_t *found = NULL;
	size_t i;
	json_t *one;

	json_array_foreach(json_object_get(config, "mounts"), i, one)
	{
		if (strcmp(
			json_string_value(json_object_get(one, "destination")),
			target) != 0)
			continue;
		assert_null(found);
		found = one;
	}
	assert_non_null(found);
	return found;
}

static void
test_oci_parts_bundle(void **state)
{
	static const char *const spaces[] = {
	    "pid", "network", "ipc", "uts", "mount", "cgroup"};
	struct run_argv_input input = test_oci_parts_input();
	struct oci_bundle_spec spec = {
	    .input = &input, .root = "/place/root", .volumes = "/place/volume"};
	json_t *config = NULL, *process, *linux_part, *options;

	(void)state;
	assert_int_equal(oci_bundle_make(&spec, &config), RESULT_OK);
	process = json_object_get(config, "process");
	linux_part = json_object_get(config, "linux");
	assert_true(json_is_true(json_object_get(process, "noNewPrivileges")));
	assert_true(json_is_true(
	    json_object_get(json_object_get(config, "root"), "readonly")));
	assert_int_equal(
	    json_object_size(json_object_get(process, "capabilities")), 5);
	assert_int_equal(json_array_size(json_object_get(process, "env")), 0);
	assert_int_equal(json_array_size(json_object_get(process, "args")), 2);
	assert_null(json_object_get(linux_part, "seccomp"));
	assert_null(json_object_get(linux_part, "cgroupsPath"));
	assert_null(json_object_get(linux_part, "resources"));
	assert_int_equal(
	    json_array_size(json_object_get(linux_part, "namespaces")), 6);
	for (size_t i = 0; i < 6; i++) {
		const json_t *one = json_array_get(
		    json_object_get(linux_part, "namespaces"), i);

		assert_string_equal(
		    json_string_value(json_object_get(one, "type")), spaces[i]);
	}
	options =
	    json_object_get(test_oci_parts_mount(config, "/work"), "options");
	assert_true(test_oci_parts_has(options, "exec"));
	assert_true(test_oci_parts_has(options, "uid=70001"));
	assert_true(test_oci_parts_has(options, "size=8192"));
	options =
	    json_object_get(test_oci_parts_mount(config, "/tmp"), "options");
	assert_true(test_oci_parts_has(options, "noexec"));
	assert_true(test_oci_parts_has(options, "mode=1777"));
	options =
	    json_object_get(test_oci_parts_mount(config, "/pack"), "options");
	assert_true(test_oci_parts_has(options, "ro"));
	assert_string_equal("/place/volume0",
	    json_string_value(json_object_get(
		test_oci_parts_mount(config, "/pack"), "source")));
	json_decref(config);
	spec.cgroup = "/group";
	spec.data_max = 12345;
	assert_int_equal(oci_bundle_make(&spec, &config), RESULT_OK);
	assert_string_equal(
	    "/group", json_string_value(json_object_get(
			  json_object_get(config, "linux"), "cgroupsPath")));
	json_decref(config);
	spec.guest = true;
	assert_int_equal(oci_bundle_make(&spec, &config), RESULT_OK);
	process = json_object_get(config, "process");
	assert_int_equal(1, json_integer_value(json_object_get(
				json_object_get(process, "user"), "uid")));
	assert_string_equal("guest", json_string_value(json_array_get(
					 json_object_get(process, "args"), 1)));
	process = json_object_get(process, "capabilities");
	assert_int_equal(
	    json_array_size(json_object_get(process, "permitted")), 4);
	assert_int_equal(
	    json_array_size(json_object_get(process, "ambient")), 0);
	assert_int_equal(
	    json_array_size(json_object_get(process, "inheritable")), 0);
	json_decref(config);
	spec.guest = false;
	input.uid = 0;
	assert_int_equal(oci_bundle_make(&spec, &config), RESULT_BAD);
	assert_null(config);
}

static long test_oci_parts_left; /* allocations that are granted */

static void *
test_oci_parts_malloc(size_t size)
{
	return test_oci_parts_left-- > 0 ? malloc(size) : NULL;
}

/* Whichever allocation fails: all of the bundle or none of it. */
static void
test_oci_parts_memory(void **state)
{
	struct run_argv_input input = test_oci_parts_input();
	struct oci_bundle_spec spec = {.input = &input,
	    .root = "/place/root",
	    .volumes = "/place/volume",
	    .cgroup = "/group",
	    .data_max = 4096};
	json_t *whole = NULL, *config = NULL;
	enum result result = RESULT_BAD;
	long granted = 0;

	(void)state;
	assert_int_equal(oci_bundle_make(&spec, &whole), RESULT_OK);
	json_set_alloc_funcs(test_oci_parts_malloc, free);
	while (result != RESULT_OK) {
		assert_null(config);
		assert_true(granted < 10000);
		test_oci_parts_left = granted++;
		result = oci_bundle_make(&spec, &config);
	}
	json_set_alloc_funcs(malloc, free);
	assert_true(granted > 100);
	assert_true(json_equal(whole, config));
	json_decref(config);
	json_decref(whole);
}

/* An image may have a layer twice: its file is needed until the last. */
static void
test_oci_parts_twice(void **state)
{
	static struct oci_image_layers layers = {
	    3, {{TEST_HEX}, {TEST_OTHER}, {TEST_HEX}}};

	(void)state;
	assert_true(oci_image_comes_again(&layers, 0));
	assert_false(oci_image_comes_again(&layers, 1));
	assert_false(oci_image_comes_again(&layers, 2));
}

/* The known answer becomes a good one; another one, or none, does not. */
static void
test_oci_parts_guest_rows(void **state)
{
	json_t *rows = json_pack("[{s:s, s:b, s:s}, {s:s, s:b, s:s}, {s:s, "
				 "s:b, s:s}, {s:s, s:b, s:s}]",
	    "name", "make_device", "ok", 0, "detail", "success", "name",
	    "raw_address", "ok", 0, "detail", "1.1.1.1 port 443: connected",
	    "name", "pid1_environ", "ok", 1, "detail", "EACCES", "name",
	    "mount", "ok", 0, "detail", "success");

	(void)state;
	selftest_guest_judge(rows);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(json_is_true(json_object_get(
				     json_array_get(rows, i), "ok")),
		    i == 0);
	json_decref(rows);
}

/* A device that is known to be there hides no other. */
static void
test_oci_parts_guest_devices(void **state)
{
	static const char *const answers[] = {"there: /dev/fuse /dev/net/tun",
	    "there: /dev/fuse /dev/sda",
	    "there: /dev/fuse /dev/net/tun /dev/kvm", "/dev/fuse is there"};

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		json_t *rows = json_pack("[{s:s, s:b, s:s}]", "name",
		    "device_nodes", "ok", 0, "detail", answers[i]);

		selftest_guest_judge(rows);
		assert_int_equal(json_is_true(json_object_get(
				     json_array_get(rows, 0), "ok")),
		    i == 0);
		json_decref(rows);
	}
}

static void
test_oci_parts_texts(void **state)
{
	static struct oci_bundle_text texts[OCI_BUNDLE_TEXTS];
	struct run_argv_input input = test_oci_parts_input();

	(void)state;
	assert_int_equal(oci_bundle_texts(&input, texts), RESULT_OK);
	assert_string_equal(texts[0].path, "etc/hosts");
	assert_string_equal(texts[0].text,
	    "127.0.0.1 localhost sandbox\n::1 localhost\n"
	    "127.64.0.1 api.example\n");
	assert_non_null(strstr(texts[1].text, "sandbox:x:70001:70002:"));
	assert_string_equal(texts[4].path, "etc/resolv.conf");
	assert_string_equal(texts[4].text, "");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_oci_parts_manifest),
	    cmocka_unit_test(test_oci_parts_index),
	    cmocka_unit_test(test_oci_parts_layers),
	    cmocka_unit_test(test_oci_parts_marks),
	    cmocka_unit_test(test_oci_parts_subids),
	    cmocka_unit_test(test_oci_parts_subids_free),
	    cmocka_unit_test(test_oci_parts_bundle),
	    cmocka_unit_test(test_oci_parts_memory),
	    cmocka_unit_test(test_oci_parts_twice),
	    cmocka_unit_test(test_oci_parts_guest_rows),
	    cmocka_unit_test(test_oci_parts_guest_devices),
	    cmocka_unit_test(test_oci_parts_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
