/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `agentnode verify`: do the volumes hold what the lockfile names? The same
 * check as before every start, by agentnode-unpack, without starting
 * anything. Called by command_dispatch.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/event_loop.h"
#include "common/fd.h"
#include "supervisor/command/command.h"
#include "supervisor/command/command_option.h"
#include "supervisor/engine/engine_host.h"
#include "supervisor/engine/volume_ask.h"
#include "supervisor/engine/volume_check.h"
#include "supervisor/package/lockfile.h"
#include "supervisor/policy/config.h"
#include "supervisor/policy/log_files.h"
#include "supervisor/policy/trust.h"

struct command_verify {
	bool json;
	const char *slug, *option; /* NULL: all; --lockfile */
	char path[PATH_MAX];
	struct lockfile *lockfile;
	struct config *config;
	struct engine_host host;
	bool has_host;
	struct event_base *base;
	char home[STATE_DIR_PATH_MAX];
	json_t *rows;
	int code; /* of the worst so far */
};

/* The answer about one volume. */
struct command_verify_one {
	struct event_base *base;
	enum result result;
	char detail[512];
};

static bool
command_verify_parse(int argc, char **argv, struct command_verify *verify_r)
{
	static const struct option known[] = {{"json", no_argument, NULL, 'j'},
	    {"lockfile", required_argument, NULL, 'l'}, {NULL, 0, NULL, 0}};
	int option;

	while ((option = command_option_next(argc, argv, "", known)) != -1) {
		if (option == 'j')
			verify_r->json = true;
		else if (option == 'l')
			verify_r->option = optarg;
		else
			return false;
	}
	verify_r->slug = optind < argc ? argv[optind] : NULL;
	return argc - optind <= 1;
}

static int
command_verify_open(struct command_verify *verify)
{
	struct engine_host_fault engine = {"", ""};
	struct json_fault fault = {""};
	enum result result = lockfile_path(
	    verify->option, verify->path, sizeof(verify->path), &fault);

	if (result == RESULT_OK)
		result = lockfile_load(verify->path, &verify->lockfile, &fault);
	if (result == RESULT_OK)
		result = config_load(&verify->config, &fault);
	if (result == RESULT_OK)
		result =
		    config_home(verify->home, sizeof(verify->home), &fault);
	if (result != RESULT_OK)
		return command_fault(result, &fault);
	if (engine_host_find(verify->config, &verify->host, &engine) !=
	    RESULT_OK)
		return command_error(COMMAND_UNAVAILABLE, "%s", engine.detail);
	verify->has_host = true;
	if (event_loop_new(&verify->base) != RESULT_OK)
		return command_error(COMMAND_INTERNAL, "out of memory");
	return COMMAND_DONE;
}

static void
command_verify_on_done(enum result result, const char *detail, void *context)
{
	struct command_verify_one *one = context;

	one->result = result;
	(void)snprintf(one->detail, sizeof(one->detail), "%s", detail);
	event_loop_stop(one->base);
}

/* Have the open folder hashed; takes it. */
static void
command_verify_hash(struct command_verify *verify, const char *name,
    const char *hash, int dir_fd, struct command_verify_one *one)
{
	struct volume_check_one volume = {.dir_fd = dir_fd};
	struct volume_check_spec spec = {.volumes = &volume,
	    .count = 1,
	    .no_landlock = config_override(verify->config, "no_landlock"),
	    .fast = false}; /* whoever asks wants the content read */
	struct volume_check *check = NULL;
	struct json_fault fault = {""};
	int log_fd FD_CLEANUP = -1;

	(void)snprintf(volume.volume, sizeof(volume.volume), "%s", name);
	(void)snprintf(volume.hash, sizeof(volume.hash), "%s", hash);
	one->base = verify->base;
	one->result =
	    log_files_open(verify->home, "agentnode-unpack", &log_fd, &fault);
	if (one->result != RESULT_OK) {
		(void)snprintf(
		    one->detail, sizeof(one->detail), "%s", fault.text);
		fd_close(&dir_fd);
		return;
	}
	spec.log_fd = log_fd;
	one->result = volume_check_start(
	    verify->base, &spec, command_verify_on_done, one, &check);
	if (one->result == RESULT_OK) {
		one->result = RESULT_INTERNAL;
		(void)event_loop_run(verify->base);
	} else
		(void)snprintf(one->detail, sizeof(one->detail),
		    "agentnode-unpack does not start");
	volume_check_free(&check);
}

