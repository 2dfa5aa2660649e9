/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What of the host can be seen: credentials, engine sockets, environment,
 * mounts, names, resolver, kernel files. A probe is ok when there is
 * nothing.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "supervisor/probe/probe.h"
#include "supervisor/probe/probe_try.h"

#define PROBE_PLACE_TEXT 65536U

extern char **environ;

/* Paths that must not exist, NULL-terminated. */
static const char *const probe_place_engine_sockets[] = {"/var/run/docker.sock",
    "/run/docker.sock", "/run/podman/podman.sock",
    "/run/containerd/containerd.sock", "/run/crio/crio.sock", NULL};
static const char *const probe_place_secrets[] = {"/run/secrets",
    "/var/run/secrets/kubernetes.io", "/root/.aws/credentials", "/root/.ssh",
    "/root/.docker/config.json", "/root/.netrc", "/root/.config/gcloud",
    "/root/.kube/config", NULL};
static const char *const probe_place_devices[] = {"/dev/mem", "/dev/kmem",
    "/dev/kmsg", "/dev/kvm", "/dev/fuse", "/dev/net/tun", "/dev/sda",
    "/dev/vda", "/dev/nvme0", "/dev/dri", "/dev/snd", "/dev/vsock", NULL};

static void
probe_place_absent(const struct probe *probe,
    const struct probe_options *options, struct probe_result *result)
{
	const char *const *path = probe->data;
	char found[sizeof(result->detail)] = "";
	size_t used = 0;

	(void)options;
	/* All of them: where one is known to be there, it hides no other. */
	for (; *path != NULL; path++) {
		if (access(*path, F_OK) == 0 && used < sizeof(found))
			used += (size_t)snprintf(
			    found + used, sizeof(found) - used, " %s", *path);
	}
	if (used == 0)
		probe_say(result, true, "nothing of the kind is there");
	else
		probe_say(result, false, "there:%s%s", found,
		    used < sizeof(found) ? "" : " and more");
}

static void
probe_place_credentials(const struct probe *probe,
    const struct probe_options *options, struct probe_result *result)
{
	const char *home = getenv("HOME");
	char path[512], text[256];

	(void)probe;
	(void)options;
	(void)snprintf(path, sizeof(path), "%s/.aws/credentials",
	    home != NULL ? home : "");
	if (probe_try_file(path, text, sizeof(text)) == 0)
		probe_say(result, false, "readable, %zu bytes", strlen(text));
	else
		probe_say(result, true, "%s",
		    errno == ENOENT ? "no such file" : probe_try_error(errno));
}

/* Variables that only a host's session or its cloud would set. */
static void
probe_place_environment(const struct probe *probe,
    const struct probe_options *options, struct probe_result *result)
{
	static const char *const host[] = {"AWS_", "AZURE_", "GOOGLE_", "GCP_",
	    "SSH_", "DBUS_", "XDG_", "DOCKER_", "KUBE", "SUDO_", "GITHUB_",
	    "GITLAB_", "CI_", "DISPLAY=", "WAYLAND_",
	    "LOGNAME=", "MAIL=", "CONTAINERS_", "PODMAN_", "LS_COLORS="};

	(void)probe;
	(void)options;
	for (char **entry = environ; *entry != NULL; entry++) {
		for (size_t i = 0; i < sizeof(host) / sizeof(host[0]); i++) {
			if (strncmp(*entry, host[i], strlen(host[i])) == 0) {
				probe_say(result, false, "%.*s is set",
				    (int)strcspn(*entry, "="), *entry);
				return;
			}
		}
	}
	probe_say(result, true, "nothing of a host's session is set");
}

/* Read-only, not this user's to write, or a tmpfs with a size. */
static bool
probe_place_mount_closed(char *line)
{
	static const char *const kernel[] = {"proc", "sysfs", "devpts",
	    "mqueue", "cgroup", "cgroup2", "devtmpfs"};
	char *tail = strstr(line, " - "), *words[6], *rest = line;

	if (tail == NULL)
		return false;
	*tail = '\0';
	tail += 3;
	for (unsigned i = 0; i < 6; i++)
		words[i] = strsep(&rest, " ");
	if (words[5] == NULL)
		return false;
	for (size_t i = 0; i < sizeof(kernel) / sizeof(kernel[0]); i++) {
		size_t len = strlen(kernel[i]);

		if (strncmp(tail, kernel[i], len) == 0 && tail[len] == ' ')
			return true;
	}
	if (strncmp(words[5], "ro", 2) == 0 || access(words[4], W_OK) != 0)
		return true;
	return strncmp(tail, "tmpfs ", 6) == 0 && strstr(tail, "size=") != NULL;
}

