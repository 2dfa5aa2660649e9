/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses pins; see pin.h. Called by `mcp install` and `mcp import`. Must
 * never accept a text that names more than one version.
 */
#include "supervisor/package/pin.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define PIN_SHOWN_MAX 160
#define PIN_LOWER "abcdefghijklmnopqrstuvwxyz0123456789"

static bool
pin_begins(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* Texts that name a place to fetch from instead of a version. */
static bool
pin_is_source(const char *text)
{
	static const char *const prefixes[] = {"git",
	    "http:", "https:", "ssh:", "file:", "link:", "workspace:",
	    "github:", "gitlab:", "bitbucket:", "gist:", "svn+", "hg+", "bzr+",
	    "npm:", NULL};

	for (size_t i = 0; prefixes[i] != NULL; i++)
		if (pin_begins(text, prefixes[i]))
			return true;
	return strstr(text, "://") != NULL || strchr(text, '/') != NULL;
}

/* A version text that is not exact: why? */
static enum pin_verdict
pin_version_fault(const char *version)
{
	size_t letters = 0, dots = 0, len = strlen(version);
	const char *dot = version;

	if (len == 0)
		return PIN_FLOATING;
	if (pin_is_source(version))
		return PIN_SOURCE;
	if (strpbrk(version, "^~<>=|*, ") != NULL)
		return PIN_RANGE;
	while (letters < len && (isalpha((unsigned char)version[letters]) ||
				    version[letters] == '-'))
		letters++;
	if (letters == len)
		return strcmp(version, "x") == 0 || strcmp(version, "X") == 0
			   ? PIN_RANGE
			   : PIN_TAG;
	if (strspn(version, "0123456789.xX") != len)
		return PIN_VERSION;
	while ((dot = strchr(dot, '.')) != NULL && dot++ != NULL)
		dots++;
	/* "1", "1.2" and "1.x" are ranges, "01.0.0" is a mistake. */
	return dots < 2 || strpbrk(version, "xX") != NULL ? PIN_RANGE
							  : PIN_VERSION;
}

/* One number without a leading zero; moves *at behind it. */
static bool
pin_number(const char **at)
{
	size_t digits = strspn(*at, "0123456789");

	if (digits == 0 || digits > 16 || (digits > 1 && **at == '0'))
		return false;
	*at += digits;
	return true;
}

/* Dot-separated identifiers of a pre-release or build part. */
static bool
pin_identifiers(const char **at, bool numbers_strict)
{
	size_t len;

	do {
		len = strspn(*at,
		    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
		    "0123456789-");
		if (len == 0)
			return false;
		if (numbers_strict && len > 1 && **at == '0' &&
		    strspn(*at, "0123456789") == len)
			return false;
		*at += len;
	} while (**at == '.' && (*at)++ != NULL);
	return true;
}

/* SemVer 2: X.Y.Z[-pre][+build]. */
static bool
pin_is_semver(const char *at)
{
	for (int part = 0; part < 3; part++) {
		if (part > 0 && *at++ != '.')
			return false;
		if (!pin_number(&at))
			return false;
	}
	if (*at == '-' && (at++, !pin_identifiers(&at, true)))
		return false;
	if (*at == '+' && (at++, !pin_identifiers(&at, false)))
		return false;
	return *at == '\0';
}

/* A word and a number, as "rc1" or ".post2"; absent is fine too. */
static bool
pin_suffix(const char **at, const char *word)
{
	if (!pin_begins(*at, word))
		return true;
	*at += strlen(word);
	return pin_number(at);
}

/* PEP 440, canonical form: [N!]N(.N)*[{a|b|rc}N][.postN][.devN][+local]. */
static bool
pin_is_pep440(const char *at)
{
	const char *bang = strchr(at, '!');

	if (bang != NULL && (!pin_number(&at) || at++ != bang))
		return false;
	if (!pin_number(&at))
		return false;
	while (at[0] == '.' && isdigit((unsigned char)at[1])) {
		at++;
		if (!pin_number(&at))
			return false;
	}
	if (*at == 'a' || *at == 'b') {
		at++;
		if (!pin_number(&at))
			return false;
	}
	if (!pin_suffix(&at, "rc") || !pin_suffix(&at, ".post") ||
	    !pin_suffix(&at, ".dev"))
		return false;
	if (*at == '+' && (at++, !pin_identifiers(&at, false)))
		return false;
	return *at == '\0';
}

/* One part of an npm name. */
static bool
pin_is_npm_part(const char *part, size_t len)
{
	return len > 0 && part[0] != '.' && part[0] != '_' && part[0] != '-' &&
	       strspn(part, PIN_LOWER "-._~") >= len;
}

static bool
pin_is_npm_name(const char *name)
{
	const char *slash = strchr(name, '/');
	size_t len = strlen(name);

	if (name[0] != '@')
		return slash == NULL && pin_is_npm_part(name, len);
	return slash != NULL &&
	       pin_is_npm_part(name + 1, (size_t)(slash - name) - 1) &&
	       pin_is_npm_part(slash + 1, len - (size_t)(slash + 1 - name));
}

static enum pin_verdict
pin_npm(const char *text, struct pin *pin)
{
	/* The '@' of a scope is the first byte, never the version's. */
	const char *at = text[0] == '\0' ? NULL : strchr(text + 1, '@');
	size_t name_len = at == NULL ? strlen(text) : (size_t)(at - text);

	if (pin_begins(text, "git") && pin_is_source(text) && text[0] != '@')
		return PIN_SOURCE;
	if (strstr(text, "://") != NULL)
		return PIN_SOURCE;
	if (name_len > PIN_NAME_MAX)
		return PIN_LONG;
	memcpy(pin->name, text, name_len);
	pin->name[name_len] = '\0';
	if (!pin_is_npm_name(pin->name))
		return PIN_NAME;
	if (at == NULL)
		return PIN_FLOATING;
	if (strlen(at + 1) > PIN_VERSION_MAX)
		return PIN_LONG;
	if (!pin_is_semver(at + 1))
		return pin_version_fault(at + 1);
	memcpy(pin->version, at + 1, strlen(at + 1) + 1);
	return PIN_OK;
}

/* PEP 503: lower case, runs of "-_." become one '-'. */
static bool
pin_pypi_name(const char *name, size_t len, char *name_r)
{
	size_t out = 0;

	for (size_t i = 0; i < len; i++) {
		if (isalnum((unsigned char)name[i]) && name[i] > 0)
			name_r[out++] = (char)tolower((unsigned char)name[i]);
		else if (strchr("-_.", name[i]) == NULL || i == 0 ||
			 i + 1 == len)
			return false;
		else if (name_r[out - 1] != '-')
			name_r[out++] = '-';
	}
	name_r[out] = '\0';
	return out > 0;
}

static enum pin_verdict
pin_pypi(const char *text, struct pin *pin)
{
	size_t name_len = strcspn(text, "=<>!~^@ ");
	const char *rest = text + name_len;

	if (strstr(text, "://") != NULL || pin_begins(text, "git+"))
		return PIN_SOURCE;
	if (memchr(text, '[', name_len) != NULL)
		return PIN_EXTRAS;
	if (name_len > PIN_NAME_MAX)
		return PIN_LONG;
	if (!pin_pypi_name(text, name_len, pin->name))
		return PIN_NAME;
	if (*rest == '\0')
		return PIN_FLOATING;
	if (!pin_begins(rest, "==") || rest[2] == '=')
		return PIN_RANGE;
	rest += 2;
	if (strlen(rest) > PIN_VERSION_MAX)
		return PIN_LONG;
	if (!pin_is_pep440(rest)) {
		enum pin_verdict fault = pin_version_fault(rest);

		return fault == PIN_RANGE && strpbrk(rest, "*<>=~,xX ") == NULL
			   ? PIN_VERSION
			   : fault;
	}
	memcpy(pin->version, rest, strlen(rest) + 1);
	return PIN_OK;
}

static enum pin_verdict
pin_dir(const char *text, struct pin *pin)
{
	size_t len = strlen(text);

	if (len > PIN_PATH_MAX)
		return PIN_LONG;
	memcpy(pin->path, text, len + 1);
	return PIN_OK;
}

enum pin_verdict
pin_parse(const char *text, struct pin *pin_r)
{
	struct pin pin = {.kind = PIN_DIR};
	enum pin_verdict verdict;

	if (pin_begins(text, "npm:")) {
		pin.kind = PIN_NPM;
		verdict = pin_npm(text + 4, &pin);
	} else if (pin_begins(text, "pypi:")) {
		pin.kind = PIN_PYPI;
		verdict = pin_pypi(text + 5, &pin);
	} else if (strcmp(text, ".") == 0 || strcmp(text, "..") == 0 ||
		   text[0] == '/' || pin_begins(text, "./") ||
		   pin_begins(text, "../"))
		verdict = pin_dir(text, &pin);
	else
		verdict = pin_is_source(text) && text[0] != '@' ? PIN_SOURCE
								: PIN_FORM;
	if (verdict == PIN_OK)
		*pin_r = pin;
	return verdict;
}

/* What is wrong, to stand behind the quoted text. */
static const char *
pin_reason(enum pin_verdict verdict)
{
	switch (verdict) {
	case PIN_OK:
		return "is pinned";
	case PIN_FORM:
		return "does not say where it comes from";
	case PIN_FLOATING:
		return "names no version, so it floats";
	case PIN_TAG:
		return "names a tag, which can move";
	case PIN_RANGE:
		return "names a range of versions";
	case PIN_SOURCE:
		return "is a git, URL or file source, which no registry pins";
	case PIN_EXTRAS:
		return "asks for extras, which are not pinned";
	case PIN_NAME:
		return "has no package name of that registry";
	case PIN_VERSION:
		return "has no exact version of that registry";
	case PIN_LONG:
		return "is too long";
	}
	return "is not known";
}

/* The package name in what was typed, for the example; "NAME" else. */
static void
pin_example_name(const char *text, char *name_r, size_t size)
{
	size_t len;

	if (pin_begins(text, "npm:"))
		text += 4;
	else if (pin_begins(text, "pypi:"))
		text += 5;
	len = text[0] == '@' ? 1 + strcspn(text + 1, "@=<>!~^ [")
			     : strcspn(text, "@=<>!~^ [");
	if (len == 0 || len >= size || strspn(text, "@/-._~" PIN_LOWER) < len ||
	    (text[0] != '@' && memchr(text, '/', len) != NULL)) {
		(void)snprintf(name_r, size, "NAME");
		return;
	}
	memcpy(name_r, text, len);
	name_r[len] = '\0';
}

void
pin_explain(
    enum pin_verdict verdict, const char *text, char *sentence_r, size_t size)
{
	char name[PIN_NAME_MAX + 1];
	bool pypi = pin_begins(text, "pypi:");
	bool npm = pin_begins(text, "npm:");

	pin_example_name(text, name, sizeof(name));
	if (npm || (!pypi && name[0] == '@'))
		(void)snprintf(sentence_r, size,
		    "'%.*s' %s: use npm:%s@X.Y.Z with the exact version",
		    PIN_SHOWN_MAX, text, pin_reason(verdict), name);
	else if (pypi)
		(void)snprintf(sentence_r, size,
		    "'%.*s' %s: use pypi:%s==X.Y.Z with the exact version",
		    PIN_SHOWN_MAX, text, pin_reason(verdict), name);
	else
		(void)snprintf(sentence_r, size,
		    "'%.*s' %s: use npm:%s@X.Y.Z, pypi:%s==X.Y.Z or ./FOLDER",
		    PIN_SHOWN_MAX, text, pin_reason(verdict), name, name);
}
