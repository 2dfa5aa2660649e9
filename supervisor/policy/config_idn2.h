/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libidn2, apart from config_idn so that a program without it can be
 * linked. Used by config_idn alone.
 */
#ifndef SUPERVISOR_POLICY_CONFIG_IDN2_H
#define SUPERVISOR_POLICY_CONFIG_IDN2_H

#include <stdbool.h>
#include <stddef.h>

#include "supervisor/policy/config_idn.h"

/* A host name of UTF-8 as IDNA 2008 writes it. False: why_r says why not. */
bool config_idn2_ascii(const char *host, char *ascii_r, size_t size,
    char why_r[CONFIG_IDN_WHY_MAX]);

#endif
