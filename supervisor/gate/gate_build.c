/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The output of a build. Called by gate.c; it must never let an unescaped
 * byte through, nor hold up the build because nobody reads.
 */
#include "supervisor/gate/gate_build.h"

#include <stdio.h>
#include <string.h>

#include "common/log.h"

void
gate_build_init(struct gate_build *build, const char *label)
{
	memset(build, 0, sizeof(*build));
	build->label = label;
	buffer_init(&build->out, GATE_BUILD_OUT_MAX);
}

void
gate_build_free(struct gate_build *build)
{
	buffer_free(&build->out);
}

/* Lines that say why it failed, and not only that. */
static const char *
gate_build_why(const char *text)
{
	static const char *const marks[] = {
	    "npm error ", "npm ERR! ", "ERROR: ", NULL};
	static const char *const noise[] = {
	    "A complete log", "code ", "Exit handler", NULL};

	for (size_t i = 0; marks[i] != NULL; i++) {
		if (strncmp(text, marks[i], strlen(marks[i])) != 0)
			continue;
		text += strlen(marks[i]);
		for (size_t j = 0; noise[j] != NULL; j++)
			if (strncmp(text, noise[j], strlen(noise[j])) == 0)
				return NULL;
		return text[0] == '\0' ? NULL : text;
	}
	return NULL;
}

/* Whole reasons as long as there is room; of the first one what fits. */
static void
gate_build_keep(struct gate_build *build, const char *why)
{
	size_t used = strlen(build->reason), len = strlen(why);
	size_t room = sizeof(build->reason) - used;

	if (strstr(build->reason, why) != NULL)
		return;
	if (used == 0)
		log_clean(why, len, build->reason, room);
	else if (len + 2 < room)
		(void)snprintf(build->reason + used, room, "; %s", why);
}

static void
gate_build_show(
    struct gate_build *build, const struct gate_build_line *line, uint64_t now)
{
	char text[2 * GATE_BUILD_LINE_MAX];

	log_clean(line->bytes, line->len, text, sizeof(text));
	(void)buffer_printf(&build->out, "%s: %s\n", build->label, text);
	build->shown_ms = now;
}

/* A line is complete; a build may say thousands a second. */
static void
gate_build_line(struct gate_build *build, uint64_t now_ms)
{
	struct gate_build_line *line = &build->line;
	char text[GATE_BUILD_LINE_MAX];
	const char *why;

	if (line->all == 0)
		return;
	log_event(LOG_INFO_LEVEL, "build_output",
	    LOG_BYTES("text", line->bytes, line->len),
	    LOG_UINT("bytes", line->all));
	log_clean(line->bytes, line->len, text, sizeof(text));
	why = gate_build_why(text);
	if (why != NULL)
		gate_build_keep(build, why);
	if (why != NULL && (strstr(why, "ENOSPC") != NULL ||
			       strstr(why, "No space left") != NULL))
		build->full = true;
	build->last[build->count++ % GATE_BUILD_LAST] = *line;
	build->hidden++;
	if (build->shown_ms == 0 ||
	    now_ms - build->shown_ms >= GATE_BUILD_EVERY_MS) {
		gate_build_show(build, line, now_ms);
		build->hidden = 0;
	}
	line->len = 0;
	line->all = 0;
}

void
gate_build_feed(
    struct gate_build *build, const char *bytes, size_t len, uint64_t now_ms)
{
	struct gate_build_line *line = &build->line;

	for (size_t i = 0; i < len; i++) {
		if (bytes[i] == '\n' || bytes[i] == '\r') {
			gate_build_line(build, now_ms);
			continue;
		}
		if (line->len < sizeof(line->bytes))
			line->bytes[line->len++] = bytes[i];
		line->all++;
	}
}

void
gate_build_end(struct gate_build *build, bool failed, uint64_t now_ms)
{
	uint64_t show = failed ? GATE_BUILD_LAST : 1;
	const struct gate_build_line *last;

	gate_build_line(build, now_ms);
	if (show > build->hidden)
		show = build->hidden;
	for (; show > 0; show--)
		gate_build_show(build,
		    &build->last[(build->count - show) % GATE_BUILD_LAST],
		    now_ms);
	build->hidden = 0;
	if (!failed || build->reason[0] != '\0' || build->count == 0)
		return;
	last = &build->last[(build->count - 1) % GATE_BUILD_LAST];
	log_clean(last->bytes, last->len, build->reason, sizeof(build->reason));
}
