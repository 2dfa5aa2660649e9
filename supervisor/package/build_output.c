/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The output of a build; see build_output.h. It is foreign: every line is
 * escaped and cut before anybody sees it, and most lines of a flood are
 * not shown at all.
 */
#include "supervisor/package/build_output.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/event_loop.h"
#include "common/fd.h"
#include "common/log.h"

#define BUILD_OUTPUT_LINE_MAX 256U
#define BUILD_OUTPUT_EVERY_MS 1000U /* between lines that are shown */
#define BUILD_OUTPUT_READS_MAX 64U  /* per event, so that others get a turn */

struct build_output {
	struct event *event;
	int fd; /* owned */
	const char *label;
	void (*progress)(const char *line);
	uint64_t shown_ms;                   /* when a line was shown last */
	char waiting[BUILD_OUTPUT_LINE_MAX]; /* newest line not shown */
	size_t used;
	char line[BUILD_OUTPUT_LINE_MAX];
	char error[BUILD_OUTPUT_ERROR_MAX];
};

/* Lines that say why it failed, and not only that. */
static const char *
build_output_reason(const char *line)
{
	static const char *const marks[] = {
	    "npm error ", "npm ERR! ", "ERROR: ", NULL};
	static const char *const noise[] = {
	    "A complete log", "code ", "Exit handler", "\0"};

	for (size_t i = 0; marks[i] != NULL; i++) {
		if (strncmp(line, marks[i], strlen(marks[i])) != 0)
			continue;
		line += strlen(marks[i]);
		for (size_t j = 0; noise[j][0] != '\0'; j++)
			if (strncmp(line, noise[j], strlen(noise[j])) == 0)
				return NULL;
		return line[0] == '\0' ? NULL : line;
	}
	return NULL;
}

static void
build_output_keep(struct build_output *output, const char *line)
{
	const char *reason = build_output_reason(line);
	size_t used = strlen(output->error);

	if (reason == NULL || used + 8 >= sizeof(output->error) ||
	    strstr(output->error, reason) != NULL)
		return;
	(void)snprintf(output->error + used, sizeof(output->error) - used,
	    "%s%s", used == 0 ? "" : "; ", reason);
}

static void
build_output_show(struct build_output *output, const char *line)
{
	char shown[BUILD_OUTPUT_LINE_MAX + 32];

	output->shown_ms = event_loop_now_ms();
	(void)snprintf(shown, sizeof(shown), "%s: %s", output->label, line);
	output->waiting[0] = '\0'; /* line may be it */
	output->progress(shown);
}

/* A line is complete. A build may say thousands a second: one a second is
 * shown, and the newest at the end. */
static void
build_output_line(struct build_output *output)
{
	char safe[BUILD_OUTPUT_LINE_MAX];

	if (output->used == 0)
		return;
	log_escape(output->line, output->used, safe, sizeof(safe));
	output->used = 0;
	build_output_keep(output, safe);
	if (output->progress == NULL)
		return;
	if (event_loop_now_ms() - output->shown_ms >= BUILD_OUTPUT_EVERY_MS)
		build_output_show(output, safe);
	else
		memcpy(output->waiting, safe, sizeof(safe));
}

/* False at the end, or when there is nothing now. */
static bool
build_output_read(struct build_output *output)
{
	char bytes[4096];
	ssize_t got = read(output->fd, bytes, sizeof(bytes));

	if (got < 0 && errno == EINTR)
		return true;
	for (ssize_t i = 0; i < got; i++) {
		if (bytes[i] == '\n' || bytes[i] == '\r')
			build_output_line(output);
		else if (output->used < sizeof(output->line))
			output->line[output->used++] = bytes[i];
	}
	if (got == 0 || (got < 0 && errno != EAGAIN)) {
		build_output_line(output);
		(void)event_del(output->event);
	}
	return got > 0;
}

static void
build_output_on_read(evutil_socket_t fd, short what, void *context)
{
	(void)fd;
	(void)what;
	for (unsigned i = 0; i < BUILD_OUTPUT_READS_MAX; i++)
		if (!build_output_read(context))
			break;
}

void
build_output_drain(struct build_output *output)
{
	for (unsigned i = 0; i < 64 * BUILD_OUTPUT_READS_MAX; i++)
		if (!build_output_read(output))
			break;
	if (output->progress != NULL && output->waiting[0] != '\0')
		build_output_show(output, output->waiting);
}

const char *
build_output_error(const struct build_output *output)
{
	return output->error;
}

enum result
build_output_new(struct event_base *base, int fd, const char *label,
    void (*progress)(const char *line), struct build_output **output_r)
{
	struct build_output *output = calloc(1, sizeof(*output));

	if (output == NULL) {
		fd_close(&fd);
		return RESULT_NO_MEMORY;
	}
	output->fd = fd;
	output->label = label;
	output->progress = progress;
	output->event = event_new(
	    base, fd, EV_READ | EV_PERSIST, build_output_on_read, output);
	if (output->event == NULL || event_add(output->event, NULL) != 0 ||
	    fd_set_nonblocking(fd, true) != RESULT_OK) {
		build_output_free(&output);
		return RESULT_NO_MEMORY;
	}
	*output_r = output;
	return RESULT_OK;
}

void
build_output_free(struct build_output **output)
{
	struct build_output *gone = *output;

	if (gone == NULL)
		return;
	*output = NULL;
	if (gone->event != NULL)
		event_free(gone->event);
	fd_close(&gone->fd);
	free(gone);
}
