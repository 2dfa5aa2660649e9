/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which secrets an entry asks for, by name only, and what a consent to them
 * is bound to: slug, version, artifact, names, hosts. Pure; used by
 * run_secret, the consent commands and explain.
 */
#ifndef SUPERVISOR_PACKAGE_SECRET_NEED_H
#define SUPERVISOR_PACKAGE_SECRET_NEED_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/json_field.h"
#include "common/result.h"
#include "supervisor/policy/boundary.h"
#include "supervisor/policy/digest.h"

#define SECRET_NEED_MAX 32U /* names of one package */

struct secret_need_item {
	const char *name;
	bool required;
};

/* Texts and JSON are borrowed from the entry. */
struct secret_need {
	const char *slug, *version, *artifact_hash;
	struct secret_need_item items[SECRET_NEED_MAX];
	size_t count;          /* 0: none, and the rest says nothing */
	const json_t *domains; /* where it may send them; NULL: nowhere */
};

/* mcp_env_keys of a server, env_requirements of a tool pack. Skills and
 * agents are given none. RESULT_REFUSED: a name that is none or that the
 * sandbox sets; RESULT_UNSUPPORTED: a network that is neither none nor a
 * sealed list. fault says which and why. */
enum result secret_need_read(const char *slug, const json_t *entry,
    enum boundary_kind kind, struct secret_need *need_r,
    struct json_fault *fault);

/* May a secret have this name at all? false: fault says why not. */
bool secret_need_may(const char *name, struct json_fault *fault);

/* Those of its names that must be there: the first that has says no to;
 * NULL: none. */
const char *secret_need_lacks(
    const struct secret_need *need, bool (*has)(const char *name));

/* What a consent is for; two entries that differ in any of it differ here. */
enum result secret_need_key(
    const struct secret_need *need, char hex_r[DIGEST_HEX + 1]);

/* Sorted lists of texts; the caller owns them. NULL: no memory. */
json_t *secret_need_names(const struct secret_need *need);
json_t *secret_need_domains(const struct secret_need *need);

#endif
