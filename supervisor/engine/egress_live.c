/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Configuration and the host's addresses to egress-proxy, while a sandbox runs
 * (see the header).
 * Called by the sandbox's story; must never send a policy that was not
 * recorded, or that lets through what the one before did not.
 */
#include "supervisor/engine/egress_live.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/log.h"
#include "supervisor/engine/egress_narrow.h"
#include "supervisor/engine/own_watch.h"
#include "supervisor/policy/config.h"
#include "supervisor/policy/config_watch.h"

#define EGRESS_LIVE_TRIES 3U
#define EGRESS_LIVE_RETRY_MS 300U

struct egress_live {
	struct audit *audit;
	char id[32];
	struct egress_plan *plan;
	struct egress_part *part;
	struct config_watch *watch;
	struct own_watch *own;
	bool own_stale; /* the host's addresses may have changed */
	json_t *next;   /* its record is on the way to disk; NULL: none is */
	unsigned bad;   /* readings in a row that failed */
	bool stopped;
	egress_live_fault *on_fault;
	void *context;
};

static void
egress_live_end(struct egress_live *live, const char *code, const char *detail)
{
	live->stopped = true;
	live->on_fault(code, detail, live->context);
}

static bool
egress_live_permits(const void *context, const char *entry)
{
	return config_permits_entry(context, entry);
}

/* On disk: now it may happen. */
static void
egress_live_on_synced(enum result result, const char *detail, void *context)
{
	struct egress_live *live = context;

	if (live->stopped)
		return;
	if (result != RESULT_OK) {
		egress_live_end(live, "audit_failed", detail);
		return;
	}
	json_decref(live->plan->policy);
	live->plan->policy = live->next;
	live->next = NULL;
	log_event(LOG_INFO_LEVEL, "policy_replace",
	    LOG_UINT("allow",
		json_array_size(json_object_get(live->plan->policy, "allow"))),
	    LOG_UINT("deny",
		json_array_size(json_object_get(live->plan->policy, "deny"))));
	if (egress_part_replace(live->part) != RESULT_OK) {
		egress_live_end(live, "proxy_died",
		    "egress-proxy cannot be told its new policy");
		return;
	}
	/* Again: there may have been a change meanwhile. */
	config_watch_again(live->watch, 0);
}

/* What is less, and what is denied more. */
static json_t *
egress_live_record(const struct egress_live *live, const json_t *next)
{
	static const char *const keys[] = {"allow", "extra_ranges", "ech"};
	static const char *const names[] = {
	    "allow_removed", "ranges_removed", "ech_removed"};
	const json_t *old = live->plan->policy;
	json_t *record =
	    json_pack("{s:s, s:o, s:o}", "run", live->id, "deny_added",
		egress_narrow_without(json_object_get(next, "deny"),
		    json_object_get(old, "deny")),
		"own_added",
		egress_narrow_without(
		    json_object_get(next, "own"), json_object_get(old, "own")));

	for (size_t i = 0; record != NULL && i < 3; i++) {
		if (json_object_set_new(record, names[i],
			egress_narrow_without(json_object_get(old, keys[i]),
			    json_object_get(next, keys[i]))) == 0)
			continue;
		json_decref(record);
		record = NULL;
	}
	return record;
}

/* Takes next. */
static void
egress_live_submit(struct egress_live *live, json_t *next)
{
	json_t *record = egress_live_record(live, next);
	enum result result = RESULT_NO_MEMORY;

	if (record != NULL)
		result = audit_submit(live->audit, "policy_replace", record,
		    egress_live_on_synced, live);
	json_decref(record);
	live->next = next;
	if (result != RESULT_OK)
		egress_live_end(live, "audit_failed",
		    "the narrowed policy cannot be recorded");
}

/* The host's addresses, when they may be others. NULL: as before. */
static enum result
egress_live_own(struct egress_live *live, json_t **own_r)
{
	enum result result;

	*own_r = NULL;
	if (!live->own_stale)
		return RESULT_OK;
	live->own_stale = false; /* before they are read */
	*own_r = json_array();
	if (*own_r == NULL)
		return RESULT_NO_MEMORY;
	result = egress_plan_own(*own_r);
	if (result == RESULT_OK)
		return RESULT_OK;
	json_decref(*own_r);
	*own_r = NULL;
	return result;
}

