/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `mcp import` makes of a client's file: the shapes it reads, the
 * verdict and the command per server, and what it must not print.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "supervisor/command/mcp_import.h"
#include "supervisor/mcp/mcp_package.h"
#include "supervisor/command/mcp_toml.h"

static bool
test_mcp_import_folder(const char *path, void *context)
{
	(void)context;
	return strcmp(path, "/data") == 0;
}

struct test_mcp_import_row {
	const char *server; /* JSON */
	enum mcp_import_status status;
	const char *command; /* "": none; NULL: any */
};

#define INSTALL "agentnode mcp install "

static const struct test_mcp_import_row test_mcp_import_rows[] = {
    {"{\"command\":\"npx\",\"args\":[\"-y\",\"@a/b@1.2.3\"]}", MCP_IMPORT_READY,
	INSTALL "npm:@a/b@1.2.3 --name srv"},
    {"{\"command\":\"/usr/bin/npx\",\"args\":[\"--yes\",\"b@1.2.3\",\"-x\","
     "\"/data\",\"/other\"]}",
	MCP_IMPORT_READY,
	INSTALL "npm:b@1.2.3 --name srv --files /data -- -x /files /other"},
    {"{\"command\":\"npx\",\"args\":[\"--package\",\"b@1.2.3\",\"bin\","
     "\"it's\"]}",
	MCP_IMPORT_READY, INSTALL "npm:b@1.2.3 --name srv -- 'it'\\''s'"},
    {"{\"command\":\"npx\",\"args\":[\"b\"]}", MCP_IMPORT_PIN,
	INSTALL "npm:b@X.Y.Z --name srv"},
    {"{\"command\":\"npx\",\"args\":[\"@a/b@latest\"]}", MCP_IMPORT_PIN,
	INSTALL "npm:@a/b@X.Y.Z --name srv"},
    {"{\"command\":\"npx\",\"args\":[\"b@^1.0.0\"]}", MCP_IMPORT_PIN,
	INSTALL "npm:b@X.Y.Z --name srv"},
    {"{\"command\":\"npx\",\"args\":[\"git+https://x/y.git\"]}",
	MCP_IMPORT_REFUSED, ""},
    {"{\"command\":\"npx\",\"args\":[\"-y\"]}", MCP_IMPORT_REFUSED, ""},
    {"{\"command\":\"npx\"}", MCP_IMPORT_REFUSED, ""},
    {"{\"command\":\"pnpm\",\"args\":[\"dlx\",\"b@1.2.3\"]}", MCP_IMPORT_READY,
	INSTALL "npm:b@1.2.3 --name srv"},
    {"{\"command\":\"pnpm\",\"args\":[\"start\"]}", MCP_IMPORT_REFUSED, ""},
    {"{\"command\":\"uvx\",\"args\":[\"srv@1.2.3\"]}", MCP_IMPORT_READY,
	INSTALL "pypi:srv==1.2.3 --name srv"},
    {"{\"command\":\"uvx\",\"args\":[\"--from\",\"srv==1.2.3\",\"bin\","
     "\"--tz\",\"UTC\"]}",
	MCP_IMPORT_READY, INSTALL "pypi:srv==1.2.3 --name srv -- --tz UTC"},
    {"{\"command\":\"uvx\",\"args\":[\"srv\"]}", MCP_IMPORT_PIN,
	INSTALL "pypi:srv==X.Y.Z --name srv"},
    {"{\"command\":\"uvx\",\"args\":[\"srv>=1\"]}", MCP_IMPORT_PIN,
	INSTALL "pypi:srv==X.Y.Z --name srv"},
    {"{\"command\":\"cmd\",\"args\":[\"/c\",\"npx\",\"b@1.2.3\"]}",
	MCP_IMPORT_READY, INSTALL "npm:b@1.2.3 --name srv"},
    {"{\"command\":\"docker\",\"args\":[\"run\"]}", MCP_IMPORT_REFUSED, ""},
    {"{\"command\":\"node\",\"args\":[\"x.js\"]}", MCP_IMPORT_REFUSED, ""},
    {"{\"command\":\"bash\",\"args\":[\"-c\",\"x\"]}", MCP_IMPORT_REFUSED, ""},
    {"{\"url\":\"https://x\"}", MCP_IMPORT_REFUSED, ""},
    {"{\"command\":\"npx\",\"url\":\"https://x\",\"args\":[\"b@1.2.3\"]}",
	MCP_IMPORT_REFUSED, ""},
    {"{\"command\":\"/opt/agentnode\",\"args\":[\"mcp\"]}", MCP_IMPORT_ALREADY,
	""},
    {"{\"command\":\"npx\",\"args\":[\"b@1.2.3\",\"a\\u001bb\"]}",
	MCP_IMPORT_REFUSED, ""},
    {"{\"command\":\"npx\",\"args\":[1]}", MCP_IMPORT_REFUSED, ""},
    {"{\"command\":\"npx\",\"args\":\"b@1.2.3\"}", MCP_IMPORT_REFUSED, ""},
    {"[]", MCP_IMPORT_REFUSED, ""},
};

