/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints an init_report file as JSON, for the scenarios, together with its
 * differences from what init_sandbox.py launches. Never installed.
 * Usage: report_print FILE UID NAME
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/engine/wall_table.h"

static const char *const walls[] = {
#define REPORT_PRINT_NAME(name, text) #name,
    INIT_WALL_LIST(REPORT_PRINT_NAME)
#undef REPORT_PRINT_NAME
};

static void
print_text(const char *bytes, size_t len)
{
	putchar('"');
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)bytes[i];

		if (c < 0x20 || c >= 0x7f || c == '"' || c == '\\')
			printf("\\u%04x", c);
		else
			putchar(c);
	}
	putchar('"');
}

static void
print_mounts(const struct init_report *report)
{
	printf("\"mounts\":[");
	for (unsigned i = 0;
	     i < report->mount_count && i < INIT_REPORT_MOUNTS_MAX; i++) {
		const struct init_report_mount *mount = &report->mounts[i];

		printf("%s{\"point\":", i == 0 ? "" : ",\n ");
		print_text(mount->point, strlen(mount->point));
		printf(",\"type\":");
		print_text(mount->type, strlen(mount->type));
		printf(",\"flags\":%u,\"size\":%llu}", mount->flags,
		    (unsigned long long)mount->size);
	}
	printf("],\n");
}

static void
told(const char *text, void *context)
{
	bool *first = context;

	printf("%s", *first ? "" : ",\n ");
	*first = false;
	print_text(text, strlen(text));
}

static void
print_differences(
    const struct init_report *report, const char *uid, const char *name)
{
	static const struct wall_table_mount mounts[] = {
	    {"/tmp", "tmpfs", 14, 16U << 20},
	    {"/sandbox-home", "tmpfs", 14, 4U << 20},
	    {"/run/agentnode", "tmpfs", 14, 64U << 10}};
	const struct wall_table_expected expected = {
	    .uid = (uint32_t)strtoul(uid, NULL, 10),
	    .gid = (uint32_t)strtoul(uid, NULL, 10),
	    .landlock_required = true,
	    .sockets = true,
	    .hostname = "sandbox",
	    .container_name = name,
	    .mounts = mounts,
	    .mount_count = sizeof(mounts) / sizeof(mounts[0]),
	    .files_max = 4096,
	    .processes_max = 4096};
	bool first = true;

	printf("\"differences\":[");
	(void)wall_table_compare(
	    report, sizeof(*report), &expected, told, &first);
	printf("],\n");
}

int
main(int argc, char **argv)
{
	static struct init_report report;
	FILE *file = argc == 4 ? fopen(argv[1], "re") : NULL;

	if (file == NULL || fread(&report, sizeof(report), 1, file) != 1)
		return 1;
	fclose(file);
	printf("{\"landlock_abi\":%d,\"walls\":{", report.landlock_abi);
	for (unsigned i = 0; i < INIT_WALL_COUNT; i++)
		printf("%s\"%s\":%d", i == 0 ? "" : ",", walls[i],
		    report.walls[i]);
	printf("},\n\"uid\":%u,\"gid\":%u,\"groups\":%u,\"no_new_privs\":%u,"
	       "\"seccomp\":%u,\"dumpable\":%u,\"caps\":%llu,\n",
	    report.status.uid[0], report.status.gid[0],
	    report.status.group_count, report.status.no_new_privs,
	    report.status.seccomp, report.status.init_dumpable,
	    (unsigned long long)(report.status.permitted |
				 report.status.effective |
				 report.status.bounding |
				 report.status.inheritable |
				 report.status.ambient));
	print_mounts(&report);
	print_differences(&report, argv[2], argv[3]);
	printf("\"env\":[");
	for (unsigned i = 0; i < report.env_count && i < INIT_REPORT_ENV_MAX;
	     i++) {
		printf("%s", i == 0 ? "" : ",");
		print_text(report.env[i], strlen(report.env[i]));
	}
	printf("],\n\"interfaces\":%u,\"interface\":", report.interface_count);
	print_text(report.interfaces[0], strlen(report.interfaces[0]));
	printf(",\"routes\":%u,\"hostname\":", report.route_count);
	print_text(report.hostname, strlen(report.hostname));
	printf(",\"domainname\":");
	print_text(report.domainname, strlen(report.domainname));
	printf(",\n\"hosts\":");
	print_text(report.hosts, report.hosts_len);
	printf(",\"resolv\":");
	print_text(report.resolv, report.resolv_len);
	printf(",\n\"limits\":[");
	for (unsigned i = 0; i < INIT_REPORT_LIMITS; i++)
		printf("%s%lld", i == 0 ? "" : ",",
		    (long long)report.limits[i].hard);
	printf("]}\n");
	return 0;
}
