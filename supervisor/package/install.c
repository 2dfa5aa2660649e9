/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tells the story of an installation; see install.h. The audit record is
 * on disk before the lockfile changes; a volume made for an installation
 * that fails is removed again.
 */
#include "supervisor/package/install.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/fd.h"
#include "supervisor/engine/run_lock.h"
#include "supervisor/engine/volume_ask.h"
#include "supervisor/package/install_build.h"
#include "supervisor/package/install_entry.h"
#include "supervisor/package/install_facts.h"
#include "supervisor/package/install_pack.h"
#include "supervisor/package/install_scratch.h"
#include "supervisor/package/lockfile.h"
#include "supervisor/package/lockfile_hash.h"
#include "supervisor/package/volume.h"
#include "supervisor/package/volume_users.h"
#include "supervisor/policy/consent.h"
#include "supervisor/policy/guard_make.h"
#include "supervisor/policy/trust_bound.h"

void
install_say(struct install *install, const char *format, ...)
{
	char line[512];
	va_list args;

	if (install->progress == NULL)
		return;
	va_start(args, format);
	(void)vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	install->progress(line);
}

/* Get the tree: from a registry in a sandbox, or from a folder. */
static enum result
install_fetch(struct install *install, struct install_tree *tree_r)
{
	struct install_build_plan plan = {.egress = NULL};
	enum result result = RESULT_INTERNAL;

	if (install->request->pack != NULL)
		return install_pack_fetch(install, tree_r);
	switch (install->request->pin.kind) {
	case PIN_NPM:
		result = install_npm_plan(install, &plan);
		break;
	case PIN_PYPI:
		result = install_pypi_plan(install, &plan);
		break;
	case PIN_DIR:
		install_say(install, "reading %s", install->request->pin.path);
		return install_dir_read(install, tree_r);
	}
	if (result == RESULT_OK) {
		install_say(install, "building %s %s in a sandbox",
		    install->request->pin.name, install->request->pin.version);
		result = install_build_run(install, &plan, tree_r);
	}
	install_build_plan_clear(&plan);
	return result;
}

static enum result
install_fill(struct install *install, const struct install_tree *tree,
    const char *version, const struct volume *volume)
{
	return volume_fill(install->host, volume, install->request->slug,
	    version, tree->hash, install->run, tree->tar_fd, &install->fault);
}

/* The daemon reads the volume out; what its facts are read from is the tar
 * that it was filled from, which has the same hash. A package with a manifest
 * has told them already. */
static enum result
install_verify_asked(struct install *install, const struct install_tree *tree,
    const struct volume *volume, int *root_r)
{
	char detail[512] = "";
	enum result result =
	    volume_ask(install->config, install->host, install->host->image,
		volume->name, tree->hash, detail, sizeof(detail));

	if (result != RESULT_OK)
		return install_fault_set(&install->fault, result,
		    result == RESULT_MISMATCH ? "integrity_volume"
					      : "volume_failed",
		    "%s", detail);
	return install->request->pack != NULL
		   ? RESULT_OK
		   : install_scratch_make(install, tree, volume, root_r);
}

/* Open the mountpoint and compare what is there with what was judged. */
static enum result
install_verify(struct install *install, const struct install_tree *tree,
    const struct volume *volume, int *root_r)
{
	enum result result;

	if (engine_memory_by_group(&install->host->memory))
		return install_verify_asked(install, tree, volume, root_r);
	result = volume_open(volume, root_r);
	if (result != RESULT_OK)
		return install_fault_set(&install->fault, RESULT_UNSUPPORTED,
		    "volume_failed", "the volume is not at %s: %m",
		    volume->path);
	return install_facts_verify(install, *root_r, tree->hash);
}

/* A volume of that name: the same, or what an installation that was killed
 * left behind, which is replaced. */
static enum result
install_reuse(struct install *install, const struct install_tree *tree,
    const char *version, const struct volume *volume, int *root_r, bool *made_r)
{
	enum result result = install_verify(install, tree, volume, root_r);

	if (result != RESULT_MISMATCH)
		return result;
	fd_close(root_r);
	install->fault = (struct install_fault){.code = ""};
	result = volume_remove(install->host, volume->name, &install->fault);
	if (result == RESULT_OK)
		result = install_fill(install, tree, version, volume);
	*made_r = result == RESULT_OK;
	if (result == RESULT_OK)
		result = install_verify(install, tree, volume, root_r);
	return result;
}

/* The volume on disk, verified. *made_r: it is new, and goes again when
 * the rest fails. */
