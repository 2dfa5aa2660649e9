/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Judges variables of `exec --env`; see exec_env.h. Called by exec_request;
 * must never let a name through because of its case.
 */
#include "supervisor/exec/exec_env.h"

#include <string.h>
#include <strings.h>

#include "supervisor/argv/argv_key.h"

/* Beside these: every name that argv_key.h takes for a credential's. */
const struct exec_env_row exec_env_rows[] = {
    {EXEC_ENV_BEGINS, "AWS_", EXEC_ENV_CREDENTIAL},
    {EXEC_ENV_BEGINS, "AZURE_", EXEC_ENV_CREDENTIAL},
    {EXEC_ENV_BEGINS, "GITHUB_", EXEC_ENV_CREDENTIAL},
    {EXEC_ENV_BEGINS, "GH_", EXEC_ENV_CREDENTIAL},
    {EXEC_ENV_BEGINS, "VAULT_", EXEC_ENV_CREDENTIAL},
    {EXEC_ENV_BEGINS, "GIT_", EXEC_ENV_CREDENTIAL},
    {EXEC_ENV_BEGINS, "NPM_CONFIG_", EXEC_ENV_CREDENTIAL},
    {EXEC_ENV_BEGINS, "SSH_", EXEC_ENV_CREDENTIAL},
    {EXEC_ENV_BEGINS, "GPG_", EXEC_ENV_CREDENTIAL},
    {EXEC_ENV_BEGINS, "DOCKER_", EXEC_ENV_CREDENTIAL},
    {EXEC_ENV_BEGINS, "AGENTNODE_", EXEC_ENV_CREDENTIAL},
    {EXEC_ENV_ENDS, "_KEY", EXEC_ENV_CREDENTIAL},
    {EXEC_ENV_ENDS, "_TOKEN", EXEC_ENV_CREDENTIAL},
    {EXEC_ENV_ENDS, "_SECRET", EXEC_ENV_CREDENTIAL},
    {EXEC_ENV_ENDS, "_CREDENTIALS", EXEC_ENV_CREDENTIAL},
    {EXEC_ENV_IS, "CONTAINER_HOST", EXEC_ENV_CREDENTIAL},
    {EXEC_ENV_IS, "DATABASE_URL", EXEC_ENV_CREDENTIAL},
    {EXEC_ENV_IS, "DBUS_SESSION_BUS_ADDRESS", EXEC_ENV_CREDENTIAL},
    {EXEC_ENV_IS, "KUBECONFIG", EXEC_ENV_CREDENTIAL},
    {EXEC_ENV_IS, "NETRC", EXEC_ENV_CREDENTIAL},
    {EXEC_ENV_IS, "PGPASSFILE", EXEC_ENV_CREDENTIAL},
    {EXEC_ENV_IS, "XAUTHORITY", EXEC_ENV_CREDENTIAL},
    {EXEC_ENV_ENDS, "_PROXY", EXEC_ENV_PROXY},
    {EXEC_ENV_IS, "NODE_USE_ENV_PROXY", EXEC_ENV_PROXY},
    {EXEC_ENV_BEGINS, "LD_", EXEC_ENV_LOADER},
    {EXEC_ENV_BEGINS, "DYLD_", EXEC_ENV_LOADER},
    {EXEC_ENV_BEGINS, "PERL5", EXEC_ENV_LOADER},
    {EXEC_ENV_IS, "BASH_ENV", EXEC_ENV_LOADER},
    {EXEC_ENV_IS, "ENV", EXEC_ENV_LOADER},
    {EXEC_ENV_IS, "GCONV_PATH", EXEC_ENV_LOADER},
    {EXEC_ENV_IS, "GLIBC_TUNABLES", EXEC_ENV_LOADER},
    {EXEC_ENV_IS, "JAVA_TOOL_OPTIONS", EXEC_ENV_LOADER},
    {EXEC_ENV_IS, "_JAVA_OPTIONS", EXEC_ENV_LOADER},
    {EXEC_ENV_IS, "NODE_OPTIONS", EXEC_ENV_LOADER},
    {EXEC_ENV_IS, "NODE_EXTRA_CA_CERTS", EXEC_ENV_LOADER},
    {EXEC_ENV_IS, "NODE_PATH", EXEC_ENV_LOADER},
    {EXEC_ENV_IS, "OPENSSL_CONF", EXEC_ENV_LOADER},
    {EXEC_ENV_IS, "OPENSSL_MODULES", EXEC_ENV_LOADER},
    {EXEC_ENV_IS, "PYTHONHOME", EXEC_ENV_LOADER},
    {EXEC_ENV_IS, "PYTHONPATH", EXEC_ENV_LOADER},
    {EXEC_ENV_IS, "PYTHONSTARTUP", EXEC_ENV_LOADER},
    {EXEC_ENV_IS, "RUBYLIB", EXEC_ENV_LOADER},
    {EXEC_ENV_IS, "RUBYOPT", EXEC_ENV_LOADER},
    {EXEC_ENV_IS, "HOME", EXEC_ENV_HOME},
    {EXEC_ENV_IS, "TMPDIR", EXEC_ENV_HOME},
    {EXEC_ENV_BEGINS, "XDG_", EXEC_ENV_HOME},
    {EXEC_ENV_IS, NULL, EXEC_ENV_OK},
};

