/* SPDX-License-Identifier: Apache-2.0 */
/* See lane_script.h. */
#include "tests/machine/lane_script.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct lane_script *
lane_script_of(struct key_lane *lane)
{
	return (struct lane_script *)(void *)lane;
}

__attribute__((format(printf, 2, 3))) static void
lane_script_note(struct key_lane *lane, const char *format, ...)
{
	struct lane_script *script = lane_script_of(lane);
	size_t len = strlen(script->trace);
	va_list list;

	va_start(list, format);
	(void)vsnprintf(
	    script->trace + len, sizeof(script->trace) - len, format, list);
	va_end(list);
}

static uint64_t
lane_script_now(struct key_lane *lane)
{
	return lane_script_of(lane)->now_ms;
}

static const struct key_config_provider *
lane_script_provider(struct key_lane *lane, const char *name)
{
	struct lane_script *script = lane_script_of(lane);

	return strcmp(name, script->provider.name) == 0 ? &script->provider
							: NULL;
}

static enum key_lane_admit
lane_script_admit(struct key_lane *lane)
{
	lane_script_note(lane, "admit ");
	return lane_script_of(lane)->admit;
}

static enum result
lane_script_connect(struct key_lane *lane)
{
	struct lane_script *script = lane_script_of(lane);

	lane_script_note(lane, "connect ");
	if (script->has_connection)
		abort(); /* a connection was lost */
	script->has_connection =
	    script->connect == RESULT_OK || script->connect == RESULT_NEED_MORE;
	return script->connect;
}

static void
lane_script_keep(struct lane_script *script, const char *bytes, size_t len)
{
	if (len > sizeof(script->sent) - script->sent_len)
		len = sizeof(script->sent) - script->sent_len;
	memcpy(script->sent + script->sent_len, bytes, len);
	script->sent_len += len;
}

static enum result
lane_script_inject(struct key_lane *lane, const char *head, size_t head_len,
    const char *body, size_t body_len, bool *sent_r)
{
	struct lane_script *script = lane_script_of(lane);

	lane_script_note(lane, "inject(%zu) ", body_len);
	if (!script->has_connection)
		abort();
	*sent_r = script->inject == RESULT_OK || script->inject_sent;
	if (script->inject != RESULT_OK)
		return script->inject;
	script->requests++;
	lane_script_keep(script, head, head_len);
	lane_script_keep(script, body, body_len);
	return RESULT_OK;
}

static enum result
lane_script_send(struct key_lane *lane, const char *bytes, size_t len)
{
	struct lane_script *script = lane_script_of(lane);

	lane_script_note(lane, "send(%zu) ", len);
	if (!script->has_connection)
		abort();
	lane_script_keep(script, bytes, len);
	return RESULT_OK;
}

static void
lane_script_release(struct key_lane *lane, bool keep)
{
	lane_script_note(lane, keep ? "keep " : "close ");
	lane_script_of(lane)->has_connection = false;
}

static void
lane_script_judge(struct key_lane *lane, enum key_lane_verdict verdict)
{
	lane_script_of(lane)->verdict = verdict;
}

static void
lane_script_say(struct key_lane *lane, enum lane_type type, uint32_t value)
{
	lane_script_note(lane, "say(%d,%u) ", type, value);
}

static void
lane_script_deadline(struct key_lane *lane, uint64_t due_ms)
{
	lane_script_of(lane)->deadline_ms = due_ms;
}

static void
lane_script_report(struct key_lane *lane)
{
	lane_script_of(lane)->reports++;
}

static const struct key_lane_actions lane_script_actions = {
    .now_ms = lane_script_now,
    .provider = lane_script_provider,
    .admit = lane_script_admit,
    .connect = lane_script_connect,
    .inject = lane_script_inject,
    .send = lane_script_send,
    .release = lane_script_release,
    .judge = lane_script_judge,
    .say = lane_script_say,
    .deadline = lane_script_deadline,
    .report = lane_script_report,
};

void
lane_script_init(struct lane_script *script)
{
	memset(script, 0, sizeof(*script));
	key_lane_init(&script->lane, &lane_script_actions);
	script->now_ms = 1000;
	script->connect = RESULT_NEED_MORE;
	(void)snprintf(
	    script->provider.name, sizeof(script->provider.name), "one");
	(void)snprintf(script->provider.host, sizeof(script->provider.host),
	    "api.example.test");
	(void)snprintf(script->provider.authority,
	    sizeof(script->provider.authority), "api.example.test");
	(void)snprintf(script->provider.header, sizeof(script->provider.header),
	    "Authorization");
}

size_t
lane_script_open(char *at, uint32_t call)
{
	const struct lane_open open = {.frame = {LANE_MAGIC, LANE_OPEN,
					   sizeof(LANE_SCRIPT_HEAD) - 1, call},
	    .provider = "one",
	    .body_len = 5,
	    .first_byte_ms = 700,
	    .idle_ms = 300};

	memcpy(at, &open, sizeof(open));
	memcpy(at + sizeof(open), LANE_SCRIPT_HEAD "12345",
	    sizeof(LANE_SCRIPT_HEAD) + 4);
	return sizeof(open) + sizeof(LANE_SCRIPT_HEAD) + 4;
}

size_t
lane_script_frame(char *at, enum lane_type type, uint32_t value, uint32_t call)
{
	const struct lane_frame frame = {LANE_MAGIC, type, value, call};

	memcpy(at, &frame, sizeof(frame));
	return sizeof(frame);
}

size_t
lane_script_give(struct lane_script *script, const char *bytes, size_t len)
{
	char *copy = malloc(len > 0 ? len : 1);
	size_t taken;

	if (copy == NULL)
		abort();
	memcpy(copy, bytes, len);
	taken = key_lane_take(&script->lane, copy, len);
	free(copy);
	return taken;
}
