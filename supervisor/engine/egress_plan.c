/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Make the proxy's options, policy and listeners. Called once per start of
 * a sandbox with egress; must never widen what it is given: entries that
 * are not canonical are refused, the host's deny list is always added.
 */
#include "supervisor/engine/egress_plan.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/fd.h"
#include "egress-proxy/policy_entry.h"
#include "common/log.h"
#include "supervisor/engine/egress_narrow.h"
#include "supervisor/policy/config.h"
#include "supervisor/policy/suffix_check.h"

#define EGRESS_PLAN_DIRECT_NET 0x7f400000U /* 127.64.0.0 */
#define EGRESS_PLAN_RESOLV_CONF "/etc/resolv.conf"

static enum result
egress_plan_bad(char *detail_r, size_t size, const char *entry, const char *why)
{
	(void)snprintf(detail_r, size,
	    "the egress entry '%.200s' is refused: it %s", entry, why);
	return RESULT_BAD;
}

/* The address of name: the one it already has, or the next. */
static void
egress_plan_address(
    const struct egress_plan *plan, struct egress_plan_direct *direct)
{
	struct in_addr address;
	uint32_t names = 1;

	direct->is_first = true;
	for (size_t i = 0; i < plan->direct_count; i++) {
		const struct egress_plan_direct *other = &plan->direct[i];

		names += (uint32_t)other->is_first;
		if (strcmp(other->name, direct->name) != 0)
			continue;
		memcpy(
		    direct->address, other->address, sizeof(direct->address));
		direct->is_first = false;
		return;
	}
	address.s_addr = htonl(EGRESS_PLAN_DIRECT_NET + names);
	(void)inet_ntop(
	    AF_INET, &address, direct->address, sizeof(direct->address));
}

static void
egress_plan_add_direct(
    struct egress_plan *plan, const struct policy_entry *entry)
{
	struct egress_plan_direct direct = {.port = entry->port};

	if (entry->kind != POLICY_ENTRY_TLS || entry->port == 0 ||
	    plan->direct_count >= EGRESS_PLAN_DIRECT_MAX)
		return; /* those go through the proxy port */
	for (size_t i = 0; i < plan->direct_count; i++) {
		if (plan->direct[i].port == entry->port &&
		    strcmp(plan->direct[i].name, entry->name.name) == 0)
			return;
	}
	memcpy(direct.name, entry->name.name, sizeof(direct.name));
	egress_plan_address(plan, &direct);
	plan->direct[plan->direct_count++] = direct;
}

/* One entry of an allow or deny list. A wildcard at or above a public
 * suffix is refused wherever it comes from: a lockfile is no configuration
 * that was checked when it was set. */
static enum result
egress_plan_entry(const char *text, enum policy_entry_asker asker,
    struct policy_entry *entry_r, char *detail_r, size_t size)
{
	char why[SUFFIX_CHECK_WHY_MAX];
	enum policy_entry_fault fault =
	    policy_entry_parse(text, strlen(text), asker, entry_r);

	if (fault != POLICY_ENTRY_OK)
		return egress_plan_bad(detail_r, size, text,
		    policy_entry_fault_text(fault, entry_r->name_fault));
	if (asker != POLICY_ENTRY_FROM_DENY &&
	    suffix_check_entry(entry_r, why) != RESULT_OK)
		return egress_plan_bad(detail_r, size, text, why);
	return RESULT_OK;
}

/* Append the entries of list, each canonical, to into. */
static enum result
egress_plan_entries(struct egress_plan *plan, const struct config *config,
    const json_t *list, enum policy_entry_asker asker, json_t *into,
    char *detail_r, size_t size)
{
	size_t count = json_array_size(list);

	for (size_t i = 0; i < count; i++) {
		const char *text = json_string_value(json_array_get(list, i));
		struct policy_entry entry;

		if (text == NULL)
			return egress_plan_bad(
			    detail_r, size, "", "must be a text");
		if (egress_plan_entry(text, asker, &entry, detail_r, size) !=
		    RESULT_OK)
			return RESULT_BAD;
		/* Whoever asks, the team policy has the last word. */
		if (asker != POLICY_ENTRY_FROM_DENY &&
		    !config_permits_entry(config, entry.text)) {
			log_event(LOG_WARN_LEVEL, "team_policy",
			    LOG_TEXT("left_out", entry.text));
			continue;
		}
		if (json_array_append_new(into, json_string(entry.text)) != 0)
			return RESULT_NO_MEMORY;
		if (asker != POLICY_ENTRY_FROM_DENY)
			egress_plan_add_direct(plan, &entry);
	}
	return RESULT_OK;
}

