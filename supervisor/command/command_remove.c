/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `agentnode remove`: takes a package out of the lockfile, its sealed volume
 * out of the engine, and what it saved out of our home. Called by
 * command_dispatch; it must never remove anything of a living run, nor a
 * volume that is not this package's.
 */
#include <stdio.h>
#include <string.h>

#include "common/fd.h"
#include "supervisor/command/command.h"
#include "supervisor/command/command_ledger.h"
#include "supervisor/command/command_option.h"
#include "supervisor/command/living_run.h"
#include "supervisor/command/mcp_state.h"
#include "supervisor/engine/volume_seal.h"
#include "supervisor/host/work_home.h"
#include "supervisor/package/lockfile.h"
#include "supervisor/package/lockfile_hash.h"
#include "supervisor/package/volume.h"
#include "supervisor/package/volume_users.h"
#include "supervisor/policy/config.h"
#include "supervisor/policy/consent.h"
#include "supervisor/policy/trust_bound.h"

struct command_remove {
	const char *slug, *option;
	bool keep_volume, keep_state, json;
	char lockfile[4096];
	char volume[VOLUME_NAME_MAX]; /* "" : none, or another entry's too */
	char consent[DIGEST_HEX + 1]; /* hash of the entry */
	char bound[DIGEST_HEX + 1];   /* the same for trust_bound */
	struct mcp_state state;       /* locked: no run begins meanwhile */
	uint64_t saved;               /* bytes of it that were removed */
};

static bool
command_remove_parse(int argc, char **argv, struct command_remove *remove_r)
{
	static const struct option known[] = {
	    {"lockfile", required_argument, NULL, 'l'},
	    {"keep-volume", no_argument, NULL, 'k'},
	    {"keep-state", no_argument, NULL, 's'},
	    {"json", no_argument, NULL, 'j'}, {NULL, 0, NULL, 0}};
	int option;

	*remove_r =
	    (struct command_remove){.state = {.dir = {.fd = -1}, .lock = -1}};
	while ((option = command_option_next(argc, argv, "", known)) != -1) {
		if (option == 'l')
			remove_r->option = optarg;
		else if (option == 'k')
			remove_r->keep_volume = true;
		else if (option == 's')
			remove_r->keep_state = true;
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
	return json_string_value(lockfile_entry_volume(entry));
}

/* Named as install names the volume of this entry: a lockfile must not get
 * another volume removed. */
static bool
command_remove_is_ours(
    const char *slug, const char *volume, const json_t *entry)
{
	const char *hash =
	    json_string_value(json_object_get(entry, "volume_content_hash"));
	char begin[96], end[16];
	size_t begin_len, end_len, len = strlen(volume);

	if (hash == NULL || strncmp(hash, "sha256:", 7) != 0)
		return false;
	begin_len = (size_t)snprintf(
	    begin, sizeof(begin), "agentnode-pack-%.60s-", slug);
	end_len = (size_t)snprintf(end, sizeof(end), "-%.8s", hash + 7);
	return len > begin_len + end_len && len < VOLUME_NAME_MAX &&
	       strncmp(volume, begin, begin_len) == 0 &&
	       strcmp(volume + len - end_len, end) == 0;
}

/* The volume goes too, unless another entry of this lockfile has it. */
static void
command_remove_find_volume(
    struct command_remove *remove, const struct lockfile *lockfile)
{
	const json_t *mine = lockfile_entry(lockfile, remove->slug);
	const char *volume = command_remove_volume_of(mine);
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
	if (command_remove_is_ours(remove->slug, volume, mine))
		(void)snprintf(
		    remove->volume, sizeof(remove->volume), "%s", volume);
	else
		(void)command_error(COMMAND_DONE,
		    "volume %.160s stays: it has no name that an installation "
		    "of %s makes",
		    volume, remove->slug);
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
	if (result != RESULT_OK)
		return command_fault(result, &fault);
	if (lockfile_entry(lockfile, remove->slug) == NULL)
		code = command_error(COMMAND_NO, "'%s' is not installed in %s",
		    remove->slug, remove->lockfile);
	else {
		command_remove_find_volume(remove, lockfile);
		result = lockfile_hash_consent(remove->slug,
		    lockfile_entry(lockfile, remove->slug), remove->consent);
		if (result == RESULT_OK)
			result = trust_bound_hash(remove->slug,
			    lockfile_entry(lockfile, remove->slug),
			    remove->bound);
		if (result != RESULT_OK)
			code = command_fault(result, &fault);
	}
	lockfile_free(&lockfile);
	return code;
}

/* Nothing of a living run is removed, and none with a state begins. */
static int
command_remove_idle(struct command_remove *remove)
{
	struct json_fault fault = {""};
	char run[RUN_LOCK_ID_MAX];
	enum result result = living_run_find(remove->slug, run, &fault);

	if (result == RESULT_OK && run[0] != '\0')
		return command_error(COMMAND_NO,
		    "%s is running (run %s): end that run first", remove->slug,
		    run);
	if (result == RESULT_OK)
		result =
		    mcp_state_open(remove->slug, true, &remove->state, &fault);
	if (result == RESULT_EXISTS)
		return command_error(
		    COMMAND_NO, "%s: end that run first", fault.text);
	return result == RESULT_OK ? COMMAND_DONE
				   : command_fault(result, &fault);
}

static int
command_remove_saved(struct command_remove *remove)
{
	struct json_fault fault = {""};
	enum result result;

	if (remove->keep_state)
		return COMMAND_DONE;
	(void)mcp_state_size(&remove->state, remove->slug, &remove->saved);
	result = mcp_state_remove(&remove->state, remove->slug, &fault);
	return result == RESULT_OK ? COMMAND_DONE
				   : command_fault(result, &fault);
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
		    json_pack("{s:s,s:s,s:s,s:b}", "package", remove->slug,
			"lockfile", remove->lockfile, "volume", remove->volume,
			"keep_state", remove->keep_state));
	if (code == COMMAND_DONE) {
		result =
		    lockfile_put(remove->lockfile, remove->slug, NULL, &fault);
		if (result == RESULT_OK)
			result = consent_drop(remove->consent, &fault);
		if (result == RESULT_OK)
			result = trust_bound_drop(
			    remove->slug, remove->bound, &fault);
		if (result != RESULT_OK)
			code = command_fault(result, &fault);
	}
	command_ledger_close(&ledger);
	return code;
}

