/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends a call (see the header). Called by tool_session; must never put a
 * byte of its arguments into the log.
 */
#include "supervisor/agent/tool_job.h"

#include "common/log.h"
#include "supervisor/engine/gate_part.h"

enum result
tool_job_send(struct tool_job *job, struct gate_part *gate, const char *package,
    const char *to)
{
	char request[LOG_REQUEST_MAX];
	int fd = job->args_fd;

	job->args_fd = -1;
	log_request(request, NULL, 't', job->number);
	log_event(LOG_INFO_LEVEL, "tool_call", LOG_TEXT("request", request),
	    LOG_TEXT("package", package), LOG_TEXT("to", to));
	return gate_part_work(gate, job->list, job->has_tool ? job->tool : NULL,
	    request, fd, &job->work);
}