static enum result
install_seal(struct install *install, const struct install_tree *tree,
    const char *version, struct volume *volume_r, bool *made_r, int *root_r)
{
	enum result result = volume_plan(install->host, install->request->slug,
	    version, tree->hash, volume_r, &install->fault);

	if (result != RESULT_OK)
		return result;
	install_say(install, "sealing %llu files, %llu bytes as %s",
	    (unsigned long long)tree->files, (unsigned long long)tree->bytes,
	    volume_r->name);
	result = install_fill(install, tree, version, volume_r);
	*made_r = result == RESULT_OK;
	if (result == RESULT_EXISTS)
		return install_reuse(
		    install, tree, version, volume_r, root_r, made_r);
	if (result != RESULT_OK)
		return result;
	return install_verify(install, tree, volume_r, root_r);
}

/* Before the lockfile: an entry is never there without it. */
static enum result
install_consent(struct install *install, const json_t *entry)
{
	struct consent_item item = {.slug = install->request->slug};
	struct json_fault fault = {""};
	enum result result = lockfile_hash_consent(item.slug, entry, item.hash);
	json_t *guard = guard_make_consent(entry);

	item.guard = guard;
	if (result == RESULT_OK)
		result = consent_add(&item, 1, &fault);
	json_decref(guard);
	if (result == RESULT_OK)
		return RESULT_OK;
	return install_fault_set(&install->fault, result, "consent_failed",
	    "%s", fault.text[0] != '\0' ? fault.text : result_text(result));
}

/* From here on this host knows that the entry was made from the attested
 * artifact: what was fetched had the hash that was proven. One for the
 * sandbox, attested or not, ends what was bound for the host. */
static enum result
install_bind(struct install *install, const json_t *entry)
{
	const char *slug = install->request->slug;
	struct json_fault fault = {""};
	enum result result = RESULT_OK;

	if (json_is_object(json_object_get(entry, "attestation")))
		result = trust_bound_add(slug, entry, &fault);
	else if (json_object_get(entry, "host_path") == NULL)
		result = trust_bound_drop(slug, NULL, &fault);
	if (result == RESULT_OK)
		return RESULT_OK;
	return install_fault_set(&install->fault, result, "trust_failed", "%s",
	    fault.text[0] != '\0' ? fault.text : result_text(result));
}

/* Tier and key, when a registry attests it; NULL: none does. */
static json_t *
install_attested(const json_t *entry)
{
	const json_t *attestation = json_object_get(entry, "attestation");

	if (!json_is_object(attestation))
		return NULL;
	return json_pack("{s:O, s:O, s:O}", "tier",
	    json_object_get(attestation, "tier"), "registry_key",
	    json_object_get(attestation, "registry_key"), "expires",
	    json_object_get(attestation, "expires"));
}

/* Names: a record holds no content. NULL: none. */
static json_t *
install_env_names(const json_t *env)
{
	json_t *names = NULL, *value;
	const char *name;

	json_object_foreach((json_t *)env, name, value)
	{
		if (names == NULL)
			names = json_array();
		(void)json_array_append_new(names, json_string(name));
	}
	return names;
}

/* [{"name",...}] as names alone: a record is one datagram. */
static json_t *
install_names(const json_t *list)
{
	json_t *names, *item;
	size_t i;

	if (!json_is_object(json_array_get(list, 0)))
		return json_incref((json_t *)(uintptr_t)list);
	names = json_array();
	json_array_foreach((json_t *)list, i, item)
	{
		(void)json_array_append(names, json_object_get(item, "name"));
	}
	return names;
}

/* What the audit chain says of it; null stands for what is not there. */
static json_t *
install_record_fields(const struct install *install, const json_t *entry)
{
	const struct install_request *request = install->request;

	return json_pack("{s:s,s:O,s:O,s:O*,s:O*,s:O*,s:O*,s:O*,s:O*,s:O*,s:o*,"
			 "s:o*,s:o*,s:O*,s:s,"
			 "s:b,s:o*}",
	    "package", request->slug, "version",
	    json_object_get(entry, "version"), "artifact_hash",
	    json_object_get(entry, "artifact_hash"), "build_mode",
	    json_object_get(entry, "build_mode"), "mcp_install",
	    json_object_get(entry, "mcp_install"), "allowed_domains",
	    json_object_get(entry, "mcp_allowed_domains"), "permissions",
	    request->pack != NULL ? json_object_get(entry, "permissions")
				  : NULL,
	    "agent", json_object_get(entry, "agent"), "files",
	    json_object_get(entry, "files"), "state",
	    json_object_get(entry, "state"), "tools",
	    install_names(json_object_get(entry, "tools")), "env_requirements",
	    install_names(json_object_get(entry, "env_requirements")), "env",
	    install_env_names(request->env), "secrets",
	    json_object_get(entry, "mcp_env_keys"), "lockfile",
	    request->lockfile, "scripts", request->allow_scripts, "attested",
	    install_attested(entry));
}

