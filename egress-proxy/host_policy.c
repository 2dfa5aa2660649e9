/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decisions on names and addresses. Called by session.c at each step of a
 * connection and by the egress check. It must never look a name up, and
 * never let an entry for a name open an address of its own.
 */
#include "egress-proxy/host_policy.h"

#include <stdlib.h>
#include <string.h>

/* Growable array of one kind of item. */
struct host_policy_array {
	void *items;
	size_t count;
	size_t room;
};

/* A range that one name may resolve into. */
struct host_policy_extra {
	struct domain name;
	struct ip_cidr range;
};

struct host_policy {
	struct host_policy_array allow; /* struct policy_entry */
	struct host_policy_array deny;  /* struct policy_entry */
	struct host_policy_array extra; /* struct host_policy_extra */
	struct host_policy_array own;   /* struct ip_cidr */
	struct host_policy_array ech;   /* struct domain */
};

enum result
host_policy_new(struct host_policy **policy_r)
{
	*policy_r = calloc(1, sizeof(**policy_r));
	return *policy_r == NULL ? RESULT_NO_MEMORY : RESULT_OK;
}

void
host_policy_free(struct host_policy **policy)
{
	if (*policy == NULL)
		return;
	free((*policy)->allow.items);
	free((*policy)->deny.items);
	free((*policy)->extra.items);
	free((*policy)->own.items);
	free((*policy)->ech.items);
	free(*policy);
	*policy = NULL;
}

/* Copy one item of size bytes to the end of array. */
static enum result
host_policy_push(
    struct host_policy_array *array, const void *item, size_t size, size_t max)
{
	size_t room = array->room == 0 ? 8 : array->room * 2;
	void *items;

	if (array->count >= max)
		return RESULT_TOO_LONG;
	if (array->count == array->room) {
		items = realloc(array->items, room * size);
		if (items == NULL)
			return RESULT_NO_MEMORY;
		array->items = items;
		array->room = room;
	}
	memcpy((uint8_t *)array->items + array->count * size, item, size);
	array->count++;
	return RESULT_OK;
}

static const struct policy_entry *
host_policy_entry(const struct host_policy_array *array, size_t index)
{
	return (const struct policy_entry *)array->items + index;
}

static enum policy_entry_fault
host_policy_add_entry(struct host_policy_array *array, const char *text,
    enum policy_entry_asker asker, enum domain_fault *name_fault_r)
{
	struct policy_entry entry;
	enum policy_entry_fault fault;

	fault = policy_entry_parse(text, strlen(text), asker, &entry);
	*name_fault_r = entry.name_fault;
	if (fault != POLICY_ENTRY_OK)
		return fault;
	if (host_policy_push(array, &entry, sizeof(entry),
		HOST_POLICY_ENTRIES_MAX) != RESULT_OK)
		return POLICY_ENTRY_TOO_LONG;
	return POLICY_ENTRY_OK;
}

enum policy_entry_fault
host_policy_add_allow(struct host_policy *policy, const char *text,
    enum domain_fault *name_fault_r)
{
	return host_policy_add_entry(
	    &policy->allow, text, POLICY_ENTRY_FROM_HOST, name_fault_r);
}

enum policy_entry_fault
host_policy_add_deny(struct host_policy *policy, const char *text,
    enum domain_fault *name_fault_r)
{
	return host_policy_add_entry(
	    &policy->deny, text, POLICY_ENTRY_FROM_DENY, name_fault_r);
}

/* Whole address spaces are no list of ranges; fc00::/7 is one. */
static bool
host_policy_is_wide(const struct ip_cidr *range)
{
	return range->prefix < (range->base.family == 4 ? 8 : 7);
}

enum result
host_policy_add_extra_range(
    struct host_policy *policy, const char *name, const char *cidr)
{
	struct host_policy_extra extra;

	memset(&extra, 0, sizeof(extra));
	if (domain_parse(name, strlen(name), &extra.name) != DOMAIN_OK ||
	    ip_addr_parse_cidr(cidr, strlen(cidr), &extra.range) != RESULT_OK)
		return RESULT_BAD;
	if (host_policy_is_wide(&extra.range))
		return RESULT_REFUSED;
	return host_policy_push(
	    &policy->extra, &extra, sizeof(extra), HOST_POLICY_RANGES_MAX);
}

