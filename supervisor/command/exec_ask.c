/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Questions and what follows of the answers (see the header). Called by
 * exec_run between two runs; must never use a yes that is not in the audit
 * chain, nor one that came with a signal.
 */
#include "supervisor/command/exec_ask.h"

#include <fcntl.h>
#include <jansson.h>
#include <string.h>

#include "common/fd.h"
#include "common/log.h"
#include "supervisor/command/command.h"
#include "supervisor/native/native_grant.h"

#define EXEC_ASK_SHOWN_MAX (4U * NATIVE_VIEW_PATH_MAX)

bool
exec_ask_is_due(const struct exec_ask *ask)
{
	return ask->approval->mode == NATIVE_APPROVAL_ON_REQUEST &&
	       native_approval_next(ask->approval, ask->denied) != NULL &&
	       native_approval_missing() == NULL;
}

/* On disk, or there is no grant. */
static bool
exec_ask_record(const struct exec_ask *ask, const char *target, bool always)
{
	char workspace[EXEC_ASK_SHOWN_MAX];
	enum result result = RESULT_NO_MEMORY;
	json_t *fields;

	log_clean(ask->workspace, strlen(ask->workspace), workspace,
	    sizeof(workspace));
	fields = json_pack("{s:s, s:s, s:s, s:s}", "run", ask->run, "workspace",
	    workspace, "host", target, "answer", always ? "always" : "once");
	if (fields != NULL)
		result = audit_write(ask->audit, "approval", fields);
	json_decref(fields);
	return result == RESULT_OK;
}

/* One yes: recorded, then used, and kept when it is to be. A grant that
 * cannot be kept holds for this once. */
static const char *
exec_ask_grant(const struct exec_ask *ask, const char *target, bool always,
    bool *again_r, const char **detail_r)
{
	struct exec_request_fault fault = {""};
	struct json_fault kept = {""};

	if (!exec_ask_record(ask, target, always)) {
		*detail_r = "an answer could not be recorded, so nothing is "
			    "granted by it";
		return "audit_failed";
	}
	if (exec_request_grant(ask->request, target, &fault))
		*again_r = true;
	else
		(void)command_error(
		    COMMAND_DONE, "it is not allowed: %s", fault.text);
	if (always &&
	    native_grant_add(ask->workspace, target, &kept) != RESULT_OK)
		(void)command_error(
		    COMMAND_DONE, "it is allowed this once: %s", kept.text);
	return "";
}

const char *
exec_ask(const struct exec_ask *ask, bool *again_r, const char **detail_r)
{
	struct native_approval *approval = ask->approval;
	size_t granted = 0, first = approval->count;
	int tty FD_CLEANUP =
	    open("/dev/tty", O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	const char *code = "";

	*again_r = false;
	approval->can_keep = ask->workspace[0] != '\0';
	if (tty < 0)
		return "";
	if (native_approval_ask(approval, ask->denied, tty, &granted) !=
	    RESULT_OK) {
		*detail_r = "the question was not answered: a signal, the end "
			    "of input or two minutes of silence; nothing is "
			    "granted";
		return "stopped";
	}
	for (size_t i = first; i < approval->count && code[0] == '\0'; i++) {
		enum native_approval_answer answer = approval->asked[i].answer;

		if (answer != NATIVE_APPROVAL_NO)
			code = exec_ask_grant(ask, approval->asked[i].target,
			    answer == NATIVE_APPROVAL_ALWAYS, again_r,
			    detail_r);
	}
	return code;
}