static void
egress_live_apply(
    struct egress_live *live, const struct config *config, const json_t *own)
{
	const struct egress_narrow_host host = {
	    .allow = config_json(config, "egress.allow"),
	    .deny = config_json(config, "egress.deny"),
	    .extra_ranges = config_json(config, "egress.extra_ranges"),
	    .ech = config_json(config, "egress.ech_allow"),
	    .own = own,
	    .permits = egress_live_permits,
	    .context = config};
	enum result result;
	json_t *next;

	result = egress_narrow(
	    live->plan->policy, live->plan->configured, &host, &next);
	if (result != RESULT_OK) {
		egress_live_end(live, "internal",
		    result == RESULT_NO_MEMORY
			? "out of memory"
			: "the host has more addresses of its own than a "
			  "policy takes");
		return;
	}
	if (json_equal(next, live->plan->policy))
		json_decref(next);
	else
		egress_live_submit(live, next);
}

static void
egress_live_unreadable(
    struct egress_live *live, bool lost, const struct json_fault *fault)
{
	char detail[JSON_FIELD_FAULT_MAX + 128];

	live->bad++;
	if (!lost && live->bad < EGRESS_LIVE_TRIES) {
		config_watch_again(live->watch, EGRESS_LIVE_RETRY_MS);
		return;
	}
	(void)snprintf(detail, sizeof(detail),
	    "the configuration became unreadable, so nobody knows what this "
	    "sandbox may reach: %.300s",
	    lost ? "its folder is gone" : fault->text);
	egress_live_end(live, "config_unreadable", detail);
}

static void
egress_live_on_change(bool lost, void *context)
{
	struct egress_live *live = context;
	struct json_fault fault = {""};
	struct config *config = NULL;
	json_t *own = NULL;

	if (live->stopped || live->next != NULL)
		return; /* read again once the record is written */
	if (lost || config_load(&config, &fault) != RESULT_OK) {
		egress_live_unreadable(live, lost, &fault);
		return;
	}
	live->bad = 0;
	if (egress_live_own(live, &own) == RESULT_OK)
		egress_live_apply(live, config, own);
	else
		egress_live_end(live, "internal",
		    "the host's own addresses cannot be read, so nobody knows "
		    "what this sandbox may reach");
	json_decref(own);
	config_free(&config);
}

static void
egress_live_on_own(void *context)
{
	struct egress_live *live = context;

	live->own_stale = true;
	config_watch_again(live->watch, CONFIG_WATCH_SETTLE_MS);
}

enum result
egress_live_start(struct event_base *base, struct audit *audit, const char *id,
    struct egress_plan *plan, struct egress_part *part,
    egress_live_fault *on_fault, void *context, struct egress_live **live_r)
{
	struct egress_live *live = calloc(1, sizeof(*live));
	struct json_fault fault = {""};
	enum result result;

	*live_r = NULL;
	if (live == NULL)
		return RESULT_NO_MEMORY;
	live->audit = audit;
	(void)snprintf(live->id, sizeof(live->id), "%s", id);
	live->plan = plan;
	live->part = part;
	live->on_fault = on_fault;
	live->context = context;
	result = config_watch_new(
	    base, egress_live_on_change, live, &live->watch, &fault);
	if (result != RESULT_OK) {
		log_event(LOG_ERROR_LEVEL, "config_watch",
		    LOG_TEXT("detail", fault.text));
		egress_live_free(&live);
		return result;
	}
	/* Once more when it is watched: what came meanwhile is not missed. */
	live->own_stale = true;
	result = own_watch_new(base, egress_live_on_own, live, &live->own);
	if (result != RESULT_OK) {
		log_event(LOG_ERROR_LEVEL, "own_watch",
		    LOG_TEXT("detail", result_text(result)));
		egress_live_free(&live);
		return result;
	}
	*live_r = live;
	return RESULT_OK;
}

void
egress_live_stop(struct egress_live *live)
{
	if (live != NULL)
		live->stopped = true;
}

void
egress_live_free(struct egress_live **live)
{
	struct egress_live *gone = *live;

	if (gone == NULL)
		return;
	*live = NULL;
	audit_forget(gone->audit, gone);
	config_watch_free(&gone->watch);
	own_watch_free(&gone->own);
	json_decref(gone->next);
	free(gone);
}