enum result
host_policy_add_own(struct host_policy *policy, const char *cidr)
{
	struct ip_cidr range;

	if (ip_addr_parse_cidr(cidr, strlen(cidr), &range) != RESULT_OK)
		return RESULT_BAD;
	return host_policy_push(
	    &policy->own, &range, sizeof(range), HOST_POLICY_RANGES_MAX);
}

enum result
host_policy_add_ech(struct host_policy *policy, const char *name)
{
	struct domain domain;

	if (domain_parse(name, strlen(name), &domain) != DOMAIN_OK)
		return RESULT_BAD;
	return host_policy_push(
	    &policy->ech, &domain, sizeof(domain), HOST_POLICY_ENTRIES_MAX);
}

/* One address, not a network. */
static bool
host_policy_is_single(const struct ip_cidr *range)
{
	return range->prefix == (range->base.family == 4 ? 32 : 128);
}

static struct ip_cidr_list
host_policy_own_list(const struct host_policy *policy)
{
	struct ip_cidr_list list = {policy->own.items, policy->own.count};

	return list;
}

static void
host_policy_decide(struct host_policy_decision *decision, enum deny_code code,
    const struct policy_entry *entry)
{
	decision->code = code;
	decision->kind = entry == NULL ? POLICY_ENTRY_TLS : entry->kind;
	decision->rule = entry == NULL ? NULL : entry->text;
}

/* The deny entry for a name, or NULL. http:// entries deny plain HTTP only,
 * the others deny both kinds of traffic. */
static const struct policy_entry *
host_policy_denied_name(const struct host_policy *policy,
    enum host_policy_traffic traffic, const struct domain *name, uint16_t port)
{
	const struct policy_entry *entry;
	size_t i;

	for (i = 0; i < policy->deny.count; i++) {
		entry = host_policy_entry(&policy->deny, i);
		if (entry->kind == POLICY_ENTRY_HTTP &&
		    traffic != HOST_POLICY_HTTP)
			continue;
		if (policy_entry_covers_name(entry, name) &&
		    policy_entry_covers_port(entry, port))
			return entry;
	}
	return NULL;
}

void
host_policy_check_name(const struct host_policy *policy,
    enum host_policy_traffic traffic, const struct domain *name, uint16_t port,
    struct host_policy_decision *decision_r)
{
	const struct policy_entry *entry, *near = NULL;
	size_t i;

	entry = host_policy_denied_name(policy, traffic, name, port);
	if (entry != NULL) {
		host_policy_decide(decision_r, DENY_HOST_DENIED, entry);
		return;
	}
	for (i = 0; i < policy->allow.count; i++) {
		entry = host_policy_entry(&policy->allow, i);
		if (!policy_entry_covers_name(entry, name))
			continue;
		near = entry;
		if (policy_entry_covers_port(entry, port) &&
		    (entry->kind == POLICY_ENTRY_HTTP) ==
			(traffic == HOST_POLICY_HTTP)) {
			host_policy_decide(decision_r, DENY_NONE, entry);
			return;
		}
	}
	host_policy_decide(decision_r,
	    near == NULL ? DENY_HOST_NOT_ALLOWED : DENY_PORT_NOT_ALLOWED, near);
}

/* The deny entry for an address, or NULL. An address that carries another
 * is denied with it. */
static const struct policy_entry *
host_policy_denied_address(const struct host_policy *policy,
    const struct ip_addr *address, uint16_t port)
{
	const struct policy_entry *entry;
	size_t i;

	for (i = 0; i < policy->deny.count; i++) {
		struct ip_cidr_list range;

		entry = host_policy_entry(&policy->deny, i);
		range.items = &entry->range;
		range.count = 1;
		if (entry->kind == POLICY_ENTRY_RAW &&
		    policy_entry_covers_port(entry, port) &&
		    ip_addr_in(address, &range))
			return entry;
	}
	return NULL;
}

/* True when address is one that this host itself has. */
static bool
host_policy_is_this_host(
    const struct host_policy *policy, const struct ip_addr *address)
{
	const struct ip_cidr *own = policy->own.items;
	size_t i;

	for (i = 0; i < policy->own.count; i++) {
		struct ip_cidr_list list = {&own[i], 1};

		if (host_policy_is_single(&own[i]) &&
		    ip_addr_in(address, &list))
			return true;
	}
	return false;
}

/* True when a range that was written down opens this address. A range opens
 * addresses that are not global only when its own base is of the same kind:
 * 192.0.0.0/8 does not open 192.168.0.0/16. A network does not open this
 * host's address in it: that has to be written down alone. Metadata stays
 * closed. */
