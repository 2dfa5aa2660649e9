/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts a package where it belongs (see the header). Called by what runs
 * packages; it must never go to the host when the sandbox fails, nor name
 * anything in the environment that is not listed here or by the spec.
 */
#include "supervisor/host/work_place.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "supervisor/host/host_run.h"
#include "supervisor/host/work_home.h"

#define WORK_PLACE_WORDS_MAX 300U
#define WORK_PLACE_ENV_MAX 128U
#define WORK_PLACE_OWN_MAX 16U
#define WORK_PLACE_OWN_SIZE 4224U
#define WORK_PLACE_PACK "/pack"
#define WORK_PLACE_PATH "/usr/local/bin:/usr/bin:/bin"
/* Nobody listens there. */
#define WORK_PLACE_NOWHERE "http://127.0.0.1:9"

struct work_place {
	struct work_place_handlers handlers;
	void *context;
	struct sandbox *sandbox;
	struct host_run *host;
};

static const char *const work_place_fixed[] = {
    "PATH=" WORK_PLACE_PATH, "LANG=C.UTF-8", NULL};

static const char *const work_place_closed[] = {
    "HTTPS_PROXY=" WORK_PLACE_NOWHERE, "https_proxy=" WORK_PLACE_NOWHERE,
    "HTTP_PROXY=" WORK_PLACE_NOWHERE, "http_proxy=" WORK_PLACE_NOWHERE,
    "ALL_PROXY=" WORK_PLACE_NOWHERE, "all_proxy=" WORK_PLACE_NOWHERE,
    "NODE_USE_ENV_PROXY=1", NULL};

/* What host_run is told; made for its start alone. */
struct work_place_plan {
	struct host_spec spec;
	const char *words[WORK_PLACE_WORDS_MAX + 1];
	const char *env[WORK_PLACE_ENV_MAX + 1];
	size_t word_count, env_count, own_count;
	char own[WORK_PLACE_OWN_MAX][WORK_PLACE_OWN_SIZE];
	struct work_home home;
	bool is_full;
};

/* ---- ends and go ---- */

static void
work_place_on_sandbox_go(struct sandbox *sandbox, void *context)
{
	struct work_place *place = context;

	(void)sandbox;
	if (place->handlers.on_go != NULL)
		place->handlers.on_go(place->context);
}

static void
work_place_on_sandbox_end(struct sandbox *sandbox,
    const struct sandbox_outcome *outcome, void *context)
{
	struct work_place *place = context;

	(void)sandbox;
	place->handlers.on_end(outcome, place->context);
}

static void
work_place_on_host_go(struct host_run *host, void *context)
{
	struct work_place *place = context;

	(void)host;
	if (place->handlers.on_go != NULL)
		place->handlers.on_go(place->context);
}

static void
work_place_on_host_end(
    struct host_run *host, const struct sandbox_outcome *outcome, void *context)
{
	struct work_place *place = context;

	(void)host;
	place->handlers.on_end(outcome, place->context);
}

/* ---- the same on the host ---- */

static char *
work_place_own(struct work_place_plan *plan)
{
	if (plan->own_count == WORK_PLACE_OWN_MAX) {
		plan->is_full = true;
		return plan->own[0];
	}
	return plan->own[plan->own_count++];
}

/* text with "/pack" at offset replaced by the folder, if it is there. */
static const char *
work_place_there(struct work_place_plan *plan, const char *text, size_t offset)
{
	size_t len = sizeof(WORK_PLACE_PACK) - 1;
	const char *rest = text + offset + len;
	char *own;
	int size;

	if (strncmp(text + offset, WORK_PLACE_PACK, len) != 0 ||
	    (*rest != '\0' && *rest != '/'))
		return text;
	own = work_place_own(plan);
	size = snprintf(own, WORK_PLACE_OWN_SIZE, "%.*s%s%s", (int)offset, text,
	    plan->spec.tree_path, rest);
	if (size < 0 || size >= (int)WORK_PLACE_OWN_SIZE)
		plan->is_full = true;
	return own;
}

static void
work_place_env(struct work_place_plan *plan, const char *entry)
{
	if (plan->env_count == WORK_PLACE_ENV_MAX) {
		plan->is_full = true;
		return;
	}
	plan->env[plan->env_count++] = entry;
}

static void
work_place_env_all(struct work_place_plan *plan, const char *const *entries)
{
	for (; entries != NULL && *entries != NULL; entries++)
		work_place_env(plan, work_place_there(plan, *entries,
					 strcspn(*entries, "=") + 1));
}

