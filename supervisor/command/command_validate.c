/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `agentnode validate`: everything that is wrong with a package, for its
 * author and for CI. Needs no engine and changes nothing. Called by
 * command_dispatch.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "common/fd.h"
#include "supervisor/command/command.h"
#include "supervisor/command/command_option.h"
#include "supervisor/package/pack_read.h"
#include "supervisor/policy/config.h"

static enum result
command_validate_read(const struct config *config, const char *path,
    struct pack_read *read_r, struct install_fault *fault)
{
	int fd FD_CLEANUP = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat status;

	if (fd < 0 || fstat(fd, &status) != 0)
		return install_fault_set(
		    fault, RESULT_BAD, "folder_unusable", "%s: %m", path);
	if (S_ISDIR(status.st_mode))
		return pack_read_folder(config, path, read_r, fault);
	if (!S_ISREG(status.st_mode))
		return install_fault_set(fault, RESULT_BAD, "folder_unusable",
		    "%s is neither a folder nor an archive file", path);
	return pack_read_archive(config, fd, read_r, fault);
}

static void
command_validate_lines(const char *word, const json_t *list)
{
	json_t *item;
	size_t i;

	json_array_foreach((json_t *)list, i, item)
	{
		printf("%s: %s %s\n", word,
		    json_string_value(json_object_get(item, "path")),
		    json_string_value(json_object_get(item, "message")));
	}
}

/* Of a manifest that may have anything in it. */
static json_t *
command_validate_field(const struct pack_read *read, const char *key)
{
	json_t *value = json_object_get(read->manifest, key);

	return json_is_string(value) ? value : NULL;
}

static int
command_validate_print(const struct pack_read *read, bool json)
{
	bool ok = read->report.count == 0;
	json_t *object;

	if (json) {
		object = json_pack("{s:b,s:O*,s:O*,s:O*,s:O,s:O}", "ok", ok,
		    "package", command_validate_field(read, "package_id"),
		    "version", command_validate_field(read, "version"),
		    "package_type",
		    command_validate_field(read, "package_type"), "faults",
		    read->report.faults, "warnings", read->report.warnings);
		(void)command_print_json(object);
		json_decref(object);
		return ok ? COMMAND_DONE : COMMAND_NO;
	}
	command_validate_lines("fault", read->report.faults);
	command_validate_lines("warning", read->report.warnings);
	if (ok)
		printf("%s %s is valid\n",
		    json_string_value(
			command_validate_field(read, "package_id")),
		    json_string_value(command_validate_field(read, "version")));
	return ok ? COMMAND_DONE : COMMAND_NO;
}

/* What cannot be read as a package at all is one fault of it. */
static int
command_validate_run(const char *path, bool json)
{
	struct install_fault fault = {.code = ""};
	struct json_fault bad = {""};
	struct config *config = NULL;
	struct pack_read read = {.manifest = NULL};
	enum result result = config_load(&config, &bad);
	int code;

	if (result != RESULT_OK)
		return command_fault(result, &bad);
	result = command_validate_read(config, path, &read, &fault);
	if (result == RESULT_REFUSED) {
		manifest_report_fault(
		    &read.report, fault.code, "%s", fault.detail);
		result = RESULT_OK;
	}
	code =
	    result == RESULT_OK
		? command_validate_print(&read, json)
		: command_error(result == RESULT_BAD ? COMMAND_USAGE
						     : command_exit_of(result),
		      "%s (%s)", fault.detail, fault.code);
	pack_read_clear(&read);
	config_free(&config);
	return code;
}

static int
command_validate(int argc, char **argv)
{
	static const struct option known[] = {
	    {"json", no_argument, NULL, 'j'}, {NULL, 0, NULL, 0}};
	bool json = false;
	int option;

	while ((option = command_option_next(argc, argv, "", known)) != -1) {
		if (option != 'j')
			return command_option_fault("validate");
		json = true;
	}
	if (optind + 1 != argc)
		return command_option_fault("validate");
	return command_validate_run(argv[optind], json);
}

extern const struct command command_validate_rows[];
const struct command command_validate_rows[] = {
    {"validate", "say everything that is wrong with a package",
	"Usage: agentnode validate ./FOLDER | ./FILE.tar.gz [--json]\n\n"
	"Reads agentnode.yaml and what it names: fields, entry points, "
	"schemas,\nhosts, dependencies. Every fault has its path; nothing is "
	"installed, and\nnothing of the package runs. Exit code 0: valid, 1: "
	"it has faults, 2: it\ncannot be read.\n\n"
	"Example: agentnode validate ./my-tools\n",
	command_validate},
    {NULL, NULL, NULL, NULL},
};
