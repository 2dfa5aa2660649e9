/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tells what is different for packages with a manifest; see install_pack.h.
 * It must never read a byte of the package itself, nor go on when anything
 * differs from what was shown.
 */
#include "supervisor/package/install_pack.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "supervisor/package/install_build.h"
#include "supervisor/package/install_entry.h"
#include "supervisor/package/install_pack_build.h"
#include "supervisor/package/manifest.h"
#include "supervisor/package/unpack_call.h"
#include "supervisor/policy/boundary.h"

#define INSTALL_PACK_CHUNK 262144U

static const char *
install_pack_text(const struct install_pack *pack, const char *key)
{
	return json_string_value(json_object_get(pack->read.manifest, key));
}

/* The bytes as they are, where nobody can change them any more. */
static enum result
install_pack_copy(struct install *install, int from, int to)
{
	static char bytes[INSTALL_PACK_CHUNK];
	int64_t left = config_int(install->config, "build.size");
	ssize_t got;

	for (;;) {
		got = read(from, bytes, sizeof(bytes));
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return install_fault_set(&install->fault, RESULT_BAD,
			    "tree_unreadable", "the archive: %m");
		if (got == 0)
			return RESULT_OK;
		left -= got;
		if (left < 0)
			return install_fault_set(&install->fault,
			    RESULT_REFUSED, "tree_too_big",
			    "the archive is larger than build.size");
		if (fd_write_all(to, bytes, (size_t)got) != RESULT_OK)
			return install_fault_set(&install->fault, RESULT_SYSTEM,
			    errno == ENOSPC ? "disk_full" : "home_unusable",
			    "the archive cannot be copied: %m");
	}
}

static enum result
install_pack_rewind(struct install *install, int fd)
{
	if (lseek(fd, 0, SEEK_SET) == 0)
		return RESULT_OK;
	return install_fault_set(&install->fault, RESULT_SYSTEM,
	    "home_unusable", "a temporary file cannot be read again: %m");
}

/* The artifact's hash; it must be the expected one if there is one. */
static enum result
install_pack_hash(struct install *install, struct install_pack *pack, int fd)
{
	const char *expected = pack->source->expected, *sum;
	json_t *total = NULL;
	enum result result = install_pack_build_ask(
	    install, UNPACK_JOB_HASH_FILE, json_object(), &fd, 1, &total);

	sum = json_string_value(json_object_get(total, "sha256"));
	if (result == RESULT_OK && (sum == NULL || strlen(sum) != 64))
		result = install_fault_set(&install->fault, RESULT_INTERNAL,
		    "unpack_failed", "agentnode-unpack gave no hash");
	if (result == RESULT_OK) {
		(void)snprintf(
		    pack->artifact, sizeof(pack->artifact), "sha256:%s", sum);
		result = install_pack_rewind(install, fd);
	}
	json_decref(total);
	if (result != RESULT_OK || expected == NULL ||
	    strcmp(expected, pack->artifact) == 0)
		return result;
	return install_fault_set(&install->fault, RESULT_MISMATCH,
	    "integrity_artifact", "the package is %s, and %.80s was expected",
	    pack->artifact, expected);
}

static enum result
install_pack_read(struct install *install, struct install_pack *pack, int fd)
{
	struct json_fault first = {""};
	size_t more;
	enum result result = pack_read_archive(
	    install->config, fd, &pack->read, &install->fault);

	if (result == RESULT_OK)
		result = install_pack_rewind(install, fd);
	if (result != RESULT_OK || pack->read.report.count == 0)
		return result;
	manifest_report_first(&pack->read.report, &first);
	more = pack->read.report.count - 1;
	return install_fault_set(&install->fault, RESULT_BAD,
	    "manifest_invalid", "%s%s%s",
	    strncmp(first.text, "manifest", 8) == 0 ? MANIFEST_FILE ": " : "",
	    first.text,
	    more > 0 ? "; 'agentnode validate' shows what else is wrong" : "");
}

/* A clean tar of the archive, without the folder in front. */
static enum result
install_pack_clean(struct install *install, struct install_pack *pack, int fd,
    struct install_tree *tree_r)
{
	int fds[2] = {fd, -1};
	json_t *total = NULL;
	enum result result = install_build_spool(install, &fds[1]);

