/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agentnode-probe: options, the order of the probes, and the modes.
 *   (none)            all probes as JSON; exit 0 when every wall held
 *   --records         the same as fixed records (probe_record.h)
 *   --only NAME       just these probes; may be given again
 *   --without NAME    not this one; may be given again
 *   --list            their names
 *   --report          the facts an agent's task would find, as JSON (or
 *                     records); --raw, --metadata, --resolver ADDRESS name
 *                     stand-ins where it runs outside of a sandbox
 *   --flood BYTES     writes that much to standard output
 *   --spin            spins for ever in as many processes as it may start
 *   --url URL --hostname NAME --scratch DIR   see probe.h
 *   --memory-max MIB --processes-max N        where to give up
 */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "supervisor/probe/probe.h"
#include "supervisor/probe/probe_fetch.h"
#include "supervisor/probe/probe_output.h"

#define MAIN_ONLY_MAX 32U
#define MAIN_PROBES_MAX 256U

enum main_mode {
	MAIN_PROBES,
	MAIN_LIST,
	MAIN_REPORT,
	MAIN_FLOOD,
	MAIN_SPIN,
};

struct main_command {
	enum main_mode mode;
	enum probe_output_form form;
	const char *only[MAIN_ONLY_MAX];
	const char *without[MAIN_ONLY_MAX];
	unsigned only_count, without_count;
	uint64_t flood;
	struct probe_options options;
};

static void
main_probe_url(const struct probe *probe, const struct probe_options *options,
    struct probe_result *result)
{
	char text[PROBE_DETAIL_MAX];
	bool reached = probe_fetch(options->url, text, sizeof(text));

	(void)probe;
	probe_say(result, reached, "%s", text);
}

static const struct probe main_url_probe[] = {
    {"way_out", main_probe_url, NULL}};
static const struct probe_list main_url_list = {main_url_probe, 1};

/* Limits last: what is killed there takes nothing with it. */
static const struct probe_list *const main_lists[] = {&probe_calls_list,
    &probe_guard_list, &probe_place_list, &probe_inside_list,
    &probe_network_list, &main_url_list, &probe_limits_list};

static bool
main_wanted(const struct main_command *command, const struct probe *probe)
{
	if (probe == main_url_probe && command->options.url == NULL)
		return false;
	for (unsigned i = 0; i < command->without_count; i++) {
		if (strcmp(command->without[i], probe->name) == 0)
			return false;
	}
	for (unsigned i = 0; i < command->only_count; i++) {
		if (strcmp(command->only[i], probe->name) == 0)
			return true;
	}
	return command->only_count == 0;
}

/* The probes to run, in order; how many. */
static uint32_t
main_choose(const struct main_command *command,
    const struct probe *chosen_r[MAIN_PROBES_MAX])
{
	uint32_t count = 0;

	for (size_t l = 0; l < sizeof(main_lists) / sizeof(main_lists[0]);
	     l++) {
		for (size_t i = 0; i < main_lists[l]->count; i++) {
			const struct probe *probe = &main_lists[l]->probes[i];

			if (main_wanted(command, probe) &&
			    count < MAIN_PROBES_MAX)
				chosen_r[count++] = probe;
		}
	}
	return count;
}

static int
main_run_probes(const struct main_command *command)
{
	const struct probe *chosen[MAIN_PROBES_MAX];
	uint32_t count = main_choose(command, chosen);
	bool ok = count > 0;

	probe_output_begin(command->form);
	for (uint32_t i = 0; i < count; i++) {
		struct probe_result result = {0};

		chosen[i]->run(chosen[i], &command->options, &result);
		ok = ok && result.ok;
		probe_output_one(
		    command->form, i, count, chosen[i]->name, &result);
	}
	probe_output_end(command->form, ok);
	return ok ? 0 : 1;
}

static int
main_list_probes(const struct main_command *command)
{
	const struct probe *chosen[MAIN_PROBES_MAX];
	uint32_t count = main_choose(command, chosen);

	for (uint32_t i = 0; i < count; i++)
		printf("%s\n", chosen[i]->name);
	return 0;
}

