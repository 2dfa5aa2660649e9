/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What docker says of a container, judged: one field that is another one, or
 * not there, and it is not the container that was asked for. And the first
 * header of what it reads out of one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "supervisor/engine/docker_layout.h"
#include "supervisor/engine/docker_look.h"

static const char test_docker_look_text[] =
    "[{'Id':'ab','Name':'/agentnode-x','State':{'Running':true,'Pid':4711},"
    "'Config':{'User':'1879048200:1879048200'},'HostConfig':{"
    "'NetworkMode':'none','IpcMode':'private','PidMode':'','UTSMode':'',"
    "'UsernsMode':'','CgroupnsMode':'private','CapAdd':null,'CapDrop':['ALL'],"
    "'GroupAdd':null,'Devices':[],'DeviceRequests':null,"
    "'DeviceCgroupRules':null,'Binds':null,'VolumesFrom':null,'Links':null,"
    "'PortBindings':{},'Privileged':false,'ReadonlyRootfs':true,"
    "'SecurityOpt':['no-new-privileges','seccomp={}']},"
    "'Mounts':[{'Type':'volume','Name':'v','Driver':'local',"
    "'Source':'/d/volumes/v/_data','Destination':'/pack','RW':false}]},"
    "{'Name':'v','Driver':'local','Options':null,"
    "'Mountpoint':'/d/volumes/v/_data'}]";

/* The text with one part exchanged; quotes are ' for the eye. */
static enum result
test_docker_look_judge(const char *part, const char *instead)
{
	static const struct run_argv_mount mounts[] = {{"v", "/pack"}};
	static const struct docker_look_expected expected = {.id = "ab",
	    .name = "agentnode-x",
	    .pid = 4711,
	    .uid = 1879048200,
	    .mounts = mounts,
	    .mount_count = 1,
	    .volume_path = "/d/volumes"};
	const char *at = strstr(test_docker_look_text, part);
	char text[4096], detail[256] = "";
	enum result result;
	json_t *list;

	assert_non_null(at);
	(void)snprintf(text, sizeof(text), "%.*s%s%s",
	    (int)(at - test_docker_look_text), test_docker_look_text, instead,
	    at + strlen(part));
	for (char *one = text; *one != '\0'; one++)
		*one = *one == '\'' ? '"' : *one;
	list = json_loads(text, 0, NULL);
	assert_non_null(list);
	result = docker_look_judge(list, &expected, detail, sizeof(detail));
	json_decref(list);
	assert_true((result == RESULT_OK) == (detail[0] == '\0'));
	return result;
}

static void
test_docker_look_fields(void **state)
{
	static const struct {
		const char *part, *instead;
	} rows[] = {{"'ab'", "'ac'"}, {"'/agentnode-x'", "'agentnode-x'"},
	    {"'Running':true", "'Running':false"}, {"4711", "4712"},
	    {"4711", "'4711'"}, {"'1879048200:1879048200'", "''"},
	    {"'none'", "'host'"}, {"'private','PidMode'", "'host','PidMode'"},
	    {"'PidMode':''", "'PidMode':'host'"},
	    {"'UTSMode':''", "'UTSMode':'host'"},
	    {"'UsernsMode':''", "'UsernsMode':'host'"}, {"'UTSMode':'',", ""},
	    {"'CgroupnsMode':'private'", "'CgroupnsMode':'host'"},
	    {"'CapAdd':null", "'CapAdd':['SYS_ADMIN']"}, {"'CapAdd':null,", ""},
	    {"['ALL']", "['KILL']"}, {"['ALL']", "null"},
	    {"'GroupAdd':null", "'GroupAdd':['0']"},
	    {"'Devices':[]", "'Devices':[{}]"},
	    {"'Binds':null", "'Binds':['/:/host']"},
	    {"'VolumesFrom':null", "'VolumesFrom':['x']"},
	    {"'Privileged':false", "'Privileged':true"},
	    {"'ReadonlyRootfs':true", "'ReadonlyRootfs':false"},
	    {"'no-new-privileges',", ""}, {"seccomp={", "seccomp=unconfined{"},
	    {"'seccomp={}'", "'seccomp={}','apparmor=unconfined'"},
	    {"'Type':'volume'", "'Type':'bind'"}, {"'Name':'v'", "'Name':'w'"},
	    {"'Source':'/d/volumes/v/_data'", "'Source':'/etc'"},
	    {"'/pack'", "'/pack2'"}, {"'RW':false", "'RW':true"},
	    {"'RW':false}", "'RW':false},{}"},
	    {"'Options':null", "'Options':{'o':'bind'}"},
	    {"'Options':null,", ""},
	    {"'Mountpoint':'/d/volumes/v/_data'", "'Mountpoint':'/etc'"},
	    {",{'Name':'v'", ",{'Name':'w'"}};

	(void)state;
	assert_int_equal(test_docker_look_judge("", ""), RESULT_OK);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (test_docker_look_judge(rows[i].part, rows[i].instead) !=
		    RESULT_MISMATCH)
			fail_msg("taken: %s", rows[i].instead);
	}
}

static void
test_docker_look_header(void **state)
{
	static const struct {
		char flag;
		mode_t type;
	} rows[] = {{'0', S_IFREG}, {'2', S_IFLNK}, {'3', S_IFCHR},
	    {'5', S_IFDIR}, {'6', S_IFIFO}};
	char block[DOCKER_LAYOUT_BLOCK] = {0};
	size_t skip = 1;
	mode_t type;

	(void)state;
	assert_int_equal(docker_layout_header(block, &type, &skip), RESULT_BAD);
	memcpy(block + 257, "ustar", 5);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		block[156] = rows[i].flag;
		assert_int_equal(
		    docker_layout_header(block, &type, &skip), RESULT_OK);
		assert_int_equal(type, rows[i].type);
		assert_int_equal(skip, 0);
	}
	/* About the next one: its length is passed over, within a bound. */
	block[156] = 'x';
	memcpy(block + 124, "00000001001", 11);
	assert_int_equal(docker_layout_header(block, &type, &skip), RESULT_OK);
	assert_int_equal(type, 0);
	assert_int_equal(skip, 2);
	memcpy(block + 124, "77777777777", 11);
	assert_int_equal(docker_layout_header(block, &type, &skip), RESULT_BAD);
	memcpy(block + 124, "-0000000001", 11);
	assert_int_equal(docker_layout_header(block, &type, &skip), RESULT_BAD);
	block[156] = 'Z';
	assert_int_equal(docker_layout_header(block, &type, &skip), RESULT_BAD);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_docker_look_fields),
	    cmocka_unit_test(test_docker_look_header),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