/* A shell's name: letters, digits, '_', no digit first. */
static bool
exec_env_is_name(const char *name, size_t len)
{
	static const char letters[] =
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";

	return len > 0 && len <= EXEC_ENV_NAME_MAX &&
	       strspn(name, letters) >= len && (name[0] < '0' || name[0] > '9');
}

static bool
exec_env_matches(const struct exec_env_row *row, const char *name, size_t len)
{
	size_t part = strlen(row->text);

	if (part > len || (row->match == EXEC_ENV_IS && part != len))
		return false;
	if (row->match == EXEC_ENV_ENDS)
		name += len - part;
	return strncasecmp(name, row->text, part) == 0;
}

static enum exec_env_verdict
exec_env_name(const char *name, size_t len)
{
	for (const struct exec_env_row *row = exec_env_rows; row->text != NULL;
	     row++) {
		if (exec_env_matches(row, name, len))
			return row->verdict;
	}
	return argv_key_is_name(name, len) ? EXEC_ENV_CREDENTIAL : EXEC_ENV_OK;
}

/* The home itself, or a path below it, alone or in a list with ':'. */
static bool
exec_env_names_home(const char *value, const char *home)
{
	size_t len = home == NULL ? 0 : strlen(home);

	while (len > 1 && home[len - 1] == '/')
		len--;
	if (len <= 1)
		return false;
	for (const char *at = value; *at != '\0'; at++) {
		if (strncmp(at, home, len) != 0)
			continue;
		if ((at == value || strchr(":=,; ", at[-1]) != NULL) &&
		    (at[len] == '\0' || at[len] == '/' ||
			strchr(":,; ", at[len]) != NULL))
			return true;
	}
	return false;
}

enum exec_env_verdict
exec_env_judge(const char *entry, const char *host_home)
{
	const char *equals = strchr(entry, '=');
	size_t len = equals == NULL ? strlen(entry) : (size_t)(equals - entry);
	enum exec_env_verdict verdict;

	if (!exec_env_is_name(entry, len))
		return EXEC_ENV_FORM;
	if (equals == NULL)
		return EXEC_ENV_FORWARD;
	if (strlen(equals + 1) > EXEC_ENV_VALUE_MAX)
		return EXEC_ENV_FORM;
	verdict = exec_env_name(entry, len);
	if (verdict != EXEC_ENV_OK)
		return verdict;
	if (argv_key_is_value(equals + 1))
		return EXEC_ENV_KEY;
	return exec_env_names_home(equals + 1, host_home) ? EXEC_ENV_HOST_HOME
							  : EXEC_ENV_OK;
}

bool
exec_env_may_be_known(enum exec_env_verdict verdict)
{
	return verdict >= EXEC_ENV_CREDENTIAL;
}

const char *
exec_env_word(enum exec_env_verdict verdict)
{
	static const char *const words[] = {"", "form", "forwarded",
	    "credential", "proxy", "loader", "home", "key_value", "host_home"};

	return words[verdict];
}

const char *
exec_env_text(enum exec_env_verdict verdict)
{
	switch (verdict) {
	case EXEC_ENV_OK:
		return "may be set";
	case EXEC_ENV_FORM:
		return "is no NAME=VALUE with a name of letters, digits and "
		       "'_' and a value of at most 32 KiB";
	case EXEC_ENV_FORWARD:
		return "has no value: nothing is taken out of your "
		       "environment, write NAME=VALUE";
	case EXEC_ENV_CREDENTIAL:
		return "is named like a credential, or like the way to some";
	case EXEC_ENV_PROXY:
		return "says where connections go, which the sandbox decides";
	case EXEC_ENV_LOADER:
		return "says what programs load before they begin";
	case EXEC_ENV_HOME:
		return "says where settings and keys are looked for, which is "
		       "the scratch directory";
	case EXEC_ENV_KEY:
		return "has a value of the shape of a key";
	case EXEC_ENV_HOST_HOME:
		return "has a value that names your own home";
	}
	return "is not known";
}
