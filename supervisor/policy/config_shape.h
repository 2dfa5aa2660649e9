/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the texts of the configuration must look like: images, addresses,
 * URLs, names, egress entries. Names and entries come back canonical, IDN
 * converted (libidn2; nowhere else in the project). Used by config_value.
 */
#ifndef SUPERVISOR_POLICY_CONFIG_SHAPE_H
#define SUPERVISOR_POLICY_CONFIG_SHAPE_H

#include <stdbool.h>
#include <stddef.h>

#include "supervisor/policy/config_table.h"

#define CONFIG_SHAPE_MAX 4096U
#define CONFIG_SHAPE_WHY_MAX 160U

/* True: canonical_r has the form to keep. False: why_r says what would be
 * right. For CONFIG_RANGES text is one CIDR. */
bool config_shape_check(enum config_shape shape, const char *text,
    char *canonical_r, size_t size, char why_r[CONFIG_SHAPE_WHY_MAX]);

#endif
