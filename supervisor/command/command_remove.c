/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `agentnode remove`: takes a package out of the lockfile, and its sealed
 * volume out of the engine. Called by command_dispatch.
 */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "supervisor/command/command.h"
#include "supervisor/command/command_ledger.h"
#include "supervisor/package/lockfile.h"
#include "supervisor/package/volume.h"

struct command_remove {
	const char *slug, *option;
	bool keep_volume, json;
	char lockfile[4096];
	char volume[VOLUME_NAME_MAX]; /* "" : none, or another entry's too */
};

static bool
command_remove_parse(int argc, char **argv, struct command_remove *remove_r)
{
	static const struct option known[] = {
	    {"lockfile", required_argument, NULL, 'l'},
	    {"keep-volume", no_argument, NULL, 'k'},
	    {"json", no_argument, NULL, 'j'}, {NULL, 0, NULL, 0}};
	int option;

	*remove_r = (struct command_remove){.slug = NULL};
	opterr = 0;
	while ((option = getopt_long(argc, argv, "", known, NULL)) != -1) {
		if (option == 'l')
			remove_r->option = optarg;
		else if (option == 'k')
			remove_r->keep_volume = true;
		else if (option == 'j')
			remove_r->json = true;
		else
			return false;
	}
	if (argc - optind != 1)
		return false;
	remove_r->slug = argv[optind];
	return true;
}

static const char *
command_remove_volume_of(const json_t *entry)
{
	return json_string_value(json_object_get(entry, "mcp_sandbox_volume"));
}

/* The volume goes too, unless another entry of this lockfile has it. */
static void
command_remove_find_volume(
    struct command_remove *remove, const struct lockfile *lockfile)
{
	const char *volume =
	    command_remove_volume_of(lockfile_entry(lockfile, remove->slug));
	const char *slug, *other;
	json_t *entry;

	if (volume == NULL || remove->keep_volume)
		return;
	json_object_foreach((json_t *)lockfile_entries(lockfile), slug, entry)
	{
		other = command_remove_volume_of(entry);
		if (strcmp(slug, remove->slug) != 0 && other != NULL &&
		    strcmp(other, volume) == 0)
			return;
	}
	(void)snprintf(remove->volume, sizeof(remove->volume), "%s", volume);
}

static int
command_remove_look(struct command_remove *remove)
{
	struct json_fault fault = {""};
	struct lockfile *lockfile = NULL;
	enum result result = lockfile_path(
	    remove->option, remove->lockfile, sizeof(remove->lockfile), &fault);
	int code = COMMAND_DONE;

	if (result == RESULT_OK)
		result = lockfile_load(remove->lockfile, &lockfile, &fault);
	if (result == RESULT_NOT_FOUND)
		return command_error(
		    COMMAND_NO, "there is no lockfile %s", remove->lockfile);
	if (result != RESULT_OK)
		return command_fault(result, &fault);
	if (lockfile_entry(lockfile, remove->slug) == NULL)
		code = command_error(COMMAND_NO, "'%s' is not installed in %s",
		    remove->slug, remove->lockfile);
	else
		command_remove_find_volume(remove, lockfile);
	lockfile_free(&lockfile);
	return code;
}

static int
command_remove_entry(struct command_remove *remove)
{
	struct json_fault fault = {""};
	struct command_ledger ledger;
	enum result result;
	int code = command_ledger_open(&ledger);

	if (code == COMMAND_DONE)
		code = command_ledger_write(&ledger, "uninstall",
		    json_pack("{s:s,s:s,s:s}", "package", remove->slug,
			"lockfile", remove->lockfile, "volume",
			remove->volume));
	if (code == COMMAND_DONE) {
		result =
		    lockfile_put(remove->lockfile, remove->slug, NULL, &fault);
		if (result != RESULT_OK)
			code = command_fault(result, &fault);
	}
	command_ledger_close(&ledger);
	return code;
}

/* The entry is gone already; a volume in use stays, and is named. */
static int
command_remove_volume(const struct command_remove *remove)
{
	struct engine_host_fault engine = {"", ""};
	struct install_fault fault = {.code = ""};
	struct engine_host host;
	enum result result;

	if (remove->volume[0] == '\0')
		return COMMAND_DONE;
	if (engine_host_find(&host, &engine) != RESULT_OK)
		return command_error(COMMAND_UNAVAILABLE,
		    "%s is removed, but its volume %s stays: %s", remove->slug,
		    remove->volume, engine.detail);
	result = volume_remove(&host, remove->volume, &fault);
	engine_host_close(&host);
	if (result == RESULT_OK || result == RESULT_NOT_FOUND)
		return COMMAND_DONE;
	return command_error(COMMAND_UNAVAILABLE, "%s is removed, but %s",
	    remove->slug, fault.detail);
}

static int
command_remove_run(int argc, char **argv)
{
	struct command_remove remove;
	json_t *object;
	int code;

	if (!command_remove_parse(argc, argv, &remove))
		return command_option_fault("remove");
	code = command_remove_look(&remove);
	if (code == COMMAND_DONE)
		code = command_remove_entry(&remove);
	if (code == COMMAND_DONE)
		code = command_remove_volume(&remove);
	if (code != COMMAND_DONE || !remove.json)
		return code;
	object = json_pack("{s:b,s:s,s:s}", "ok", 1, "package", remove.slug,
	    "volume", remove.volume);
	code = command_print_json(object);
	json_decref(object);
	return code;
}

extern const struct command command_remove_rows[];
const struct command command_remove_rows[] = {
    {"remove", "take a package out of the lockfile, with its volume",
	"Usage: agentnode remove SLUG [--keep-volume] [--lockfile FILE] "
	"[--json]\n\n"
	"  --keep-volume    leave the sealed volume (another lockfile may\n"
	"                   name it too)\n"
	"  --lockfile FILE  instead of the one in force\n\n"
	"Example: agentnode remove server-memory\n",
	command_remove_run},
    {NULL, NULL, NULL, NULL},
};
