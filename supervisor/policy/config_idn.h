/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Host names as people type them: an internationalised name becomes its
 * "xn--" form here and nowhere else, then the canonical parsers judge it.
 * Used by config_shape and by the commands that take --allow.
 */
#ifndef SUPERVISOR_POLICY_CONFIG_IDN_H
#define SUPERVISOR_POLICY_CONFIG_IDN_H

#include <stdbool.h>
#include <stddef.h>

#define CONFIG_IDN_WHY_MAX 160U /* as CONFIG_SHAPE_WHY_MAX */

/* A host name, canonical. False: why_r says what is wrong with it. */
bool config_idn_name(const char *text, char *canonical_r, size_t size,
    char why_r[CONFIG_IDN_WHY_MAX]);

/* An egress entry with the rights of the host configuration (wildcards,
 * tcp://, http://) or, is_deny, of a deny list, where a missing port is
 * every port; canonical: "api.example.com:443". */
bool config_idn_entry(const char *text, bool is_deny, char *canonical_r,
    size_t size, char why_r[CONFIG_IDN_WHY_MAX]);

#endif
