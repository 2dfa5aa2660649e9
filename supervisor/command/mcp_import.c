/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Judging the servers of a client's configuration. Called by
 * command_mcp_client; it must never print a value of an environment
 * variable, nor suggest a command that runs something not pinned.
 */
#include "supervisor/command/mcp_import.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "common/buffer.h"
#include "supervisor/command/mcp_toml.h"
#include "supervisor/package/pin.h"
#include "supervisor/package/slug.h"

#define MCP_IMPORT_WORDS_MAX 256U
#define MCP_IMPORT_WORD_MAX 1024U

/* The words of a server's command, launcher first. */
struct mcp_import_words {
	const char *list[MCP_IMPORT_WORDS_MAX];
	size_t count, next; /* next: first word not looked at */
};

const char *
mcp_import_status_text(enum mcp_import_status status)
{
	static const char *const texts[] = {
	    "ready", "pin", "refused", "already"};

	return texts[status];
}

enum result
mcp_import_read(
    char *bytes, size_t len, json_t **servers_r, struct json_fault *fault)
{
	static const char *const keys[] = {
	    "mcpServers", "servers", "mcp_servers", NULL};
	json_t *root = NULL, *servers = NULL;
	size_t i, start = strspn(bytes, " \t\r\n");
	enum result result;

	*servers_r = NULL;
	if (start < len && (bytes[start] == '{' || bytes[start] == '/')) {
		mcp_toml_plain_json(bytes, len);
		result = json_field_parse(bytes, len, &root, fault);
	} else {
		result = mcp_toml_parse(bytes, len, &root, fault);
	}
	if (result != RESULT_OK)
		return result;
	for (i = 0; keys[i] != NULL && !json_is_object(servers); i++)
		servers = json_object_get(root, keys[i]);
	/* VS Code's settings.json keeps them one level down. */
	if (!json_is_object(servers))
		servers =
		    json_object_get(json_object_get(root, "mcp"), "servers");
	if (json_is_object(servers))
		*servers_r = json_incref(servers);
	else
		json_field_fault(fault,
		    "no servers found: expected mcpServers, servers or "
		    "mcp_servers");
	json_decref(root);
	return *servers_r == NULL ? RESULT_BAD : RESULT_OK;
}

static void
mcp_import_refuse(struct mcp_import_row *row, const char *reason)
{
	row->status = MCP_IMPORT_REFUSED;
	row->command[0] = '\0';
	snprintf(row->reason, sizeof(row->reason), "%s", reason);
}

/* --- writing a line for a shell ----------------------------------------- */

/* One word, quoted where a shell would read it differently. */
static enum result
mcp_import_quote(struct buffer *line, const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
				    "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789@%+=:,./_-";
	enum result result = buffer_append_text(line, " ");
	const char *p;

	if (word[0] != '\0' && strspn(word, plain) == strlen(word))
		return result == RESULT_OK ? buffer_append_text(line, word)
					   : result;
	if (result == RESULT_OK)
		result = buffer_append_text(line, "'");
	for (p = word; *p != '\0' && result == RESULT_OK; p++)
		result = *p == '\'' ? buffer_append_text(line, "'\\''")
				    : buffer_append(line, p, 1);
	return result == RESULT_OK ? buffer_append_text(line, "'") : result;
}

/* "agentnode mcp install SPEC --name SLUG [--files DIR] [-- WORDS]"; the
 * first word that is a folder of this machine becomes /files. */
static void
mcp_import_line(struct mcp_import_row *row, const char *spec,
    const struct mcp_import_words *words, mcp_import_is_folder *is_folder,
    void *context)
{
	struct buffer line;
	const char *folder = NULL;
	enum result result;
	size_t i;

	buffer_init(&line, sizeof(row->command) - 1);
	result = buffer_append_text(&line, "agentnode mcp install");
	if (result == RESULT_OK)
		result = mcp_import_quote(&line, spec);
	if (result == RESULT_OK)
		result = buffer_printf(&line, " --name %s", row->slug);
	for (i = words->next; i < words->count && folder == NULL; i++) {
		if (words->list[i][0] == '/' &&
		    is_folder(words->list[i], context))
			folder = words->list[i];
	}
	if (result == RESULT_OK && folder != NULL) {
		result = buffer_append_text(&line, " --files");
		if (result == RESULT_OK)
			result = mcp_import_quote(&line, folder);
	}
	if (result == RESULT_OK && words->next < words->count)
		result = buffer_append_text(&line, " --");
	for (i = words->next; i < words->count && result == RESULT_OK; i++)
		result = mcp_import_quote(&line,
		    words->list[i] == folder ? "/files" : words->list[i]);
	if (result == RESULT_OK) {
		memcpy(row->command, buffer_bytes_borrow(&line), line.len);
		row->command[line.len] = '\0';
	} else {
		mcp_import_refuse(row, "its command is too long");
	}
	buffer_free(&line);
}

