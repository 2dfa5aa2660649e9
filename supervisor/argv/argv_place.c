/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of places of a host that a container must not see. Called for each
 * mount; must never touch the file system.
 */
#include "supervisor/argv/argv_place.h"

#include <string.h>

static const char *const argv_place_sockets[] = {"docker.sock", "podman.sock",
    "containerd.sock", "containerd.sock.ttrpc", "crio.sock", "buildkitd.sock",
    "dockershim.sock", "cri-dockerd.sock"};

static const char *const argv_place_socket_dirs[] = {"/run", "/var/run",
    "/run/podman", "/run/docker", "/run/containerd", "/run/crio", "/run/user",
    "/var/run/podman", "/var/run/docker", "/var/run/containerd",
    "/var/run/crio", "/var/run/user"};

static const char *const argv_place_secrets[] = {".ssh", ".aws", ".azure",
    ".kube", ".docker", ".gnupg", ".netrc", ".npmrc", ".pypirc", ".env",
    ".git-credentials", ".config/gcloud", ".config/gh", ".config/gcp",
    ".password-store", ".vault-token", ".agentnode", ".pgpass", ".my.cnf",
    ".boto", ".s3cfg", ".local/share/keyrings", ".mozilla", ".terraform.d",
    ".cargo/credentials", ".cargo/credentials.toml", ".gem/credentials",
    "id_rsa", "id_ed25519", "id_ecdsa"};

static const char *const argv_place_system[] = {"/etc", "/usr", "/bin", "/sbin",
    "/lib", "/lib32", "/lib64", "/boot", "/var", "/run", "/snap", "/nix",
    "/efi"};

#define ARGV_PLACE_COUNT(list) (sizeof(list) / sizeof((list)[0]))

bool
argv_place_clean(const char *path, char *clean_r, size_t size)
{
	size_t len = 0, floor = path[0] == '/' ? 1 : 0;

	if (size < 3)
		return false;
	memset(clean_r, 0, size);
	if (floor == 1)
		clean_r[len++] = '/';
	while (*path != '\0') {
		size_t part = strcspn(path, "/");
		bool up = part == 2 && path[0] == '.' && path[1] == '.';

		if (up && len > floor) {
			while (len > floor && clean_r[len - 1] != '/')
				len--;
			if (len > floor)
				len--;
		} else if (part > 0 && !(part == 1 && path[0] == '.') &&
			   !(up && floor == 1)) {
			if (len + part + 2 > size)
				return false;
			if (len > 0 && clean_r[len - 1] != '/')
				clean_r[len++] = '/';
			memcpy(clean_r + len, path, part);
			len += part;
			/* What stands before a ".." that leads out stays. */
			if (up)
				floor = len;
		}
		path += part;
		path += strspn(path, "/");
	}
	if (len == 0)
		clean_r[len++] = '.';
	clean_r[len] = '\0';
	return true;
}

/* path is prefix itself or lies below it. */
static bool
argv_place_within(const char *path, const char *prefix)
{
	size_t len = strlen(prefix);

	return strncmp(path, prefix, len) == 0 &&
	       (path[len] == '\0' || path[len] == '/');
}

/* Some part of path, or two neighbours, are name. */
static bool
argv_place_has_part(const char *path, const char *name)
{
	size_t len = strlen(name);

	for (const char *at = path; (at = strstr(at, name)) != NULL; at++) {
		if ((at == path || at[-1] == '/') &&
		    (at[len] == '\0' || at[len] == '/'))
			return true;
	}
	return false;
}

static bool
argv_place_is_engine_socket(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *base = slash != NULL ? slash + 1 : path;

	for (size_t i = 0; i < ARGV_PLACE_COUNT(argv_place_sockets); i++) {
		if (strcmp(base, argv_place_sockets[i]) == 0)
			return true;
	}
	for (size_t i = 0; i < ARGV_PLACE_COUNT(argv_place_socket_dirs); i++) {
		if (strcmp(path, argv_place_socket_dirs[i]) == 0)
			return true;
	}
	/* A user's run directory: /run/user/1000 and /run/user/1000/podman. */
	if (strncmp(path, "/var/", 5) == 0)
		path += 4;
	if (strncmp(path, "/run/user/", 10) != 0)
		return false;
	path += 10;
	path += strspn(path, "0123456789");
	return *path == '\0' || strcmp(path, "/podman") == 0 ||
	       strcmp(path, "/docker") == 0;
}

