/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What comes in by the environment and what is reached by the network.
 * Called by argv_judge alone.
 */
#include <stddef.h>
#include <string.h>

#include "supervisor/argv/argv_csv.h"
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
	while ((at = argv_items_next(items, ARGV_ENV_MERGE, at)) != NULL) {
		if (!argv_key_is_entry(at->value))
			continue;
		argv_judge_network_head(at->value, "=", name, sizeof(name));
		argv_finding_add(findings, ARGV_CODE_ENV_KEY, name, at);
	}
	while ((at = argv_items_next(items, ARGV_ENV_FILE, at)) != NULL)
		argv_finding_add(findings, ARGV_CODE_ENV_FILE, at->value, at);
	if (argv_items_is_true(items, ARGV_ENV_HOST, false))
		argv_finding_add(findings, ARGV_CODE_ENV_HOST, "",
		    argv_items_last(items, ARGV_ENV_HOST));
}

static bool
argv_judge_network_is_word(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
	       (c >= 'a' && c <= 'z') || c == '_';
}

/* WORD=WORD stands somewhere: docker reads the value as fields. */
static bool
argv_judge_network_is_long(const char *value)
{
	for (const char *at = strchr(value, '='); at != NULL;
	     at = strchr(at + 1, '=')) {
		if (at > value && argv_judge_network_is_word(at[-1]) &&
		    argv_judge_network_is_word(at[1]))
			return true;
	}
	return false;
}

/* text with small letters and without the space around it; "" when it is
 * longer than size. */
static void
argv_judge_network_fold(
    const char *text, size_t len, char *folded_r, size_t size)
{
	static const char space[] = " \t\r\n\v\f";
	size_t skip = strspn(text, space), used = 0;

	if (len >= size)
		len = 0;
	for (size_t i = skip; i < len; i++)
		folded_r[used++] =
		    (char)(text[i] >= 'A' && text[i] <= 'Z' ? text[i] + 32
							    : text[i]);
	while (used > 0 && strchr(space, folded_r[used - 1]) != NULL)
		used--;
	folded_r[used] = '\0';
}

/* One field: false when docker has no such key. */
static bool
argv_judge_network_field(const char *field, char *name, size_t size)
{
	static const char *const keys[] = {"alias", "driver-opt", "ip", "ip6",
	    "mac-address", "link-local-ip", "gw-priority", NULL};
	const char *equals = strchr(field, '=');
	char key[32];

	if (equals == NULL || equals - field >= (ptrdiff_t)sizeof(key))
		return false;
	argv_judge_network_fold(
	    field, (size_t)(equals - field), key, sizeof(key));
	if (strcmp(key, "name") != 0)
		return argv_value_is_one_of(key, keys);
	argv_judge_network_fold(equals + 1, strlen(equals + 1), name, size);
	return true;
}

/* As it stands; of docker's name=NAME,alias=... the last name. "": what is
 * written is not understood. */
static void
argv_judge_network_name(
    enum argv_engine engine, const char *value, char *name_r, size_t size)
{
	struct argv_csv *csv = NULL;
	bool known;

	argv_judge_network_head(value, "", name_r, size);
	if (engine != ARGV_DOCKER || !argv_judge_network_is_long(value))
		return;
	name_r[0] = '\0';
	known = argv_csv_new(value, &csv) == RESULT_OK;
	for (size_t i = 0; known && i < argv_csv_count(csv); i++)
		known = argv_judge_network_field(
		    argv_csv_field_borrow(csv, i), name_r, size);
	if (!known && strcmp(name_r, "none") == 0)
		name_r[0] = '\0';
	argv_csv_free(&csv);
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
		argv_judge_network_name(
		    items->engine, at->value, name, sizeof(name));
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

		/* Docker takes addresses in brackets. */
		len -= len > 0 && at->value[len - 1] == ']' ? 1 : 0;
		if (len < 12 ||
		    strncmp(at->value + len - 12, "host-gateway", 12) != 0)
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
