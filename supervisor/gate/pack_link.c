/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Between gate_pack and the control socket. Called by main.c; it must never
 * put a byte of a request or a result into a message.
 */
#include "supervisor/gate/pack_link.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/fd.h"
#include "common/log.h"

bool
pack_link_work(struct pack_link *link, struct ipc_message *message)
{
	size_t max = link->gate->options.pack.request_max, len = 0;
	const json_t *options = json_object_get(message->body, "options");
	const json_t *request = json_object_get(options, "request");
	int fd FD_CLEANUP = ipc_message_take_fd(message, 0);
	char *bytes = NULL;

	if (json_object_size(options) != (request != NULL ? 1U : 0U) ||
	    (request != NULL && !json_is_string(request)) || fd < 0 ||
	    !fd_is_sealed(fd) || link->gate->pack.has_request ||
	    fd_read_all(fd, max, &bytes, &len) != RESULT_OK)
		return false;
	if (request != NULL)
		log_event(LOG_INFO_LEVEL, "pack_call",
		    LOG_TEXT("request", json_string_value(request)),
		    LOG_UINT("bytes", len));
	gate_io_job(link->io, message->id, false, NULL, bytes, len);
	free(bytes);
	return true;
}

void
pack_link_facts(const json_t *options, struct gate_pack_facts *facts_r,
    struct json_fault *fault)
{
	const char *path = "options", *code = "", *detail = "";
	int64_t exit_code = -1, number = 0;

	*facts_r = (struct gate_pack_facts){.exit_code = -1};
	json_field_int_opt(
	    options, path, "exit_code", -1, 255, &exit_code, fault);
	json_field_int_opt(options, path, "signal", 0, 255, &number, fault);
	json_field_string_opt(
	    options, path, "code", sizeof(facts_r->code) - 1, &code, fault);
	json_field_string_opt(options, path, "detail",
	    sizeof(facts_r->detail) - 1, &detail, fault);
	json_field_int_opt(options, path, "duration_ms", 0, INT64_MAX,
	    &facts_r->duration_ms, fault);
	json_field_int_opt(options, path, "peak_memory", 0, INT64_MAX,
	    &facts_r->peak_memory, fault);
	json_field_int_opt(options, path, "oom_kills", 0, INT64_MAX,
	    &facts_r->oom_kills, fault);
	facts_r->exit_code = (int)exit_code;
	facts_r->signal = (int)number;
	(void)snprintf(facts_r->code, sizeof(facts_r->code), "%s", code);
	(void)snprintf(facts_r->detail, sizeof(facts_r->detail), "%s", detail);
}

bool
pack_link_tell(struct pack_link *link)
{
	const struct gate *gate = link->gate;
	struct ipc_message message;
	enum result result;

	if (link->told || !gate->pack.too_long || gate->end_known)
		return true;
	link->told = true;
	ipc_message_init(&message, IPC_DECISION, 0);
	message.body = json_pack("{s:s, s:s, s:s, s:s, s:i}", "sandbox",
	    link->sandbox, "verdict", "deny", "code", "result_too_long",
	    "target", gate->options.policy.package, "count", 1);
	result = message.body == NULL ? RESULT_NO_MEMORY
				      : peer_send(link->peer, &message);
	ipc_message_clear(&message);
	return result == RESULT_OK;
}

json_t *
pack_link_result(const struct gate *gate)
{
	return json_pack("{s:s, s:s, s:s}", "reason",
	    gate_reason_text(gate->reason), "code",
	    gate->pack.judged ? gate->pack.code : "no_result", "detail",
	    gate->pack.detail);
}
