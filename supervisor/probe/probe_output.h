/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the probe writes: JSON for people and scripts, or fixed records.
 */
#ifndef SUPERVISOR_PROBE_OUTPUT_H
#define SUPERVISOR_PROBE_OUTPUT_H

#include <stdint.h>

#include "supervisor/probe/probe.h"

enum probe_output_form {
	PROBE_OUTPUT_JSON,
	PROBE_OUTPUT_RECORDS,
};

void probe_output_begin(enum probe_output_form form);
/* Written at once, so that a probe that ends everything leaves a trace. */
void probe_output_one(enum probe_output_form form, uint32_t index,
    uint32_t count, const char *name, const struct probe_result *result);
void probe_output_end(enum probe_output_form form, bool ok);

/* A JSON string with its quotes. */
void probe_output_text(const char *text);

#endif
