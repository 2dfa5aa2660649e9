/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the line of a session that ended. Called by session_io.c. Host and
 * rule are canonical texts of ours; nothing a client spelled is written.
 */
#include "egress-proxy/session_report.h"

#include <stdio.h>
#include <string.h>

#include "common/log.h"
#include "egress-proxy/session_text.h"

/* "address:port", IPv6 in brackets; "" for no address. */
static void
session_report_address(
    const struct ip_addr *address, uint16_t port, char *text_r, size_t size)
{
	char text[IP_ADDR_TEXT_MAX];

	text_r[0] = '\0';
	if (address->family == 0)
		return;
	ip_addr_text(address, text);
	(void)snprintf(text_r, size, address->family == 6 ? "[%s]:%u" : "%s:%u",
	    text, port);
}

void
session_report_target(const struct session *session, char *text_r, size_t size)
{
	if (session->host == NULL)
		(void)snprintf(text_r, size, "?");
	else if (strchr(session->host, ':') != NULL)
		(void)snprintf(
		    text_r, size, "[%s]:%u", session->host, session->port);
	else
		(void)snprintf(
		    text_r, size, "%s:%u", session->host, session->port);
}

void
session_report_write(const struct session *session, uint64_t now_ms)
{
	char client[64], address[64], target[DOMAIN_NAME_MAX + 10];
	const char *sni = session->sni != NULL ? session->sni
			  : session->tls && session->host != NULL
			      ? session->host
			      : "";

	session_report_address(
	    &session->client, session->client_port, client, sizeof(client));
	session_report_address(
	    &session->address, session->port, address, sizeof(address));
	session_report_target(session, target, sizeof(target));
	log_event(LOG_INFO_LEVEL, "connection", LOG_UINT("id", session->id),
	    LOG_REQUEST(session->sandbox->id, 'c', session->id),
	    LOG_TEXT("client", client),
	    LOG_TEXT("kind", session_text_kind(session->kind)),
	    LOG_TEXT("target", target), LOG_TEXT("address", address),
	    LOG_TEXT("code", deny_text(session->code)),
	    LOG_TEXT("rule", session->rule != NULL ? session->rule : ""),
	    LOG_TEXT("reason", session_text_reason(session->reason)),
	    LOG_TEXT("state", session_text_state(session->state)),
	    LOG_UINT("up", session->up_bytes),
	    LOG_UINT("down", session->down_bytes),
	    LOG_UINT("duration_ms", now_ms - session->started_ms),
	    LOG_TEXT("sni", sni), LOG_TEXT("alpn", session->alpn),
	    LOG_BOOL("ech", session->ech));
}
