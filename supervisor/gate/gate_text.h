/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a workload writes, made safe for a terminal: tabs and line ends
 * stay, every other control (C0, DEL, C1, characters that turn the writing
 * direction or are invisible) and every invalid byte becomes an escape like
 * \x1b or \u{202e}. Fed in pieces. Pure; fuzzed.
 */
#ifndef SUPERVISOR_GATE_GATE_TEXT_H
#define SUPERVISOR_GATE_GATE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buffer.h"
#include "common/result.h"

/* Most bytes one input byte becomes. */
#define GATE_TEXT_GROWTH 4U

struct gate_text {
	unsigned char held[4]; /* start of a character cut by a read */
	size_t held_len;
};

void gate_text_start(struct gate_text *text);
/* out needs room for (len + 4) * GATE_TEXT_GROWTH bytes. */
enum result gate_text_feed(
    struct gate_text *text, const char *bytes, size_t len, struct buffer *out);
/* At the end: what is held was cut. */
enum result gate_text_finish(struct gate_text *text, struct buffer *out);

/* One whole, valid character of checked JSON to out: as it is, or as the \u
 * escape that means the same where it cannot be shown. (Outside of strings
 * such JSON has nothing that needs one.) At most 12 bytes. */
enum result gate_text_json(
    const unsigned char *p, size_t len, struct buffer *out);

/* One whole, valid character: its code point; may it be shown as it is? */
uint32_t gate_text_point(const unsigned char *p, size_t len);
bool gate_text_is_harmless(const unsigned char *p, size_t len);

#endif
