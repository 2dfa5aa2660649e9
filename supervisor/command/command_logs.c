/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `agentnode logs`: the log files of our processes, their last lines, and
 * what is added while one watches. Called by command_dispatch. Whatever is
 * in a file, no control byte reaches the terminal.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/log.h"
#include "supervisor/command/command.h"
#include "supervisor/policy/log_files.h"

#define COMMAND_LOGS_LAST 100U
#define COMMAND_LOGS_LINE_MAX 8192U
#define COMMAND_LOGS_PAUSE_NS 200000000L

struct command_logs_options {
	bool follow, json;
	size_t last;
	const char *process;
};

static bool
command_logs_parse(
    int argc, char **argv, struct command_logs_options *options_r)
{
	static const struct option known[] = {
	    {"last", required_argument, NULL, 'l'},
	    {"follow", no_argument, NULL, 'f'},
	    {"json", no_argument, NULL, 'j'}, {NULL, 0, NULL, 0}};
	char *end;
	int option;

	*options_r = (struct command_logs_options){.last = COMMAND_LOGS_LAST};
	opterr = 0;
	while ((option = getopt_long(argc, argv, "", known, NULL)) != -1) {
		errno = 0;
		end = NULL;
		if (option == 'f')
			options_r->follow = true;
		else if (option == 'j')
			options_r->json = true;
		else if (option == 'l')
			options_r->last = strtoul(optarg, &end, 10);
		else
			return false;
		if (option == 'l' && (errno != 0 || end == optarg ||
					 *end != '\0' || optarg[0] == '-'))
			return false;
	}
	if (argc - optind > 1 || (options_r->follow && optind == argc))
		return false;
	options_r->process = argv[optind];
	return true;
}

/* "ts level event key=value ...", or the line as it is. */
static void
command_logs_print_json(const json_t *line)
{
	static const char *const leading[] = {
	    "ts", "level", "process", "event", NULL};
	const char *key, *const *known, *text;
	json_t *value;
	char *dumped;

	for (known = leading; *known != NULL; known++) {
		text = json_string_value(json_object_get(line, *known));
		if (text != NULL && strcmp(*known, "process") != 0)
			printf("%s%s", known != leading ? " " : "", text);
	}
	json_object_foreach((json_t *)line, key, value)
	{
		for (known = leading; *known != NULL; known++)
			if (strcmp(*known, key) == 0)
				break;
		if (*known != NULL)
			continue;
		dumped = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
		printf(" %s=%s", key, dumped != NULL ? dumped : "");
		free(dumped);
	}
	putchar('\n');
}

static void
command_logs_print(const char *line, size_t len, bool json)
{
	char safe[COMMAND_LOGS_LINE_MAX];
	struct json_fault fault = {""};
	json_t *value = NULL;

	log_clean(line, len, safe, sizeof(safe));
	if (json ||
	    json_field_parse(safe, strlen(safe), &value, &fault) != RESULT_OK ||
	    !json_is_object(value))
		puts(safe);
	else
		command_logs_print_json(value);
	json_decref(value);
}

/* All whole lines of the bytes; *rest_r: where the unfinished one begins. */
static void
command_logs_print_lines(
    const char *bytes, size_t len, bool json, size_t *rest_r)
{
	const char *end;
	size_t at = 0;

	while ((end = memchr(bytes + at, '\n', len - at)) != NULL) {
		command_logs_print(
		    bytes + at, (size_t)(end - bytes) - at, json);
		at = (size_t)(end - bytes) + 1;
	}
	*rest_r = at;
}

/* Where the last count lines begin. */
static size_t
command_logs_tail(const char *bytes, size_t len, size_t count)
{
	size_t at = len;

	while (at > 0) {
		if (bytes[at - 1] == '\n' && at != len && count-- <= 1)
			break;
		at--;
	}
	return count == 0 && at == len ? len : at;
}

/* Read from an offset to the end and print; the offset moves on. */
static enum result
command_logs_read_new(int fd, off_t *at, bool json)
{
	char *bytes;
	size_t len, rest;
	enum result result;

	if (lseek(fd, *at, SEEK_SET) < 0)
		return RESULT_SYSTEM;
	result = fd_read_all(fd, 2 * LOG_FILES_SIZE_MAX, &bytes, &len);
	if (result != RESULT_OK)
		return result;
	command_logs_print_lines(bytes, len, json, &rest);
	*at += (off_t)rest;
	free(bytes);
	return RESULT_OK;
}

/* True when the name now means another file: it was rotated. */
static bool
command_logs_is_rotated(const struct state_dir *dir, const char *file, int fd)
{
	struct stat now, then;

	return fstat(fd, &then) == 0 &&
	       fstatat(dir->fd, file, &now, AT_SYMLINK_NOFOLLOW) == 0 &&
	       (now.st_ino != then.st_ino || now.st_dev != then.st_dev);
}

