/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which providers have a key, and where: AGENTNODE_HOME/credentials.json,
 * facts about keys and never a key:
 *
 * {"version":1,"providers":{"openai":{"backend":"secret_service",
 *   "last4":"wxyz","stored_at":"2026-01-02T03:04:05.678Z"}}}
 *
 * and which secrets of packages are kept, and where: secrets.json, the same
 * with "secrets". last4 is absent for short keys and for secrets. A change of
 * an entry is how running programs learn of a new key. Used by `auth`, doctor
 * and key_reader.
 */
#ifndef SUPERVISOR_POLICY_CREDENTIAL_H
#define SUPERVISOR_POLICY_CREDENTIAL_H

#include <jansson.h>

#include "common/json_field.h"
#include "common/result.h"
#include "llm-broker/keyring/keyring_words.h"

#define CREDENTIAL_FILE "credentials.json"
#define CREDENTIAL_SECRETS "secrets.json"
#define CREDENTIAL_MAX 256U /* entries */

struct credential {
	enum keyring_backend backend;
	char last4[5];      /* "": not kept */
	char stored_at[32]; /* UTC, milliseconds */
};

/* The bytes of the file, checked; the caller owns *root_r. name is for the
 * fault. Pure but for memory. */
enum result credential_parse(enum keyring_kind kind, const char *bytes,
    size_t len, const char *name, json_t **root_r, struct json_fault *fault);

/* The whole file as an object NAME -> facts, sorted by nobody; empty when
 * there is no file. The caller owns *providers_r. */
enum result credential_load(
    enum keyring_kind kind, json_t **providers_r, struct json_fault *fault);

/* One of them. RESULT_NOT_FOUND without fault. */
enum result credential_find(enum keyring_kind kind, const char *provider,
    struct credential *credential_r, struct json_fault *fault);

/* Put in (stored_at is set to now), or take out (RESULT_NOT_FOUND): lock,
 * strict read, write anew, rename. */
enum result credential_put(enum keyring_kind kind, const char *provider,
    enum keyring_backend backend, const char *last4, struct json_fault *fault);
enum result credential_drop(
    enum keyring_kind kind, const char *provider, struct json_fault *fault);

/* Tells the keys of this AGENTNODE_HOME from those of another in the user's
 * keychain: 16 hex digits of a digest of its real path. */
#define CREDENTIAL_HOME_ID 16U
enum result credential_home_id(
    char id_r[CREDENTIAL_HOME_ID + 1], struct json_fault *fault);

#endif
