/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Judges names of variables; see env_entry.h. Called by mcp install,
 * lockfile_field and mcp_package. Must never let a name through that the
 * sandbox itself sets.
 */
#include "supervisor/package/env_entry.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

/* Compared without regard to case: many programs read both spellings. */
static const char *const env_entry_ours[] = {"PATH", "HOME", "TMPDIR", "LANG",
    "USER", "SHELL", "PWD", "ENV", "BASH_ENV", "IFS", "HTTP_PROXY",
    "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "FTP_PROXY", "SSL_CERT_FILE",
    "SSL_CERT_DIR", "OPENSSL_CONF", "OPENSSL_MODULES", "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE", "GCONV_PATH", "GLIBC_TUNABLES", "RES_OPTIONS",
    "HOSTALIASES", "LOCALDOMAIN", NULL};
static const char *const env_entry_families[] = {"LD_", "DYLD_", "NODE_",
    "PYTHON", "NPM_CONFIG_", "PIP_", "MALLOC_", "AGENTNODE_", NULL};
/* Of those families: settings of programs, as NODE_ENV=production. */
static const char *const env_entry_settings[] = {
    "NODE_ENV", "NODE_DEBUG", NULL};
static const char *const env_entry_keys[] = {"KEY", "TOKEN", "SECRET",
    "SECRETS", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "CREDENTIALS",
    NULL};

static bool
env_entry_is(const char *const *list, const char *name, size_t len)
{
	for (; *list != NULL; list++)
		if (strlen(*list) == len && strncasecmp(*list, name, len) == 0)
			return true;
	return false;
}

static bool
env_entry_begins(const char *const *list, const char *name, size_t len)
{
	for (; *list != NULL; list++) {
		size_t part = strlen(*list);

		if (part <= len && strncasecmp(*list, name, part) == 0)
			return true;
	}
	return false;
}

static bool
env_entry_ends(const char *const *list, const char *name, size_t len)
{
	for (; *list != NULL; list++) {
		size_t part = strlen(*list);

		if (part <= len &&
		    strncasecmp(*list, name + len - part, part) == 0)
			return true;
	}
	return false;
}

static bool
env_entry_is_name(const char *name, size_t len)
{
	if (len == 0 || len > ENV_ENTRY_NAME_MAX ||
	    (name[0] >= '0' && name[0] <= '9'))
		return false;
	for (size_t i = 0; i < len; i++)
		if (!((name[i] >= 'a' && name[i] <= 'z') ||
			(name[i] >= 'A' && name[i] <= 'Z') ||
			(name[i] >= '0' && name[i] <= '9') || name[i] == '_'))
			return false;
	return true;
}

/* Printable ASCII, and UTF-8 beyond it as far as JSON takes it. */
static bool
env_entry_is_value(const char *value)
{
	size_t len = strlen(value);

	for (size_t i = 0; i < len; i++)
		if ((uint8_t)value[i] < 0x20 || value[i] == 0x7f)
			return false;
	return len <= ENV_ENTRY_VALUE_MAX;
}

enum env_entry_verdict
env_entry_form(const char *name, size_t name_len, const char *value)
{
	if (!env_entry_is_name(name, name_len))
		return ENV_ENTRY_NO_NAME;
	return env_entry_is_value(value) ? ENV_ENTRY_OK : ENV_ENTRY_NO_VALUE;
}

enum env_entry_verdict
env_entry_judge(const char *name, size_t name_len, const char *value)
{
	enum env_entry_verdict verdict = env_entry_form(name, name_len, value);

	if (verdict != ENV_ENTRY_OK)
		return verdict;
	if (env_entry_is(env_entry_settings, name, name_len))
		return ENV_ENTRY_OK;
	if (env_entry_is(env_entry_ours, name, name_len) ||
	    env_entry_begins(env_entry_families, name, name_len))
		return ENV_ENTRY_OURS;
	if (env_entry_ends(env_entry_keys, name, name_len))
		return ENV_ENTRY_SECRET;
	return ENV_ENTRY_OK;
}

const char *
env_entry_text(enum env_entry_verdict verdict)
{
	switch (verdict) {
	case ENV_ENTRY_OK:
		return "is right";
	case ENV_ENTRY_NO_NAME:
		return "is no name of a variable: use 1 to 64 letters, digits "
		       "and _, no digit first";
	case ENV_ENTRY_NO_VALUE:
		return "must have a value of at most 1024 bytes without "
		       "control bytes";
	case ENV_ENTRY_OURS:
		return "is set by the sandbox, or steers how programs are "
		       "loaded or connect: leave it out";
	case ENV_ENTRY_SECRET:
		return "is named like a key, and agentnode.lock is no place "
		       "for one: keys do not enter the sandbox";
	}
	return "";
}