static int
command_logs_follow(
    const struct state_dir *dir, const char *file, int fd, off_t at, bool json)
{
	const struct timespec pause = {0, COMMAND_LOGS_PAUSE_NS};
	bool rotated;
	int next;

	for (;;) {
		rotated = command_logs_is_rotated(dir, file, fd);
		if (command_logs_read_new(fd, &at, json) != RESULT_OK)
			return command_error(COMMAND_INTERNAL,
			    "%s cannot be read: %s", file, strerror(errno));
		if (fflush(stdout) != 0)
			return COMMAND_DONE; /* the reader left */
		if (rotated) {
			next = openat(dir->fd, file,
			    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
			if (next < 0)
				continue;
			dup3(next, fd, O_CLOEXEC);
			fd_close(&next);
			at = 0;
		}
		(void)nanosleep(&pause, NULL);
	}
}

static int
command_logs_show(const struct state_dir *dir, const char *file,
    const struct command_logs_options *options)
{
	struct json_fault fault = {""};
	FD_CLEANUP int fd = -1;
	size_t len, from, rest;
	enum result result;
	char *bytes;

	result = state_dir_read(dir, file, STATE_DIR_OURS,
	    2 * LOG_FILES_SIZE_MAX, &bytes, &len, &fault);
	if (result == RESULT_NOT_FOUND)
		return command_error(COMMAND_NO,
		    "there is no log of '%s'; 'agentnode logs' lists them",
		    options->process);
	if (result != RESULT_OK)
		return command_fault(result, &fault);
	from = command_logs_tail(bytes, len, options->last);
	if (options->last == 0)
		from = len;
	command_logs_print_lines(
	    bytes + from, len - from, options->json, &rest);
	free(bytes);
	if (!options->follow)
		return COMMAND_DONE;
	fd = openat(
	    dir->fd, file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return command_error(
		    COMMAND_INTERNAL, "%s: %s", file, strerror(errno));
	return command_logs_follow(
	    dir, file, fd, (off_t)(from + rest), options->json);
}

static void
command_logs_name(const char *name, void *context)
{
	(void)context;
	puts(name);
}

static void
command_logs_collect(const char *name, void *context)
{
	json_array_append_new(context, json_string(name));
}

static int
command_logs_list(const struct state_dir *dir, bool json)
{
	struct json_fault fault = {""};
	json_t *names = json_array(), *answer;
	enum result result;
	int code = COMMAND_DONE;

	result = log_files_list(dir,
	    json ? command_logs_collect : command_logs_name, names, &fault);
	if (result != RESULT_OK)
		code = command_fault(result, &fault);
	else if (json) {
		answer = json_pack("{s:O}", "logs", names);
		code = command_print_json(answer);
		json_decref(answer);
	}
	json_decref(names);
	return code;
}

static int
command_logs_in(
    const struct state_dir *dir, const struct command_logs_options *options)
{
	char file[STATE_DIR_NAME_MAX], full[STATE_DIR_NAME_MAX];
	struct stat status;

	if (options->process == NULL)
		return command_logs_list(dir, options->json);
	if (!log_files_is_name(options->process))
		return command_error(COMMAND_USAGE,
		    "'%s' is no name of a process", options->process);
	snprintf(file, sizeof(file), "%s" LOG_FILES_END, options->process);
	snprintf(
	    full, sizeof(full), "agentnode-%s" LOG_FILES_END, options->process);
	if (fstatat(dir->fd, file, &status, AT_SYMLINK_NOFOLLOW) != 0 &&
	    fstatat(dir->fd, full, &status, AT_SYMLINK_NOFOLLOW) == 0)
		memcpy(file, full, sizeof(file));
	return command_logs_show(dir, file, options);
}

static int
command_logs_run(int argc, char **argv)
{
	struct command_logs_options options;
	struct json_fault fault = {""};
	char path[STATE_DIR_PATH_MAX + 8];
	struct state_dir home, dir;
	enum result result;
	int code;

	if (!command_logs_parse(argc, argv, &options))
		return command_option_fault("logs");
	result = state_dir_home(false, &home, &fault);
	if (result != RESULT_OK && result != RESULT_NOT_FOUND)
		return command_fault(result, &fault);
	snprintf(path, sizeof(path), "%s/" LOG_FILES_DIR, home.path);
	state_dir_close(&home);
	result = state_dir_open(path, STATE_DIR_OURS, &dir, &fault);
	if (result == RESULT_NOT_FOUND)
		return command_error(
		    COMMAND_NO, "there are no logs yet: nothing has run");
	if (result != RESULT_OK)
		return command_fault(result, &fault);
	code = command_logs_in(&dir, &options);
	state_dir_close(&dir);
	return code;
}

const struct command command_logs_rows[] = {
    {"logs", "print the log of one of our processes",
	"Usage: agentnode logs [PROCESS] [--last N] [--follow] [--json]\n\n"
	"Without PROCESS: the names of the logs there are. The files lie in\n"
	"AGENTNODE_HOME/log, one JSON object per line.\n\n"
	"Options:\n"
	"  --last N   only the last N lines (100)\n"
	"  --follow   go on printing what is added\n"
	"  --json     the lines as JSON; without PROCESS {\"logs\": [...]}\n\n"
	"Example:\n"
	"  agentnode logs egress-proxy --last 20 --follow\n",
	command_logs_run},
    {NULL, NULL, NULL, NULL},
};
