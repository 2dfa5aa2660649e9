/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `agentnode lock verify|seal`: the hashes of the lockfile, told one by one,
 * and made anew for a file that was edited on purpose. Called by
 * command_dispatch.
 */
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/command/command.h"
#include "supervisor/command/command_ledger.h"
#include "supervisor/command/command_option.h"
#include "supervisor/command/mcp_consent.h"
#include "supervisor/package/lockfile.h"
#include "supervisor/package/lockfile_hash.h"
#include "supervisor/policy/consent.h"
#include "supervisor/policy/guard_make.h"

struct command_lock_options {
	bool json, force;
	const char *lockfile;
};

static bool
command_lock_parse(
    int argc, char **argv, struct command_lock_options *options_r)
{
	static const struct option known[] = {{"json", no_argument, NULL, 'j'},
	    {"force", no_argument, NULL, 'f'},
	    {"lockfile", required_argument, NULL, 'l'}, {NULL, 0, NULL, 0}};
	int option;

	*options_r = (struct command_lock_options){false, false, NULL};
	while ((option = command_option_next(argc, argv, "", known)) != -1) {
		if (option == 'j')
			options_r->json = true;
		else if (option == 'f')
			options_r->force = true;
		else if (option == 'l')
			options_r->lockfile = optarg;
		else
			return false;
	}
	return optind == argc;
}

static json_t *
command_lock_statuses(const struct lockfile *lockfile, bool *ok_r)
{
	enum lockfile_hash_status status;
	json_t *rows = json_array(), *entry;
	const char *slug;

	json_object_foreach((json_t *)lockfile_entries(lockfile), slug, entry)
	{
		status = lockfile_hash_entry(entry);
		*ok_r = *ok_r && status == LOCKFILE_HASH_VERIFIED;
		json_array_append_new(
		    rows, json_pack("{s:s, s:s}", "package", slug, "status",
			      lockfile_hash_status_text(status)));
	}
	return rows;
}

static int
command_lock_report(
    const struct lockfile *lockfile, const char *path, bool json)
{
	enum lockfile_hash_status structure =
	    lockfile_hash_structure(lockfile_root(lockfile));
	bool ok = structure == LOCKFILE_HASH_VERIFIED;
	json_t *rows = command_lock_statuses(lockfile, &ok), *row, *answer;
	int code = ok ? COMMAND_DONE : COMMAND_NO;
	size_t i;

	if (json) {
		answer = json_pack("{s:b, s:s, s:s, s:s, s:O}", "ok", ok,
		    "lockfile", path, "detail", "", "structure",
		    lockfile_hash_status_text(structure), "packages", rows);
		command_print_json(answer);
		json_decref(answer);
		json_decref(rows);
		return code;
	}
	json_array_foreach(rows, i, row) printf("%-40s %s\n",
	    json_string_value(json_object_get(row, "package")),
	    json_string_value(json_object_get(row, "status")));
	printf("%-40s %s\n", "(all packages)",
	    lockfile_hash_status_text(structure));
	json_decref(rows);
	return ok ? code
		  : command_error(code,
			"%s does not verify; nothing is run from it", path);
}

/* Unreadable counts as "no": the exit code is 0 or 1. */
static int
command_lock_unreadable(
    const char *path, const struct json_fault *fault, bool json)
{
	json_t *answer;

	if (!json)
		return command_error(COMMAND_NO, "%s", fault->text);
	answer = json_pack("{s:b, s:s, s:s, s:s, s:[]}", "ok", 0, "lockfile",
	    path, "detail", fault->text, "structure", "invalid", "packages");
	command_print_json(answer);
	json_decref(answer);
	return COMMAND_NO;
}

static int
command_lock_verify(int argc, char **argv)
{
	struct command_lock_options options;
	struct json_fault fault = {""};
	struct lockfile *lockfile = NULL;
	char path[PATH_MAX] = "";
	enum result result;
	int code;

	if (!command_lock_parse(argc, argv, &options) || options.force)
		return command_option_fault("lock verify");
	result = lockfile_path(options.lockfile, path, sizeof(path), &fault);
	if (result == RESULT_OK)
		result = lockfile_load_unverified(path, &lockfile, &fault);
	if (result != RESULT_OK)
		return command_lock_unreadable(path, &fault, options.json);
	code = command_lock_report(lockfile, path, options.json);
	lockfile_free(&lockfile);
	return code;
}

/* A list of the file for the terminal: JSON, ASCII only, so that nothing in
 * it can pretend to be something else. */
static void
command_lock_show(const char *what, const json_t *value)
{
	char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_ENSURE_ASCII);

	if (text != NULL && json_is_null(value) == 0)
		printf("    %s %s\n", what, text);
	free(text);
}

/* What the user consents to, entry for entry. */
static void
command_lock_agreed(const char *slug, const json_t *entry)
{
	const struct mcp_consent_field *field = mcp_consent_fields;

	printf("  %s\n", slug);
	for (; field->key != NULL; field++) {
		const json_t *value = json_object_get(entry, field->key);

		if (value != NULL)
			command_lock_show(field->title, value);
	}
}

