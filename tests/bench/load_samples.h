/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Durations that a load generator saw, and their percentiles. Used by
 * load_llm.c. All are kept: nothing is rounded into buckets.
 */
#ifndef TESTS_BENCH_LOAD_SAMPLES_H
#define TESTS_BENCH_LOAD_SAMPLES_H

#include <stddef.h>
#include <stdint.h>

struct load_samples {
	uint32_t *ns100; /* in units of 100 ns */
	size_t count, room;
};

/* Ends the program when there is no memory. */
void load_samples_add(struct load_samples *samples, uint64_t ns);

/* ,"NAME_p50_us":1.0,"NAME_p99_us":2.0 on standard output. Sorts. */
void load_samples_print(struct load_samples *samples, const char *name);

#endif
