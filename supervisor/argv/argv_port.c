/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the supervisor's own line to a line for people. Called by `agentnode
 * argv`; must never leave a hardening flag out that the engine has.
 */
#include "supervisor/argv/argv_port.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buffer.h"

/* Left out for every engine: the supervisor's own wiring; names and labels,
 * by which leftovers of dead runs are found and removed; and what is said
 * again for the program. */
static const char *const argv_port_wiring[] = {"--cidfile=", "--preserve-fds=",
    "--name=", "--label=", "--entrypoint=", "--workdir=", NULL};

/* Podman's alone. Docker has no such thing (hooks, systemd mode, image
 * volumes by default, proxy variables), or is so by default. */
static const char *const argv_port_podman[] = {
    "--runtime=", "--cgroup-manager=", "--events-backend=", "--hooks-dir=",
    "--default-mounts-file=", "--read-only-tmpfs=", "--pid=private",
    "--uts=private", "--unsetenv-all",
    "--http-proxy=", "--image-volume=", "--systemd=", "--init=false",
    "--sdnotify=", "--umask=", "--passwd-entry=", NULL};

static enum result argv_port_add(struct argv_port *port, const char *format,
    ...) __attribute__((format(printf, 2, 3)));

static enum result
argv_port_add(struct argv_port *port, const char *format, ...)
{
	va_list list;
	int len;

	if (port->count >= ARGV_PORT_WORDS_MAX)
		return RESULT_TOO_LONG;
	va_start(list, format);
	len = vasprintf(&port->words[port->count], format, list);
	va_end(list);
	if (len < 0) {
		port->words[port->count] = NULL;
		return RESULT_NO_MEMORY;
	}
	port->words[++port->count] = NULL;
	return RESULT_OK;
}

static bool
argv_port_starts(const char *word, const char *const *list)
{
	for (size_t i = 0; list[i] != NULL; i++) {
		if (strncmp(word, list[i], strlen(list[i])) == 0)
			return true;
	}
	return false;
}

/* One of the comma-separated options of a word; "U", podman's for "owned by
 * the user", becomes uid and gid. */
static enum result
argv_port_option(
    struct buffer *text, const char *option, size_t len, uint32_t uid)
{
	enum result result = RESULT_OK;

	if (text->len > 0)
		result = buffer_append_text(text, ",");
	if (result != RESULT_OK)
		return result;
	if (len == 1 && *option == 'U')
		return buffer_printf(text, "uid=%u,gid=%u", uid, uid);
	return buffer_append(text, option, len);
}

static bool
argv_port_is_one_of(const char *option, size_t len, const char *const *list)
{
	for (size_t i = 0; list[i] != NULL; i++) {
		if (strlen(list[i]) == len &&
		    strncmp(option, list[i], len) == 0)
			return true;
	}
	return false;
}

/* The word without these options. */
static enum result
argv_port_options(struct argv_port *port, const char *word,
    const char *const *without, uint32_t uid)
{
	enum result result = RESULT_OK;
	struct buffer text;

	buffer_init(&text, strlen(word) + 64);
	while (*word != '\0' && result == RESULT_OK) {
		size_t len = strcspn(word, ",");

		if (!argv_port_is_one_of(word, len, without))
			result = argv_port_option(&text, word, len, uid);
		word += len;
		word += *word == ',' ? 1 : 0;
	}
	if (result == RESULT_OK)
		result = argv_port_add(port, "%.*s", (int)text.len,
		    (const char *)buffer_bytes_borrow(&text));
	buffer_free(&text);
	return result;
}

/* One option of the line, spelled for docker. */
static enum result
argv_port_docker(
    struct argv_port *port, const char *word, uint32_t uid, const char **word_r)
{
	static const char *const tmpfs[] = {"notmpcopyup", NULL};
	static const char *const volume[] = {"nodev", "nosuid", NULL};

	if (argv_port_starts(word, argv_port_podman))
		return RESULT_OK;
	if (strncmp(word, "--tmpfs=", 8) == 0)
		return argv_port_options(port, word, tmpfs, uid);
	if (strncmp(word, "--volume=", 9) == 0)
		return argv_port_options(port, word, volume, uid);
	/* A flag that nobody has decided on for docker. */
	if (strncmp(word, "--", 2) != 0 ||
	    argv_table_name(ARGV_DOCKER, ARGV_RUN, word + 2,
		strcspn(word + 2, "=")) == NULL) {
		*word_r = word;
		return RESULT_BAD;
	}
	return argv_port_add(port, "%s", word);
}

/* The supervisor's own empty files exist for it alone. */
static const char *
argv_port_spell(const char *word)
{
	if (strncmp(word, "--hooks-dir=", 12) == 0)
		return "--hooks-dir=" ARGV_PORT_HOOKS;
	if (strncmp(word, "--default-mounts-file=", 22) == 0)
		return "--default-mounts-file=" ARGV_PORT_MOUNTS;
	return word;
}

static enum result
argv_port_flags(const struct argv_port_input *input, struct argv_port *port,
    size_t *at, const char **word_r)
{
	enum result result = RESULT_OK;
	size_t i = *at;

	for (; input->words[i] != NULL && strcmp(input->words[i], "--") != 0 &&
	       result == RESULT_OK;
	     i++) {
		const char *word = input->words[i];

		if (argv_port_starts(word, argv_port_wiring))
			continue;
		if (input->engine == ARGV_PODMAN || strcmp(word, "run") == 0)
			result =
			    argv_port_add(port, "%s", argv_port_spell(word));
		else
			result =
			    argv_port_docker(port, word, input->uid, word_r);
	}
	*at = i;
	return result;
}

/* What the supervisor tells init, told to the engine. */
static enum result
argv_port_program(const struct argv_port_input *input, struct argv_port *port)
{
	enum result result = RESULT_OK;

	for (size_t i = 0; input->env[i] != NULL && result == RESULT_OK; i++)
		result = argv_port_add(port, "--env=%s", input->env[i]);
	if (result == RESULT_OK)
		result = argv_port_add(port, "--workdir=%s", input->cwd);
	if (result == RESULT_OK && input->interactive)
		result = argv_port_add(port, "--interactive");
	if (result == RESULT_OK && input->program != NULL)
		result =
		    argv_port_add(port, "--entrypoint=%s", input->program[0]);
	return result;
}

enum result
argv_port_make(const struct argv_port_input *input, struct argv_port *port_r,
    const char **word_r)
{
	enum result result;
	size_t at = 1;

	port_r->count = 0;
	port_r->words[0] = NULL;
	*word_r = "";
	result = argv_port_add(port_r, "%s",
	    input->engine == ARGV_PODMAN ? input->words[0] : "docker");
	if (result == RESULT_OK)
		result = argv_port_flags(input, port_r, &at, word_r);
	if (result == RESULT_OK)
		result = argv_port_program(input, port_r);
	/* "--" and the image. */
	for (; result == RESULT_OK && input->words[at] != NULL; at++)
		result = argv_port_add(port_r, "%s", input->words[at]);
	for (size_t i = 1; result == RESULT_OK && input->program != NULL &&
			   input->program[i] != NULL;
	     i++)
		result = argv_port_add(port_r, "%s", input->program[i]);
	if (result != RESULT_OK)
		argv_port_clear(port_r);
	return result;
}

void
argv_port_clear(struct argv_port *port)
{
	while (port->count > 0) {
		free(port->words[--port->count]);
		port->words[port->count] = NULL;
	}
}
