/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The terminal filter. Called for text mode, standard error and tool
 * descriptions; it must never let a control byte through.
 */
#include "supervisor/gate/gate_text.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "supervisor/gate/mcp_json.h"

void
gate_text_start(struct gate_text *text)
{
	text->held_len = 0;
}

uint32_t
gate_text_point(const unsigned char *p, size_t len)
{
	uint32_t point = len == 1 ? p[0] : p[0] & (0x7fU >> len);
	size_t i;

	for (i = 1; i < len; i++)
		point = (point << 6) | (p[i] & 0x3fU);
	return point;
}

bool
gate_text_is_harmless(const unsigned char *p, size_t len)
{
	uint32_t point = gate_text_point(p, len);

	if (point < 0x20)
		return point == '\n' || point == '\t';
	return point != 0x7f && !(point >= 0x80 && point < 0xa0) &&
	       point != 0xad && !(point >= 0x200b && point <= 0x200f) &&
	       !(point >= 0x2028 && point <= 0x202e) &&
	       !(point >= 0x2060 && point <= 0x206f) && point != 0xfeff &&
	       !(point >= 0xfff9 && point <= 0xfffb) &&
	       !(point >= 0xe0000 && point <= 0xe007f);
}

/* One whole character, or one byte that is none (len 0). */
static enum result
gate_text_put(const unsigned char *p, size_t len, struct buffer *out)
{
	uint32_t point;

	if (len == 0)
		return buffer_printf(out, "\\x%02x", p[0]);
	if (gate_text_is_harmless(p, len))
		return buffer_append(out, p, len);
	point = gate_text_point(p, len);
	if (point < 0x100)
		return buffer_printf(out, "\\x%02x", point);
	return buffer_printf(out, "\\u{%x}", point);
}

/* A character that may go on behind what is there. */
static bool
gate_text_is_cut(const unsigned char *p, size_t len)
{
	size_t need = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2, i;

	if (p[0] < 0xc2 || p[0] > 0xf4 || len >= need)
		return false;
	for (i = 1; i < len; i++) {
		if (p[i] < 0x80 || p[i] > 0xbf)
			return false;
	}
	return true;
}

/* Bytes of p that were dealt with; the rest may be cut. */
static size_t
gate_text_run(
    const unsigned char *p, size_t len, struct buffer *out, enum result *result)
{
	size_t step, at = 0;

	while (at < len && *result == RESULT_OK) {
		step = mcp_json_utf8(p + at, p + len);
		if (step == 0 && gate_text_is_cut(p + at, len - at))
			break;
		*result = gate_text_put(p + at, step, out);
		at += step == 0 ? 1 : step;
	}
	return at;
}

enum result
gate_text_feed(
    struct gate_text *text, const char *bytes, size_t len, struct buffer *out)
{
	enum result result = RESULT_OK;
	size_t done;

	/* Complete what is held byte by byte, then go on in one run. */
	while (text->held_len > 0 && len > 0 && result == RESULT_OK) {
		text->held[text->held_len++] = (unsigned char)*bytes++;
		len--;
		done = gate_text_run(text->held, text->held_len, out, &result);
		memmove(text->held, text->held + done, text->held_len - done);
		text->held_len -= done;
	}
	done = gate_text_run((const unsigned char *)bytes, len, out, &result);
	if (result == RESULT_OK && done < len) {
		memcpy(text->held, bytes + done, len - done);
		text->held_len = len - done;
	}
	return result;
}

enum result
gate_text_finish(struct gate_text *text, struct buffer *out)
{
	enum result result = RESULT_OK;
	size_t i;

	for (i = 0; i < text->held_len && result == RESULT_OK; i++)
		result = gate_text_put(text->held + i, 0, out);
	text->held_len = 0;
	return result;
}

enum result
gate_text_json(const unsigned char *p, size_t len, struct buffer *out)
{
	uint32_t point;

	if (gate_text_is_harmless(p, len))
		return buffer_append(out, p, len);
	point = gate_text_point(p, len);
	if (point < 0x10000)
		return buffer_printf(out, "\\u%04x", point);
	point -= 0x10000;
	return buffer_printf(out, "\\u%04x\\u%04x", 0xd800 + (point >> 10),
	    0xdc00 + (point & 0x3ff));
}
