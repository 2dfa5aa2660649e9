/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clock of a start (see the header). Called by mcp_run and sandbox; must
 * never change what they do, whether or not anybody looks.
 */
#include "supervisor/start_clock.h"

#include <string.h>
#include <time.h>

#define START_CLOCK_BAR 40

static const char *const start_clock_names[START_STEP_COUNT] = {
    [START_PLAN] = "config, lock, package",
    [START_LEDGER] = "ledger",
    [START_IMAGE] = "engine and image check",
    [START_RECORD] = "launch record",
    [START_ENGINE] = "engine, to init's hello",
    [START_PROXY] = "proxy",
    [START_VOLUMES] = "volume check",
    [START_GATE] = "gate",
    [START_WALLS] = "listeners and walls",
    [START_CHECKS] = "wait for proxy, volumes",
    [START_FILES] = "files in",
    [START_ANSWER] = "go, to first answer",
};

int64_t
start_clock_now(void)
{
	struct timespec now = {0, 0};

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

void
start_clock_begin(struct start_clock *clock, enum start_step step)
{
	if (clock != NULL && clock->origin_us != 0 &&
	    clock->steps[step].begin_us == 0)
		clock->steps[step].begin_us = start_clock_now();
}

void
start_clock_end_at(
    struct start_clock *clock, enum start_step step, int64_t at_us)
{
	if (clock != NULL && clock->steps[step].begin_us != 0 &&
	    clock->steps[step].end_us == 0)
		clock->steps[step].end_us = at_us < clock->steps[step].begin_us
						? clock->steps[step].begin_us
						: at_us;
}

void
start_clock_end(struct start_clock *clock, enum start_step step)
{
	start_clock_end_at(clock, step, start_clock_now());
}

/* The last end that there is. */
static int64_t
start_clock_whole(const struct start_clock *clock)
{
	int64_t last = clock->origin_us;

	for (unsigned i = 0; i < START_STEP_COUNT; i++)
		if (clock->steps[i].end_us > last)
			last = clock->steps[i].end_us;
	return last - clock->origin_us;
}

static void
start_clock_bar(int64_t begin, int64_t end, int64_t whole, FILE *out)
{
	char bar[START_CLOCK_BAR + 1];
	int64_t from = whole > 0 ? begin * START_CLOCK_BAR / whole : 0;
	int64_t to = whole > 0 ? end * START_CLOCK_BAR / whole : 0;

	if (from > START_CLOCK_BAR - 1)
		from = START_CLOCK_BAR - 1;
	memset(bar, ' ', sizeof(bar));
	for (int64_t i = from; i < START_CLOCK_BAR && i <= to; i++)
		bar[i] = '=';
	bar[START_CLOCK_BAR] = '\0';
	fprintf(out, "  |%s|\n", bar);
}

void
start_clock_print(const struct start_clock *clock, FILE *out)
{
	int64_t whole = start_clock_whole(clock);

	fprintf(out, "%-24s %9s %9s\n", "start", "at ms", "took ms");
	for (unsigned i = 0; i < START_STEP_COUNT; i++) {
		int64_t begin = clock->steps[i].begin_us - clock->origin_us;
		int64_t end = clock->steps[i].end_us - clock->origin_us;

		if (clock->steps[i].begin_us == 0)
			continue;
		if (clock->steps[i].end_us == 0) {
			fprintf(out, "%-24s %9.1f         -\n",
			    start_clock_names[i], (double)begin / 1000);
			continue;
		}
		fprintf(out, "%-24s %9.1f %9.1f", start_clock_names[i],
		    (double)begin / 1000, (double)(end - begin) / 1000);
		start_clock_bar(begin, end, whole, out);
	}
	fprintf(
	    out, "%-24s %9.1f %9.1f\n", "all of it", 0.0, (double)whole / 1000);
}