static bool
host_policy_range_opens(const struct host_policy *policy,
    const struct ip_cidr *range, const struct ip_addr *address,
    const char **rule_r)
{
	struct ip_cidr_list own = host_policy_own_list(policy);
	struct ip_cidr_list list = {range, 1};
	const char *base_rule;
	enum ip_verdict verdict;

	if (!ip_addr_in(address, &list))
		return false;
	*rule_r = "an address of this host";
	if (!host_policy_is_single(range) &&
	    host_policy_is_this_host(policy, address))
		return false;
	verdict = ip_addr_judge(address, &own, rule_r);
	if (verdict == IP_GLOBAL)
		return true;
	if (verdict == IP_METADATA)
		return false;
	ip_addr_judge(&range->base, &own, &base_rule);
	return base_rule == *rule_r;
}

void
host_policy_check_literal(const struct host_policy *policy,
    enum host_policy_traffic traffic, const struct ip_addr *address,
    uint16_t port, struct host_policy_decision *decision_r)
{
	const struct policy_entry *entry, *near = NULL;
	enum deny_code code = DENY_IP_LITERAL;
	const char *rule;
	size_t i;

	entry = host_policy_denied_address(policy, address, port);
	if (entry != NULL) {
		host_policy_decide(decision_r, DENY_HOST_DENIED, entry);
		return;
	}
	for (i = 0; i < policy->allow.count; i++) {
		entry = host_policy_entry(&policy->allow, i);
		if (entry->kind != POLICY_ENTRY_RAW ||
		    !ip_addr_cidr_contains(&entry->range, address))
			continue;
		if (!policy_entry_covers_port(entry, port) ||
		    traffic != HOST_POLICY_TUNNEL) {
			if (code == DENY_IP_LITERAL)
				code = DENY_PORT_NOT_ALLOWED;
		} else if (host_policy_range_opens(
			       policy, &entry->range, address, &rule)) {
			host_policy_decide(decision_r, DENY_NONE, entry);
			return;
		} else {
			code = DENY_ADDRESS_NOT_ALLOWED;
		}
		near = entry;
	}
	host_policy_decide(decision_r, code, near);
}

/* One address of an answer: global, or in a range listed for the name. */
static enum deny_code
host_policy_check_address(const struct host_policy *policy,
    const struct domain *name, uint16_t port, const struct ip_addr *address,
    const char **rule_r)
{
	struct ip_cidr_list own = host_policy_own_list(policy);
	const struct host_policy_extra *extra = policy->extra.items;
	const struct policy_entry *denied;
	const char *rule;
	size_t i;

	denied = host_policy_denied_address(policy, address, port);
	if (denied != NULL) {
		*rule_r = denied->text;
		return DENY_HOST_DENIED;
	}
	if (ip_addr_judge(address, &own, rule_r) == IP_GLOBAL)
		return DENY_NONE;
	for (i = 0; i < policy->extra.count; i++)
		if (domain_equal(&extra[i].name, name) &&
		    host_policy_range_opens(
			policy, &extra[i].range, address, &rule))
			return DENY_NONE;
	return DENY_ADDRESS_NOT_ALLOWED;
}

enum deny_code
host_policy_check_answer(const struct host_policy *policy,
    const struct domain *name, uint16_t port, const struct ip_addr *addresses,
    size_t count, const char **rule_r, size_t *bad_r)
{
	enum deny_code code;
	size_t i;

	*rule_r = "no address";
	for (i = 0; i < count; i++) {
		code = host_policy_check_address(
		    policy, name, port, &addresses[i], rule_r);
		if (bad_r != NULL)
			*bad_r = i;
		if (code != DENY_NONE)
			return code;
	}
	return count == 0 ? DENY_ADDRESS_NOT_ALLOWED : DENY_NONE;
}

bool
host_policy_ech_allowed(
    const struct host_policy *policy, const struct domain *name)
{
	const struct domain *names = policy->ech.items;
	size_t i;

	for (i = 0; i < policy->ech.count; i++)
		if (domain_equal(&names[i], name))
			return true;
	return false;
}

/* True when inner opens nothing that outer does not: a smaller range alone
 * is not enough, since what a range opens goes by its own base, and a single
 * address may be this host's own (host_policy_range_opens). */