/* --- package launchers -------------------------------------------------- */

/* An option that takes the next word (before the package's name). */
static bool
mcp_import_takes_value(const char *word)
{
	static const char *const list[] = {"--registry", "--userconfig",
	    "--cache", "--python", "-p", "--index-url", "--default-index",
	    "--with", "--directory", NULL};
	size_t i;

	for (i = 0; list[i] != NULL; i++) {
		if (strcmp(list[i], word) == 0)
			return true;
	}
	return false;
}

/* Step over options; the package named by one of them, or NULL. */
static const char *
mcp_import_options(struct mcp_import_words *words, const char *short_name,
    const char *long_name)
{
	const char *package = NULL;
	size_t len = strlen(long_name);

	while (
	    words->next < words->count && words->list[words->next][0] == '-') {
		const char *word = words->list[words->next++];

		if (strcmp(word, "--") == 0)
			break;
		if ((strcmp(word, short_name) == 0 ||
			strcmp(word, long_name) == 0) &&
		    words->next < words->count)
			package = words->list[words->next++];
		else if (strncmp(word, long_name, len) == 0 && word[len] == '=')
			package = word + len + 1;
		else if (mcp_import_takes_value(word) &&
			 words->next < words->count)
			words->next++;
	}
	return package;
}

/* uvx also writes NAME@VERSION; pip's form is the one we take. */
static void
mcp_import_pypi_spec(const char *package, char *spec, size_t size)
{
	const char *at = strchr(package, '@');

	if (at == NULL || strstr(package, "==") != NULL)
		snprintf(spec, size, "pypi:%s", package);
	else
		snprintf(spec, size, "pypi:%.*s==%s", (int)(at - package),
		    package, at + 1);
}

static void
mcp_import_package(struct mcp_import_row *row, bool npm,
    struct mcp_import_words *words, mcp_import_is_folder *is_folder,
    void *context)
{
	const char *package =
	    npm ? mcp_import_options(words, "-p", "--package")
		: mcp_import_options(words, "--from", "--from");
	char spec[MCP_IMPORT_WORD_MAX];
	struct pin pin;
	enum pin_verdict verdict;

	/* Without an option the first word is the package, with one it is
	 * the command inside it. */
	if (words->next < words->count) {
		if (package == NULL)
			package = words->list[words->next];
		words->next++;
	}
	if (package == NULL) {
		mcp_import_refuse(row, "it names no package");
		return;
	}
	if (npm)
		snprintf(spec, sizeof(spec), "npm:%s", package);
	else
		mcp_import_pypi_spec(package, spec, sizeof(spec));
	verdict = pin_parse(spec, &pin);
	if (verdict == PIN_OK) {
		row->status = MCP_IMPORT_READY;
		mcp_import_line(row, spec, words, is_folder, context);
		return;
	}
	pin_explain(verdict, spec, row->reason, sizeof(row->reason));
	row->status = MCP_IMPORT_REFUSED;
	if (verdict != PIN_FLOATING && verdict != PIN_TAG &&
	    verdict != PIN_RANGE)
		return;
	row->status = MCP_IMPORT_PIN;
	/* The name without what floats, and a place for the version. */
	snprintf(spec, sizeof(spec), "%s:%.*s%sX.Y.Z", npm ? "npm" : "pypi",
	    (int)(1 + strcspn(package + 1, npm ? "@" : "@=<>~! [")), package,
	    npm ? "@" : "==");
	mcp_import_line(row, spec, words, is_folder, context);
}

/* --- one server --------------------------------------------------------- */

static const char *
mcp_import_base_name(const char *path)
{
	const char *slash = strrchr(path, '/'), *back = strrchr(path, '\\');

	if (slash == NULL || (back != NULL && back > slash))
		slash = back;
	return slash == NULL ? path : slash + 1;
}

/* "npx", "npx.cmd", "NPX.EXE" */
static bool
mcp_import_is(const char *command, const char *name)
{
	const char *base = mcp_import_base_name(command);
	size_t len = strlen(name);

	return strncasecmp(base, name, len) == 0 &&
	       (base[len] == '\0' || strcasecmp(base + len, ".cmd") == 0 ||
		   strcasecmp(base + len, ".exe") == 0);
}

static bool
mcp_import_next_is(struct mcp_import_words *words, const char *word)
{
	if (words->next >= words->count ||
	    strcmp(words->list[words->next], word) != 0)
		return false;
	words->next++;
	return true;
}

