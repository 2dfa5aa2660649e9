/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts of one package; see explain_facts.h. Called by explain; it must
 * never start anything, and never say more than a run would do.
 */
#include "supervisor/command/explain_facts.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "supervisor/command/explain_guard.h"
#include "supervisor/command/explain_words.h"
#include "supervisor/package/secret_need.h"
#include "supervisor/policy/secret_grant.h"
#include "supervisor/policy/stored_secret.h"

static const char *
explain_facts_text(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text != NULL ? text : "";
}

/* --- tier and place ----------------------------------------------------- */

static void
explain_facts_tier(struct explain_facts *facts)
{
	const struct trust_verdict *trust = &facts->run.trust;
	const char *claim = explain_facts_text(facts->run.entry, "trust_level");
	const char *tier = tier_name(trust->tier);
	char when[32] = "";
	struct tm parts;

	if (trust->expires > 0 && gmtime_r(&trust->expires, &parts) != NULL)
		(void)strftime(when, sizeof(when), "%Y-%m-%d", &parts);
	if (trust->code[0] != '\0')
		explain_words_say(facts->answer, "tier",
		    "none: %s, so nothing of it runs (%s)",
		    facts->run.fault.text, trust->code);
	else if (trust->key[0] != '\0')
		explain_words_say(facts->answer, "tier",
		    "%s: attested by registry key %s%s%s", tier, trust->key,
		    when[0] != '\0' ? ", until " : "", when);
	else
		explain_words_say(
		    facts->answer, "tier", "%s: it has no attestation", tier);
	if (claim[0] != '\0' && strcmp(claim, tier) != 0)
		explain_words_say(facts->answer, "",
		    "the lockfile claims %s; a claim raises nothing", claim);
	explain_words_set(facts->answer, "tier", json_string(tier));
	explain_words_set(facts->answer, "claimed_tier", json_string(claim));
	explain_words_set(facts->answer, "tier_key", json_string(trust->key));
	explain_words_set(facts->answer, "tier_expires", json_string(when));
}

/* Where it runs by what was decided and built: "sandbox", "host",
 * "nothing" (a skill), "refused". */
static const char *
explain_facts_runs(const struct explain_facts *facts)
{
	if (facts->run.code[0] != '\0')
		return "refused";
	if (facts->run.kind == BOUNDARY_SKILL)
		return "nothing";
	return facts->run.on_host ? "host" : "sandbox";
}

static void
explain_facts_place(struct explain_facts *facts)
{
	const struct run_entry *run = &facts->run;
	const char *runs = explain_facts_runs(facts);

	if (strcmp(runs, "refused") == 0)
		explain_words_say(facts->answer, "runs", "nowhere: %s (%s)",
		    run->fault.text, run->code);
	else if (strcmp(runs, "nothing") == 0)
		explain_words_say(facts->answer, "runs",
		    "nothing: a skill is a prompt and runs no code");
	else if (run->on_host)
		explain_words_say(facts->answer, "runs",
		    "on the host, by policy and without a boundary: %s",
		    run->verdict.reason);
	else if (run->verdict.place == BOUNDARY_HOST)
		explain_words_say(facts->answer, "runs",
		    "in the sandbox: it was built for it, though %s",
		    run->verdict.reason);
	else
		explain_words_say(facts->answer, "runs", "in the sandbox: %s",
		    run->verdict.reason);
	if (run->on_host && run->verdict.warning[0] != '\0')
		explain_words_say(
		    facts->answer, "", "%s", run->verdict.warning);
	explain_words_set(facts->answer, "place",
	    json_string(boundary_place_name(run->verdict.place)));
	explain_words_set(facts->answer, "runs", json_string(runs));
	explain_words_set(facts->answer, "code", json_string(run->code));
	explain_words_set(
	    facts->answer, "reason", json_string(run->verdict.reason));
	explain_words_set(
	    facts->answer, "remedy", json_string(run->verdict.remedy));
	explain_words_set(
	    facts->answer, "warning", json_string(run->verdict.warning));
}

static void
explain_facts_consent(struct explain_facts *facts)
{
	struct run_entry *run = &facts->run;
	bool agreed = run_entry_consent(run) == RESULT_OK;

	explain_words_say(facts->answer, "consent", "%s",
	    agreed ? "given on this host, to this very entry"
		   : "none on this host, so it does not run: read on, then "
		     "'agentnode lock seal'");
	explain_words_set(facts->answer, "consent", json_boolean(agreed));
}

/* --- what it reaches ---------------------------------------------------- */