	if (result == RESULT_OK)
		result =
		    install_pack_build_ask(install, UNPACK_JOB_ARCHIVE_TO_TAR,
			json_pack("{s:i}", "strip", pack->read.strip), fds, 2,
			&total);
	if (result == RESULT_OK)
		result = install_build_take(install, total, fds[1], tree_r);
	if (result == RESULT_OK)
		fds[1] = -1;
	json_decref(total);
	fd_close(&fds[1]);
	return result;
}

static enum result
install_pack_archive(struct install *install, struct install_pack *pack,
    struct install_tree *tree_r)
{
	int copy FD_CLEANUP = -1;
	enum result result = install_build_spool(install, &copy);

	if (result == RESULT_OK)
		result =
		    install_pack_copy(install, pack->source->archive_fd, copy);
	if (result == RESULT_OK)
		result = install_pack_rewind(install, copy);
	if (result == RESULT_OK)
		result = install_pack_hash(install, pack, copy);
	if (result == RESULT_OK)
		result = install_pack_read(install, pack, copy);
	if (result == RESULT_OK)
		result = install_pack_clean(install, pack, copy, tree_r);
	return result;
}

static enum result
install_pack_folder(struct install *install, struct install_pack *pack,
    struct install_tree *tree_r)
{
	enum result result;

	install_say(install, "reading %s", pack->source->folder);
	result = install_dir_read(install, tree_r);
	if (result == RESULT_OK)
		result = install_pack_hash(install, pack, tree_r->tar_fd);
	if (result == RESULT_OK)
		result = install_pack_read(install, pack, tree_r->tar_fd);
	return result;
}

/* Is it a kind that this installs, and the one that was asked for? */
static enum result
install_pack_kind(struct install *install, const struct install_pack *pack)
{
	const char *type = install_pack_text(pack, "package_type");
	const char *runtime = install_pack_text(pack, "runtime");

	if ((strcmp(type, "toolpack") == 0 || strcmp(type, "agent") == 0) &&
	    (runtime == NULL || strcmp(runtime, "python") == 0 ||
		strcmp(runtime, "node") == 0))
		return RESULT_OK;
	return install_fault_set(&install->fault, RESULT_REFUSED,
	    "package_type",
	    "the package is a %s of runtime %s: tool packs and agents of "
	    "python and node are installed here, MCP servers with 'agentnode "
	    "mcp install'",
	    type, runtime != NULL ? runtime : "python");
}

static enum result
install_pack_name(struct install *install, const struct install_pack *pack,
    struct install_request *request)
{
	const char *slug = install_pack_text(pack, "package_id");
	const char *version = install_pack_text(pack, "version");

	if ((request->slug[0] != '\0' && strcmp(request->slug, slug) != 0) ||
	    (request->pin.version[0] != '\0' &&
		strcmp(request->pin.version, version) != 0))
		return install_fault_set(&install->fault, RESULT_MISMATCH,
		    "integrity_artifact",
		    "the package says it is %s %s, and %s %s was expected",
		    slug, version, request->slug, request->pin.version);
	(void)snprintf(request->slug, sizeof(request->slug), "%s", slug);
	(void)snprintf(
	    request->pin.name, sizeof(request->pin.name), "%s", slug);
	(void)snprintf(
	    request->pin.version, sizeof(request->pin.version), "%s", version);
	return RESULT_OK;
}

/* May it run on the host, as the configuration is now, and does nothing
 * keep it in the sandbox? What the registry attested is proven again before
 * the entry is written. */
