/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks of one installed package: its entry, tier, place, consent, volume,
 * egress. Called by doctor.c when a slug is named; decides with the
 * functions of a run, changes nothing and hashes nothing (`agentnode
 * verify` does).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "egress-proxy/policy_entry.h"
#include "supervisor/engine/docker_volume.h"
#include "supervisor/engine/doctor.h"
#include "supervisor/package/run_entry.h"
#include "supervisor/package/secret_need.h"
#include "supervisor/policy/secret_grant.h"
#include "supervisor/policy/stored_secret.h"

#define DOCTOR_PACKAGE_MISSING "it is not installed"

static const char *
doctor_package_text(const struct doctor *doctor, const char *key)
{
	const char *text =
	    json_string_value(json_object_get(doctor->package->entry, key));

	return text != NULL ? text : "";
}

/* The others only look at what this one found. */
static void
doctor_package_locked(struct doctor *doctor, struct doctor_finding *finding)
{
	struct run_entry *run = calloc(1, sizeof(*run));
	enum result result = run == NULL
				 ? RESULT_NO_MEMORY
				 : run_entry_open(doctor->slug, NULL, run);

	doctor_fix(finding,
	    "agentnode list; agentnode install or agentnode mcp install ... "
	    "--name %s",
	    doctor->slug);
	if (result != RESULT_OK) {
		doctor_say(finding, false, "%.300s",
		    run != NULL ? run->fault.text : "out of memory");
		if (run != NULL)
			run_entry_clear(run);
		free(run);
		return;
	}
	doctor->package = run;
	/* Where it stops is asked again, check for check. */
	(void)run_entry_boundary(run);
	doctor_say(finding, true, "%s %s", doctor->slug,
	    doctor_package_text(doctor, "version"));
}

void
doctor_package_close(struct doctor *doctor)
{
	if (doctor->package == NULL)
		return;
	run_entry_clear(doctor->package);
	free(doctor->package);
	doctor->package = NULL;
}

/* Does its attestation hold, and what does it prove? */
static void
doctor_package_tier(struct doctor *doctor, struct doctor_finding *finding)
{
	const struct run_entry *run = doctor->package;
	const char *claim, *tier;

	if (run == NULL) {
		doctor_say(finding, false, DOCTOR_PACKAGE_MISSING);
		return;
	}
	claim = doctor_package_text(doctor, "trust_level");
	tier = tier_name(run->trust.tier);
	doctor_fix(finding, "agentnode install %s", doctor->slug);
	if (run->trust.code[0] != '\0')
		doctor_say(finding, false, "%s: %.300s", run->trust.code,
		    run->fault.text);
	else if (claim[0] != '\0' && strcmp(claim, tier) != 0)
		doctor_say(finding, true,
		    "%s; the lockfile claims %.40s, which raises nothing", tier,
		    claim);
	else
		doctor_say(finding, true, "%s%s%s", tier,
		    run->trust.key[0] != '\0' ? ", attested by registry key "
					      : ", no attestation",
		    run->trust.key);
}

/* May it run here, and as it was built? */
static void
doctor_package_place(struct doctor *doctor, struct doctor_finding *finding)
{
	const struct run_entry *run = doctor->package;

	if (run == NULL) {
		doctor_say(finding, false, DOCTOR_PACKAGE_MISSING);
		return;
	}
	if (run->code[0] != '\0') {
		doctor_say(
		    finding, false, "%s: %.300s", run->code, run->fault.text);
		doctor_fix(finding, "%s",
		    strcmp(run->code, RUN_ENTRY_STALE) == 0 ? "install it again"
		    : run->verdict.remedy[0] != '\0' ? run->verdict.remedy
						     : "install it again");
		return;
	}
	doctor_say(finding, true, "%s: %s",
	    run->kind == BOUNDARY_SKILL ? "runs no code"
	    : run->on_host              ? "on the host (policy, not a boundary)"
					: "in the sandbox",
	    run->verdict.reason);
}

static void
doctor_package_consent(struct doctor *doctor, struct doctor_finding *finding)
{
	struct run_entry *run = doctor->package;
	struct run_entry asked;

	if (run == NULL) {
		doctor_say(finding, false, DOCTOR_PACKAGE_MISSING);
		return;
	}
	asked = *run; /* its code is the boundary's */
	doctor_fix(
	    finding, "agentnode info %s; agentnode lock seal", doctor->slug);
	if (run_entry_consent(&asked) == RESULT_OK)
		doctor_say(finding, true, "given to this very entry");
	else
		doctor_say(finding, false, "%s: %.300s", asked.code,
		    strcmp(asked.code, "consent_missing") == 0
			? "nobody on this host agreed to this entry"
			: asked.fault.text);
}

