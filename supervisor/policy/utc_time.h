/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times as signed documents spell them: "2026-01-02T03:04:05Z", UTC, whole
 * seconds, one spelling for each moment. Used by attestations and the index
 * of a registry. Pure.
 */
#ifndef SUPERVISOR_POLICY_UTC_TIME_H
#define SUPERVISOR_POLICY_UTC_TIME_H

#include <stdbool.h>
#include <time.h>

#define UTC_TIME_LEN 20U /* bytes of the text, without the NUL */

/* False: another form, or a day that does not exist. Years 2000 to 2999. */
bool utc_time_parse(const char *text, time_t *time_r);

/* False: a time outside of these years. */
bool utc_time_text(time_t time, char text_r[UTC_TIME_LEN + 1]);

#endif
