/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The questions that a session asks of its sandbox's policy, and what it
 * keeps of the answers for the log. Called by session.c alone. Must never
 * look anything up, and never say yes without a policy.
 */
#include "egress-proxy/session_judge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Keep the text of the entry or range that decided. */
static void
session_judge_rule(struct session *session, const char *rule)
{
	free(session->rule);
	session->rule = rule != NULL ? strdup(rule) : NULL;
}

/* Ask the policy about name or literal; nothing was looked up yet. */
enum deny_code
session_judge_target(struct session *session, const struct domain *name,
    const struct ip_addr *literal)
{
	const struct host_policy *policy = session->sandbox->policy;
	enum host_policy_traffic traffic = session->kind == SESSION_KIND_HTTP
					       ? HOST_POLICY_HTTP
					       : HOST_POLICY_TUNNEL;
	struct host_policy_decision decision = {0};

	if (policy == NULL)
		return DENY_POLICY_UNAVAILABLE;
	if (literal != NULL)
		host_policy_check_literal(
		    policy, traffic, literal, session->port, &decision);
	else
		host_policy_check_name(
		    policy, traffic, name, session->port, &decision);
	session_judge_rule(session, decision.rule);
	session->raw = decision.kind == POLICY_ENTRY_RAW;
	return decision.code;
}

/* Every address of the answer; the first bad one is what the log names. */
enum deny_code
session_judge_answer(struct session *session, const struct domain *name,
    const struct ip_addr *addresses, size_t count)
{
	const char *rule = NULL;
	size_t bad = 0;
	enum deny_code code;

	code = host_policy_check_answer(session->sandbox->policy, name,
	    session->port, addresses, count, &rule, &bad);
	if (code == DENY_NONE)
		return code;
	session_judge_rule(session, rule);
	if (bad < count)
		session->address = addresses[bad];
	return code;
}

/* Note for the log what the hello said. */
static void
session_judge_note(struct session *session, const struct client_hello *hello)
{
	session->tls = 1;
	session->ech = session->ech || hello->ech;
	free(session->sni);
	session->sni = NULL;
	(void)snprintf(session->alpn, sizeof(session->alpn), "%.*s",
	    (int)sizeof(session->alpn) - 1, hello->alpn);
	if (hello->has_name &&
	    !domain_equal(&hello->name, &session->work->name))
		session->sni = strdup(hello->name.name);
}

enum deny_code
session_judge_hello(struct session *session, const struct client_hello *hello)
{
	const struct host_policy *policy = session->sandbox->policy;
	const struct domain *name = &session->work->name;

	session_judge_note(session, hello);
	if (policy == NULL)
		return DENY_POLICY_UNAVAILABLE;
	return client_hello_check(
	    hello, name, host_policy_ech_allowed(policy, name));
}

/* The name, and the address in use, under the policy that holds now. */
enum deny_code
session_judge_again(struct session *session)
{
	struct domain name;
	struct ip_addr literal;
	enum deny_code code;

	if (ip_addr_parse(session->host, strlen(session->host), &literal) ==
	    RESULT_OK)
		return session_judge_target(session, NULL, &literal);
	(void)domain_parse_any(session->host, strlen(session->host), &name);
	code = session_judge_target(session, &name, NULL);
	if (code == DENY_NONE && session->ech &&
	    !host_policy_ech_allowed(session->sandbox->policy, &name))
		code = DENY_ECH_REFUSED;
	if (code == DENY_NONE && session->address.family != 0)
		code =
		    session_judge_answer(session, &name, &session->address, 1);
	else if (code == DENY_NONE && session->state == SESSION_DIAL)
		code = session_judge_answer(session, &name,
		    session->work->answers, session->work->answer_count);
	return code;
}