static void
test_mcp_import_servers(void **state)
{
	struct mcp_import_row row;
	size_t i;

	(void)state;
	for (i = 0;
	     i < sizeof(test_mcp_import_rows) / sizeof(test_mcp_import_rows[0]);
	     i++) {
		const struct test_mcp_import_row *want =
		    &test_mcp_import_rows[i];
		json_t *server = json_loads(want->server, 0, NULL);

		assert_non_null(server);
		mcp_import_judge(
		    "srv", server, test_mcp_import_folder, NULL, &row);
		if (row.status != want->status ||
		    strcmp(row.command, want->command) != 0)
			fail_msg("%s: %s, '%s' (%s)", want->server,
			    mcp_import_status_text(row.status), row.command,
			    row.reason);
		if (row.status == MCP_IMPORT_REFUSED)
			assert_true(row.reason[0] != '\0');
		json_decref(server);
	}
}

static json_t *
test_mcp_import_read(const char *text, struct json_fault *fault)
{
	char bytes[2048];
	json_t *servers;

	fault->text[0] = '\0';
	snprintf(bytes, sizeof(bytes), "%s", text);
	(void)mcp_import_read(bytes, strlen(bytes), &servers, fault);
	return servers;
}

static void
test_mcp_import_shapes(void **state)
{
	static const char *const good[] = {
	    "{\"mcpServers\":{\"a\":{\"command\":\"npx\"}}}",
	    " // c\n{\"servers\":{\"a\":{/* , } */\"command\":\"npx\",},},}",
	    "{\"mcp\":{\"servers\":{\"a\":{\"command\":\"npx\"}}}}",
	    "x = 1\n[mcp_servers.a]\ncommand = 'npx' # c\n",
	    "[mcp_servers]\na = { command = \"npx\", args = [ \"x\",\n'y' ] }",
	    "mcp_servers.a.command = \"np\\u0078\"",
	    "[mcp_servers.\"a\"]\r\ncommand = "
	    "\"npx\"\r\n[mcp_servers.a.env]\r\n"
	    "K = \"v\"\r\n[[other]]\nx = 1979-05-27T07:32:00Z\n[[other]]\n",
	};
	struct json_fault fault;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		json_t *servers = test_mcp_import_read(good[i], &fault);
		const char *command = json_string_value(
		    json_object_get(json_object_get(servers, "a"), "command"));

		if (command == NULL || strcmp(command, "npx") != 0)
			fail_msg("%s: %s", good[i], fault.text);
		json_decref(servers);
	}
}

static void
test_mcp_import_faults(void **state)
{
	static const char *const rows[][2] = {
	    {"{\"a\":1}", "no servers found"},
	    {"{\"mcpServers\":{\"a\":1,\"a\":2}}", ""},
	    {"{\"mcpServers\":", ""},
	    {"", "no servers found"},
	    {"[a\n", "line 1"},
	    {"a = 1\nb\n", "line 2"},
	    {"a = \"x", "line 1"},
	    {"a = \"\\q\"", "line 1"},
	    {"a = \"\"\"x\"\"\"", "multi-line"},
	    {"a = 1\na = 2", "line 2"},
	    {"a = 1 b", "line 1"},
	    {"a = [1, 2", "line 1"},
	    {"a = nonsense", "line 1"},
	    {"a = \"\\ud800\"", "line 1"},
	    {"a = 1\n[a]\n", "line 2"},
	    {"a = [[[[[[[[[[1]]]]]]]]]]", "too deep"},
	};
	struct json_fault fault;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		json_t *servers = test_mcp_import_read(rows[i][0], &fault);

		if (servers != NULL || fault.text[0] == '\0' ||
		    strstr(fault.text, rows[i][1]) == NULL)
			fail_msg("%s: %s", rows[i][0], fault.text);
	}
}