static enum result
command_lock_hashes(
    const json_t *entries, struct consent_item *items, size_t *count_r)
{
	enum result result = RESULT_OK;
	const char *slug;
	json_t *entry;

	*count_r = 0;
	json_object_foreach((json_t *)entries, slug, entry)
	{
		struct consent_item *item = &items[*count_r];

		item->slug = slug;
		result = lockfile_hash_consent(slug, entry, item->hash);
		if (result != RESULT_OK)
			return result;
		item->guard = guard_make_consent(entry);
		(*count_r)++;
	}
	return result;
}

/* To all of it, what its tools do included. */
static bool
command_lock_is_agreed(
    const json_t *before, const char *hash, const json_t *entry)
{
	json_t *guard = guard_make_consent(entry);
	bool agreed = consent_holds(before, hash) &&
		      json_equal(consent_guard(before, hash), guard) == 1;

	json_decref(guard);
	return agreed;
}

/* A record for each entry that had no consent yet, on disk before it has.
 * Exit code. */
static int
command_lock_record(
    const char *path, const json_t *entries, const json_t *before)
{
	struct command_ledger ledger = {NULL, NULL};
	char hash[DIGEST_HEX + 1];
	int code = COMMAND_DONE;
	const char *slug;
	json_t *entry;

	json_object_foreach((json_t *)entries, slug, entry)
	{
		if (lockfile_hash_consent(slug, entry, hash) == RESULT_OK &&
		    command_lock_is_agreed(before, hash, entry))
			continue;
		if (ledger.base == NULL)
			code = command_ledger_open(&ledger);
		if (code == COMMAND_DONE)
			code = command_ledger_write(&ledger, "consent",
			    mcp_consent_record(slug, entry, path));
		if (code != COMMAND_DONE)
			break;
	}
	command_ledger_close(&ledger);
	return code;
}

static enum result
command_lock_add(const json_t *entries, struct json_fault *fault)
{
	struct consent_item *items =
	    calloc(json_object_size(entries) + 1, sizeof(*items));
	enum result result = RESULT_NO_MEMORY;
	size_t count = 0;

	if (items != NULL)
		result = command_lock_hashes(entries, items, &count);
	if (result == RESULT_OK)
		result = consent_add(items, count, fault);
	for (size_t i = 0; i < count; i++)
		json_decref((json_t *)(uintptr_t)items[i].guard);
	free(items);
	return result;
}

/* Consent to what is in the file now that it is sealed, record it, and say
 * to what: all from one reading. */
static int
command_lock_consent(const char *path)
{
	struct lockfile *lockfile = NULL;
	struct json_fault fault = {""};
	json_t *before = NULL, *entry;
	enum result result = lockfile_load(path, &lockfile, &fault);
	int code = COMMAND_DONE;
	const json_t *entries;
	const char *slug;

	if (result == RESULT_OK)
		result = consent_load(&before, &fault);
	if (result == RESULT_OK) {
		entries = lockfile_entries(lockfile);
		code = command_lock_record(path, entries, before);
	}
	if (result == RESULT_OK && code == COMMAND_DONE)
		result = command_lock_add(entries, &fault);
	if (result != RESULT_OK) {
		code = command_fault(result, &fault);
	} else if (code == COMMAND_DONE) {
		printf("%s is sealed; on this host may run:\n", path);
		json_object_foreach((json_t *)entries, slug, entry)
		    command_lock_agreed(slug, entry);
	}
	json_decref(before);
	lockfile_free(&lockfile);
	return code;
}

static int
command_lock_seal(int argc, char **argv)
{
	struct command_lock_options options;
	struct json_fault fault = {""};
	char path[PATH_MAX] = "";
	enum result result;

	if (!command_lock_parse(argc, argv, &options) || options.json)
		return command_option_fault("lock seal");
	result = lockfile_path(options.lockfile, path, sizeof(path), &fault);
	if (result == RESULT_OK)
		result = lockfile_seal(path, options.force, &fault);
	return result == RESULT_OK ? command_lock_consent(path)
				   : command_fault(result, &fault);
}

const struct command command_lock_rows[] = {
    {"lock verify", "check the seals of agentnode.lock",
	"Usage: agentnode lock verify [--lockfile FILE] [--json]\n\n"
	"Compares the hash of every package and the digest over all. Exits 0\n"
	"when all fit, else 1. Nothing is ever run from a file that does not\n"
	"verify.\n\n"
	"Options:\n"
	"  --lockfile FILE   instead of ./agentnode.lock or\n"
	"                    AGENTNODE_HOME/agentnode.lock\n"
	"  --json            {\"ok\", \"lockfile\", \"structure\", "
	"\"packages\", \"detail\"}\n\n"
	"Example:\n"
	"  agentnode lock verify\n",
	command_lock_verify},
    {"lock seal", "seal an agentnode.lock that you edited",
	"Usage: agentnode lock seal [--force] [--lockfile FILE]\n\n"
	"Computes the hashes anew. Packages without a seal get one; changed\n"
	"ones need --force. A seal shows later changes; it is no signature.\n"
	"It is also your consent, on this host, to run every package of the\n"
	"file as it is: each is printed with its hosts and its folder, and\n"
	"recorded in the audit chain.\n\n"
	"Options:\n"
	"  --force           also seal packages whose hash does not fit\n"
	"  --lockfile FILE   instead of ./agentnode.lock or\n"
	"                    AGENTNODE_HOME/agentnode.lock\n\n"
	"Example:\n"
	"  agentnode lock seal\n",
	command_lock_seal},
    {NULL, NULL, NULL, NULL},
};
