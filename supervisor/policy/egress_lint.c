/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See egress_lint.h. Called by command_config.c and command_egress.c. It
 * must never refuse an entry, nor ask anybody about a name.
 */
#include "supervisor/policy/egress_lint.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define EGRESS_LINT_NAME_MAX 256U

#define EGRESS_LINT_RESOLVER                                            \
	"is a public DNS resolver: names that are asked for carry data" \
	" out, and its answers hand out ECH keys"
#define EGRESS_LINT_SHARED                                               \
	"serves many tenants under one name: whoever may talk to it may" \
	" write to any of them, which a list of names cannot stop"

/* Each with everything below it. */
static const char *const egress_lint_resolvers[] = {"dns.google",
    "cloudflare-dns.com", "one.one.one.one", "quad9.net", "opendns.com",
    "adguard-dns.com", "dns.adguard.com", "nextdns.io", "cleanbrowsing.org",
    "dns.mullvad.net", "doh.mullvad.net", "controld.com", "dns0.eu", "dns.sb",
    "doh.pub", "dns.alidns.com", "dns.twnic.tw", NULL};
static const char *const egress_lint_shared[] = {"sentry.io", "github.com",
    "githubusercontent.com", "gitlab.com", "bitbucket.org", "codeberg.org",
    "pastebin.com", "webhook.site", "transfer.sh", "slack.com", "discord.com",
    "discordapp.com", "api.telegram.org", "amazonaws.com",
    "storage.googleapis.com", "firebaseio.com", "windows.net",
    "r2.cloudflarestorage.com", "workers.dev", "script.google.com",
    "docs.google.com", "drive.google.com", "notion.com", "airtable.com",
    "huggingface.co", "graph.microsoft.com", "atlassian.net",
    "api.datadoghq.com", "dropboxapi.com", NULL};

/* name is other, or lies below it. */
static bool
egress_lint_below(const char *name, const char *other)
{
	size_t len = strlen(name), end = strlen(other);

	if (len < end || strcmp(name + len - end, other) != 0)
		return false;
	return len == end || name[len - end - 1] == '.';
}

/* A wildcard above a name of the table lets that name in, too. */
static bool
egress_lint_has(const char *const *rows, const char *name, bool wildcard)
{
	for (; *rows != NULL; rows++)
		if (egress_lint_below(name, *rows) ||
		    (wildcard && egress_lint_below(*rows, name)))
			return true;
	return false;
}

const char *
egress_lint_entry(const char *entry)
{
	char name[EGRESS_LINT_NAME_MAX];
	bool wildcard = strncmp(entry, "*.", 2) == 0;
	const char *start = entry + (wildcard ? 2 : 0), *port;
	size_t len;

	if (strncmp(entry, "tcp://", 6) == 0)
		return NULL;
	if (strncmp(entry, "http://", 7) == 0)
		start = entry + 7;
	port = strrchr(start, ':');
	len = port != NULL ? (size_t)(port - start) : strlen(start);
	if (len >= sizeof(name))
		return NULL;
	memcpy(name, start, len);
	name[len] = '\0';
	if ((port != NULL && strcmp(port, ":853") == 0) ||
	    egress_lint_has(egress_lint_resolvers, name, wildcard))
		return EGRESS_LINT_RESOLVER;
	if (egress_lint_has(egress_lint_shared, name, wildcard))
		return EGRESS_LINT_SHARED;
	return NULL;
}
