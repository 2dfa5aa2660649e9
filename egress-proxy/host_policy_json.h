/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A host policy out of the JSON object that travels in sandbox_open and
 * policy_replace:
 *   {"allow":[entry...], "deny":[entry...],
 *    "extra_ranges":[{"name":name,"cidrs":[cidr...]}],
 *    "own":[cidr...], "ech":[name...]}
 * All but "allow" may be missing. Used by egress-proxy and the supervisor.
 */
#ifndef EGRESS_PROXY_HOST_POLICY_JSON_H
#define EGRESS_PROXY_HOST_POLICY_JSON_H

#include <jansson.h>

#include "common/json_field.h"
#include "common/result.h"
#include "egress-proxy/host_policy.h"

/* Build the policy; path is what faults call the object. RESULT_BAD sets the
 * fault, which names the entry; nothing is left behind then. Caller frees
 * with host_policy_free. */
enum result host_policy_json_load(const json_t *object, const char *path,
    struct host_policy **policy_r, struct json_fault *fault);

#endif