/* Is it given the secrets that it asks for, and is there a value of each? */
static void
doctor_package_secrets(struct doctor *doctor, struct doctor_finding *finding)
{
	enum secret_grant_state state = SECRET_GRANT_NONE;
	struct json_fault fault = {""};
	char key[DIGEST_HEX + 1];
	struct secret_need need;
	const char *lacks;
	time_t expires;
	enum result result;

	if (doctor->package == NULL) {
		doctor_say(finding, false, DOCTOR_PACKAGE_MISSING);
		return;
	}
	doctor_fix(finding, "agentnode consent add %s", doctor->slug);
	result = secret_need_read(doctor->slug, doctor->package->entry,
	    doctor->package->kind, &need, &fault);
	if (result == RESULT_OK && need.count == 0) {
		doctor_say(finding, true, "it asks for none");
		return;
	}
	if (result == RESULT_OK)
		result = secret_need_key(&need, key);
	if (result == RESULT_OK)
		result = secret_grant_find(
		    key, time(NULL), &state, &expires, &fault);
	if (result != RESULT_OK) {
		doctor_say(finding, false, "%.300s", fault.text);
		return;
	}
	lacks = secret_need_lacks(&need, stored_secret_is_there);
	if (lacks != NULL && state == SECRET_GRANT_GOOD) {
		doctor_say(finding, false,
		    "missing secret %.64s: it is neither in the environment "
		    "here nor stored",
		    lacks);
		doctor_fix(finding, "agentnode secret set %.64s", lacks);
		return;
	}
	doctor_say(finding, state == SECRET_GRANT_GOOD,
	    "it asks for %zu: the consent is %s", need.count,
	    secret_grant_state_text(state));
}

/* On the host no engine is asked. */
static void
doctor_package_folder(
    const struct doctor *doctor, struct doctor_finding *finding)
{
	const char *path = json_string_value(
	    json_object_get(doctor->package->entry, "host_path"));
	struct stat info;

	if (path == NULL || stat(path, &info) != 0)
		doctor_say(finding, false, "its folder %.300s is not there",
		    path != NULL ? path : "");
	else
		doctor_say(finding, true,
		    "its folder %.300s is there (every run hashes it)", path);
}

static void
doctor_package_volume(struct doctor *doctor, struct doctor_finding *finding)
{
	const char *volume;
	char path[ENGINE_MEMORY_PATH_MAX + 160];
	char unused[256];
	struct stat info;
	bool there;

	doctor_fix(finding, "agentnode install %s", doctor->slug);
	if (doctor->package != NULL && doctor->package->on_host) {
		doctor_package_folder(doctor, finding);
		return;
	}
	if (doctor->package == NULL || !doctor->has_host) {
		doctor_say(finding, false,
		    doctor->package == NULL ? DOCTOR_PACKAGE_MISSING
					    : "there is no engine to ask");
		return;
	}
	if (doctor->package->kind == BOUNDARY_SKILL) {
		doctor_say(finding, true, "it needs none");
		return;
	}
	volume =
	    json_string_value(lockfile_entry_volume(doctor->package->entry));
	if (volume == NULL || strchr(volume, '/') != NULL) {
		doctor_say(finding, false, "it has no volume");
		return;
	}
	(void)snprintf(path, sizeof(path), "%s/%.128s/_data",
	    doctor->host.memory.volume_path, volume);
	there = engine_memory_by_group(&doctor->host.memory)
		    ? docker_volume_find(&doctor->host, volume, unused,
			  sizeof(unused)) == RESULT_OK
		    : stat(path, &info) == 0;
	if (!there)
		doctor_say(finding, false,
		    "the engine does not have volume %.200s", volume);
	else
		doctor_say(finding, true,
		    "volume %.200s is there (`agentnode verify` hashes it)",
		    volume);
}

static void
doctor_package_egress(struct doctor *doctor, struct doctor_finding *finding)
{
	const json_t *list;

	doctor_fix(finding, "install it again");
	if (doctor->package == NULL) {
		doctor_say(finding, false, DOCTOR_PACKAGE_MISSING);
		return;
	}
	list = json_object_get(doctor->package->entry, "mcp_allowed_domains");
	if (list == NULL)
		list = json_object_get(
		    json_object_get(doctor->package->entry, "permissions"),
		    "allowed_domains");
	doctor_say(
	    finding, true, "%zu allowed destinations", json_array_size(list));
	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *text = json_string_value(json_array_get(list, i));
		struct policy_entry parsed;

		if (text != NULL &&
		    policy_entry_parse(text, strlen(text),
			POLICY_ENTRY_FROM_HOST, &parsed) == POLICY_ENTRY_OK)
			continue;
		doctor_say(finding, false, "'%.200s' is no destination",
		    text != NULL ? text : "");
		break;
	}
}

const struct doctor_check doctor_package_checks[] = {
    {"package", doctor_package_locked},
    {"package_tier", doctor_package_tier},
    {"package_place", doctor_package_place},
    {"package_consent", doctor_package_consent},
    {"package_secrets", doctor_package_secrets},
    {"package_volume", doctor_package_volume},
    {"package_egress", doctor_package_egress},
    {NULL, NULL},
};
