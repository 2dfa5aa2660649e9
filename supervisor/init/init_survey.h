/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collects what the container looks like and seals the report.
 */
#ifndef SUPERVISOR_INIT_SURVEY_H
#define SUPERVISOR_INIT_SURVEY_H

#include "supervisor/init/init_report.h"

/* Everything but walls and the child's status. 0 or errno. */
int init_survey_fill(struct init_report *report);

/* A sealed memfd with the report, or -1 with errno. */
int init_survey_seal(const struct init_report *report);

#endif
