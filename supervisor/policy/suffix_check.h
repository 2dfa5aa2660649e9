/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wildcards against the Public Suffix List, its private section included:
 * below a name under which strangers register names, a wildcard would allow
 * whatever they put there. Used by the configuration, by install and by the
 * command line when an entry is read; never by a process that meets foreign
 * bytes.
 */
#ifndef SUPERVISOR_POLICY_SUFFIX_CHECK_H
#define SUPERVISOR_POLICY_SUFFIX_CHECK_H

#include "common/domain.h"
#include "common/result.h"
#include "egress-proxy/policy_entry.h"

#define SUFFIX_CHECK_WHY_MAX 160U

/* Judge "*." base. RESULT_OK: base is a name that one owner registered, or
 * lies below one, and no public suffix lies below it. RESULT_REFUSED: base
 * is a public suffix ("co.uk", "github.io") or one lies below it
 * ("amazonaws.com"). RESULT_NOT_FOUND: no list is installed, so nothing is
 * known: refuse. why_r says which, as the end of a sentence that begins
 * with the entry; empty when RESULT_OK. */
enum result suffix_check_wildcard(
    const struct domain *base, char why_r[SUFFIX_CHECK_WHY_MAX]);

/* The same for any entry of an allow list; all but wildcards are OK. */
enum result suffix_check_entry(
    const struct policy_entry *entry, char why_r[SUFFIX_CHECK_WHY_MAX]);

#endif