static bool
argv_place_is_socket(const char *path)
{
	size_t len = strlen(path);

	return (len > 5 && strcmp(path + len - 5, ".sock") == 0) ||
	       (len > 7 && strcmp(path + len - 7, ".socket") == 0) ||
	       argv_place_within(path, "/tmp/.X11-unix") ||
	       argv_place_within(path, "/tmp/.ICE-unix");
}

static bool
argv_place_is_secret(const char *path)
{
	for (size_t i = 0; i < ARGV_PLACE_COUNT(argv_place_secrets); i++) {
		if (argv_place_has_part(path, argv_place_secrets[i]))
			return true;
	}
	return argv_place_within(path, "/etc/shadow") ||
	       argv_place_within(path, "/etc/kubernetes") ||
	       argv_place_within(path, "/etc/ssh");
}

/* The directory of people (depth 0), one person's (1), or below (2);
 * -1: none of these. */
static int
argv_place_home_depth(const char *path)
{
	static const char *const homes[] = {"/home", "/Users", "/var/home"};
	static const char *const own[] = {"/root", "~", "$HOME", "${HOME}"};

	for (size_t i = 0; i < ARGV_PLACE_COUNT(own); i++) {
		if (argv_place_within(path, own[i]))
			return path[strlen(own[i])] == '\0' ? 1 : 2;
	}
	for (size_t i = 0; i < ARGV_PLACE_COUNT(homes); i++) {
		const char *rest = path + strlen(homes[i]);

		if (!argv_place_within(path, homes[i]))
			continue;
		if (*rest == '\0')
			return 0;
		return strchr(rest + 1, '/') == NULL ? 1 : 2;
	}
	/* ~user and what the shell would have made of a variable. */
	if (path[0] == '~')
		return strchr(path, '/') == NULL ? 1 : 2;
	return path[0] != '/' ? 2 : -1;
}

enum argv_place
argv_place_of(const char *path)
{
	char clean[ARGV_PLACE_PATH_MAX];
	int depth;

	if (!argv_place_clean(path, clean, sizeof(clean)))
		return ARGV_PLACE_SYSTEM;
	if (argv_place_is_engine_socket(clean))
		return ARGV_PLACE_ENGINE_SOCKET;
	if (argv_place_is_socket(clean))
		return ARGV_PLACE_SOCKET;
	if (strcmp(clean, "/") == 0)
		return ARGV_PLACE_ROOT;
	if (argv_place_within(clean, "/proc") ||
	    argv_place_within(clean, "/sys") ||
	    argv_place_within(clean, "/dev"))
		return ARGV_PLACE_KERNEL;
	if (argv_place_is_secret(clean))
		return ARGV_PLACE_CREDENTIALS;
	depth = argv_place_home_depth(clean);
	if (depth == 0 || depth == 1)
		return ARGV_PLACE_HOME;
	if (depth == 2)
		return ARGV_PLACE_PROJECT;
	if (strcmp(clean, "/tmp") != 0 && strcmp(clean, "/var/tmp") != 0 &&
	    (argv_place_within(clean, "/tmp") ||
		argv_place_within(clean, "/var/tmp")))
		return ARGV_PLACE_SCRATCH;
	if (strcmp(clean, "/tmp") == 0)
		return ARGV_PLACE_SYSTEM;
	for (size_t i = 0; i < ARGV_PLACE_COUNT(argv_place_system); i++) {
		if (argv_place_within(clean, argv_place_system[i]))
			return ARGV_PLACE_SYSTEM;
	}
	return ARGV_PLACE_OTHER;
}
