/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Puts denials together (see the header). Called by exec; a printed path is
 * shown as a hint alone, and must never become a grant.
 */
#include "supervisor/native/native_denied.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/domain.h"

/* "name:port" in canonical spelling, as --allow takes it. */
static bool
native_denied_is_entry(const char *target)
{
	const char *colon = strrchr(target, ':');
	struct domain name;
	char *end = NULL;
	unsigned long port;

	if (colon == NULL || colon[1] < '1' || colon[1] > '9')
		return false;
	port = strtoul(colon + 1, &end, 10);
	return *end == '\0' && port <= 65535 &&
	       domain_parse(target, (size_t)(colon - target), &name) ==
		   DOMAIN_OK &&
	       name.len == (size_t)(colon - target) &&
	       strncmp(name.name, target, name.len) == 0;
}

/* What is missing from the list; deny entries, addresses and what a client
 * did wrong are no matter of a grant. */
static bool
native_denied_is_grantable(const char *target, const char *code)
{
	return (strcmp(code, "host_not_allowed") == 0 ||
		   strcmp(code, "port_not_allowed") == 0) &&
	       native_denied_is_entry(target);
}

static struct native_denied_host *
native_denied_find(
    struct native_denied *denied, const char *target, const char *code)
{
	for (size_t i = 0; i < denied->host_count; i++) {
		struct native_denied_host *host = &denied->hosts[i];

		if (strcmp(host->target, target) == 0 &&
		    strcmp(host->code, code) == 0)
			return host;
	}
	return NULL;
}

void
native_denied_decision(struct native_denied *denied, const json_t *body)
{
	const char *verdict =
	    json_string_value(json_object_get(body, "verdict"));
	const char *target = json_string_value(json_object_get(body, "target"));
	const char *code = json_string_value(json_object_get(body, "code"));
	json_int_t count = json_integer_value(json_object_get(body, "count"));
	struct native_denied_host *host;

	if (verdict == NULL || target == NULL || code == NULL ||
	    strcmp(verdict, "deny") != 0 ||
	    strlen(target) >= NATIVE_DENIED_TARGET_MAX ||
	    strlen(code) >= NATIVE_DENIED_CODE_MAX)
		return;
	host = native_denied_find(denied, target, code);
	if (host == NULL && denied->host_count == NATIVE_DENIED_HOSTS_MAX) {
		denied->full = true;
		return;
	}
	if (host == NULL) {
		host = &denied->hosts[denied->host_count++];
		memset(host, 0, sizeof(*host));
		memcpy(host->target, target, strlen(target) + 1);
		memcpy(host->code, code, strlen(code) + 1);
		host->grantable = native_denied_is_grantable(target, code);
	}
	host->count += count > 0 ? (uint64_t)count : 1;
}

static int
native_denied_add(json_t *list, const char *kind, const char *target,
    const char *code, const char *flag, const char *known_by)
{
	json_t *row = json_pack("{s:s, s:s, s:s, s:s}", "kind", kind, "target",
	    target, "code", code, "known_by", known_by);

	if (row != NULL && flag[0] != '\0' &&
	    json_object_set_new(row, "flag", json_string(flag)) != 0) {
		json_decref(row);
		return -1;
	}
	return json_array_append_new(list, row);
}

static int
native_denied_add_host(json_t *list, const struct native_denied_host *host)
{
	char flag[NATIVE_DENIED_TARGET_MAX + 16] = "";

	if (host->grantable)
		(void)snprintf(flag, sizeof(flag), "--allow %s", host->target);
	if (native_denied_add(
		list, "host", host->target, host->code, flag, "proxy") != 0)
		return -1;
	return json_object_set_new(
	    json_array_get(list, json_array_size(list) - 1), "count",
	    json_integer((json_int_t)host->count));
}

/* Printable, as long as a hint may be: nothing else was to be sent. */
static bool
native_denied_is_path(const char *path)
{
	size_t len = path != NULL ? strlen(path) : 0;

	for (size_t i = 0; i < len; i++) {
		if ((unsigned char)path[i] < 0x20 ||
		    (unsigned char)path[i] > 0x7e)
			return false;
	}
	return len > 0 && len < NATIVE_DENIED_PATH_MAX;
}

/* A hint that the view does not explain is the command's own trouble. */
static int
native_denied_add_path(
    json_t *list, const struct native_view *view, const json_t *hint)
{
	const char *path = json_string_value(json_object_get(hint, "path"));
	const char *need = json_string_value(json_object_get(hint, "need"));
	struct native_denial denial = {"", ""};

	if (!native_denied_is_path(path) || need == NULL)
		return 0;
	if (strcmp(need, "write") != 0)
		denial = native_view_judge(view, path, false);
	if (strcmp(need, "read") != 0 && denial.code[0] == '\0')
		denial = native_view_judge(view, path, true);
	if (denial.code[0] == '\0')
		return 0;
	return native_denied_add(
	    list, "path", path, denial.code, denial.flag, "output");
}

json_t *
native_denied_json(const struct native_denied *denied,
    const struct native_view *view, const json_t *hints)
{
	json_t *list = json_array();
	int failed = list == NULL;

	for (size_t i = 0; !failed && i < denied->host_count; i++)
		failed = native_denied_add_host(list, &denied->hosts[i]);
	for (size_t i = 0;
	     !failed && view != NULL && i < json_array_size(hints) &&
	     i < NATIVE_DENIED_PATHS_MAX;
	     i++)
		failed = native_denied_add_path(
		    list, view, json_array_get(hints, i));
	if (failed) {
		json_decref(list);
		return NULL;
	}
	return list;
}
