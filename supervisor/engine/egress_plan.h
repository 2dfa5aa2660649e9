/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a sandbox's allowlist and the host's configuration to what
 * egress-proxy is told and what the container gets: the policy object, the
 * proxy's options, the listeners, and the loopback address of each name of
 * the direct mode. Used by the sandbox's story.
 */
#ifndef SUPERVISOR_ENGINE_EGRESS_PLAN_H
#define SUPERVISOR_ENGINE_EGRESS_PLAN_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/domain.h"
#include "common/result.h"

struct config; /* supervisor/policy/config.h */

#define EGRESS_PLAN_DIRECT_MAX 64U
#define EGRESS_PLAN_PROXY_PORT 3128U

/* One listener of the direct mode: name and port of an exact TLS entry.
 * Two entries with one name share its address. */
struct egress_plan_direct {
	char name[DOMAIN_NAME_MAX + 1];
	char address[16]; /* "127.64.0.1" */
	uint16_t port;    /* host order */
	bool is_first;    /* of its name: this one makes the hosts line */
};

struct egress_plan {
	json_t *options; /* owned; of the proxy's config message */
	json_t *policy;  /* owned; of sandbox_open */
	/* Owned; those entries of policy's allow that nobody but the
	 * configuration's egress.allow asked for. */
	json_t *configured;
	struct egress_plan_direct direct[EGRESS_PLAN_DIRECT_MAX];
	size_t direct_count;
};

/* egress: {"allow":[...],"deny":[...],"configured":[...]} of canonical
 * entries; "configured" may be missing: what egress.allow adds to "allow".
 * RESULT_BAD names the entry; RESULT_NOT_FOUND: no resolver is configured. */
enum result egress_plan_make(const struct config *config, const json_t *egress,
    struct egress_plan *plan_r, char *detail_r, size_t detail_size);
void egress_plan_clear(struct egress_plan *plan);

/* The host's own addresses and on-link prefixes as CIDR texts. */
enum result egress_plan_own(json_t *list);

/* The resolvers of this host as "addr:53,...": egress.resolver, or those of
 * /etc/resolv.conf. RESULT_NOT_FOUND: there is none. */
enum result egress_plan_servers(
    const struct config *config, char *servers_r, size_t size);

/* The "addr:53,..." text of a resolv.conf; at most 3 servers. Pure. */
enum result egress_plan_resolver(
    const char *text, size_t len, char *servers_r, size_t size);

#endif
