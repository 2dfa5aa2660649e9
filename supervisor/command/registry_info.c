/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows what a registry has; see registry_info.h. It must never show a row
 * of an index that did not verify.
 */
#include "supervisor/command/registry_info.h"

#include <stdio.h>
#include <time.h>

#include "supervisor/command/command.h"
#include "supervisor/package/registry.h"
#include "supervisor/package/slug.h"

static const char *
registry_info_text(const json_t *row, const char *key)
{
	const char *text = json_string_value(json_object_get(row, key));

	return text != NULL ? text : "";
}

static void
registry_info_rows(const json_t *facts)
{
	const json_t *row;
	size_t i;

	printf("%-10s %s\n%-10s %s, serial %" JSON_INTEGER_FORMAT
	       ", until %s\n%-10s %s\n",
	    "package", registry_info_text(facts, "package"), "registry",
	    registry_info_text(facts, "path"),
	    json_integer_value(json_object_get(facts, "serial")),
	    registry_info_text(facts, "expires"), "latest",
	    registry_info_text(facts, "latest"));
	json_array_foreach(json_object_get(facts, "versions"), i, row)
	{
		const char *code = registry_info_text(row, "code");

		printf("%-10s %-20s %-8s %s%s\n", "version",
		    registry_info_text(row, "version"),
		    registry_info_text(row, "kind"),
		    code[0] == '\0' ? registry_info_text(row, "tier")
				    : "refused: ",
		    code);
	}
}

int
registry_info_print(const char *slug, bool json)
{
	char code[TRUST_CODE_MAX] = "";
	struct json_fault fault = {""};
	struct config *config = NULL;
	json_t *facts = NULL;
	enum result result;
	int exit_code = COMMAND_DONE;

	if (!slug_is_valid(slug))
		return command_error(COMMAND_USAGE,
		    "'%.64s' is no slug: it has %s", slug, SLUG_RULE);
	result = config_load(&config, &fault);
	if (result == RESULT_OK)
		result = registry_facts(
		    config, slug, time(NULL), &facts, code, &fault);
	if (result != RESULT_OK)
		exit_code = command_error(result == RESULT_NOT_FOUND
					      ? COMMAND_NO
					      : command_exit_of(result),
		    "%s%s%s", code, code[0] != '\0' ? ": " : "", fault.text);
	else if (json)
		exit_code = command_print_json(facts);
	else
		registry_info_rows(facts);
	json_decref(facts);
	config_free(&config);
	return exit_code;
}
