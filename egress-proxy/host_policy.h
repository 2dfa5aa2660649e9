/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one sandbox may reach: a list of entries and the questions that a
 * connection asks of it, in this order: name or literal (before any lookup),
 * every address of the answer (before any dial), ECH of the hello. Pure.
 * Used by egress-proxy for every connection and by `agentnode egress check`,
 * so that both give the same answer.
 *
 * Deny wins. An empty policy denies. Nothing is allowed that is not written
 * down, and no entry for a name ever opens an address.
 */
#ifndef EGRESS_PROXY_HOST_POLICY_H
#define EGRESS_PROXY_HOST_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/domain.h"
#include "common/ip_addr.h"
#include "common/result.h"
#include "egress-proxy/deny.h"
#include "egress-proxy/policy_entry.h"

#define HOST_POLICY_ENTRIES_MAX 1024U
#define HOST_POLICY_RANGES_MAX 1024U

struct host_policy; /* opaque */

/* What a request asks for. */
enum host_policy_traffic {
	HOST_POLICY_TUNNEL, /* CONNECT, or a direct listener */
	HOST_POLICY_HTTP    /* plain HTTP through the proxy */
};

struct host_policy_decision {
	enum deny_code code;         /* DENY_NONE: goes on */
	enum policy_entry_kind kind; /* of the entry that allowed it */
	const char *rule; /* canonical text of the entry that decided, or NULL;
			   * lives as long as the policy */
};

enum result host_policy_new(struct host_policy **policy_r);
void host_policy_free(struct host_policy **policy);

/* Add one canonical entry. POLICY_ENTRY_OK, or the entry's fault. Over the
 * limit or out of memory: POLICY_ENTRY_TOO_LONG, and the policy must not be
 * used. Name faults go to *name_fault_r. */
enum policy_entry_fault host_policy_add_allow(struct host_policy *policy,
    const char *text, enum domain_fault *name_fault_r);
enum policy_entry_fault host_policy_add_deny(struct host_policy *policy,
    const char *text, enum domain_fault *name_fault_r);

/* Addresses outside the global ranges that this one name may resolve to.
 * RESULT_BAD: malformed; RESULT_REFUSED: wider than /8 (IPv6: /7). A range
 * opens only addresses of the kind its own base is, and never metadata. */
enum result host_policy_add_extra_range(
    struct host_policy *policy, const char *name, const char *cidr);

/* The host's own addresses and on-link prefixes: refused. */
enum result host_policy_add_own(struct host_policy *policy, const char *cidr);

/* A name whose hellos may carry encrypted_client_hello. */
enum result host_policy_add_ech(struct host_policy *policy, const char *name);

/* Decide on a canonical name: host_denied, host_not_allowed,
 * port_not_allowed or none. Looks nothing up. Asked again for an open tunnel
 * after the policy narrowed. */
void host_policy_check_name(const struct host_policy *policy,
    enum host_policy_traffic traffic, const struct domain *name, uint16_t port,
    struct host_policy_decision *decision_r);

/* Decide on a literal: host_denied, ip_literal, port_not_allowed,
 * address_not_allowed or none (kind RAW). Only tcp:// entries open one. */
void host_policy_check_literal(const struct host_policy *policy,
    enum host_policy_traffic traffic, const struct ip_addr *address,
    uint16_t port, struct host_policy_decision *decision_r);

/* Judge all addresses that an allowed name resolved to: one bad address
 * refuses all. DENY_NONE, DENY_HOST_DENIED or DENY_ADDRESS_NOT_ALLOWED;
 * rule_r names the range, bad_r (may be NULL) the address's index. */
enum deny_code host_policy_check_answer(const struct host_policy *policy,
    const struct domain *name, uint16_t port, const struct ip_addr *addresses,
    size_t count, const char **rule_r, size_t *bad_r);

/* True when this name may send encrypted_client_hello. */
bool host_policy_ech_allowed(
    const struct host_policy *policy, const struct domain *name);

/* True when next allows nothing that policy does not. */
bool host_policy_is_narrower(
    const struct host_policy *next, const struct host_policy *policy);

/* Number of allow entries, and the one at index (for listeners, reports). */
size_t host_policy_allow_count(const struct host_policy *policy);
const struct policy_entry *host_policy_allow_borrow(
    const struct host_policy *policy, size_t index);

#endif
