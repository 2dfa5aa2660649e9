/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a git config (see the header). Called by native_repository; must
 * never pass over what git would read: what is odd is refused.
 */
#include "supervisor/native/native_gitconfig.h"

#include <string.h>
#include <strings.h>

#define NATIVE_GITCONFIG_NAME_MAX 128U
#define NATIVE_GITCONFIG_END (-1)

struct native_gitconfig_text {
	const char *at, *end;
	char section[NATIVE_GITCONFIG_NAME_MAX]; /* up to its first dot */
	char name[NATIVE_GITCONFIG_NAME_MAX];
	char value[NATIVE_GITCONFIG_VALUE_MAX];
};

/* Names of variables, in any section, whose value is run by git. Others are
 * protected where they are; the place of these is held when it is empty. */
static const char *const native_gitconfig_run[] = {"alternaterefscommand",
    "askpass", "cccmd", "clean", "cmd", "command", "defaultkeycommand",
    "difffilter", "driver", "editor", "external", "fsmonitor", "gitproxy",
    "headercmd", "helper", "packobjectshook", "pager", "process", "program",
    "receivepack", "recentobjectshook", "sendmailcmd", "smudge", "sshcommand",
    "textconv", "tocmd", "tunnel", "uploadpack"};

static int
native_gitconfig_byte(struct native_gitconfig_text *text)
{
	if (text->at == text->end)
		return NATIVE_GITCONFIG_END;
	if (text->at[0] == '\r' && text->at + 1 < text->end &&
	    text->at[1] == '\n')
		text->at++;
	return (unsigned char)*text->at++;
}

