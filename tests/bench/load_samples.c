/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An array of durations that grows. Called by load_llm.c for each call and
 * each event; must never take long between two sizes.
 */
#include "tests/bench/load_samples.h"

#include <stdio.h>
#include <stdlib.h>

#define LOAD_SAMPLES_FIRST 65536U

void
load_samples_add(struct load_samples *samples, uint64_t ns)
{
	uint64_t value = ns / 100U;

	if (samples->count == samples->room) {
		samples->room =
		    samples->room > 0 ? samples->room * 2 : LOAD_SAMPLES_FIRST;
		samples->ns100 = realloc(
		    samples->ns100, samples->room * sizeof(*samples->ns100));
		if (samples->ns100 == NULL) {
			fputs("load_samples: no memory\n", stderr);
			exit(1);
		}
	}
	samples->ns100[samples->count++] =
	    value < UINT32_MAX ? (uint32_t)value : UINT32_MAX;
}

static int
load_samples_compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static double
load_samples_at(const struct load_samples *samples, unsigned per_cent)
{
	if (samples->count == 0)
		return 0;
	return (double)samples->ns100[(samples->count - 1) * per_cent / 100] /
	       10.0;
}

void
load_samples_print(struct load_samples *samples, const char *name)
{
	if (samples->count > 0)
		qsort(samples->ns100, samples->count, sizeof(*samples->ns100),
		    load_samples_compare);
	printf(",\"%s_p50_us\":%.1f,\"%s_p99_us\":%.1f", name,
	    load_samples_at(samples, 50), name, load_samples_at(samples, 99));
}
