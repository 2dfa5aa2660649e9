/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GLib's main loop for one call at a time (see the header). It must never
 * wait longer than its deadline, nor outlive the supervisor.
 */
#include "llm-broker/keyring/service_call.h"

#include "common/ipc.h"
#include "common/log.h"
#include "llm-broker/keyring/keyring_channel.h"

#define SERVICE_CALL_LOOK_MS 200U

void
service_call_init(struct service_call *call, unsigned deadline_ms)
{
	call->loop = g_main_loop_new(NULL, FALSE);
	call->cancellable = g_cancellable_new();
	call->result = NULL;
	service_call_extend(call, deadline_ms);
}

void
service_call_extend(struct service_call *call, unsigned deadline_ms)
{
	call->until = g_get_monotonic_time() + (gint64)deadline_ms * 1000;
}

void
service_call_done(GObject *source, GAsyncResult *result, gpointer data)
{
	struct service_call *call = data;

	(void)source;
	call->result = g_object_ref(result);
	g_main_loop_quit(call->loop);
}

static gboolean
service_call_look(gpointer data)
{
	struct service_call *call = data;

	if (keyring_channel_is_over())
		log_fatal(
		    IPC_EXIT_SUPERVISOR, "control", "the supervisor is gone");
	if (g_get_monotonic_time() < call->until)
		return G_SOURCE_CONTINUE;
	g_main_loop_quit(call->loop);
	return G_SOURCE_CONTINUE;
}

bool
service_call_wait(struct service_call *call)
{
	guint timer =
	    g_timeout_add(SERVICE_CALL_LOOK_MS, service_call_look, call);

	g_clear_object(&call->result);
	g_main_loop_run(call->loop);
	(void)g_source_remove(timer);
	if (call->result == NULL)
		g_cancellable_cancel(call->cancellable);
	return call->result != NULL;
}