/* Which registry the launcher fetches from: 'n', 'p' or 0. */
static char
mcp_import_launcher(const char *command, struct mcp_import_words *words)
{
	if (mcp_import_is(command, "npx") || mcp_import_is(command, "bunx") ||
	    mcp_import_is(command, "pnpx"))
		return 'n';
	if ((mcp_import_is(command, "npm") &&
		(mcp_import_next_is(words, "exec") ||
		    mcp_import_next_is(words, "x"))) ||
	    ((mcp_import_is(command, "pnpm") ||
		 mcp_import_is(command, "yarn")) &&
		mcp_import_next_is(words, "dlx")) ||
	    (mcp_import_is(command, "bun") && mcp_import_next_is(words, "x")))
		return 'n';
	if (mcp_import_is(command, "uvx") ||
	    (mcp_import_is(command, "pipx") &&
		mcp_import_next_is(words, "run")))
		return 'p';
	if (mcp_import_is(command, "uv") && mcp_import_next_is(words, "tool") &&
	    mcp_import_next_is(words, "run"))
		return 'p';
	return 0;
}

static void
mcp_import_other(struct mcp_import_row *row, const char *command)
{
	const char *reason =
	    "its command is not one that fetches a package; install the "
	    "package it belongs to with npm:NAME@X.Y.Z, pypi:NAME==X.Y.Z or "
	    "its folder";

	if (mcp_import_is(command, "docker") ||
	    mcp_import_is(command, "podman"))
		reason = "it is a container image of its own; install the npm "
			 "or PyPI package it was made from";
	else if (mcp_import_is(command, "node") ||
		 mcp_import_is(command, "python") ||
		 mcp_import_is(command, "python3") ||
		 mcp_import_is(command, "uv") ||
		 mcp_import_is(command, "bun") ||
		 mcp_import_is(command, "deno"))
		reason = "it runs files of this machine; install their folder: "
			 "agentnode mcp install ./FOLDER";
	else if (mcp_import_is(command, "sh") ||
		 mcp_import_is(command, "bash") ||
		 mcp_import_is(command, "cmd"))
		reason = "it runs a shell line; put the package itself there "
			 "first";
	mcp_import_refuse(row, reason);
}

/* A word goes to a terminal: no control byte, C1 ones included. */
static bool
mcp_import_word_ok(const json_t *item)
{
	const char *p = json_string_value(item);

	if (p == NULL || json_string_length(item) > MCP_IMPORT_WORD_MAX / 2)
		return false;
	for (; *p != '\0'; p++) {
		unsigned char c = (unsigned char)p[0],
			      next = (unsigned char)p[1];

		if (c < 0x20 || c == 0x7f ||
		    (c == 0xc2 && next >= 0x80 && next < 0xa0))
			return false;
	}
	return true;
}

static bool
mcp_import_collect(const json_t *server, struct mcp_import_words *words_r)
{
	const json_t *args = json_object_get(server, "args"), *item;
	size_t i;

	words_r->count = words_r->next = 0;
	if (args != NULL && (!json_is_array(args) ||
				json_array_size(args) > MCP_IMPORT_WORDS_MAX))
		return false;
	json_array_foreach(args, i, item)
	{
		if (!mcp_import_word_ok(item))
			return false;
		words_r->list[words_r->count++] = json_string_value(item);
	}
	return true;
}

/* Windows configurations wrap npx: cmd /c npx ... */
static const char *
mcp_import_unwrap(const char *command, struct mcp_import_words *words)
{
	if (mcp_import_is(command, "cmd") &&
	    (mcp_import_next_is(words, "/c") ||
		mcp_import_next_is(words, "/C")) &&
	    words->next < words->count)
		return words->list[words->next++];
	return command;
}

void
mcp_import_judge(const char *name, const json_t *server,
    mcp_import_is_folder *is_folder, void *context,
    struct mcp_import_row *row_r)
{
	const char *command =
	    json_string_value(json_object_get(server, "command"));
	struct mcp_import_words words;
	char launcher;

	memset(row_r, 0, sizeof(*row_r));
	if (!slug_derive(name, row_r->slug))
		snprintf(row_r->slug, sizeof(row_r->slug), "mcp-server");
	if (json_object_get(server, "url") != NULL ||
	    json_object_get(server, "serverUrl") != NULL) {
		mcp_import_refuse(row_r,
		    "it is a server at a URL: it runs elsewhere, and MCP over "
		    "HTTP does not pass the gate");
		return;
	}
	if (command == NULL || command[0] == '\0' ||
	    !mcp_import_collect(server, &words)) {
		mcp_import_refuse(
		    row_r, "it has no command with a list of plain args");
		return;
	}
	if (mcp_import_is(command, "agentnode")) {
		row_r->status = MCP_IMPORT_ALREADY;
		return;
	}
	command = mcp_import_unwrap(command, &words);
	launcher = mcp_import_launcher(command, &words);
	if (launcher == 0)
		mcp_import_other(row_r, command);
	else
		mcp_import_package(
		    row_r, launcher == 'n', &words, is_folder, context);
}