static enum result
install_record(struct install *install, const json_t *entry)
{
	const struct install_request *request = install->request;
	struct json_fault fault = {""};
	json_t *fields = install_record_fields(install, entry);
	enum result result =
	    fields == NULL ? RESULT_NO_MEMORY
			   : audit_write(install->audit, "install", fields);

	json_decref(fields);
	if (result != RESULT_OK)
		return install_fault_set(&install->fault, RESULT_INTERNAL,
		    "audit_failed",
		    "the audit record could not be written: nothing was "
		    "installed");
	result = install_consent(install, entry);
	if (result == RESULT_OK)
		result = install_bind(install, entry);
	if (result != RESULT_OK)
		return result;
	result = lockfile_put(request->lockfile, request->slug, entry, &fault);
	if (result != RESULT_OK)
		return install_fault_set(&install->fault, result,
		    "lockfile_failed", "%s", fault.text);
	return RESULT_OK;
}

/* The lockfile is written while the volume cannot be removed, and after it
 * is known that this lockfile names it. */
static enum result
install_take(
    struct install *install, const struct volume *volume, const json_t *entry)
{
	struct json_fault fault = {""};
	struct volume_users users;
	enum result result = volume_users_begin(volume, &users, &fault);

	if (result == RESULT_OK)
		result = volume_users_add(
		    &users, install->request->lockfile, &fault);
	if (result != RESULT_OK)
		(void)install_fault_set(&install->fault, result,
		    "volume_failed", "the volume %s cannot be taken: %s",
		    volume->name,
		    fault.text[0] != '\0' ? fault.text
					  : "it was removed; install again");
	else
		result = install_record(install, entry);
	volume_users_end(&users);
	return result;
}

/* What the caller has to say to the finished entry. */
static enum result
install_judge(struct install *install, json_t *entry)
{
	const struct install_request *request = install->request;
	const struct install_pack *pack = request->pack;

	if (pack == NULL && request->attest != NULL)
		return request->attest(install, entry, request->context);
	if (pack == NULL || pack->source->judge == NULL)
		return RESULT_OK;
	return pack->source->judge(install, entry, pack->source->context);
}

static enum result
install_finish(
    struct install *install, const struct install_tree *tree, json_t **entry_r)
{
	const struct pin *pin = &install->request->pin;
	struct install_facts facts = {.dependencies = NULL};
	struct install_fault unused = {.code = ""};
	struct volume volume = {.name = ""};
	int root FD_CLEANUP = -1;
	bool made = false;
	enum result result;

	result = install_seal(install, tree,
	    pin->version[0] == '\0' ? "0" : pin->version, &volume, &made,
	    &root);
	if (result == RESULT_OK)
		result = install_facts_read(install, root, tree->hash, &facts);
	if (result == RESULT_OK) {
		*entry_r =
		    install_entry_make(install->request, tree, &facts, &volume);
		result = *entry_r == NULL ? RESULT_NO_MEMORY
					  : install_judge(install, *entry_r);
	}
	if (result == RESULT_OK)
		result = install_take(install, &volume, *entry_r);
	install_facts_clear(&facts);
	fd_close(&root);
	if (engine_memory_by_group(&install->host->memory))
		install_scratch_remove(&volume);
	if (result != RESULT_OK && made)
		(void)volume_remove(install->host, volume.name, &unused);
	return result;
}

enum result
install_run(struct install *install, json_t **entry_r)
{
	struct install_tree tree = {.tar_fd = -1};
	struct run_lock lock;
	enum result result = install_fetch(install, &tree);

	*entry_r = NULL;
	if (result == RESULT_OK &&
	    run_lock_new(&install->host->files, &lock) != RESULT_OK)
		result = install_fault_set(&install->fault, RESULT_SYSTEM,
		    "home_unusable", "the lock of this run cannot be made");
	else if (result == RESULT_OK) {
		install->run = lock.id;
		result = install_finish(install, &tree, entry_r);
		install->run = NULL;
		run_lock_end(&install->host->files, &lock);
	}
	fd_close(&tree.tar_fd);
	if (result != RESULT_OK) {
		json_decref(*entry_r);
		*entry_r = NULL;
		(void)install_fault_set(&install->fault, result, "internal",
		    "%s", result_text(result));
	}
	return result;
}