/* Where the engine would mount it from, which must be what is recorded; -1
 * and RESULT_OK: the engine is asked for it. */
static int
command_verify_folder(const struct command_verify *verify, const json_t *entry,
    const char *name, struct command_verify_one *one)
{
	const char *recorded =
	    json_string_value(json_object_get(entry, "volume_host_path"));
	char path[PATH_MAX];
	int len = snprintf(path, sizeof(path), "%s/%s/_data",
	    verify->host.memory.volume_path, name);
	int fd = -1;

	if (len < 0 || (size_t)len >= sizeof(path) ||
	    strchr(name, '/') != NULL) {
		one->result = RESULT_MISMATCH;
		(void)snprintf(one->detail, sizeof(one->detail),
		    "the name of its volume is malformed");
	} else if (recorded != NULL && strcmp(recorded, path) != 0) {
		one->result = RESULT_MISMATCH;
		(void)snprintf(one->detail, sizeof(one->detail),
		    "it is recorded at %.200s, but the engine mounts %.200s",
		    recorded, path);
	} else if (!engine_memory_by_group(&verify->host.memory)) {
		fd =
		    open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		one->result = fd >= 0 ? RESULT_OK : RESULT_NOT_FOUND;
		if (fd < 0)
			(void)snprintf(one->detail, sizeof(one->detail),
			    "volume %s is not there: install it again", name);
	}
	return fd;
}

static void
command_verify_row(struct command_verify *verify, const char *slug,
    const json_t *entry, const char *status, const char *detail, int code)
{
	json_t *row = json_pack("{s:s, s:O?, s:O?, s:s, s:s}", "package", slug,
	    "version", json_object_get(entry, "version"), "volume",
	    lockfile_entry_volume(entry), "status", status, "detail", detail);

	/* Integrity is the worst that can be said. */
	if (code > verify->code)
		verify->code = code;
	if (row == NULL || json_array_append_new(verify->rows, row) != 0)
		verify->code = COMMAND_INTERNAL;
}

/* The tier that it claims to prove, and what there is without a volume. */
static bool
command_verify_without(
    struct command_verify *verify, const char *slug, const json_t *entry)
{
	const char *type =
	    json_string_value(json_object_get(entry, "package_type"));
	struct json_fault fault = {""};
	struct trust_verdict trust;

	if (trust_judge(verify->config, slug, entry, time(NULL), &trust,
		&fault) != RESULT_OK) {
		command_verify_row(verify, slug, entry, "untrusted", fault.text,
		    COMMAND_INTEGRITY);
		return true;
	}
	if (type == NULL || strcmp(type, "skill") != 0 ||
	    lockfile_entry_volume(entry) != NULL)
		return false;
	command_verify_row(verify, slug, entry, "verified",
	    "a skill runs no code and has no volume", COMMAND_DONE);
	return true;
}

static void
command_verify_entry(
    struct command_verify *verify, const char *slug, const json_t *entry)
{
	const char *name = json_string_value(lockfile_entry_volume(entry));
	const char *hash =
	    json_string_value(json_object_get(entry, "volume_content_hash"));
	struct command_verify_one one = {.detail = ""};
	int fd;

