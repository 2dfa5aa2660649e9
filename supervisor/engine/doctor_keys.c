/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The doctor's look at the keys of LLM providers: is there a place for them,
 * and who has one. Called by doctor.c. It unlocks nothing, asks nobody and
 * sees no key.
 */
#include <stdio.h>
#include <string.h>

#include "supervisor/engine/doctor.h"
#include "supervisor/policy/config.h"
#include "supervisor/policy/credential.h"
#include "supervisor/policy/keyring_call.h"

#define DOCTOR_KEYS_DEADLINE_MS 3000U

/* Backends that a key lies in, as bits; the configured one always. */
static unsigned
doctor_keys_backends(const json_t *providers, enum keyring_backend configured)
{
	unsigned bits = 1U << configured;
	enum keyring_backend backend;
	const char *name;
	json_t *entry;

	json_object_foreach((json_t *)(uintptr_t)providers, name, entry)
	{
		if (keyring_words_find_backend(
			json_string_value(json_object_get(entry, "backend")),
			&backend))
			bits |= 1U << backend;
	}
	return bits;
}

static enum keyring_status
doctor_keys_try(enum keyring_backend backend, char *detail_r, size_t size)
{
	struct keyring_call_spec spec = {.op = KEYRING_TEST,
	    .backend = backend,
	    .pair_fd = -1,
	    .source_fd = -1,
	    .passphrase_fd = -1,
	    .deadline_ms = DOCTOR_KEYS_DEADLINE_MS,
	    .quiet = true};

	return keyring_call_wait(&spec, detail_r, size);
}

/* The first of them that does not work says why. */
static void
doctor_keys_look(unsigned bits, bool needed, struct doctor_finding *finding)
{
	char detail[DOCTOR_TEXT_MAX - 64];
	enum keyring_status status = KEYRING_OK;
	unsigned backend;

	for (backend = 0; backend < KEYRING_BACKEND_COUNT; backend++) {
		if ((bits & (1U << backend)) == 0)
			continue;
		status = doctor_keys_try(
		    (enum keyring_backend)backend, detail, sizeof(detail));
		if (status != KEYRING_OK)
			break;
	}
	if (status == KEYRING_OK) {
		doctor_say(finding, true, "keys can be stored and read");
		return;
	}
	doctor_say(finding, !needed, "%s%s: %s",
	    needed ? "" : "not needed yet; ",
	    keyring_words_backend((enum keyring_backend)backend), detail);
	doctor_fix(finding,
	    "start or unlock it, or `agentnode config set auth.backend file` "
	    "(a file encrypted under a passphrase), or give systemd "
	    "credentials; keys are never kept in plain text");
}

static void
doctor_keys_keychain(struct doctor *doctor, struct doctor_finding *finding)
{
	enum keyring_backend configured = KEYRING_SECRET_SERVICE;
	struct json_fault fault = {""};
	json_t *providers;
	bool needed;

	if (credential_load(KEYRING_KEY, &providers, &fault) != RESULT_OK) {
		doctor_say(finding, false, "%s", fault.text);
		doctor_fix(finding, "remove the file; keys stay where they "
				    "are, `agentnode auth set` finds them "
				    "again");
		return;
	}
	(void)keyring_words_find_backend(
	    config_text(doctor->config, "auth.backend"), &configured);
	needed = json_object_size(providers) > 0 ||
		 config_bool(doctor->config, "agent_sandbox.enabled");
	doctor_keys_look(
	    doctor_keys_backends(providers, configured), needed, finding);
	json_decref(providers);
}

static void
doctor_keys_providers(struct doctor *doctor, struct doctor_finding *finding)
{
	struct json_fault fault = {""};
	char names[DOCTOR_TEXT_MAX - 64] = "";
	size_t len = 0;
	json_t *providers, *entry;
	const char *name;
	int done;

	(void)doctor;
	if (credential_load(KEYRING_KEY, &providers, &fault) != RESULT_OK) {
		doctor_say(finding, false, "%s", fault.text);
		return;
	}
	json_object_foreach(providers, name, entry)
	{
		done = snprintf(names + len, sizeof(names) - len, "%s%s",
		    len > 0 ? ", " : "", name);
		if (done < 0 || (size_t)done >= sizeof(names) - len)
			break;
		len += (size_t)done;
	}
	doctor_say(finding, true, "%s",
	    len > 0 ? names : "no provider has a key (`agentnode auth set`)");
	json_decref(providers);
}

const struct doctor_check doctor_keys_checks[] = {
    {"keychain", doctor_keys_keychain},
    {"keys", doctor_keys_providers},
    {NULL, NULL},
};