static const json_t *
explain_facts_domains(const struct explain_facts *facts)
{
	const json_t *entry = facts->run.entry;

	return facts->run.kind == BOUNDARY_MCP
		   ? json_object_get(entry, "mcp_allowed_domains")
		   : json_object_get(json_object_get(entry, "permissions"),
			 "allowed_domains");
}

static void
explain_facts_network(struct explain_facts *facts)
{
	const json_t *own = explain_facts_domains(facts);
	const json_t *host = config_json(facts->run.config, "egress.allow");
	char list[EXPLAIN_WORDS_LIST_MAX];
	json_t *all = json_array();

	if (json_is_array(own))
		(void)json_array_extend(all, (json_t *)own);
	if (facts->run.on_host)
		explain_words_say(facts->answer, "network",
		    "the host's: proxy variables that lead nowhere stop what "
		    "honours them, and nothing stops a socket");
	else if (json_array_size(all) == 0)
		explain_words_say(facts->answer, "network",
		    "none of its own: there is loopback alone");
	else
		explain_words_say(facts->answer, "network",
		    "TLS to these names alone: %s",
		    explain_words_list(all, list));
	if (json_array_size(host) > 0 && !facts->run.on_host)
		explain_words_say(facts->answer, "",
		    "and, as every sandbox on this host (egress.allow): %s",
		    explain_words_list(host, list));
	explain_words_set(facts->answer, "network", all);
	explain_words_set(facts->answer, "host_network",
	    host != NULL ? json_deep_copy(host) : json_array());
}

static void
explain_facts_files(struct explain_facts *facts)
{
	const json_t *entry = facts->run.entry;
	const char *dir =
	    explain_facts_text(json_object_get(entry, "files"), "dir");
	bool state = json_is_object(json_object_get(entry, "state"));

	if (dir[0] != '\0')
		explain_words_say(facts->answer, "files",
		    "a copy of %s, as it is at the start", dir);
	else if (facts->run.on_host)
		explain_words_say(facts->answer, "files",
		    "whatever the user who runs it may read and write; HOME "
		    "is AGENTNODE_HOME/host/%s/home",
		    facts->run.slug);
	else
		explain_words_say(facts->answer, "files",
		    "none of the host's, only its own sealed package, "
		    "read-only");
	if (state)
		explain_words_say(facts->answer, "state",
		    "kept over runs, in AGENTNODE_HOME/state");
	explain_words_set(facts->answer, "files", json_string(dir));
	explain_words_set(facts->answer, "state", json_boolean(state));
}

/* --- tools and secrets -------------------------------------------------- */

static void
explain_facts_tools(struct explain_facts *facts)
{
	const json_t *entry = facts->run.entry;
	const json_t *tools = json_object_get(entry, "tools");
	char list[EXPLAIN_WORDS_LIST_MAX];

	if (facts->run.kind == BOUNDARY_AGENT) {
		tools = json_object_get(
		    json_object_get(
			json_object_get(entry, "agent"), "tool_access"),
		    "allowed_packages");
		explain_words_say(facts->answer, "tools",
		    json_array_size(tools) == 0 ? "it calls none"
						: "it may call those of: %s",
		    explain_words_list(tools, list));
	} else if (facts->run.kind != BOUNDARY_SKILL)
		explain_words_say(facts->answer, "tools",
		    json_is_array(tools) ? "these alone: %s"
					 : "all that the server offers",
		    explain_words_list(tools, list));
	explain_words_set(facts->answer, "tools",
	    json_is_array(tools) ? explain_words_names(tools) : json_null());
}

/* Is it given what it asks for? "" when it asks for nothing. */
static const char *
explain_facts_grant(struct explain_facts *facts)
{
	const struct run_entry *run = &facts->run;
	enum secret_grant_state state = SECRET_GRANT_NONE;
	struct json_fault fault = {""};
	char key[DIGEST_HEX + 1];
	struct secret_need need;
	const char *lacks;
	time_t expires;

	if (secret_need_read(run->slug, run->entry, run->kind, &need, &fault) !=
	    RESULT_OK)
		explain_words_say(
		    facts->answer, "", "and is refused: %s", fault.text);
	else if (need.count == 0)
		return "";
	else if (secret_need_key(&need, key) != RESULT_OK ||
		 secret_grant_find(key, time(NULL), &state, &expires, &fault) !=
		     RESULT_OK)
		explain_words_say(facts->answer, "",
		    "but it cannot be told who consented: %s", fault.text);
	else
		explain_words_say(facts->answer, "",
		    state == SECRET_GRANT_GOOD
			? "they are given to it: a variable in the "
			  "environment of agentnode, else what 'agentnode "
			  "secret set' stored"
			: "the consent to that is %s: 'agentnode consent add "
			  "%s'",
		    secret_grant_state_text(state), run->slug);
	lacks = secret_need_lacks(&need, stored_secret_is_there);
	if (lacks != NULL)
		explain_words_say(facts->answer, "",
		    "missing secret %s: 'agentnode secret set %s'", lacks,
		    lacks);
	return secret_grant_state_text(state);
}

