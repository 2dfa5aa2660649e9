/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a build says: lines made printable for progress, and the few that
 * look like errors kept for the sentence at the end. Nothing is understood
 * of them. Used by install_build.c.
 */
#ifndef SUPERVISOR_PACKAGE_BUILD_OUTPUT_H
#define SUPERVISOR_PACKAGE_BUILD_OUTPUT_H

#include <event2/event.h>

#include "common/result.h"

#define BUILD_OUTPUT_ERROR_MAX 320U

struct build_output; /* opaque */

/* Takes fd (the read end of a pipe). label is static; progress may be
 * NULL. */
enum result build_output_new(struct event_base *base, int fd, const char *label,
    void (*progress)(const char *line), struct build_output **output_r);
/* Read what is left now. */
void build_output_drain(struct build_output *output);
/* The kept lines, "; " between; borrowed, may be empty. */
const char *build_output_error(const struct build_output *output);
void build_output_free(struct build_output **output);

#endif
