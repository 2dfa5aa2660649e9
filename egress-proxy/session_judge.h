/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The questions that session.c asks of its sandbox's policy, in the order
 * in which a connection meets them. Each notes the deciding rule in the
 * session and returns the code; nothing is looked up or dialled here.
 */
#ifndef EGRESS_PROXY_SESSION_JUDGE_H
#define EGRESS_PROXY_SESSION_JUDGE_H

#include <stddef.h>

#include "egress-proxy/session_data.h"

/* The target: a canonical name, or (name NULL) a literal address. Sets
 * session->raw when a tcp:// entry allowed it. */
enum deny_code session_judge_target(struct session *session,
    const struct domain *name, const struct ip_addr *literal);

/* Every address the name resolved to; the first bad one becomes
 * session->address, for the log. */
enum deny_code session_judge_answer(struct session *session,
    const struct domain *name, const struct ip_addr *addresses, size_t count);

/* The hello against work->name, and its ECH extension. */
enum deny_code session_judge_hello(
    struct session *session, const struct client_hello *hello);

/* Everything that is known by now, under the policy that holds now. */
enum deny_code session_judge_again(struct session *session);

#endif