static void
explain_facts_secrets(struct explain_facts *facts)
{
	const json_t *keys = json_object_get(facts->run.entry,
	    facts->run.kind == BOUNDARY_MCP ? "mcp_env_keys"
					    : "env_requirements");
	char list[EXPLAIN_WORDS_LIST_MAX];

	explain_words_say(facts->answer, "secrets",
	    json_array_size(keys) == 0 ? "none" : "asks for these, by name: %s",
	    explain_words_list(keys, list));
	explain_words_set(facts->answer, "secrets_consent",
	    json_string(explain_facts_grant(facts)));
	explain_words_set(facts->answer, "secrets",
	    json_is_array(keys) ? explain_words_names(keys) : json_array());
}

/* --- limits ------------------------------------------------------------- */

static void
explain_facts_limits(struct explain_facts *facts)
{
	const struct config *config = facts->run.config;
	const json_t *agent = json_object_get(
	    json_object_get(facts->run.entry, "agent"), "limits");
	int64_t memory = config_int(config, "sandbox.memory");
	int64_t pids = config_int(config, "sandbox.pids");
	int64_t cpu = config_int(config, "sandbox.cpu_milli");
	int64_t calls =
	    json_integer_value(json_object_get(agent, "max_tool_calls"));
	int64_t wall =
	    json_integer_value(json_object_get(agent, "max_runtime_seconds"));

	if (facts->run.kind != BOUNDARY_SKILL)
		explain_words_say(facts->answer, "limits",
		    "%lld MiB of memory, %lld processes, %lld.%03lld CPUs",
		    (long long)(memory >> 20), (long long)pids,
		    (long long)(cpu / 1000), (long long)(cpu % 1000));
	if (facts->run.kind == BOUNDARY_AGENT)
		explain_words_say(facts->answer, "",
		    "%lld tool calls and %lld seconds for a whole run",
		    (long long)calls, (long long)wall);
	explain_words_set(facts->answer, "limits",
	    json_pack("{s:I, s:I, s:I, s:I, s:I}", "memory", (json_int_t)memory,
		"pids", (json_int_t)pids, "cpu_milli", (json_int_t)cpu,
		"tool_calls", (json_int_t)calls, "wall_s", (json_int_t)wall));
}

static enum result
explain_facts_fill(struct explain_facts *facts)
{
	const json_t *entry = facts->run.entry;
	const char *kind = boundary_kind_name(facts->run.kind);

	explain_words_say(facts->answer, "package", "%s %s (%s)",
	    facts->run.slug, explain_facts_text(entry, "version"), kind);
	explain_facts_tier(facts);
	explain_facts_place(facts);
	explain_facts_consent(facts);
	explain_facts_network(facts);
	explain_facts_files(facts);
	explain_facts_tools(facts);
	explain_facts_secrets(facts);
	explain_guard_say(facts->answer, &facts->run);
	explain_facts_limits(facts);
	explain_words_llm(facts->answer, &facts->run);
	explain_words_set(facts->answer, "kind", json_string(kind));
	explain_words_set(facts->answer, "version",
	    json_string(explain_facts_text(entry, "version")));
	return json_object_get(facts->answer, "version") != NULL
		   ? RESULT_OK
		   : RESULT_NO_MEMORY;
}

enum result
explain_facts_make(
    const char *slug, const char *lockfile, struct explain_facts *facts_r)
{
	memset(facts_r, 0, sizeof(*facts_r));
	facts_r->result = run_entry_open(slug, lockfile, &facts_r->run);
	facts_r->fault = facts_r->run.fault;
	if (facts_r->result != RESULT_OK)
		return facts_r->result;
	(void)run_entry_boundary(&facts_r->run);
	facts_r->answer = json_pack("{s:s, s:[]}", "package", slug, "words");
	facts_r->result = explain_facts_fill(facts_r);
	return facts_r->result;
}

void
explain_facts_clear(struct explain_facts *facts)
{
	json_decref(facts->answer);
	facts->answer = NULL;
	run_entry_clear(&facts->run);
}
