/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first decisions of a run; see run_entry.h. It must never start
 * anything, and never widen what lockfile and configuration say.
 */
#include "supervisor/package/run_entry.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "supervisor/package/lockfile_hash.h"
#include "supervisor/policy/consent.h"
#include "supervisor/policy/digest.h"

enum result
run_entry_fail(struct run_entry *run, enum result result, const char *code)
{
	(void)snprintf(run->code, sizeof(run->code), "%s", code);
	return result;
}

static enum result
run_entry_config(struct run_entry *run)
{
	enum result result = config_load(&run->config, &run->fault);

	if (result == RESULT_OK)
		result = config_home(run->home, sizeof(run->home), &run->fault);
	if (result != RESULT_OK)
		return run_entry_fail(run, result, "bad_config");
	return RESULT_OK;
}

static enum result
run_entry_lockfile(struct run_entry *run, const char *option)
{
	enum result result =
	    lockfile_path(option, run->path, sizeof(run->path), &run->fault);

	if (result == RESULT_OK)
		result = lockfile_load(run->path, &run->lockfile, &run->fault);
	if (result == RESULT_MISMATCH)
		return run_entry_fail(run, result, "integrity_lockfile");
	if (result != RESULT_OK)
		return run_entry_fail(run, result, "bad_lockfile");
	run->entry = lockfile_entry(run->lockfile, run->slug);
	if (run->entry != NULL)
		return RESULT_OK;
	json_field_fault(&run->fault,
	    "%.60s is not in %.120s; 'agentnode list' shows what is", run->slug,
	    run->path);
	return run_entry_fail(run, RESULT_NOT_FOUND, "not_installed");
}

enum result
run_entry_open(const char *slug, const char *lockfile, struct run_entry *run_r)
{
	enum result result;

	memset(run_r, 0, sizeof(*run_r));
	run_r->slug = slug;
	result = run_entry_config(run_r);
	if (result == RESULT_OK)
		result = run_entry_lockfile(run_r, lockfile);
	return result;
}

void
run_entry_clear(struct run_entry *run)
{
	lockfile_free(&run->lockfile);
	config_free(&run->config);
	json_decref(run->agreed);
	run->agreed = NULL;
	run->entry = NULL;
}

enum result
run_entry_consent(struct run_entry *run)
{
	char hash[DIGEST_HEX + 1];
	bool there = false;
	enum result result = lockfile_hash_consent(run->slug, run->entry, hash);
	json_t *list = NULL;

	if (result == RESULT_OK)
		result = consent_load(&list, &run->fault);
	if (result == RESULT_OK) {
		there = consent_holds(list, hash);
		json_decref(run->agreed);
		run->agreed =
		    json_incref((json_t *)(uintptr_t)consent_guard(list, hash));
	}
	json_decref(list);
	if (result != RESULT_OK)
		return run_entry_fail(run, result, "consent_unreadable");
	if (there)
		return RESULT_OK;
	return run_entry_fail(run, RESULT_REFUSED, "consent_missing");
}

const char *
run_entry_shown(const struct run_entry *run)
{
	size_t len = strlen(run->path);

	return len > RUN_ENTRY_SHOWN_MAX ? run->path + len - RUN_ENTRY_SHOWN_MAX
					 : run->path;
}

/* The words of the configuration; one that is none decides nothing. */
static struct boundary_input
run_entry_input(const struct run_entry *run, const struct config *config)
{
	struct boundary_input input = {.kind = run->kind,
	    .tier = run->trust.tier,
	    .minimum =
		tier_parse(config_text(config, "trust.minimum_trust_level")),
	    .agents_enabled = config_bool(config, "agent_sandbox.enabled")};

	(void)boundary_policy_parse(
	    config_text(config, "sandbox.host_trust_policy"), &input.policy);
	return input;
}

static enum result
run_entry_tier(struct run_entry *run)
{
	enum result result = trust_judge(run->config, run->slug, run->entry,
	    time(NULL), &run->trust, &run->fault);

	if (result == RESULT_OK)
		return RESULT_OK;
	run->trust.tier = TIER_UNKNOWN;
	if (run->fault.text[0] == '\0')
		json_field_fault(&run->fault,
		    "%.60s: its attestation or signature does not hold",
		    run->slug);
	return run_entry_fail(run, result,
	    run->trust.code[0] != '\0' ? run->trust.code : "trust_unreadable");
}

static enum result
run_entry_refused(struct run_entry *run, const char *least)
{
	const struct boundary_verdict *verdict = &run->verdict;

	if (strcmp(verdict->code, BOUNDARY_TOO_LOW) == 0)
		json_field_fault(&run->fault,
		    "%.60s is %s, and trust.minimum_trust_level is %s: %s",
		    run->slug, tier_name(run->trust.tier),
		    least != NULL ? least : "unset", verdict->remedy);
	else
		json_field_fault(&run->fault, "%.60s: %s; %s", run->slug,
		    verdict->reason, verdict->remedy);
	return run_entry_fail(run, RESULT_REFUSED, verdict->code);
}

/* What was built for the host is sealed so: host_path is covered by the
 * entry's hash and by the consent, and names the folder that is hashed before
 * every start. Tool packs alone have it. */
static bool
run_entry_is_for_host(const struct run_entry *run)
{
	const json_t *path = json_object_get(run->entry, "host_path");

	return run->kind == BOUNDARY_TOOLPACK && json_is_string(path) &&
	       json_equal(
		   path, json_object_get(run->entry, "volume_host_path"));
}

