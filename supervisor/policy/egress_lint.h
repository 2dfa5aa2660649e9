/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an operator should know about an entry of an allow list that is well
 * formed and allowed: it lets in more than its name says. Only said, by
 * `agentnode config set` and `agentnode egress check`; it never decides, and
 * a name that is not in its table is not known to be harmless.
 */
#ifndef SUPERVISOR_POLICY_EGRESS_LINT_H
#define SUPERVISOR_POLICY_EGRESS_LINT_H

/* entry is canonical ("api.example.com:443", "*.example.com:443",
 * "http://host:80"; "tcp://..." is never known). NULL: nothing to say. Else
 * the end of a sentence that begins with the entry; not to be freed. */
const char *egress_lint_entry(const char *entry);

#endif
