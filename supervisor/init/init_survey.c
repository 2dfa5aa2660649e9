/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of the report that init itself sees (see the header): mounts,
 * environment, interfaces, routes, names, limits. Reads only what the
 * kernel and the engine wrote, before any foreign code runs.
 */
#include "supervisor/init/init_survey.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "supervisor/init/init_landlock.h"
#include "supervisor/init/init_status.h"

#define INIT_SURVEY_LINE 4096U
/* A route of lo ends its line so; in IPv4's table lo has no line. */
#define INIT_SURVEY_LO " lo\n"

extern char **environ;

static void
init_survey_text(char *to, size_t size, const char *from, size_t len)
{
	memset(to, 0, size);
	memcpy(to, from, len < size ? len : size - 1);
}

/* Flags and tmpfs size out of a comma-separated list of options. */
static void
init_survey_options(struct init_report_mount *mount, const char *list)
{
	static const struct {
		const char *word;
		uint32_t flag;
	} flags[] = {{"ro", INIT_REPORT_RDONLY}, {"nosuid", INIT_REPORT_NOSUID},
	    {"nodev", INIT_REPORT_NODEV}, {"noexec", INIT_REPORT_NOEXEC}};
	size_t len;

	for (; *list != '\0'; list += len + (list[len] == ',')) {
		len = strcspn(list, ",");
		for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
			if (strlen(flags[i].word) == len &&
			    memcmp(flags[i].word, list, len) == 0)
				mount->flags |= flags[i].flag;
		}
		if (strncmp(list, "size=", 5) == 0)
			mount->size = strtoull(list + 5, NULL, 10) *
				      (list[len - 1] == 'k' ? 1024U : 1U);
	}
}

/* One line of mountinfo: 5th word is the point, 6th its options; behind
 * " - " come type, source (left out: it names the host) and options. */
static int
init_survey_mount(struct init_report_mount *mount, char *line)
{
	char *words[6], *rest = line, *tail = strstr(line, " - ");
	char *type, *source, *options;

	memset(mount, 0, sizeof(*mount));
	if (tail == NULL)
		return EPROTO;
	*tail = '\0';
	tail += 3;
	for (unsigned i = 0; i < 6; i++) {
		words[i] = strsep(&rest, " ");
		if (words[i] == NULL)
			return EPROTO;
	}
	type = strsep(&tail, " ");
	source = strsep(&tail, " ");
	options = strsep(&tail, "\n");
	if (type == NULL || source == NULL || options == NULL)
		return EPROTO;
	init_survey_text(
	    mount->point, sizeof(mount->point), words[4], strlen(words[4]));
	init_survey_text(mount->type, sizeof(mount->type), type, strlen(type));
	init_survey_options(mount, words[5]);
	if (strcmp(type, "tmpfs") == 0 || strncmp(options, "ro", 2) == 0)
		init_survey_options(mount, options);
	if (strcmp(type, "tmpfs") != 0)
		mount->size = 0;
	return 0;
}

static int
init_survey_mounts(struct init_report *report)
{
	FILE *file = fopen("/proc/self/mountinfo", "re");
	char line[INIT_SURVEY_LINE];
	int error = 0;

	if (file == NULL)
		return errno;
	while (error == 0 && fgets(line, sizeof(line), file) != NULL) {
		struct init_report_mount spare;

		if (strchr(line, '\n') == NULL)
			error = EFBIG;
		else
			error = init_survey_mount(
			    report->mount_count < INIT_REPORT_MOUNTS_MAX
				? &report->mounts[report->mount_count]
				: &spare,
			    line);
		report->mount_count++;
	}
	if (ferror(file))
		error = EIO;
	fclose(file);
	return error;
}

static void
init_survey_environment(struct init_report *report)
{
	for (char **entry = environ; *entry != NULL; entry++) {
		if (report->env_count < INIT_REPORT_ENV_MAX)
			init_survey_text(report->env[report->env_count],
			    INIT_REPORT_ENV_LEN, *entry, strlen(*entry));
		report->env_count++;
	}
}

static int
init_survey_interfaces(struct init_report *report)
{
	struct if_nameindex *list = if_nameindex();

	if (list == NULL)
		return errno;
	for (unsigned i = 0; list[i].if_name != NULL; i++) {
		if (i < INIT_REPORT_INTERFACES_MAX)
			init_survey_text(report->interfaces[i],
			    INIT_REPORT_NAME_MAX, list[i].if_name,
			    strlen(list[i].if_name));
		report->interface_count++;
	}
	if_freenameindex(list);
	return 0;
}

