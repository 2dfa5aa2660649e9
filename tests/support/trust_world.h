/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keys, attestations and a home for the tests of trust: a registry, a
 * publisher and a stranger, each with a real key. Every call asserts.
 */
#ifndef TESTS_SUPPORT_TRUST_WORLD_H
#define TESTS_SUPPORT_TRUST_WORLD_H

#include <jansson.h>
#include <time.h>

#include "common/secret.h"
#include "supervisor/policy/config.h"

#define TRUST_WORLD_SLUG "word-count"
#define TRUST_WORLD_VERSION "1.2.0"
#define TRUST_WORLD_DAY 86400

struct trust_world {
	char home[64], folder[96]; /* AGENTNODE_HOME; a registry's folder */
	struct secret *registry, *publisher, *stranger; /* owned */
	char registry_key[65], publisher_key[65], stranger_key[65];
	struct config *config; /* owned; pins the registry's key */
	time_t now;
};

void trust_world_new(struct trust_world *world_r);
void trust_world_free(struct trust_world *world);

/* Read the configuration anew: JSON of config.json, where %s is the
 * registry's key. */
void trust_world_config(struct trust_world *world, const char *format);

/* "sha256:..." of a text; valid until the next call. */
const char *trust_world_hash(const char *text);

/* Everything but registry_key and signature; from now on, for a day. */
json_t *trust_world_statement(
    const struct trust_world *world, const char *hash, const char *tier);
/* registry_key and signature by this key; returns statement. */
json_t *trust_world_attest(const struct secret *key, json_t *statement);
/* What `_signatures` holds. */
json_t *trust_world_signatures(const struct secret *key, const char *slug,
    const char *version, const char *hash);
/* A lockfile entry that is right in every point, tier trusted. */
json_t *trust_world_entry(const struct trust_world *world);

/* Write a file of the registry's folder. */
void trust_world_file(const struct trust_world *world, const char *name,
    const char *bytes, size_t len);
/* Sign these bytes as index.json and write both files. */
void trust_world_index(const struct trust_world *world,
    const struct secret *key, const char *bytes);

#endif
