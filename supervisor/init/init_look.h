/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is in the places that the setup names, besides files, folders and
 * links: a daemon's archive of a volume leaves sockets out, and here they are
 * seen. Where root looks from outside, no place is named.
 */
#ifndef SUPERVISOR_INIT_LOOK_H
#define SUPERVISOR_INIT_LOOK_H

#include "supervisor/init/init_protocol.h"
#include "supervisor/init/init_report.h"

/* Counts into report->look: every entry of another kind, and every folder
 * that is not ours to read or is too deep, with the path of the first. A
 * place that cannot be opened is such a folder. */
void init_look(const struct init_setup *setup, struct init_report *report);

#endif
