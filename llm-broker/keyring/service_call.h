/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One asynchronous call of GLib, waited for with a deadline: a service that
 * never answers must not hang us. Used by key_service.c alone; here, so that
 * its steps read one after the other.
 */
#ifndef LLM_BROKER_KEYRING_SERVICE_CALL_H
#define LLM_BROKER_KEYRING_SERVICE_CALL_H

#include <gio/gio.h>
#include <stdbool.h>

struct service_call {
	GMainLoop *loop;
	GCancellable *cancellable; /* for the call */
	GAsyncResult *result;      /* NULL: it did not answer in time */
	gint64 until;              /* monotonic, microseconds */
};

/* All calls together have so long. */
void service_call_init(struct service_call *call, unsigned deadline_ms);
/* A person was asked meanwhile: from now on so long. */
void service_call_extend(struct service_call *call, unsigned deadline_ms);

/* Callback for the call; its user data is the service_call. */
void service_call_done(GObject *source, GAsyncResult *result, gpointer data);

/* Wait until that was called; false at the deadline, after which nothing
 * may be called any more (the call may still be under way). */
bool service_call_wait(struct service_call *call);

#endif