/* IPv4's table begins with a line of titles. A kernel without IPv6 has no
 * second table. */
static int
init_survey_routes(struct init_report *report, const char *path, int titles)
{
	FILE *file = fopen(path, "re");
	char line[INIT_SURVEY_LINE];

	if (file == NULL)
		return errno == ENOENT ? 0 : errno;
	while (fgets(line, sizeof(line), file) != NULL) {
		size_t len = strlen(line), tail = strlen(INIT_SURVEY_LO);

		if (titles-- > 0 || (len >= tail && strcmp(line + len - tail,
							INIT_SURVEY_LO) == 0))
			continue;
		report->route_count++;
	}
	fclose(file);
	return 0;
}

static int
init_survey_names(struct init_report *report)
{
	struct utsname names;
	size_t hosts, resolv;
	int error;

	if (uname(&names) != 0)
		return errno;
	init_survey_text(report->hostname, sizeof(report->hostname),
	    names.nodename, strlen(names.nodename));
	init_survey_text(report->domainname, sizeof(report->domainname),
	    names.domainname, strlen(names.domainname));
	error = init_status_file(
	    "/etc/hosts", report->hosts, sizeof(report->hosts), &hosts);
	if (error == 0)
		error = init_status_file("/etc/resolv.conf", report->resolv,
		    sizeof(report->resolv), &resolv);
	if (error != 0)
		return error;
	report->hosts_len = (uint32_t)hosts;
	report->resolv_len = (uint32_t)resolv;
	return 0;
}

static int
init_survey_limits(struct init_report *report)
{
	for (unsigned i = 0; i < INIT_REPORT_LIMITS; i++) {
		struct rlimit limit;

		if (getrlimit((int)i, &limit) != 0)
			return errno;
		report->limits[i].soft = limit.rlim_cur;
		report->limits[i].hard = limit.rlim_max;
	}
	return 0;
}

int
init_survey_fill(struct init_report *report)
{
	int dumpable = prctl(PR_GET_DUMPABLE, 0, 0, 0, 0);
	int error;

	if (dumpable < 0)
		return errno;
	report->magic = INIT_REPORT_MAGIC;
	report->version = INIT_REPORT_VERSION;
	report->size = sizeof(*report);
	report->landlock_abi = init_landlock_abi();
	report->status.init_dumpable = (uint32_t)dumpable;
	init_survey_environment(report);
	if ((error = init_survey_mounts(report)) != 0 ||
	    (error = init_survey_interfaces(report)) != 0 ||
	    (error = init_survey_routes(report, "/proc/net/route", 1)) != 0 ||
	    (error = init_survey_routes(report, "/proc/net/ipv6_route", 0)) !=
		0 ||
	    (error = init_survey_names(report)) != 0)
		return error;
	return init_survey_limits(report);
}

/* What is between two addresses in a report, at its place in the file. */
static bool
init_survey_put(
    int fd, const struct init_report *report, const void *from, const void *to)
{
	const char *base = (const char *)report, *begin = from;
	size_t len = (size_t)((const char *)to - begin);

	return pwrite(fd, begin, len, begin - base) == (ssize_t)len;
}

/* All but the mounts, and the end of hosts, that there are not: a third of
 * it. What is not written is as zero in the file as it is in the report. */
static bool
init_survey_write(int fd, const struct init_report *report)
{
	uint32_t mounts = report->mount_count, hosts = report->hosts_len;

	if (mounts > INIT_REPORT_MOUNTS_MAX)
		mounts = INIT_REPORT_MOUNTS_MAX;
	if (hosts > INIT_REPORT_HOSTS_MAX)
		hosts = INIT_REPORT_HOSTS_MAX;
	return ftruncate(fd, (off_t)sizeof(*report)) == 0 &&
	       init_survey_put(fd, report, report, &report->mounts[mounts]) &&
	       init_survey_put(
		   fd, report, &report->env_count, &report->hosts[hosts]) &&
	       init_survey_put(fd, report, report->resolv, report + 1);
}

int
init_survey_seal(const struct init_report *report)
{
	int fd = memfd_create("init-report", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int error = 0;

	if (fd < 0)
		return -1;
	if (!init_survey_write(fd, report))
		error = EIO;
	else if (fcntl(fd, F_ADD_SEALS,
		     F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK |
			 F_SEAL_SEAL) != 0)
		error = errno;
	if (error == 0)
		return fd;
	close(fd);
	errno = error;
	return -1;
}