static bool
native_gitconfig_alpha(int c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool
native_gitconfig_key(int c)
{
	return native_gitconfig_alpha(c) || (c >= '0' && c <= '9') || c == '-';
}

static bool
native_gitconfig_blank(int c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* The subsection, from behind the blank to behind its quote. */
static enum result
native_gitconfig_quoted(struct native_gitconfig_text *text)
{
	int c = native_gitconfig_byte(text);

	while (native_gitconfig_blank(c))
		c = native_gitconfig_byte(text);
	if (c != '"')
		return RESULT_BAD;
	while ((c = native_gitconfig_byte(text)) != '"') {
		if (c == '\\')
			c = native_gitconfig_byte(text);
		if (c == NATIVE_GITCONFIG_END || c == '\n' || c == '\0')
			return RESULT_BAD;
	}
	return native_gitconfig_byte(text) == ']' ? RESULT_OK : RESULT_BAD;
}

/* Behind "[", to behind "]". */
static enum result
native_gitconfig_head(struct native_gitconfig_text *text)
{
	size_t len = 0;
	bool dot = false;

	for (;;) {
		int c = native_gitconfig_byte(text);

		text->section[len] = '\0';
		if (c == ']')
			return RESULT_OK;
		if (native_gitconfig_blank(c))
			return native_gitconfig_quoted(text);
		if (!native_gitconfig_key(c) && c != '.')
			return RESULT_BAD;
		dot |= c == '.';
		if (dot)
			continue;
		if (len + 1 == sizeof(text->section))
			return RESULT_TOO_LONG;
		text->section[len++] = (char)c;
	}
}

/* One byte behind a backslash; *c_r is NATIVE_GITCONFIG_END when it and the
 * end of its line are nothing. */
static enum result
native_gitconfig_escape(struct native_gitconfig_text *text, int *c_r)
{
	int c = native_gitconfig_byte(text);

	*c_r = c;
	if (c == '\n')
		*c_r = NATIVE_GITCONFIG_END;
	else if (c == 't')
		*c_r = '\t';
	else if (c == 'n')
		*c_r = '\n';
	else if (c == 'b')
		*c_r = '\b';
	else if (c != '\\' && c != '"')
		return RESULT_BAD;
	return RESULT_OK;
}

/* Behind "=", to the end of the value's last line. */
static enum result
native_gitconfig_value(struct native_gitconfig_text *text)
{
	size_t len = 0, kept = 0;
	bool quoted = false, comment = false;
	int c;

	while ((c = native_gitconfig_byte(text)) != '\n' &&
	       c != NATIVE_GITCONFIG_END) {
		bool escaped = c == '\\' && !comment;
		bool blank = native_gitconfig_blank(c) && !quoted;

		if (c == '\0')
			return RESULT_BAD;
		comment |= !quoted && (c == '#' || c == ';');
		if (comment || (blank && len == 0))
			continue;
		if (c == '"') {
			quoted = !quoted;
			continue;
		}
		if (escaped && native_gitconfig_escape(text, &c) != RESULT_OK)
			return RESULT_BAD;
		if (c == NATIVE_GITCONFIG_END)
			continue;
		if (len + 1 == sizeof(text->value))
			return RESULT_TOO_LONG;
		text->value[len++] = (char)c;
		if (!blank)
			kept = len;
	}
	text->value[kept] = '\0';
	return quoted ? RESULT_BAD : RESULT_OK;
}

/* A variable that begins with c. "" is the value of one without "=". */
static enum result
native_gitconfig_line(struct native_gitconfig_text *text, int c)
{
	size_t len = 0;

	text->value[0] = '\0';
	while (native_gitconfig_key(c)) {
		if (len + 1 == sizeof(text->name))
			return RESULT_TOO_LONG;
		text->name[len++] = (char)c;
		c = native_gitconfig_byte(text);
	}
	text->name[len] = '\0';
	while (c == ' ' || c == '\t')
		c = native_gitconfig_byte(text);
	if (c == '\n' || c == NATIVE_GITCONFIG_END)
		return RESULT_OK;
	return c == '=' ? native_gitconfig_value(text) : RESULT_BAD;
}

static enum native_gitconfig_kind
native_gitconfig_which(const struct native_gitconfig_text *text)
{
	const char *section = text->section, *name = text->name;
	size_t count =
	    sizeof(native_gitconfig_run) / sizeof(native_gitconfig_run[0]);

	if (strcasecmp(section, "core") == 0 &&
	    strcasecmp(name, "hooksPath") == 0)
		return NATIVE_GITCONFIG_HOOKS;
	if ((strcasecmp(section, "include") == 0 ||
		strcasecmp(section, "includeIf") == 0) &&
	    strcasecmp(name, "path") == 0)
		return NATIVE_GITCONFIG_INCLUDE;
	/* An alias or an update that is a shell's. */
	if (text->value[0] == '!' || strcasecmp(section, "pager") == 0)
		return NATIVE_GITCONFIG_RUN;
	for (size_t i = 0; i < count; i++) {
		if (strcasecmp(name, native_gitconfig_run[i]) == 0)
			return NATIVE_GITCONFIG_RUN;
	}
	return NATIVE_GITCONFIG_OTHER;
}

enum result
native_gitconfig_read(
    const char *bytes, size_t len, native_gitconfig_each *each, void *context)
{
	struct native_gitconfig_text text;
	enum result result = RESULT_OK;
	bool comment = false;
	int c;

	text.at = bytes;
	text.end = bytes + len;
	text.section[0] = '\0';
	if (len >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0)
		text.at += 3; /* a mark that git passes over */
	while (result == RESULT_OK &&
	       (c = native_gitconfig_byte(&text)) != NATIVE_GITCONFIG_END) {
		comment = c != '\n' && (comment || c == '#' || c == ';');
		if (comment || c == '\n' || native_gitconfig_blank(c))
			continue;
		if (c == '[') {
			result = native_gitconfig_head(&text);
			continue;
		}
		result = native_gitconfig_alpha(c)
			     ? native_gitconfig_line(&text, c)
			     : RESULT_BAD;
		if (result == RESULT_OK && text.value[0] != '\0')
			result = each(
			    native_gitconfig_which(&text), text.value, context);
	}
	return result;
}