static int
main_flood(uint64_t bytes)
{
	static char line[65536];

	memset(line, 'x', sizeof(line));
	while (bytes > 0) {
		size_t part = bytes < sizeof(line) ? bytes : sizeof(line);
		ssize_t put = write(STDOUT_FILENO, line, part);

		if (put < 0 && errno != EINTR)
			return 1;
		bytes -= put > 0 ? (uint64_t)put : 0;
	}
	return 0;
}

static int
main_spin(void)
{
	(void)signal(SIGTERM, SIG_IGN);
	(void)signal(SIGHUP, SIG_IGN);
	while (fork() > 0)
		;
	for (volatile unsigned turn = 0;; turn++)
		;
	return 0;
}

static const struct option main_options[] = {{"records", 0, NULL, 'r'},
    {"only", 1, NULL, 'o'}, {"without", 1, NULL, 'w'}, {"list", 0, NULL, 'l'},
    {"report", 0, NULL, 'R'}, {"flood", 1, NULL, 'f'}, {"spin", 0, NULL, 's'},
    {"url", 1, NULL, 'u'}, {"hostname", 1, NULL, 'h'},
    {"scratch", 1, NULL, 'd'}, {"memory-max", 1, NULL, 'm'},
    {"processes-max", 1, NULL, 'p'}, {"raw", 1, NULL, 'a'},
    {"metadata", 1, NULL, 'M'}, {"resolver", 1, NULL, 'n'}, {NULL, 0, NULL, 0}};

static bool
main_option(struct main_command *command, int letter)
{
	struct probe_options *options = &command->options;

	switch (letter) {
	case 'r':
		command->form = PROBE_OUTPUT_RECORDS;
		return true;
	case 'o':
		if (command->only_count == MAIN_ONLY_MAX)
			return false;
		command->only[command->only_count++] = optarg;
		return true;
	case 'w':
		if (command->without_count == MAIN_ONLY_MAX)
			return false;
		command->without[command->without_count++] = optarg;
		return true;
	case 'l':
		command->mode = MAIN_LIST;
		return true;
	case 'R':
		command->mode = MAIN_REPORT;
		return true;
	case 'f':
		command->mode = MAIN_FLOOD;
		command->flood = strtoull(optarg, NULL, 10);
		return true;
	case 's':
		command->mode = MAIN_SPIN;
		return true;
	case 'u':
		options->url = optarg;
		return true;
	case 'h':
		options->hostname = optarg;
		return true;
	case 'd':
		options->scratch = optarg;
		return true;
	case 'm':
		options->memory_max = strtoull(optarg, NULL, 10) << 20;
		return true;
	case 'a':
		options->raw = optarg;
		return true;
	case 'M':
		options->metadata = optarg;
		return true;
	case 'n':
		options->resolver = optarg;
		return true;
	case 'p':
		options->processes_max = strtoull(optarg, NULL, 10);
		return true;
	default:
		return false;
	}
}

int
main(int argc, char **argv)
{
	struct main_command command = {.options = {.hostname = "sandbox",
					   .scratch = "/tmp",
					   .memory_max = 2ULL << 30,
					   .files_max = 1U << 20,
					   .processes_max = 2048,
					   .disk_max = 1ULL << 30}};
	int letter;

	while (
	    (letter = getopt_long(argc, argv, "", main_options, NULL)) != -1) {
		if (!main_option(&command, letter))
			return 2;
	}
	(void)signal(SIGPIPE, SIG_IGN);
	switch (command.mode) {
	case MAIN_PROBES:
		return main_run_probes(&command);
	case MAIN_LIST:
		return main_list_probes(&command);
	case MAIN_REPORT:
		probe_report_print(
		    &command.options, command.form == PROBE_OUTPUT_RECORDS);
		return 0;
	case MAIN_FLOOD:
		return main_flood(command.flood);
	case MAIN_SPIN:
		return main_spin();
	}
	return 2;
}
