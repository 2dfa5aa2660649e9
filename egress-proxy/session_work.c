/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes and frees a session's work. Called by session.c and session_io.c.
 * Must never keep a byte of one client for another.
 */
#include "egress-proxy/session_work.h"

#include <stdlib.h>

/* Beside what a session wants: one read may bring more. */
#define SESSION_WORK_READ 65536U

enum result
session_work_new(const struct domain *name, struct session_work **work_r)
{
	struct session_work *work = calloc(1, sizeof(*work));

	*work_r = work;
	if (work == NULL)
		return RESULT_NO_MEMORY;
	buffer_init(&work->in, SESSION_IN_MAX + SESSION_WORK_READ);
	buffer_init(&work->parent, HTTP_HEAD_BYTES_MAX);
	if (name != NULL)
		work->name = *name;
	return RESULT_OK;
}

void
session_work_free(struct session_work **work)
{
	struct session_work *gone = *work;

	*work = NULL;
	if (gone == NULL)
		return;
	buffer_free(&gone->in);
	buffer_free(&gone->parent);
	free(gone);
}