/* What egress.allow adds to allow; remembered apart, because it goes when
 * that changes. */
static enum result
egress_plan_configured(struct egress_plan *plan, const struct config *config,
    const json_t *list, json_t *allow, char *detail_r, size_t size)
{
	json_t *all = json_array();
	enum result result;

	plan->configured = NULL;
	result = all == NULL ? RESULT_NO_MEMORY
			     : egress_plan_entries(plan, config, list,
				   POLICY_ENTRY_FROM_HOST, all, detail_r, size);
	if (result == RESULT_OK)
		plan->configured = egress_narrow_without(all, allow);
	json_decref(all);
	if (result == RESULT_OK &&
	    (plan->configured == NULL ||
		json_array_extend(allow, plan->configured) != 0))
		result = RESULT_NO_MEMORY;
	return result;
}

/* egress.extra_ranges is an object in the config, a list in the policy. */
static enum result
egress_plan_ranges(const struct config *config, json_t *list)
{
	json_t *ranges =
	    json_deep_copy(config_json(config, "egress.extra_ranges"));
	const char *name;
	json_t *cidrs;
	enum result result = RESULT_OK;

	json_object_foreach(ranges, name, cidrs)
	{
		if (json_array_append_new(list, json_pack("{s:s, s:O}", "name",
						    name, "cidrs", cidrs)) != 0)
			result = RESULT_NO_MEMORY;
	}
	json_decref(ranges);
	return result;
}

static json_t *
egress_plan_list(json_t *object, const char *key)
{
	json_t *list = json_array();

	if (json_object_set_new(object, key, list) != 0)
		return NULL;
	return list; /* borrowed */
}

static enum result
egress_plan_policy(struct egress_plan *plan, const struct config *config,
    const json_t *egress, char *detail_r, size_t size)
{
	json_t *allow, *deny, *ranges, *own, *ech;
	enum result result;

	plan->policy = json_object();
	allow = egress_plan_list(plan->policy, "allow");
	deny = egress_plan_list(plan->policy, "deny");
	ranges = egress_plan_list(plan->policy, "extra_ranges");
	own = egress_plan_list(plan->policy, "own");
	ech = egress_plan_list(plan->policy, "ech");
	if (allow == NULL || deny == NULL || ranges == NULL || own == NULL ||
	    ech == NULL)
		return RESULT_NO_MEMORY;
	result =
	    egress_plan_entries(plan, config, json_object_get(egress, "allow"),
		POLICY_ENTRY_FROM_HOST, allow, detail_r, size);
	if (result == RESULT_OK)
		result = egress_plan_configured(plan, config,
		    json_object_get(egress, "configured"), allow, detail_r,
		    size);
	if (result == RESULT_OK)
		result = egress_plan_entries(plan, config,
		    json_object_get(egress, "deny"), POLICY_ENTRY_FROM_DENY,
		    deny, detail_r, size);
	if (result == RESULT_OK)
		result = egress_plan_entries(plan, config,
		    config_json(config, "egress.deny"), POLICY_ENTRY_FROM_DENY,
		    deny, detail_r, size);
	if (result == RESULT_OK)
		result = egress_plan_ranges(config, ranges);
	if (result == RESULT_OK)
		result = egress_plan_own(own);
	if (result == RESULT_OK &&
	    json_array_extend(
		ech, (json_t *)config_json(config, "egress.ech_allow")) != 0 &&
	    json_array_size(config_json(config, "egress.ech_allow")) > 0)
		result = RESULT_NO_MEMORY;
	return result;
}

/* One "nameserver ADDRESS" line. */
static bool
egress_plan_nameserver(
    const char *line, size_t len, char *server_r, size_t size)
{
	static const char word[] = "nameserver";
	size_t at = sizeof(word) - 1, end;
	struct ip_addr address;
	char text[IP_ADDR_TEXT_MAX];

	if (len <= at || memcmp(line, word, at) != 0 ||
	    (line[at] != ' ' && line[at] != '\t'))
		return false;
	while (at < len && (line[at] == ' ' || line[at] == '\t'))
		at++;
	for (end = at; end < len && strchr(" \t\r#;", line[end]) == NULL;)
		end++;
	if (ip_addr_parse(line + at, end - at, &address) != RESULT_OK)
		return false;
	ip_addr_text(&address, text);
	(void)snprintf(
	    server_r, size, address.family == 6 ? "[%s]:53" : "%s:53", text);
	return true;
}

