/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of the report that describes the place: mounts, names, hosts,
 * resolver, environment. Called by wall_table.c only.
 */
#ifndef SUPERVISOR_ENGINE_WALL_PLACE_H
#define SUPERVISOR_ENGINE_WALL_PLACE_H

#include "supervisor/engine/wall_table.h"

struct wall_table_state {
	const struct init_report *report;
	const struct wall_table_expected *expected;
	wall_table_difference *told;
	void *context;
	unsigned differences;
};

void wall_table_tell(struct wall_table_state *state, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Each tells its differences. */
void wall_place_mounts(struct wall_table_state *state);
void wall_place_names(struct wall_table_state *state);
void wall_place_environment(struct wall_table_state *state);

#endif
