/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A manifest from arbitrary bytes: YAML to JSON to a checked manifest. What
 * passes has a lockfile part, and its parts are of the kinds that the
 * supervisor reads without asking.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/package/manifest.h"
#include "supervisor/unpack/yaml_json.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void
fuzz_manifest_entry(const json_t *manifest)
{
	json_t *entry = manifest_agent_entry(manifest);
	const json_t *agent = json_object_get(entry, "agent");
	const json_t *limits = json_object_get(agent, "limits");

	if (!json_is_object(agent) ||
	    json_string_value(json_object_get(agent, "goal")) == NULL ||
	    json_integer_value(json_object_get(limits, "max_runtime_seconds")) >
		3600 ||
	    !json_is_array(json_object_get(
		json_object_get(agent, "tool_access"), "allowed_packages")) ||
	    !json_is_boolean(json_object_get(
		json_object_get(agent, "llm_access"), "enabled")))
		abort();
	json_decref(entry);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct json_fault fault = {""};
	json_t *manifest = NULL;
	const char *type;

	if (yaml_json_parse((const char *)bytes, len, &manifest, &fault) !=
	    RESULT_OK) {
		if (fault.text[0] == '\0' || manifest != NULL)
			abort();
		return 0;
	}
	manifest_check(manifest, &fault);
	type = json_string_value(json_object_get(manifest, "package_type"));
	if (fault.text[0] == '\0' && strcmp(type, "agent") == 0)
		fuzz_manifest_entry(manifest);
	json_decref(manifest);
	return 0;
}