/* What was remembered of its content goes with it. */
static void
command_remove_seal(const char *name)
{
	struct json_fault unused = {""};
	struct volume_seal seal;

	if (volume_seal_open(&seal, &unused) == RESULT_OK)
		volume_seal_forget(&seal, name);
	volume_seal_close(&seal);
}

/* The engine says that it is gone, and so does its folder. */
static enum result
command_remove_from(const struct engine_host *host, const struct volume *volume,
    struct install_fault *fault)
{
	enum result result = volume_remove(host, volume->name, fault);

	if (result != RESULT_OK && result != RESULT_NOT_FOUND)
		return result;
	command_remove_seal(volume->name);
	result = volume_find(host, volume);
	if (result == RESULT_NOT_FOUND) {
		volume_forget_users(host, volume);
		return RESULT_OK;
	}
	return install_fault_set(fault, RESULT_SYSTEM, "volume_failed",
	    "the volume %s is still at %s", volume->name, volume->path);
}

/* Unless another lockfile names it: both under the lock of its users. */
static enum result
command_remove_unused(struct command_remove *remove,
    const struct engine_host *host, struct install_fault *fault)
{
	struct json_fault why = {""};
	struct volume_users users;
	struct volume volume = {.name = ""};
	const char *other;
	enum result result;

	if (!volume_is_ours(host, remove->volume)) {
		(void)command_error(COMMAND_DONE,
		    "volume %s stays: another user or AGENTNODE_HOME made it",
		    remove->volume);
		remove->volume[0] = '\0';
		return RESULT_OK;
	}
	users = (struct volume_users){.dir = {.fd = -1}, .lock = -1};
	result = volume_place(host, remove->volume, &volume);
	if (result == RESULT_OK)
		result = volume_users_begin(&volume, &users, &why);
	if (result == RESULT_OK &&
	    (other = volume_users_other(
		 &users, remove->lockfile, remove->volume)) != NULL) {
		(void)command_error(COMMAND_DONE,
		    "volume %s stays: %s names it too", remove->volume, other);
		remove->volume[0] = '\0';
	} else if (result == RESULT_OK || result == RESULT_NOT_FOUND)
		result = command_remove_from(host, &volume, fault);
	else
		(void)install_fault_set(fault, result, "volume_failed",
		    "its volume %s stays: %s", remove->volume, why.text);
	volume_users_end(&users);
	return result;
}

