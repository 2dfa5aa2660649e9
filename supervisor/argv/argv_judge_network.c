/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What comes in by the environment and what is reached by the network.
 * Called by argv_judge alone.
 */
#include <string.h>

#include "supervisor/argv/argv_judge.h"
#include "supervisor/argv/argv_key.h"
#include "supervisor/argv/argv_value.h"

#define ARGV_JUDGE_NETWORK_NAME 256U

/* The text before one of the bytes of stop, cut to size. */
static void
argv_judge_network_head(
    const char *text, const char *stop, char *head_r, size_t size)
{
	size_t len = strcspn(text, stop);

	if (len >= size)
		len = size - 1;
	memcpy(head_r, text, len);
	head_r[len] = '\0';
}

static void
argv_judge_network_env(
    const struct argv_items *items, struct argv_findings *findings)
{
	char name[ARGV_JUDGE_NETWORK_NAME];
	const struct argv_item *at = NULL;

	while ((at = argv_items_next(items, ARGV_ENV, at)) != NULL) {
		if (strchr(at->value, '=') == NULL) {
			argv_finding_add(
			    findings, ARGV_CODE_ENV_FORWARDED, "", at);
		} else if (argv_key_is_entry(at->value)) {
			argv_judge_network_head(
			    at->value, "=", name, sizeof(name));
			argv_finding_add(findings, ARGV_CODE_ENV_KEY, name, at);
		}
	}
	while ((at = argv_items_next(items, ARGV_ENV_FILE, at)) != NULL)
		argv_finding_add(findings, ARGV_CODE_ENV_FILE, at->value, at);
	if (argv_items_is_true(items, ARGV_ENV_HOST, false))
		argv_finding_add(findings, ARGV_CODE_ENV_HOST, "",
		    argv_items_last(items, ARGV_ENV_HOST));
}

/* NAME, or the name in docker's name=NAME,alias=... */
static void
argv_judge_network_name(const char *value, char *name_r, size_t size)
{
	const char *at = value;

	while (strncmp(at, "name=", 5) != 0) {
		at = strchr(at, ',');
		if (at == NULL) {
			argv_judge_network_head(value, "", name_r, size);
			return;
		}
		at++;
	}
	argv_judge_network_head(at + 5, ",", name_r, size);
}

/* True when every network of the line is "none". */
static bool
argv_judge_network_is_none(
    const struct argv_items *items, struct argv_findings *findings)
{
	char name[ARGV_JUDGE_NETWORK_NAME];
	const struct argv_item *at = NULL;
	bool any = false, none = true;

	while ((at = argv_items_next(items, ARGV_NETWORK, at)) != NULL) {
		any = true;
		argv_judge_network_name(at->value, name, sizeof(name));
		if (strcmp(name, "none") == 0)
			continue;
		none = false;
		argv_finding_add(findings, ARGV_CODE_NETWORK, "", at);
		if (strcmp(name, "host") == 0)
			argv_finding_add(
			    findings, ARGV_CODE_NETWORK_HOST, "", at);
		else if (strncmp(name, "container:", 10) == 0 ||
			 strncmp(name, "ns:", 3) == 0)
			argv_finding_add(
			    findings, ARGV_CODE_NETWORK_JOINED, name, at);
	}
	if (!any)
		argv_finding_add(findings, ARGV_CODE_NETWORK, "", NULL);
	return any && none;
}

/* What podman does when nobody says otherwise, and there is a network. */
static void
argv_judge_network_defaults(const struct argv_items *items,
    struct argv_findings *findings, bool is_none)
{
	const struct argv_item *proxy = argv_items_last(items, ARGV_HTTP_PROXY);

	if (proxy != NULL && strcmp(proxy->value, "true") == 0)
		argv_finding_add(findings, ARGV_CODE_ENV_PROXY, "", proxy);
	if (items->engine != ARGV_PODMAN || !items->is_line || is_none)
		return;
	if (proxy == NULL)
		argv_finding_add(findings, ARGV_CODE_PROXY_DEFAULT, "", NULL);
	if (!argv_items_is_true(items, ARGV_NO_HOSTS, false))
		argv_finding_add(
		    findings, ARGV_CODE_HOST_NAME_DEFAULT, "", NULL);
}

static void
argv_judge_network_hosts(
    const struct argv_items *items, struct argv_findings *findings)
{
	char name[ARGV_JUDGE_NETWORK_NAME];
	const struct argv_item *at = NULL;

	while ((at = argv_items_next(items, ARGV_ADD_HOST, at)) != NULL) {
		size_t len = strlen(at->value);

		if (len < 12 ||
		    strcmp(at->value + len - 12, "host-gateway") != 0)
			continue;
		argv_judge_network_head(at->value, ":=", name, sizeof(name));
		argv_finding_add(findings, ARGV_CODE_HOST_GATEWAY, name, at);
	}
}

void
argv_judge_network(
    const struct argv_items *items, struct argv_findings *findings)
{
	const struct argv_item *at = NULL;
	bool is_none;

	argv_judge_network_env(items, findings);
	is_none = argv_judge_network_is_none(items, findings);
	argv_judge_network_defaults(items, findings, is_none);
	argv_judge_network_hosts(items, findings);
	while ((at = argv_items_next(items, ARGV_POD, at)) != NULL)
		argv_finding_add(findings, ARGV_CODE_POD, at->value, at);
	while ((at = argv_items_next(items, ARGV_LINK, at)) != NULL)
		argv_finding_add(findings, ARGV_CODE_LINK, at->value, at);
	while ((at = argv_items_next(items, ARGV_PUBLISH, at)) != NULL)
		argv_finding_add(findings, ARGV_CODE_PUBLISH, "", at);
	if (argv_items_is_true(items, ARGV_PUBLISH_ALL, false))
		argv_finding_add(findings, ARGV_CODE_PUBLISH, "",
		    argv_items_last(items, ARGV_PUBLISH_ALL));
}