static void
install_pack_place(const struct install *install, struct install_pack *pack)
{
	const struct install_pack_source *source = pack->source;
	const char *level = json_string_value(json_object_get(
	    json_object_get(
		json_object_get(pack->read.manifest, "permissions"), "network"),
	    "level"));
	struct boundary_input input = {
	    .tier = source->attestation != NULL
			? tier_parse(source->trust_level)
			: TIER_UNVERIFIED,
	    .minimum = tier_parse(
		config_text(install->config, "trust.minimum_trust_level"))};

	pack->policy =
	    config_text(install->config, "sandbox.host_trust_policy");
	pack->on_host =
	    !source->sandbox && source->judge != NULL &&
	    (level == NULL || strcmp(level, "restricted") != 0) &&
	    boundary_policy_parse(pack->policy, &input.policy) &&
	    boundary_kind_parse(install_pack_text(pack, "package_type"),
		install_pack_text(pack, "runtime"), &input.kind) &&
	    input.kind == BOUNDARY_TOOLPACK &&
	    boundary_decide(&input).place == BOUNDARY_HOST;
}

const char *
install_pack_place_text(const struct install_pack *pack)
{
	return pack->on_host ? "on the host: a policy, not a boundary "
			       "(--sandbox: in the sandbox)"
			     : "in the sandbox";
}

enum result
install_pack_fetch(struct install *install, struct install_tree *tree_r)
{
	/* Both are install_pack_run's own. */
	struct install_request *request =
	    (struct install_request *)(uintptr_t)install->request;
	struct install_pack *pack =
	    (struct install_pack *)(uintptr_t)request->pack;
	enum result result;

	tree_r->tar_fd = -1;
	result = pack->source->folder != NULL
		     ? install_pack_folder(install, pack, tree_r)
		     : install_pack_archive(install, pack, tree_r);
	if (result == RESULT_OK)
		result = install_pack_kind(install, pack);
	if (result == RESULT_OK)
		result = install_pack_name(install, pack, request);
	if (result == RESULT_OK)
		install_pack_place(install, pack);
	if (result == RESULT_OK && pack->source->ask != NULL)
		result = pack->source->ask(install, pack->source->context);
	if (result == RESULT_OK)
		result = install_pack_build(install, pack, tree_r);
	return result;
}

enum result
install_pack_run(struct install *install, const struct install_request *request,
    const struct install_pack_source *source, char slug_r[SLUG_MAX + 1],
    json_t **entry_r)
{
	struct install_pack pack = {.source = source};
	struct install_request own = *request;
	enum result result;

	own.pack = &pack;
	own.pin.kind = PIN_DIR;
	if (source->folder != NULL)
		(void)snprintf(
		    own.pin.path, sizeof(own.pin.path), "%s", source->folder);
	install->request = &own;
	result = install_run(install, entry_r);
	install->request = request;
	(void)snprintf(slug_r, SLUG_MAX + 1, "%s", own.slug);
	pack_read_clear(&pack.read);
	json_decref(pack.dependencies);
	return result;
}

json_t *
install_pack_entry(const struct install_request *request,
    const struct install_tree *tree, const struct volume *volume)
{
	const struct install_pack *pack = request->pack;
	const struct install_pack_source *source = pack->source;
	bool is_agent =
	    strcmp(install_pack_text(pack, "package_type"), "agent") == 0;
	json_t *entry = is_agent ? manifest_agent_entry(pack->read.manifest)
				 : manifest_pack_entry(pack->read.manifest);
	char now[32];
	json_t *more;

	install_entry_time(now, sizeof(now));
	more = json_pack(
	    "{s:s,s:s,s:b,s:s,s:s,s:s,s:s,s:O*,s:O*,s:O*,s:s,s:s,s:s*,s:s*}",
	    "trust_level",
	    source->trust_level != NULL ? source->trust_level : "unverified",
	    "artifact_hash", pack->artifact, "sandboxed", !pack->on_host,
	    "sandbox_volume", volume->name, "volume_content_hash", tree->hash,
	    "volume_host_path", volume->path, "build_mode",
	    pack->on_host ? "host" : "sandbox_volume", "dependencies",
	    pack->dependencies, "attestation", source->attestation,
	    "_signatures", source->signatures, "installed_at", now, "source",
	    source->source, "host_path", pack->on_host ? volume->path : NULL,
	    "effective_host_trust_policy_at_install",
	    pack->on_host ? pack->policy : NULL);
	if (entry == NULL || more == NULL ||
	    json_object_update(entry, more) != 0) {
		json_decref(entry);
		entry = NULL;
	}
	json_decref(more);
	return entry;
}
