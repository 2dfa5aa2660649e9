/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The search for credentials that a hostile dependency begins with. Called
 * by the report alone; must never tell more of a secret than its name, and
 * leaves no file behind.
 */
#include "supervisor/probe/probe_secrets.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "supervisor/argv/argv_key.h"
#include "supervisor/probe/probe_try.h"

#define PROBE_SECRETS_PATH 512U
#define PROBE_SECRETS_HOMES 64U
#define PROBE_SECRETS_DATABASE 65536U
#define PROBE_SECRETS_NAMES 400U

extern char **environ;

static const char *const probe_secrets_files[] = {".aws/credentials",
    ".aws/config", ".azure/msal_token_cache.json", ".boto",
    ".cargo/credentials.toml", ".config/gcloud/credentials.db",
    ".config/gcloud/application_default_credentials.json",
    ".config/gh/hosts.yml", ".docker/config.json", ".gem/credentials",
    ".git-credentials", ".gnupg/private-keys-v1.d", ".kube/config", ".my.cnf",
    ".netrc", ".npmrc", ".password-store", ".pgpass", ".pypirc", ".ssh/id_rsa",
    ".ssh/id_ed25519", ".ssh/id_ecdsa", ".s3cfg",
    ".terraform.d/credentials.tfrc.json", ".vault-token", ".bash_history",
    ".agentnode/credentials.json", ".local/share/keyrings"};

#define PROBE_SECRETS_COUNT \
	(sizeof(probe_secrets_files) / sizeof(probe_secrets_files[0]))

/* What was found: how many, and the names as far as they fit. */
struct probe_secrets {
	size_t tried, found, used;
	char names[PROBE_SECRETS_NAMES];
};

static void
probe_secrets_add(struct probe_secrets *secrets, const char *name, size_t len)
{
	size_t room = sizeof(secrets->names) - secrets->used;

	secrets->found++;
	if (len + 2 > room)
		return;
	secrets->names[secrets->used++] = ' ';
	memcpy(secrets->names + secrets->used, name, len);
	secrets->used += len;
	secrets->names[secrets->used] = '\0';
}

static void
probe_secrets_tell(
    const struct probe_secrets *secrets, char *text_r, size_t size)
{
	if (secrets->found == 0)
		(void)snprintf(text_r, size, "none of %zu", secrets->tried);
	else
		(void)snprintf(text_r, size, "%zu of %zu:%s", secrets->found,
		    secrets->tried, secrets->names);
}

/* A file that can be read, or a directory that can be listed. */
static bool
probe_secrets_readable(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	char byte;
	bool readable;

	if (fd < 0)
		return false;
	readable = read(fd, &byte, 1) >= 0 || errno == EISDIR;
	close(fd);
	return readable;
}

static void
probe_secrets_below(struct probe_secrets *secrets, const char *home, bool whole)
{
	char path[PROBE_SECRETS_PATH];

	for (size_t i = 0; i < PROBE_SECRETS_COUNT; i++) {
		int len = snprintf(
		    path, sizeof(path), "%s/%s", home, probe_secrets_files[i]);

		secrets->tried++;
		if (len < 0 || (size_t)len >= sizeof(path) ||
		    !probe_secrets_readable(path))
			continue;
		if (whole)
			probe_secrets_add(secrets, path, (size_t)len);
		else
			probe_secrets_add(secrets, probe_secrets_files[i],
			    strlen(probe_secrets_files[i]));
	}
}

void
probe_secrets_home(char *text_r, size_t size)
{
	struct probe_secrets secrets = {0};
	const char *home = getenv("HOME");

	if (home != NULL && home[0] != '\0')
		probe_secrets_below(&secrets, home, false);
	probe_secrets_tell(&secrets, text_r, size);
}

/* The sixth field of a line; NULL: it is no line, or no home. */
static char *
probe_secrets_field(char *line)
{
	for (int i = 0; i < 5; i++) {
		line = strchr(line, ':');
		if (line == NULL)
			return NULL;
		line++;
	}
	line[strcspn(line, ":")] = '\0';
	return line[0] == '/' && line[1] != '\0' ? line : NULL;
}

/* Every home of the password database, each once; the texts stay in the
 * database, which is read once. */
static size_t
probe_secrets_homes(const char *homes_r[PROBE_SECRETS_HOMES])
{
	static char database[PROBE_SECRETS_DATABASE];
	char *at = database, *line;
	size_t count = 0;

	if (probe_try_file("/etc/passwd", database, sizeof(database)) != 0)
		return 0;
	while (
	    count < PROBE_SECRETS_HOMES && (line = strsep(&at, "\n")) != NULL) {
		const char *home = probe_secrets_field(line);
		size_t i = 0;

		while (
		    home != NULL && i < count && strcmp(homes_r[i], home) != 0)
			i++;
		if (home != NULL && i == count)
			homes_r[count++] = home;
	}
	return count;
}

void
probe_secrets_database(char *text_r, size_t size)
{
	const char *homes[PROBE_SECRETS_HOMES];
	struct probe_secrets secrets = {0};
	size_t count = probe_secrets_homes(homes);

	for (size_t i = 0; i < count; i++)
		probe_secrets_below(&secrets, homes[i], true);
	probe_secrets_tell(&secrets, text_r, size);
}

void
probe_secrets_environment(char *text_r, size_t size)
{
	struct probe_secrets secrets = {0};

	for (char **entry = environ; *entry != NULL; entry++) {
		secrets.tried++;
		if (argv_key_is_entry(*entry))
			probe_secrets_add(
			    &secrets, *entry, strcspn(*entry, "="));
	}
	probe_secrets_tell(&secrets, text_r, size);
}

void
probe_secrets_write(char *text_r, size_t size)
{
	const char *homes[PROBE_SECRETS_HOMES];
	struct probe_secrets secrets = {0};
	size_t count = probe_secrets_homes(homes);

	for (size_t i = 0; i < count; i++) {
		char path[PROBE_SECRETS_PATH];
		int len = snprintf(path, sizeof(path),
		    "%s/.agentnode-probe-%ld", homes[i], (long)getpid());
		int fd;

		secrets.tried++;
		if (len < 0 || (size_t)len >= sizeof(path))
			continue;
		fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		if (fd < 0)
			continue;
		close(fd);
		unlink(path);
		probe_secrets_add(&secrets, homes[i], strlen(homes[i]));
	}
	probe_secrets_tell(&secrets, text_r, size);
}
