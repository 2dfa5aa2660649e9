/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The report of facts: what an agent's task would see and reach, without a
 * verdict, so that the same program can be run outside and inside and the
 * two reports be compared.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "supervisor/probe/probe.h"
#include "supervisor/probe/probe_dial.h"
#include "supervisor/probe/probe_fetch.h"
#include "supervisor/probe/probe_output.h"
#include "supervisor/probe/probe_try.h"

#define PROBE_REPORT_ENTRIES 64U

static void
probe_report_line(const char *name, const char *text)
{
	printf(",\n");
	probe_output_text(name);
	putchar(':');
	probe_output_text(text);
}

static void
probe_report_credentials(void)
{
	const char *home = getenv("HOME");
	char path[512], text[4096], line[64] = "no such file";

	(void)snprintf(path, sizeof(path), "%s/.aws/credentials",
	    home != NULL ? home : "");
	if (probe_try_file(path, text, sizeof(text)) == 0)
		(void)snprintf(
		    line, sizeof(line), "readable, %zu bytes", strlen(text));
	else if (errno != ENOENT)
		(void)snprintf(
		    line, sizeof(line), "failed: %s", probe_try_error(errno));
	probe_output_text("credentials");
	putchar(':');
	probe_output_text(line);
	printf(",\n\"secret_in_env\":%s",
	    getenv("AWS_SECRET_ACCESS_KEY") != NULL ? "true" : "false");
}

static void
probe_report_network(const char *url)
{
	char text[256];

	if (url == NULL)
		return;
	(void)probe_fetch(url, text, sizeof(text));
	probe_report_line("network", text);
}

static void
probe_report_dial(const char *name, const char *address, uint16_t port)
{
	int fd = probe_dial_address(address, port);
	char text[64] = "reached";

	if (fd >= 0)
		close(fd);
	else if (errno == ECONNREFUSED)
		(void)snprintf(text, sizeof(text), "refused");
	else
		(void)snprintf(
		    text, sizeof(text), "failed: %s", probe_try_error(errno));
	probe_report_line(name, text);
}

/* One probe of another file, told as a fact. */
static void
probe_report_probe(const struct probe_list *list, const char *name,
    const char *shown, const struct probe_options *options)
{
	struct probe_result result = {0};

	for (size_t i = 0; i < list->count; i++) {
		const struct probe *probe = &list->probes[i];

		if (strcmp(probe->name, name) != 0)
			continue;
		probe->run(probe, options, &result);
		probe_report_line(shown, result.detail);
	}
}

static int
probe_report_compare(const void *left, const void *right)
{
	return strcmp(*(char *const *)left, *(char *const *)right);
}

static void
probe_report_folder(void)
{
	char *names[PROBE_REPORT_ENTRIES];
	size_t count = 0;
	DIR *folder = opendir(".");
	struct dirent *entry;

	while (folder != NULL && count < PROBE_REPORT_ENTRIES &&
	       (entry = readdir(folder)) != NULL) {
		if (strcmp(entry->d_name, ".") != 0 &&
		    strcmp(entry->d_name, "..") != 0 &&
		    (names[count] = strdup(entry->d_name)) != NULL)
			count++;
	}
	if (folder != NULL)
		closedir(folder);
	if (count > 1)
		qsort(names, count, sizeof(names[0]), probe_report_compare);
	printf(",\n\"cwd_entries\":[");
	for (size_t i = 0; i < count; i++) {
		printf("%s", i == 0 ? "" : ",");
		probe_output_text(names[i]);
		free(names[i]);
	}
	putchar(']');
}

/* The result file of the task. */
static void
probe_report_result(const struct probe_options *options)
{
	static const char answer[] = "{\"answer\": 42}";
	char path[512];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/result.json", options->scratch);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, answer, sizeof(answer) - 1) !=
			  (ssize_t)sizeof(answer) - 1)
		probe_report_line("result_file", probe_try_error(errno));
	else
		probe_report_line("result_file", "written");
	if (fd >= 0)
		close(fd);
}

void
probe_report_print(const struct probe_options *options)
{
	putchar('{');
	probe_report_credentials();
	probe_report_network(options->url);
	probe_report_folder();
	probe_report_probe(
	    &probe_network_list, "name_lookup", "name_lookup", options);
	probe_report_dial("raw_address", "1.1.1.1", 443);
	probe_report_dial("metadata", "169.254.169.254", 80);
	probe_report_probe(
	    &probe_inside_list, "write_outside", "write_outside", options);
	probe_report_probe(
	    &probe_place_list, "engine_socket", "engine_socket", options);
	probe_report_probe(
	    &probe_limits_list, "limit_processes", "processes", options);
	probe_report_result(options);
	printf("}\n");
	fflush(stdout);
}