/* --- entries of the lockfile -------------------------------------------- */

#define HASH      \
	"sha256:" \
	"0000000000000000000000000000000000000000000000000000000000000000"

static json_t *
test_mcp_import_entry(void)
{
	json_t *entry = json_pack(
	    "{s:s, s:s, s:s, s:[s, s], s:{s:s, s:s, s:s}, s:{s:s, s:s, s:s, "
	    "s:s}, s:[s, s], s:s, s:s, s:s, s:[]}",
	    "version", "1.2.3", "package_type", "toolpack", "runtime", "mcp",
	    "mcp_command", "b", "-x", "mcp_install", "manager", "npm",
	    "package", "b", "version", "1.2.3", "mcp_preinstall", "manager",
	    "npm", "package", "b", "version", "1.2.3", "artifact_hash", HASH,
	    "mcp_preinstall_command", "node", "/pack/b.js",
	    "mcp_sandbox_volume", "v", "volume_content_hash", HASH,
	    "volume_host_path", "/p", "mcp_allowed_domains");

	assert_non_null(entry);
	return entry;
}

static enum result
test_mcp_import_package_with(const char *key, json_t *value)
{
	json_t *entry = test_mcp_import_entry();
	struct mcp_package package;
	struct json_fault fault = {""};
	enum result result;

	if (value == NULL)
		json_object_del(entry, key);
	else
		json_object_set_new(entry, key, value);
	result = mcp_package_read("srv", entry, &package, &fault);
	assert_int_equal(result == RESULT_OK, fault.text[0] == '\0');
	json_decref(entry);
	return result;
}

static json_t *
test_mcp_import_files(const char *dir, const char *target)
{
	return json_pack("{s:s, s:s*}", "dir", dir, "target", target);
}

static void
test_mcp_import_package(void **state)
{
	static const char *const needed[] = {"version", "runtime",
	    "mcp_install", "mcp_preinstall", "mcp_preinstall_command",
	    "mcp_sandbox_volume", "volume_content_hash", "volume_host_path"};
	static const char *const targets[] = {"/", "/etc", "/etc/x", "/pack",
	    "/state", "/a/../b", "/a//b", "/a b", "relative", "/files/", "/.x"};
	size_t i;

	(void)state;
	assert_int_equal(test_mcp_import_package_with("x", NULL), RESULT_OK);
	for (i = 0; i < sizeof(needed) / sizeof(needed[0]); i++)
		assert_int_not_equal(
		    test_mcp_import_package_with(needed[i], NULL), RESULT_OK);
	assert_int_equal(test_mcp_import_package_with("mcp_install",
			     json_pack("{s:s, s:s, s:s}", "manager", "npm",
				 "package", "b", "version", "1.2.4")),
	    RESULT_MISMATCH);
	assert_int_equal(test_mcp_import_package_with(
			     "volume_content_hash", json_string("sha256:1")),
	    RESULT_MISMATCH);
	assert_int_equal(test_mcp_import_package_with("mcp_preinstall_command",
			     json_pack("[s, s]", "node", "/install/b.js")),
	    RESULT_REFUSED);
	assert_int_equal(test_mcp_import_package_with(
			     "files", test_mcp_import_files("/data", NULL)),
	    RESULT_OK);
	assert_int_equal(test_mcp_import_package_with(
			     "files", test_mcp_import_files("data", NULL)),
	    RESULT_REFUSED);
	for (i = 0; i < sizeof(targets) / sizeof(targets[0]); i++)
		assert_int_equal(
		    test_mcp_import_package_with(
			"files", test_mcp_import_files("/data", targets[i])),
		    RESULT_REFUSED);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_mcp_import_servers),
	    cmocka_unit_test(test_mcp_import_shapes),
	    cmocka_unit_test(test_mcp_import_faults),
	    cmocka_unit_test(test_mcp_import_package),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