/* The host's own; "" stays one that cannot be executed, and is said. */
static const char *
work_place_program(struct work_place_plan *plan, const char *name)
{
	static const char *const folders[] = {
	    "/usr/local/bin", "/usr/bin", "/bin"};
	char *own = work_place_own(plan);

	if (name[0] == '/')
		return work_place_there(plan, name, 0);
	for (size_t i = 0; i < 3; i++) {
		int size = snprintf(
		    own, WORK_PLACE_OWN_SIZE, "%s/%s", folders[i], name);

		if (size < 0 || size >= (int)WORK_PLACE_OWN_SIZE)
			plan->is_full = true;
		else if (access(own, X_OK) == 0)
			break;
	}
	return own;
}

static void
work_place_words(struct work_place_plan *plan, const char *const *words)
{
	plan->words[plan->word_count++] = work_place_program(plan, words[0]);
	for (words++; *words != NULL; words++) {
		if (plan->word_count == WORK_PLACE_WORDS_MAX) {
			plan->is_full = true;
			return;
		}
		plan->words[plan->word_count++] =
		    work_place_there(plan, *words, 0);
	}
}

static void
work_place_fill(struct work_place_plan *plan, const struct work_place_spec *of)
{
	const struct sandbox_spec *from = of->sandbox;
	struct host_spec *to = &plan->spec;

	*to = (struct host_spec){.kind = from->kind,
	    .package = from->package,
	    .version = from->version,
	    .tier = tier_name(of->run->trust.tier),
	    .verdict = &of->run->verdict,
	    .argv = plan->words,
	    .env = plan->env,
	    .limits = from->limits,
	    .record = from->record,
	    .has_result = from->has_result,
	    .secret = from->secret,
	    .tree_path = from->mounts[0].host_path,
	    .tree_hash = from->mounts[0].content_hash,
	    .stdin_fd = from->stdin_fd,
	    .stdout_fd = from->stdout_fd,
	    .stderr_fd = from->stderr_fd};
	work_place_words(plan, from->argv);
	to->cwd = work_place_there(plan, from->cwd, 0);
	work_place_env_all(plan, work_place_fixed);
	work_place_env(plan, plan->home.home);
	work_place_env(plan, plan->home.tmp);
	work_place_env_all(plan, from->env);
	if (from->egress == NULL)
		work_place_env_all(plan, work_place_closed);
}

static enum result
work_place_start_host(struct work_place *place, struct event_base *base,
    struct audit *audit, const struct work_place_spec *spec)
{
	static const struct host_run_handlers handlers = {
	    work_place_on_host_go, work_place_on_host_end};
	struct work_place_plan *plan = calloc(1, sizeof(*plan));
	enum result result;

	if (plan == NULL)
		return RESULT_NO_MEMORY;
	result = work_home_make(spec->run->home, spec->run->slug, &plan->home);
	if (result == RESULT_OK)
		work_place_fill(plan, spec);
	/* A plan that is not whole is refused there, and recorded. */
	if (result != RESULT_OK || plan->is_full)
		plan->spec.argv = NULL;
	result = host_run_start(base, spec->run->config, audit, &plan->spec,
	    &handlers, place, &place->host);
	free(plan);
	return result;
}

static enum result
work_place_start_sandbox(struct work_place *place, struct event_base *base,
    struct audit *audit, const struct work_place_spec *spec)
{
	static const struct sandbox_handlers handlers = {
	    .on_go = work_place_on_sandbox_go,
	    .on_end = work_place_on_sandbox_end};

	return sandbox_start(base, spec->run->config, audit, spec->sandbox,
	    &handlers, place, &place->sandbox);
}

enum result
work_place_start(struct event_base *base, struct audit *audit,
    const struct work_place_spec *spec,
    const struct work_place_handlers *handlers, void *context,
    struct work_place **place_r)
{
	struct work_place *place = calloc(1, sizeof(*place));
	enum result result;

	*place_r = NULL;
	if (place == NULL)
		return RESULT_NO_MEMORY;
	place->handlers = *handlers;
	place->context = context;
	result = spec->run->on_host
		     ? work_place_start_host(place, base, audit, spec)
		     : work_place_start_sandbox(place, base, audit, spec);
	if (result != RESULT_OK) {
		work_place_free(&place);
		return result;
	}
	*place_r = place;
	return RESULT_OK;
}

void
work_place_stop(struct work_place *place, const char *code, const char *detail)
{
	if (place->sandbox != NULL)
		sandbox_stop(place->sandbox, code, detail);
	if (place->host != NULL)
		host_run_stop(place->host, code, detail);
}

const char *
work_place_id(const struct work_place *place)
{
	return place->host != NULL ? host_run_id(place->host)
				   : sandbox_id(place->sandbox);
}

const char *
work_place_name(const struct run_entry *run)
{
	return run->on_host ? "host" : "sandbox";
}

void
work_place_free(struct work_place **place)
{
	struct work_place *gone = *place;

	if (gone == NULL)
		return;
	*place = NULL;
	sandbox_free(&gone->sandbox);
	host_run_free(&gone->host);
	free(gone);
}
