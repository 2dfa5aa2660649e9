/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a build may reach: the hosts of a package registry as entries of an
 * egress policy. Used by install_build.c.
 */
#ifndef SUPERVISOR_PACKAGE_INSTALL_REGISTRY_H
#define SUPERVISOR_PACKAGE_INSTALL_REGISTRY_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "supervisor/package/install_fault.h"

/* {"allow":[...],"deny":[]} for the URL in the configuration key; host_r
 * gets the bare host, is_plain_r whether it is http://. The files of
 * pypi.org are served by a second host, which is added. Caller owns
 * *egress_r. */
enum result install_registry_egress(const char *key, const char *url,
    json_t **egress_r, char *host_r, size_t host_size, bool *is_plain_r,
    struct install_fault *fault);

#endif
