/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks of one installed package: its lock entry, its volume, its egress.
 * Called by doctor.c when a slug is named; changes nothing and hashes
 * nothing (`agentnode verify` does).
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "egress-proxy/policy_entry.h"
#include "supervisor/engine/doctor.h"
#include "supervisor/package/lockfile.h"

/* The entry of the slug, owned by the lockfile; NULL after a finding. */
static const json_t *
doctor_package_entry(struct doctor *doctor, struct lockfile **lockfile_r,
    struct doctor_finding *finding)
{
	struct json_fault fault = {""};
	char path[4096];
	const json_t *entry;

	*lockfile_r = NULL;
	doctor_fix(
	    finding, "agentnode mcp install ... --name %s", doctor->slug);
	if (lockfile_path(NULL, path, sizeof(path), &fault) != RESULT_OK ||
	    lockfile_load(path, lockfile_r, &fault) != RESULT_OK) {
		doctor_say(finding, false, "%.300s",
		    fault.text[0] != '\0' ? fault.text
					  : "there is no lockfile");
		return NULL;
	}
	entry = lockfile_entry(*lockfile_r, doctor->slug);
	if (entry == NULL)
		doctor_say(
		    finding, false, "%s is not in %.300s", doctor->slug, path);
	return entry;
}

static const char *
doctor_package_text(const json_t *entry, const char *key)
{
	const char *text = json_string_value(json_object_get(entry, key));

	return text != NULL ? text : "";
}

static void
doctor_package_locked(struct doctor *doctor, struct doctor_finding *finding)
{
	struct lockfile *lockfile;
	const json_t *entry = doctor_package_entry(doctor, &lockfile, finding);

	if (entry != NULL)
		doctor_say(finding, true, "%s %s, %s", doctor->slug,
		    doctor_package_text(entry, "version"),
		    doctor_package_text(entry, "trust_level"));
	lockfile_free(&lockfile);
}

static void
doctor_package_volume(struct doctor *doctor, struct doctor_finding *finding)
{
	struct lockfile *lockfile;
	const json_t *entry = doctor_package_entry(doctor, &lockfile, finding);
	const char *volume = json_string_value(lockfile_entry_volume(entry));
	char path[ENGINE_MEMORY_PATH_MAX + 160];
	struct stat info;

	if (entry != NULL && doctor->has_host) {
		(void)snprintf(path, sizeof(path), "%s/%.128s/_data",
		    doctor->host.memory.volume_path, volume);
		if (volume[0] == '\0')
			doctor_say(finding, false, "it has no volume");
		else if (strchr(volume, '/') != NULL || stat(path, &info) != 0)
			doctor_say(finding, false,
			    "the engine does not have volume %.200s", volume);
		else
			doctor_say(finding, true,
			    "volume %.200s is there (`agentnode verify` "
			    "hashes it)",
			    volume);
	}
	lockfile_free(&lockfile);
}

static void
doctor_package_egress(struct doctor *doctor, struct doctor_finding *finding)
{
	struct lockfile *lockfile;
	const json_t *entry = doctor_package_entry(doctor, &lockfile, finding);
	const json_t *list = json_object_get(entry, "mcp_allowed_domains");
	size_t count = json_array_size(list);

	if (entry != NULL)
		doctor_say(finding, true, "%zu allowed destinations", count);
	for (size_t i = 0; i < count; i++) {
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
	lockfile_free(&lockfile);
}

const struct doctor_check doctor_package_checks[] = {
    {"package", doctor_package_locked},
    {"package_volume", doctor_package_volume},
    {"package_egress", doctor_package_egress},
    {NULL, NULL},
};
