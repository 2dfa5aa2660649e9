/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The report of facts: what an agent's task would see and reach, without a
 * verdict, so that the same program can be run outside and inside and the
 * two reports be compared. Gathered first, then written in either form.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "supervisor/probe/probe.h"
#include "supervisor/probe/probe_dial.h"
#include "supervisor/probe/probe_fetch.h"
#include "supervisor/probe/probe_output.h"
#include "supervisor/probe/probe_secrets.h"
#include "supervisor/probe/probe_try.h"

#define PROBE_REPORT_FACTS 24U
#define PROBE_REPORT_ENTRIES 64U

struct probe_report {
	uint32_t count;
	const char *names[PROBE_REPORT_FACTS];
	struct probe_result facts[PROBE_REPORT_FACTS];
};

static void
probe_report_add(
    struct probe_report *report, const char *name, const char *text)
{
	if (report->count == PROBE_REPORT_FACTS)
		abort();
	report->names[report->count] = name;
	probe_say(&report->facts[report->count++], true, "%s", text);
}

static void
probe_report_credentials(struct probe_report *report)
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
	probe_report_add(report, "credentials", line);
	probe_report_add(report, "secret_in_env",
	    getenv("AWS_SECRET_ACCESS_KEY") != NULL ? "true" : "false");
}

/* What is there besides the one file and the one variable. */
static void
probe_report_secrets(struct probe_report *report)
{
	char text[PROBE_DETAIL_MAX];

	probe_secrets_home(text, sizeof(text));
	probe_report_add(report, "credential_files", text);
	probe_secrets_database(text, sizeof(text));
	probe_report_add(report, "passwd_credentials", text);
	probe_secrets_environment(text, sizeof(text));
	probe_report_add(report, "secrets_in_env", text);
}

static void
probe_report_network(
    struct probe_report *report, const struct probe_options *options)
{
	const char *server =
	    options->resolver != NULL ? options->resolver : "8.8.8.8";
	char text[PROBE_DETAIL_MAX];
	int error;

	if (options->url != NULL) {
		(void)probe_fetch(options->url, text, sizeof(text));
		probe_report_add(report, "network", text);
		(void)probe_fetch_raw(options->url, text, sizeof(text));
		probe_report_add(report, "network_raw", text);
	}
	error = probe_network_ask(server);
	if (error == 0)
		(void)snprintf(text, sizeof(text), "%s answers", server);
	else
		(void)snprintf(
		    text, sizeof(text), "failed: %s", probe_try_error(error));
	probe_report_add(report, "name_lookup", text);
}

static void
probe_report_dial(struct probe_report *report, const char *name,
    const char *address, uint16_t port)
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
	probe_report_add(report, name, text);
}

/* One probe of another file, told as a fact. */
static void
probe_report_probe(struct probe_report *report, const struct probe_list *list,
    const char *name, const struct probe_options *options)
{
	for (size_t i = 0; i < list->count; i++) {
		const struct probe *probe = &list->probes[i];
		struct probe_result result = {0};

		if (strcmp(probe->name, name) != 0)
			continue;
		probe->run(probe, options, &result);
		probe_report_add(report, name, result.detail);
	}
}

static int
probe_report_compare(const void *left, const void *right)
{
	return strcmp(*(char *const *)left, *(char *const *)right);
}

/* true and false are no texts. */
static void
probe_report_value(const char *text)
{
	if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0)
		printf("%s", text);
	else
		probe_output_text(text);
}

/* The names in the working directory, as far as they fit. */
static void
probe_report_folder(struct probe_report *report)
{
	char *names[PROBE_REPORT_ENTRIES], text[PROBE_DETAIL_MAX] = "";
	size_t count = 0, used = 0;
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
	for (size_t i = 0; i < count; i++) {
		int put = snprintf(text + used, sizeof(text) - used, "%s%s",
		    used > 0 ? " " : "", names[i]);

		if (put > 0 && used + (size_t)put < sizeof(text))
			used += (size_t)put;
		free(names[i]);
	}
	probe_report_add(report, "cwd_entries", text);
}

/* The result file of the task. */
static void
probe_report_result(
    struct probe_report *report, const struct probe_options *options)
{
	static const char answer[] = "{\"answer\": 42}";
	char path[512];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/result.json", options->scratch);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, answer, sizeof(answer) - 1) !=
			  (ssize_t)sizeof(answer) - 1)
		probe_report_add(report, "result_file", probe_try_error(errno));
	else
		probe_report_add(report, "result_file", "written");
	if (fd >= 0)
		close(fd);
}

static void
probe_report_gather(
    struct probe_report *report, const struct probe_options *options)
{
	char text[PROBE_DETAIL_MAX];

	probe_report_credentials(report);
	probe_report_secrets(report);
	probe_report_network(report, options);
	probe_report_folder(report);
	probe_report_dial(report, "raw_address",
	    options->raw != NULL ? options->raw : "1.1.1.1", 443);
	probe_report_dial(report, "metadata",
	    options->metadata != NULL ? options->metadata : "169.254.169.254",
	    80);
	probe_report_probe(
	    report, &probe_inside_list, "write_outside", options);
	probe_secrets_write(text, sizeof(text));
	probe_report_add(report, "write_homes", text);
	probe_report_probe(report, &probe_place_list, "engine_socket", options);
	probe_report_probe(
	    report, &probe_limits_list, "limit_processes", options);
	probe_report_result(report, options);
}

void
probe_report_print(const struct probe_options *options, bool records)
{
	static struct probe_report report;

	probe_report_gather(&report, options);
	for (uint32_t i = 0; i < report.count; i++) {
		if (records) {
			probe_output_one(PROBE_OUTPUT_RECORDS, i, report.count,
			    report.names[i], &report.facts[i]);
			continue;
		}
		printf("%s", i == 0 ? "{" : ",\n ");
		probe_output_text(report.names[i]);
		putchar(':');
		probe_report_value(report.facts[i].detail);
	}
	if (!records)
		printf("}\n");
	fflush(stdout);
}