static bool
host_policy_range_within(const struct host_policy *next,
    const struct ip_cidr *inner, const struct host_policy *policy,
    const struct ip_cidr *outer)
{
	struct ip_cidr_list inner_own = host_policy_own_list(next);
	struct ip_cidr_list outer_own = host_policy_own_list(policy);
	const char *inner_rule, *outer_rule;
	enum ip_verdict verdict;

	if (outer->prefix > inner->prefix ||
	    !ip_addr_cidr_contains(outer, &inner->base) ||
	    (host_policy_is_single(inner) && !host_policy_is_single(outer)))
		return false;
	/* Itself and nothing else, whatever kind of address it becomes. */
	if (host_policy_is_single(outer))
		return true;
	verdict = ip_addr_judge(&inner->base, &inner_own, &inner_rule);
	ip_addr_judge(&outer->base, &outer_own, &outer_rule);
	return verdict == IP_GLOBAL || inner_rule == outer_rule;
}

static bool
host_policy_entry_within(const struct host_policy *next,
    const struct policy_entry *inner, const struct host_policy *policy,
    const struct policy_entry *outer)
{
	return policy_entry_includes(outer, inner) &&
	       (inner->kind != POLICY_ENTRY_RAW ||
		   host_policy_range_within(
		       next, &inner->range, policy, &outer->range));
}

/* Every allow entry of next is included in one of policy. */
static bool
host_policy_allow_within(
    const struct host_policy *next, const struct host_policy *policy)
{
	size_t i, j;

	for (i = 0; i < next->allow.count; i++) {
		for (j = 0; j < policy->allow.count; j++)
			if (host_policy_entry_within(next,
				host_policy_entry(&next->allow, i), policy,
				host_policy_entry(&policy->allow, j)))
				break;
		if (j == policy->allow.count)
			return false;
	}
	return true;
}

/* Every deny entry of policy is included in one of next. */
static bool
host_policy_deny_within(
    const struct host_policy *policy, const struct host_policy *next)
{
	size_t i, j;

	for (i = 0; i < policy->deny.count; i++) {
		for (j = 0; j < next->deny.count; j++)
			if (policy_entry_includes(
				host_policy_entry(&next->deny, j),
				host_policy_entry(&policy->deny, i)))
				break;
		if (j == next->deny.count)
			return false;
	}
	return true;
}

static bool
host_policy_extra_within(
    const struct host_policy *next, const struct host_policy *policy)
{
	const struct host_policy_extra *a = next->extra.items;
	const struct host_policy_extra *b = policy->extra.items;
	size_t i, j;

	for (i = 0; i < next->extra.count; i++) {
		for (j = 0; j < policy->extra.count; j++)
			if (domain_equal(&a[i].name, &b[j].name) &&
			    host_policy_range_within(
				next, &a[i].range, policy, &b[j].range))
				break;
		if (j == policy->extra.count)
			return false;
	}
	return true;
}

/* Every range of the host that was refused before still is; an address of
 * its own by itself, since a network of its own refuses less. */
static bool
host_policy_own_within(
    const struct host_policy *policy, const struct host_policy *next)
{
	const struct ip_cidr *a = policy->own.items, *b = next->own.items;
	size_t i, j;

	for (i = 0; i < policy->own.count; i++) {
		for (j = 0; j < next->own.count; j++)
			if (b[j].prefix <= a[i].prefix &&
			    host_policy_is_single(&b[j]) ==
				host_policy_is_single(&a[i]) &&
			    ip_addr_cidr_contains(&b[j], &a[i].base))
				break;
		if (j == next->own.count)
			return false;
	}
	return true;
}

bool
host_policy_is_narrower(
    const struct host_policy *next, const struct host_policy *policy)
{
	const struct domain *names = next->ech.items;
	size_t i;

	for (i = 0; i < next->ech.count; i++)
		if (!host_policy_ech_allowed(policy, &names[i]))
			return false;
	return host_policy_allow_within(next, policy) &&
	       host_policy_deny_within(policy, next) &&
	       host_policy_extra_within(next, policy) &&
	       host_policy_own_within(policy, next);
}

size_t
host_policy_allow_count(const struct host_policy *policy)
{
	return policy->allow.count;
}

const struct policy_entry *
host_policy_allow_borrow(const struct host_policy *policy, size_t index)
{
	return index < policy->allow.count
		   ? host_policy_entry(&policy->allow, index)
		   : NULL;
}