/* What it was built for is a note of the installation, not sealed: alone it
 * may only ever keep a package from running. */
static enum result
run_entry_build(struct run_entry *run)
{
	const char *mode =
	    json_string_value(json_object_get(run->entry, "build_mode"));

	if (mode == NULL || strcmp(mode, "sandbox_volume") == 0)
		return RESULT_OK;
	if (strcmp(mode, "host") != 0) {
		json_field_fault(&run->fault,
		    "%.60s: build_mode '%.40s' is neither sandbox_volume nor "
		    "host; install it again",
		    run->slug, mode);
		return run_entry_fail(run, RESULT_REFUSED, RUN_ENTRY_STALE);
	}
	if (run->verdict.place == BOUNDARY_HOST && run_entry_is_for_host(run)) {
		run->on_host = true;
		return RESULT_OK;
	}
	if (run->verdict.place == BOUNDARY_HOST)
		json_field_fault(&run->fault,
		    "%.60s says that it was built for the host, and no "
		    "installation of ours did that; install it again",
		    run->slug);
	else
		json_field_fault(&run->fault,
		    "%.60s was built for the host under an older policy, and "
		    "by now %s; install it again",
		    run->slug, run->verdict.reason);
	return run_entry_fail(run, RESULT_REFUSED, RUN_ENTRY_STALE);
}

enum result
run_entry_boundary(struct run_entry *run)
{
	struct boundary_input input;
	enum result result = run_entry_tier(run);

	(void)boundary_kind_parse(
	    json_string_value(json_object_get(run->entry, "package_type")),
	    json_string_value(json_object_get(run->entry, "runtime")),
	    &run->kind);
	input = run_entry_input(run, run->config);
	run->verdict = boundary_decide(&input);
	if (result != RESULT_OK) {
		run->verdict.place = BOUNDARY_REFUSED;
		return result;
	}
	if (run->verdict.place == BOUNDARY_REFUSED)
		return run_entry_refused(
		    run, config_text(run->config, "trust.minimum_trust_level"));
	return run_entry_build(run);
}

bool
run_entry_still(const struct run_entry *run, const struct config *config)
{
	struct boundary_input input = run_entry_input(run, config);
	struct json_fault fault = {""};
	struct trust_verdict trust;
	enum boundary_place place;

	/* A key that was removed or revoked proves nothing any more. */
	if (trust_judge(config, run->slug, run->entry, time(NULL), &trust,
		&fault) != RESULT_OK)
		return false;
	input.tier = trust.tier;
	place = boundary_decide(&input).place;
	return place == BOUNDARY_HOST ||
	       (place == BOUNDARY_SANDBOX && !run->on_host);
}

enum result
run_entry_image(struct run_entry *run)
{
	run->image = config_text(run->config, "sandbox.image");
	if (run->image != NULL)
		return RESULT_OK;
	json_field_fault(&run->fault,
	    "no sandbox image is set; 'agentnode sandbox build' makes one, "
	    "'agentnode sandbox pull' fetches one");
	return run_entry_fail(run, RESULT_NOT_FOUND, "image_missing");
}

/* A lockfile cannot hold what only the operator may say. */
static bool
run_entry_domains(struct run_entry *run, const struct run_entry_hosts *hosts)
{
	for (size_t i = 0; i < json_array_size(hosts->domains); i++) {
		const char *text =
		    json_string_value(json_array_get(hosts->domains, i));
		enum policy_entry_fault fault;
		struct policy_entry entry;

		if (text == NULL)
			text = "";
		fault = policy_entry_parse(
		    text, strlen(text), hosts->asker, &entry);
		if (fault == POLICY_ENTRY_OK)
			continue;
		json_field_fault(&run->fault, "%s: %s[%zu] '%.80s' %s",
		    run->slug, hosts->field, i, text,
		    policy_entry_fault_text(fault, entry.name_fault));
		return false;
	}
	return true;
}

enum result
run_entry_egress(struct run_entry *run, const struct run_entry_hosts *hosts,
    json_t **egress_r)
{
	const json_t *host = hosts->sealed || hosts->named
				 ? NULL
				 : config_json(run->config, "egress.allow");
	json_t *allow;
	bool good;

	*egress_r = NULL;
	if (!run_entry_domains(run, hosts))
		return run_entry_fail(run, RESULT_BAD, "bad_lockfile");
	if (hosts->sealed && hosts->allow_count > 0) {
		json_field_fault(&run->fault,
		    "%.60s has secrets, and the consent to them names the "
		    "hosts it may send them to: leave --allow out",
		    run->slug);
		return run_entry_fail(
		    run, RESULT_REFUSED, "credentials_network");
	}
	allow = json_array();
	good = allow != NULL;
	if (good && hosts->domains != NULL)
		good = json_array_extend(
			   allow, (json_t *)(uintptr_t)hosts->domains) == 0;
	for (size_t i = 0; good && i < hosts->allow_count; i++)
		good = json_array_append_new(
			   allow, json_string(hosts->allow[i])) == 0;
	if (good && json_array_size(allow) + json_array_size(host) > 0) {
		*egress_r = json_pack("{s:O, s:[], s:O*}", "allow", allow,
		    "deny", "configured", host);
		good = *egress_r != NULL;
	}
	json_decref(allow);
	if (good)
		return RESULT_OK;
	json_field_fault(&run->fault, "an entry of --allow is no text");
	return run_entry_fail(run, RESULT_BAD, "bad_args");
}