static void
probe_place_mounts(const struct probe *probe,
    const struct probe_options *options, struct probe_result *result)
{
	static char text[PROBE_PLACE_TEXT];
	char *rest = text, *line;
	unsigned count = 0;

	(void)probe;
	(void)options;
	if (probe_try_file("/proc/self/mountinfo", text, sizeof(text)) != 0) {
		probe_say(result, false, "%s", probe_try_error(errno));
		return;
	}
	while ((line = strsep(&rest, "\n")) != NULL) {
		char copy[192];

		if (*line == '\0')
			continue;
		(void)snprintf(copy, sizeof(copy), "%s", line);
		if (!probe_place_mount_closed(line)) {
			probe_say(result, false, "open mount: %.150s", copy);
			return;
		}
		count++;
	}
	probe_say(result, count > 0,
	    "%u mounts, none that could be the host's to write", count);
}

/* Docker's lines for IPv6 multicast and a prefix that nobody has. */
static bool
probe_place_nowhere(const char *line)
{
	static const char *const lines[] = {"fe00::0\tip6-localnet",
	    "ff00::0\tip6-mcastprefix", "fe00::\tip6-localnet",
	    "ff00::\tip6-mcastprefix", "ff02::1\tip6-allnodes",
	    "ff02::2\tip6-allrouters"};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		if (strcmp(line, lines[i]) == 0)
			return true;
	}
	return false;
}

static void
probe_place_hosts(const struct probe *probe,
    const struct probe_options *options, struct probe_result *result)
{
	static char text[PROBE_PLACE_TEXT];
	char *rest = text, *line;

	(void)probe;
	(void)options;
	if (probe_try_file("/etc/hosts", text, sizeof(text)) != 0 &&
	    errno != ENOENT) {
		probe_say(result, false, "%s", probe_try_error(errno));
		return;
	}
	while ((line = strsep(&rest, "\n")) != NULL) {
		line += strspn(line, " \t");
		if (*line == '\0' || *line == '#' ||
		    strncmp(line, "127.", 4) == 0 ||
		    strncmp(line, "::1", 3) == 0 || probe_place_nowhere(line))
			continue;
		probe_say(result, false, "names an address: %.150s", line);
		return;
	}
	probe_say(result, true, "only loopback addresses");
}

static void
probe_place_resolver(const struct probe *probe,
    const struct probe_options *options, struct probe_result *result)
{
	static char text[PROBE_PLACE_TEXT];
	char *rest = text, *line;

	(void)probe;
	(void)options;
	if (probe_try_file("/etc/resolv.conf", text, sizeof(text)) != 0 &&
	    errno != ENOENT) {
		probe_say(result, false, "%s", probe_try_error(errno));
		return;
	}
	while ((line = strsep(&rest, "\n")) != NULL) {
		if ((strncmp(line, "nameserver", 10) == 0 &&
			strstr(line, "127.") == NULL) ||
		    strncmp(line, "search", 6) == 0 ||
		    strncmp(line, "domain", 6) == 0) {
			probe_say(result, false, "it says: %.150s", line);
			return;
		}
	}
	probe_say(result, true, "no resolver is named");
}

static void
probe_place_hostname(const struct probe *probe,
    const struct probe_options *options, struct probe_result *result)
{
	struct utsname names;

	(void)probe;
	if (uname(&names) != 0) {
		probe_say(result, false, "%s", probe_try_error(errno));
		return;
	}
	probe_say(result, strcmp(names.nodename, options->hostname) == 0,
	    "the host name is %.60s", names.nodename);
}

/* Every process in sight belongs to this container. */
static void
probe_place_processes(const struct probe *probe,
    const struct probe_options *options, struct probe_result *result)
{
	DIR *folder = opendir("/proc");
	struct dirent *entry;
	unsigned count = 0, foreign = 0;

	(void)probe;
	(void)options;
	while (folder != NULL && (entry = readdir(folder)) != NULL) {
		char path[300];
		struct stat st;

		if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
			continue;
		(void)snprintf(path, sizeof(path), "/proc/%s", entry->d_name);
		count++;
		/* init is not dumpable: its folder is root's. */
		if (stat(path, &st) == 0 && st.st_uid != getuid() &&
		    st.st_uid != 0 && strcmp(entry->d_name, "1") != 0)
			foreign++;
	}
	if (folder != NULL)
		closedir(folder);
	probe_say(result, count > 0 && count < 32 && foreign == 0,
	    "%u processes are visible, %u of another user", count, foreign);
}

static const struct probe probe_place[] = {
    {"credentials_file", probe_place_credentials, NULL},
    {"engine_socket", probe_place_absent, probe_place_engine_sockets},
    {"secret_files", probe_place_absent, probe_place_secrets},
    {"device_nodes", probe_place_absent, probe_place_devices},
    {"environment", probe_place_environment, NULL},
    {"mounts", probe_place_mounts, NULL},
    {"hosts_file", probe_place_hosts, NULL},
    {"resolver_file", probe_place_resolver, NULL},
    {"host_name", probe_place_hostname, NULL},
    {"processes", probe_place_processes, NULL},
};

const struct probe_list probe_place_list = {
    probe_place, sizeof(probe_place) / sizeof(probe_place[0])};