	if (command_verify_without(verify, slug, entry))
		return;
	if (name == NULL || hash == NULL) {
		command_verify_row(verify, slug, entry, "unsealed",
		    "it has no sealed volume, so it cannot run", COMMAND_NO);
		return;
	}
	fd = command_verify_folder(verify, entry, name, &one);
	if (fd < 0 && one.result == RESULT_OK)
		one.result = volume_ask(verify->config, &verify->host,
		    config_text(verify->config, "sandbox.image"), name, hash,
		    one.detail, sizeof(one.detail));
	else if (fd >= 0)
		command_verify_hash(verify, name, hash, fd, &one);
	if (one.result == RESULT_OK)
		command_verify_row(
		    verify, slug, entry, "verified", "", COMMAND_DONE);
	else if (one.result == RESULT_MISMATCH)
		command_verify_row(verify, slug, entry, "changed", one.detail,
		    COMMAND_INTEGRITY);
	else
		command_verify_row(verify, slug, entry,
		    one.result == RESULT_NOT_FOUND ? "missing" : "unknown",
		    one.detail, COMMAND_NO);
}

static int
command_verify_report(const struct command_verify *verify)
{
	const json_t *row;
	json_t *answer;
	size_t i;

	if (verify->json) {
		answer = json_pack("{s:b, s:s, s:O}", "ok",
		    verify->code == COMMAND_DONE, "lockfile", verify->path,
		    "packages", verify->rows);
		i = (size_t)command_print_json(answer);
		json_decref(answer);
		return i != COMMAND_DONE ? (int)i : verify->code;
	}
	json_array_foreach(verify->rows, i, row) printf("%-32s  %-9s  %s\n",
	    json_string_value(json_object_get(row, "package")),
	    json_string_value(json_object_get(row, "status")),
	    json_string_value(json_object_get(row, "detail")));
	return verify->code;
}

static int
command_verify_all(struct command_verify *verify)
{
	const json_t *all = lockfile_entries(verify->lockfile);
	const char *slug;
	json_t *entry;

	verify->rows = json_array();
	if (verify->slug == NULL) {
		json_object_foreach((json_t *)all, slug, entry)
		    command_verify_entry(verify, slug, entry);
		return command_verify_report(verify);
	}
	entry = (json_t *)lockfile_entry(verify->lockfile, verify->slug);
	if (entry == NULL)
		return command_error(COMMAND_NO,
		    "'%.64s' is not installed in %s; 'agentnode list' shows "
		    "what is",
		    verify->slug, verify->path);
	command_verify_entry(verify, verify->slug, entry);
	return command_verify_report(verify);
}

static int
command_verify_run(int argc, char **argv)
{
	struct command_verify verify;
	int code;

	memset(&verify, 0, sizeof(verify));
	if (!command_verify_parse(argc, argv, &verify))
		return command_option_fault("verify");
	code = command_verify_open(&verify);
	if (code == COMMAND_DONE)
		code = command_verify_all(&verify);
	json_decref(verify.rows);
	if (verify.base != NULL)
		event_base_free(verify.base);
	if (verify.has_host)
		engine_host_close(&verify.host);
	config_free(&verify.config);
	lockfile_free(&verify.lockfile);
	return code;
}

extern const struct command command_verify_rows[];
const struct command command_verify_rows[] = {
    {"verify", "compare installed packages with the lockfile",
	"Usage: agentnode verify [SLUG] [--lockfile FILE] [--json]\n\n"
	"Hashes the volume of the package, or of all, and compares with the\n"
	"lockfile, as before every start; an attestation that an entry "
	"carries\n"
	"must hold. Exits 0 when all are verified; 6 when one has changed or\n"
	"is untrusted; 1 when one is missing, has no seal or cannot be "
	"read.\n\n"
	"Options:\n"
	"  --lockfile FILE   instead of ./agentnode.lock or\n"
	"                    AGENTNODE_HOME/agentnode.lock\n"
	"  --json            {\"ok\", \"lockfile\", \"packages\": [...]}\n\n"
	"Example:\n"
	"  agentnode verify server-memory\n",
	command_verify_run},
    {NULL, NULL, NULL, NULL},
};