enum result
egress_plan_resolver(const char *text, size_t len, char *servers_r, size_t size)
{
	size_t used = 0, count = 0;

	servers_r[0] = '\0';
	while (len > 0 && count < 3) {
		const char *end = memchr(text, '\n', len);
		size_t line = end != NULL ? (size_t)(end - text) : len;
		size_t step = end != NULL ? line + 1 : line;
		char server[IP_ADDR_TEXT_MAX + 8];

		if (egress_plan_nameserver(
			text, line, server, sizeof(server))) {
			int put = snprintf(servers_r + used, size - used,
			    "%s%s", count > 0 ? "," : "", server);

			if (put < 0 || (size_t)put >= size - used)
				return RESULT_TOO_LONG;
			used += (size_t)put;
			count++;
		}
		text += step;
		len -= step;
	}
	return count > 0 ? RESULT_OK : RESULT_NOT_FOUND;
}

enum result
egress_plan_servers(const struct config *config, char *servers_r, size_t size)
{
	const char *given = config_text(config, "egress.resolver");
	int fd FD_CLEANUP = -1;
	char *text = NULL;
	size_t len = 0;
	enum result result;

	if (given != NULL && given[0] != '\0') {
		(void)snprintf(servers_r, size, "%s", given);
		return RESULT_OK;
	}
	fd = open(EGRESS_PLAN_RESOLV_CONF, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fd_read_all(fd, 65536, &text, &len) != RESULT_OK)
		return RESULT_NOT_FOUND;
	result = egress_plan_resolver(text, len, servers_r, size);
	free(text);
	return result;
}

static enum result
egress_plan_options(
    struct egress_plan *plan, const struct config *config, const char *servers)
{
	static const char *const numbers[] = {"max_tunnels", "head_timeout_ms",
	    "hello_timeout_ms", "dial_timeout_ms", "idle_timeout_s",
	    "total_timeout_s", "rate_bytes", "max_bytes"};
	const char *upstream = config_text(config, "egress.upstream_proxy");
	int failed = 0;

	plan->options = json_pack("{s:s, s:s, s:b}", "resolver", servers,
	    "log_level", config_text(config, "log.level"), "no_landlock",
	    config_override(config, "no_landlock"));
	if (plan->options == NULL)
		return RESULT_NO_MEMORY;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		char key[64];

		(void)snprintf(key, sizeof(key), "egress.%s", numbers[i]);
		failed |= json_object_set_new(plan->options, numbers[i],
		    json_integer(config_int(config, key)));
	}
	if (upstream != NULL && upstream[0] != '\0')
		failed |= json_object_set_new(
		    plan->options, "upstream_proxy", json_string(upstream));
	return failed != 0 ? RESULT_NO_MEMORY : RESULT_OK;
}

enum result
egress_plan_make(const struct config *config, const json_t *egress,
    struct egress_plan *plan_r, char *detail_r, size_t detail_size)
{
	char servers[512];
	enum result result;

	memset(plan_r, 0, sizeof(*plan_r));
	(void)snprintf(detail_r, detail_size, "the egress policy is too big");
	result = egress_plan_servers(config, servers, sizeof(servers));
	if (result != RESULT_OK) {
		(void)snprintf(detail_r, detail_size,
		    "no name server is known: set egress.resolver to "
		    "ADDRESS:PORT, or fix " EGRESS_PLAN_RESOLV_CONF);
		return RESULT_NOT_FOUND;
	}
	result = egress_plan_options(plan_r, config, servers);
	if (result == RESULT_OK)
		result = egress_plan_policy(
		    plan_r, config, egress, detail_r, detail_size);
	if (result != RESULT_OK)
		egress_plan_clear(plan_r);
	return result;
}

void
egress_plan_clear(struct egress_plan *plan)
{
	json_decref(plan->options);
	json_decref(plan->policy);
	json_decref(plan->configured);
	plan->options = NULL;
	plan->configured = NULL;
	plan->policy = NULL;
	plan->direct_count = 0;
}