/* The entry is gone already; a volume in use stays, and is named. */
static int
command_remove_volume(struct command_remove *remove)
{
	struct engine_host_fault engine = {"", ""};
	struct install_fault fault = {.code = ""};
	struct json_fault unread = {""};
	struct config *config = NULL;
	struct engine_host host;
	enum result result;

	if (remove->volume[0] == '\0')
		return COMMAND_DONE;
	result = config_load(&config, &unread);
	if (result == RESULT_OK)
		result = engine_host_find(config, &host, &engine);
	config_free(&config);
	if (result != RESULT_OK)
		return command_error(COMMAND_UNAVAILABLE,
		    "%s is removed, but its volume %s stays: %s", remove->slug,
		    remove->volume,
		    unread.text[0] != '\0' ? unread.text : engine.detail);
	result = command_remove_unused(remove, &host, &fault);
	engine_host_close(&host);
	if (result == RESULT_OK)
		return COMMAND_DONE;
	return command_error(COMMAND_UNAVAILABLE, "%s is removed, but %s",
	    remove->slug, fault.detail);
}

/* Its HOME and TMPDIR, where it ran on the host. */
static int
command_remove_home(const struct command_remove *remove)
{
	struct json_fault fault = {""};
	char home[STATE_DIR_PATH_MAX];
	enum result result = config_home(home, sizeof(home), &fault);

	if (remove->keep_state)
		return COMMAND_DONE;
	if (result == RESULT_OK)
		result = work_home_remove(home, remove->slug);
	if (result == RESULT_OK)
		return COMMAND_DONE;
	return command_error(COMMAND_UNAVAILABLE,
	    "%s is removed, but something of it stays in %s/host/%s",
	    remove->slug, home, remove->slug);
}

static int
command_remove_report(const struct command_remove *remove)
{
	json_t *object;
	int code;

	if (!remove->json) {
		printf("%s removed%s%s%s\n", remove->slug,
		    remove->volume[0] != '\0' ? ", with its volume " : "",
		    remove->volume,
		    remove->saved > 0 ? " and its saved state" : "");
		return COMMAND_DONE;
	}
	object = json_pack("{s:b,s:s,s:s,s:I}", "ok", 1, "package",
	    remove->slug, "volume", remove->volume, "saved_bytes",
	    (json_int_t)remove->saved);
	code = command_print_json(object);
	json_decref(object);
	return code;
}

static int
command_remove_run(int argc, char **argv)
{
	struct command_remove remove;
	int code, volume_code;

	if (!command_remove_parse(argc, argv, &remove))
		return command_option_fault("remove");
	code = command_remove_look(&remove);
	if (code == COMMAND_DONE)
		code = command_remove_idle(&remove);
	if (code == COMMAND_DONE)
		code = command_remove_entry(&remove);
	if (code == COMMAND_DONE) {
		volume_code = command_remove_volume(&remove);
		code = command_remove_saved(&remove);
		if (code == COMMAND_DONE)
			code = command_remove_home(&remove);
		if (volume_code != COMMAND_DONE)
			code = volume_code;
	}
	mcp_state_close(&remove.state);
	return code == COMMAND_DONE ? command_remove_report(&remove) : code;
}

extern const struct command command_remove_rows[];
const struct command command_remove_rows[] = {
    {"remove", "take a package out of the lockfile, with all it has",
	"Usage: agentnode remove SLUG [--keep-volume] [--keep-state]\n"
	"         [--lockfile FILE] [--json]\n\n"
	"Takes the package out of the lockfile, then removes its sealed\n"
	"volume and what it saved. The audit record is written first. A\n"
	"package that is running is refused, with the id of the run.\n\n"
	"Options:\n"
	"  --keep-volume     leave the sealed volume; it stays anyway while\n"
	"                    another lockfile names it\n"
	"  --keep-state      leave what it saved for a later installation, "
	"and its\n                    HOME on the host\n"
	"  --lockfile FILE   instead of ./agentnode.lock or\n"
	"                    AGENTNODE_HOME/agentnode.lock\n"
	"  --json            {\"ok\", \"package\", \"volume\", "
	"\"saved_bytes\"}\n\n"
	"Example:\n"
	"  agentnode remove server-memory\n",
	command_remove_run},
    {NULL, NULL, NULL, NULL},
};
