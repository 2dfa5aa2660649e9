/* SPDX-License-Identifier: Apache-2.0 */
/* What an image may say about itself, and what it may not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/engine/image_check.h"

#define TEST_DIGEST \
	"sha256:"   \
	"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define TEST_IMAGE "localhost/sandbox@" TEST_DIGEST

static const struct {
	const char *name, *json;
	enum result want;
	const char *says;
} test_image_check_rows[] = {
    {"clean", "{'Digest':'D','Annotations':{},'Config':{}}", RESULT_OK, ""},
    {"null annotations", "{'Digest':'D','Annotations':null,'Config':{}}",
	RESULT_OK, ""},
    {"oci annotation",
	"{'Digest':'D','Annotations':{'org.opencontainers.image.created':'x'},"
	"'Config':{'Env':['A=b'],'Cmd':['sh']}}",
	RESULT_OK, ""},
    {"list digest", "{'Digest':'sha256:1','RepoDigests':['x@D'],'Config':{}}",
	RESULT_OK, ""},
    {"runtime annotation",
	"{'Digest':'D','Annotations':{'run.oci.seccomp_bpf_data':'x'},"
	"'Config':{}}",
	RESULT_REFUSED, "run.oci.seccomp_bpf_data"},
    {"prefix is not enough",
	"{'Digest':'D','Annotations':{'org.opencontainers.images':'x'},"
	"'Config':{}}",
	RESULT_REFUSED, "org.opencontainers.images"},
    {"annotations of another form",
	"{'Digest':'D','Annotations':['a'],'Config':{}}", RESULT_REFUSED,
	"annotations"},
    {"volume", "{'Digest':'D','Config':{'Volumes':{'/data':{}}}}",
	RESULT_REFUSED, "volumes"},
    {"health check",
	"{'Digest':'D','Config':{},'Healthcheck':{'Test':['CMD','x']}}",
	RESULT_REFUSED, "health check"},
    {"health check in the config",
	"{'Digest':'D','Config':{'Healthcheck':{'Test':['CMD']}}}",
	RESULT_REFUSED, "health check"},
    {"build trigger", "{'Digest':'D','Config':{'OnBuild':['RUN x']}}",
	RESULT_REFUSED, "build triggers"},
    {"label of somebody else's",
	"{'Digest':'D','Config':{'Labels':{'io.x':'1'}},'Labels':null}",
	RESULT_OK, ""},
    {"label of ours",
	"{'Digest':'D','Config':{'Labels':{'a':'b','agentnode.tmp':'0'}}}",
	RESULT_REFUSED, "the label agentnode.tmp"},
    {"label of ours, as podman repeats it",
	"{'Digest':'D','Config':{},'Labels':{'agentnode.run':'0'}}",
	RESULT_REFUSED, "the label agentnode.run"},
    {"labels of another form", "{'Digest':'D','Config':{'Labels':['a']}}",
	RESULT_REFUSED, "labels"},
    {"no config", "{'Digest':'D'}", RESULT_REFUSED, "configuration"},
    {"other digest", "{'Digest':'sha256:1','Config':{}}", RESULT_MISMATCH,
	"digest"},
    {"no object", "[]", RESULT_BAD, "form"},
};

/* Single quotes for double ones, D for the digest. */
static json_t *
test_image_check_load(const char *text)
{
	char json[1024] = "";
	size_t used = 0;
	json_t *value;

	for (; *text != '\0'; text++) {
		if (text[0] == 'D' && (text[1] == '\'')) {
			used += strlen(strcpy(json + used, TEST_DIGEST));
			continue;
		}
		json[used++] = *text == '\'' ? '"' : *text;
		json[used] = '\0';
	}
	value = json_loads(json, 0, NULL);
	assert_non_null(value);
	return value;
}

static void
test_image_check_table(void **state)
{
	size_t count =
	    sizeof(test_image_check_rows) / sizeof(test_image_check_rows[0]);

	(void)state;
	for (size_t i = 0; i < count; i++) {
		json_t *value =
		    test_image_check_load(test_image_check_rows[i].json);
		char detail[512] = "";
		enum result result = image_check_judge(
		    value, TEST_IMAGE, detail, sizeof(detail));

		if (result != test_image_check_rows[i].want ||
		    strstr(detail, test_image_check_rows[i].says) == NULL)
			fail_msg("%s: %s (%s)", test_image_check_rows[i].name,
			    result_text(result), detail);
		json_decref(value);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_image_check_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
