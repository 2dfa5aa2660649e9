/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows of the configuration. Used by everything that reads, writes,
 * completes or documents a key. It must never hold a secret: keys of
 * providers have no row.
 */
#include <stdbool.h>
#include <string.h>

#include "supervisor/policy/config_money.h"
#include "supervisor/policy/config_table.h"
#include "supervisor/policy/near_word.h"

#define KIB INT64_C(1024)
#define MIB (1024 * KIB)
#define GIB (1024 * MIB)
#define COUNT_MAX INT64_C(1000000000000)
#define CONFIG_TABLE_SUGGEST_MAX 4U /* changes of a byte */

static const char *const config_table_engines[] = {
    "auto", "podman", "docker", "oci", NULL};
static const char *const config_table_runtimes[] = {
    "auto", "crun", "runc", "runsc", NULL};
static const char *const config_table_wirings[] = {"auto", "fd", "mux", NULL};
static const char *const config_table_overrides[] = {
    "no_landlock", "no_cgroup_limits", NULL};
static const char *const config_table_levels[] = {
    "debug", "info", "warn", "error", NULL};
static const char *const config_table_trust[] = {
    "unverified", "verified", "trusted", "curated", NULL};
static const char *const config_table_auth[] = {
    "secret_service", "credentials", "file", NULL};
static const char *const config_table_host_trust[] = {
    "default", "curated_only", "none", NULL};

static const char *const config_table_checks[] = {"fast", "full", NULL};
static const char *const config_table_answers[] = {
    "allow", "prompt", "deny", NULL};

static const char *const config_table_opt_ins[] = {
    "remote_urls", "provider_tools", "stored", NULL};

/* clang-format off */
#define TEXT(key, shape_, most, value, sentence_)                            \
	{.name = (key), .type = CONFIG_TEXT, .shape = (shape_),              \
	 .narrow = CONFIG_FIX, .min = 1, .max = (most),                      \
	 .default_text = (value), .sentence = (sentence_)}
#define INT(key, narrow_, least, most, value, sentence_)                     \
	{.name = (key), .type = CONFIG_INT, .narrow = (narrow_),             \
	 .min = (least), .max = (most), .default_text = (value),             \
	 .sentence = (sentence_)}
#define SIZE(key, narrow_, least, most, value, sentence_)                    \
	{.name = (key), .type = CONFIG_SIZE, .narrow = (narrow_),            \
	 .min = (least), .max = (most), .default_text = (value),             \
	 .sentence = (sentence_)}
#define BOOL(key, value, variable, sentence_)                                \
	{.name = (key), .type = CONFIG_BOOL, .narrow = CONFIG_FALSE,         \
	 .default_text = (value), .environment = (variable),                 \
	 .sentence = (sentence_)}
#define CHOICE(key, narrow_, words, value, variable, sentence_)              \
	{.name = (key), .type = CONFIG_CHOICE, .narrow = (narrow_),          \
	 .choices = (words), .default_text = (value),                        \
	 .environment = (variable), .sentence = (sentence_)}
#define LIST(key, shape_, narrow_, words, most, sentence_)                   \
	{.name = (key), .type = CONFIG_LIST, .shape = (shape_),              \
	 .narrow = (narrow_), .choices = (words), .max = (most),             \
	 .default_text = "", .sentence = (sentence_)}

#define MONEY(key, sentence_)                                                \
	{.name = (key), .type = CONFIG_MONEY, .narrow = CONFIG_LEAST,        \
	 .max = CONFIG_MONEY_MAX, .sentence = (sentence_)}
/* What Guard answers to one action. */
#define ANSWER(action, value, what)                                          \
	CHOICE("guard." action, CONFIG_LATER, config_table_answers, (value), \
	    NULL, "What Guard answers to tools that " what ".")
#define COUNT(key, sentence_)                                                \
	INT((key), CONFIG_LEAST, 0, COUNT_MAX, NULL, (sentence_))
/* One scope of budgets; unset is no limit. */
#define BUDGET(scope, what)                                                  \
	COUNT(scope ".requests", "Calls " what "; unset: no limit."),        \
	COUNT(scope ".input_chars",                                          \
	    "Characters sent to providers " what "; unset: no limit."),      \
	COUNT(scope ".output_chars",                                         \
	    "Characters received from providers " what                       \
	    "; unset: no limit."),                                           \
	COUNT(scope ".tokens", "Tokens used " what "; unset: no limit."),    \
	MONEY(scope ".cost", "Dollars spent " what                           \
	    " by llm.prices, such as 2.50; a model without a price is "      \
	    "then refused; unset: no limit.")

const struct config_key config_table[] = {
	CHOICE("sandbox.engine", CONFIG_FIX, config_table_engines, "auto",
	    "AGENTNODE_SANDBOX_ENGINE",
	    "The container engine; auto takes the first that works: podman, "
	    "else docker; oci is a runtime without an engine."),
	TEXT("sandbox.docker_socket", CONFIG_PATH, 100, "/var/run/docker.sock",
	    "The socket of the Docker daemon that sandbox.engine docker "
	    "uses."),
	CHOICE("sandbox.runtime", CONFIG_FIX, config_table_runtimes, "auto",
	    NULL,
	    "The runtime of sandbox.engine oci; auto takes crun, then runc; "
	    "runsc (gVisor) runs a kernel of its own: stronger, slower, and "
	    "refused with another engine."),
	CHOICE("sandbox.wiring", CONFIG_FIX, config_table_wirings, "auto",
	    NULL,
	    "How a container gets its sockets: by descriptors, or as frames "
	    "over the engine's standard input and output; auto takes the "
	    "engine's best."),
	TEXT("sandbox.image", CONFIG_IMAGE, 512, NULL,
	    "The sandbox image, pinned by digest (name@sha256:...) or by "
	    "Docker's id of it (sha256:...); "
	    "'sandbox build', 'pull' and 'load' set it."),
	SIZE("sandbox.memory", CONFIG_LEAST, 16 * MIB, 1024 * GIB, "512m",
	    "Memory of a sandbox, swap included."),
	INT("sandbox.pids", CONFIG_LEAST, 4, 32768, "256",
	    "Processes and threads of a sandbox."),
	INT("sandbox.cpu_milli", CONFIG_LEAST, 10, 1024000, "1000",
	    "CPU time of a sandbox in thousandths of one CPU."),
	SIZE("sandbox.tmp_size", CONFIG_LEAST, 4 * KIB, 64 * GIB, "64m",
	    "Size of /tmp in a sandbox."),
	SIZE("sandbox.home_size", CONFIG_LEAST, 4 * KIB, 64 * GIB, "16m",
	    "Size of the home folder in a sandbox."),
	LIST("sandbox.overrides", CONFIG_WORD, CONFIG_BOTH,
	    config_table_overrides, 2,
	    "Layers that may be missing where this machine cannot have them: "
	    "no_landlock, no_cgroup_limits. Every run's record says so."),
	INT("sandbox.uid_base", CONFIG_FIX, 65536, 4294900000, "1879048192",
	    "First of the user ids that rootful sandboxes get, one each."),
	SIZE("sandbox.output_max", CONFIG_LEAST, 4 * KIB, 64 * GIB, "64m",
	    "Bytes a workload may write to its standard error."),
	CHOICE("sandbox.host_trust_policy", CONFIG_LATER,
	    config_table_host_trust, "default", NULL,
	    "Which tiers may run on the host: default (curated, trusted), "
	    "curated_only, none."),
	CHOICE("sandbox.volume_check", CONFIG_LATER, config_table_checks,
	    "fast", NULL,
	    "How a sealed volume is checked before each start: fast "
	    "(unchanged since its content was read) or full (its content is "
	    "read again)."),
	SIZE("audit.max_size", CONFIG_FIX, 4 * KIB, 64 * GIB, "64m",
	    "A file of the audit chain that is as large is followed by "
	    "another one."),
	INT("audit.max_files", CONFIG_FIX, 2, 100000, "16",
	    "Files of the audit chain that are kept; what goes is named in "
	    "the chain."),
	LIST("egress.allow", CONFIG_ENTRY, CONFIG_BOTH, NULL, 1024,
	    "Destinations every sandbox with egress may reach, beside its "
	    "own; as host configuration tcp:// and http:// entries are "
	    "possible."),
	LIST("egress.deny", CONFIG_DENY_ENTRY, CONFIG_EITHER, NULL, 1024,
	    "Destinations that no sandbox reaches; wins over every allow."),
	{.name = "egress.extra_ranges", .type = CONFIG_OBJECT,
	 .shape = CONFIG_RANGES, .narrow = CONFIG_BOTH, .max = 256,
	 .sentence = "Host names that may resolve into the named private "
	    "ranges: {\"db.corp.example\": [\"10.1.2.0/24\"]}."},
	TEXT("egress.upstream_proxy", CONFIG_HOST_PORT, 300, NULL,
	    "A CONNECT proxy (host:port) that all egress goes through."),
	TEXT("egress.resolver", CONFIG_RESOLVERS, 512, NULL,
	    "DNS servers (address:port, comma-separated); unset: those of "
	    "/etc/resolv.conf at start."),
	LIST("egress.ech_allow", CONFIG_NAME, CONFIG_BOTH, NULL, 256,
	    "Host names whose TLS may carry encrypted_client_hello."),
	INT("egress.max_tunnels", CONFIG_LEAST, 1, 65536, "256",
	    "Open connections of one sandbox."),
	INT("egress.head_timeout_ms", CONFIG_LEAST, 10, 600000, "10000",
	    "Time for a whole request head."),
	INT("egress.hello_timeout_ms", CONFIG_LEAST, 10, 600000, "10000",
	    "Time for a whole TLS ClientHello."),
	INT("egress.dial_timeout_ms", CONFIG_LEAST, 10, 600000, "10000",
	    "Time to look up and reach a destination."),
	INT("egress.idle_timeout_s", CONFIG_LEAST, 1, 86400, "300",
	    "Time after which a silent connection is closed."),
	INT("egress.total_timeout_s", CONFIG_LEAST, 1, 2592000, "28800",
	    "Longest life of a connection."),
	SIZE("egress.rate_bytes", CONFIG_LEAST_NONZERO, 0, 1024 * GIB, "0",
	    "Bytes per second of one sandbox; 0 is no limit."),
	SIZE("egress.max_bytes", CONFIG_LEAST_NONZERO, 0, 1048576 * GIB, "0",
	    "Bytes one sandbox may send and receive; 0 is no limit."),
	TEXT("build.npm_registry", CONFIG_URL, 1024,
	    "https://registry.npmjs.org/", "Where npm packages come from."),
	TEXT("build.pypi_index", CONFIG_URL, 1024,
	    "https://pypi.org/simple/", "Where Python packages come from."),
	TEXT("build.ca_bundle", CONFIG_PATH, 4095, NULL,
	    "A PEM file of further authorities that builds trust."),
	SIZE("build.size", CONFIG_LEAST, MIB, 1024 * GIB, "1g",
	    "Size of the place a build writes to."),
	SIZE("build.memory", CONFIG_LEAST, 64 * MIB, 1024 * GIB, "2g",
	    "Memory of a build, swap included."),
	INT("build.timeout_s", CONFIG_LEAST, 1, 86400, "600",
	    "Longest time of a build."),
	SIZE("mcp.line_max", CONFIG_LEAST, KIB, GIB, "16m",
	    "Longest MCP message."),
	INT("mcp.start_timeout_s", CONFIG_LEAST, 1, 3600, "60",
	    "Time for an MCP server to answer initialize."),
	INT("packs.timeout_s", CONFIG_LEAST, 1, 86400, "120",
	    "Longest time of one run of a tool."),
	SIZE("packs.result_max", CONFIG_LEAST, KIB, 64 * MIB, "8m",
	    "Bytes of a tool's result."),
	LIST("packs.unrestricted_network", CONFIG_ANY, CONFIG_BOTH, NULL, 256,
	    "Tool packs that ask for an open network and get what egress.allow "
	    "has; all others of them get none."),
	INT("exec.timeout_s", CONFIG_LEAST, 1, 43200, "10",
	    "Longest time of a command of exec without --timeout."),
	INT("exec.timeout_max_s", CONFIG_LEAST, 1, 43200, "3600",
	    "Longest time that --timeout of exec may ask for."),
	SIZE("exec.output_max", CONFIG_LEAST, 1, MIB, "8k",
	    "Bytes of each output and file of a command of exec that are "
	    "shown without --max-output."),
	SIZE("exec.scratch_size", CONFIG_LEAST, MIB, 64 * GIB, "64m",
	    "Size of the scratch directory of a command of exec."),
	INT("exec.files_max", CONFIG_LEAST, 0, 4096, "100",
	    "Files of a command of exec that are shown."),
	SIZE("exec.files_size", CONFIG_LEAST, 0, 4 * MIB, "1m",
	    "Bytes of all files of a command of exec that are shown."),
	CHOICE("auth.backend", CONFIG_FIX, config_table_auth, "secret_service",
	    NULL,
	    "Where 'auth set' stores keys: the desktop's keychain, systemd "
	    "credentials (read only), or a file encrypted under a "
	    "passphrase."),
	CHOICE("log.level", CONFIG_FIX, config_table_levels, "info",
	    "AGENTNODE_LOG_LEVEL", "The least important lines that are kept."),
	CHOICE("trust.minimum_trust_level", CONFIG_LATER, config_table_trust,
	    "unverified", NULL, "Packages below this tier are refused."),
	{.name = "trust.registry_keys", .type = CONFIG_OBJECT,
	 .shape = CONFIG_KEYS, .narrow = CONFIG_BOTH, .max = 32,
	 .sentence = "Keys that attestations and registry indexes are "
	    "believed by: {\"corp\": \"<64 hex digits>\"}; 'trust keys' "
	    "changes it."},
	LIST("trust.revoked_keys", CONFIG_KEY, CONFIG_EITHER, NULL, 256,
	    "Keys of registries and publishers that nothing is believed by "
	    "any more, whatever else names them."),
	TEXT("registry.path", CONFIG_PATH, 4095, NULL,
	    "The folder of the package registry that 'install SLUG' reads."),
	BOOL("agent_sandbox.enabled", "false", "AGENTNODE_AGENT_SANDBOX",
	    "Agents of community tiers may run, in a sandbox."),
	BOOL("agent_sandbox.llm.enabled", "true", NULL,
	    "Agents whose manifest asks for an LLM get one."),
	INT("agent_sandbox.llm.max_calls", CONFIG_LEAST, 1, COUNT_MAX, "20",
	    "Calls of one run; a manifest may ask for less."),
	INT("agent_sandbox.llm.max_input_chars", CONFIG_LEAST, 1, COUNT_MAX,
	    "24000", "Characters of text that one run may send."),
	INT("agent_sandbox.llm.max_output_chars", CONFIG_LEAST, 1, COUNT_MAX,
	    "24000", "Characters of text that one run may receive."),
	{.name = "agent_sandbox.llm.allowed_models", .type = CONFIG_LIST,
	 .shape = CONFIG_MODEL, .narrow = CONFIG_WITHIN, .max = 64,
	 .sentence = "Models that agents may use: model, provider/model or "
	    "provider/*; unset: any."},
	TEXT("llm.default_provider", CONFIG_PROVIDER, 31, NULL,
	    "The provider of call_llm."),
	TEXT("llm.default_model", CONFIG_ANY, 200, NULL,
	    "The model of call_llm, without its provider."),
	LIST("llm.opt_in", CONFIG_WORD, CONFIG_BOTH, config_table_opt_ins, 3,
	    "What a provider may do for an agent: remote_urls (fetch URLs), "
	    "provider_tools (search, code, MCP), stored (keep responses)."),
	BUDGET("llm.day", "on one UTC day by all agents of this host"),
	BUDGET("llm.agent_day", "on one UTC day by one agent"),
	COUNT("llm.run.tokens", "Tokens used by one run; unset: no limit."),
	MONEY("llm.run.cost", "Dollars spent by one run; unset: no limit."),
	INT("llm.concurrent", CONFIG_LEAST, 1, 1024, "4",
	    "Calls of one run at one time."),
	{.name = "llm.prices", .type = CONFIG_OBJECT, .shape = CONFIG_PRICES,
	 .narrow = CONFIG_FIX, .max = 256,
	 .sentence = "Dollars for a million tokens: {\"openai/gpt-4o-mini\": "
	    "{\"input\": 0.15, \"output\": 0.60}}."},
	SIZE("llm.body_max", CONFIG_LEAST, KIB, 64 * MIB, "8m",
	    "Bytes of a request as it is sent, compressed or not."),
	SIZE("llm.decoded_max", CONFIG_LEAST, KIB, 64 * MIB, "16m",
	    "Bytes of a request without its compression."),
	SIZE("llm.response_max", CONFIG_LEAST, KIB, 900 * GIB, "1g",
	    "Bytes of a response."),
	INT("llm.first_byte_timeout_ms", CONFIG_LEAST, 1, 86400000, "60000",
	    "Time until a response begins."),
	INT("llm.idle_timeout_ms", CONFIG_LEAST, 1, 86400000, "120000",
	    "Time after which a silent response is cut."),
	INT("llm.total_timeout_ms", CONFIG_LEAST, 1, 604800000, "600000",
	    "Longest time of a call."),
	{.name = "llm.upstream", .type = CONFIG_OBJECT,
	 .shape = CONFIG_UPSTREAM, .narrow = CONFIG_BOTH, .max = 256,
	 .sentence = "Where a provider really is: {\"local\": {\"host\": "
	    "\"llm.corp.example\", \"port\": 443, \"cidrs\": "
	    "[\"10.1.2.0/24\"], \"ca\": \"/etc/corp/ca.pem\"}}."},
	TEXT("llm.ca_bundle", CONFIG_PATH, 4095, NULL,
	    "A PEM file of the authorities that providers are trusted by; "
	    "unset: the system's."),
	{.name = "guard.strict", .type = CONFIG_BOOL, .narrow = CONFIG_TRUE,
	 .default_text = "false", .environment = "AGENTNODE_GUARD_STRICT",
	 .sentence = "Guard denies delete, write_external, execute and unknown "
	    "and asks before write_local and credential_use at least, "
	    "whatever else is set; the other rules can only be stricter."},
	ANSWER("delete", "prompt", "take something away"),
	ANSWER("write_external", "prompt", "write or send to others"),
	ANSWER("execute", "prompt", "run programs or code"),
	ANSWER("credential_use", "prompt", "use a credential"),
	ANSWER("unknown", "prompt", "do what their name does not say"),
	ANSWER("network_egress", "allow", "reach the network"),
	ANSWER("write_local", "allow", "write where they are"),
	ANSWER("read", "allow", "read"),
	ANSWER("compute", "allow", "compute"),
	{.name = "guard.tool_overrides", .type = CONFIG_OBJECT,
	 .shape = CONFIG_OVERRIDES, .narrow = CONFIG_HELD, .default_text = "{}",
	 .sentence = "Answers for single tools: {\"files/delete_file\": "
	    "{\"delete\": \"deny\"}}; 'guard set --tool' writes it."},
	{.name = "guard.rate_limits", .type = CONFIG_OBJECT,
	 .shape = CONFIG_RATES, .narrow = CONFIG_HELD, .default_text = "{}",
	 .sentence = "Calls of a package, or of default: {\"files\": "
	    "{\"calls_per_minute\": 60, \"calls_per_hour\": 1000, "
	    "\"burst_size\": 10}}; unset: those for tool packs, twice as "
	    "much for agents."},
	{.name = "guard.agent_overrides", .type = CONFIG_OBJECT,
	 .shape = CONFIG_AGENTS, .narrow = CONFIG_HELD, .default_text = "{}",
	 .sentence = "Actions an agent may take without being asked: "
	    "{\"helper\": {\"pre_approved_actions\": [\"delete\"]}}."},
	{.name = NULL},
};
/* clang-format on */

const struct config_key *
config_table_find(const char *name)
{
	const struct config_key *key;

	for (key = config_table; key->name != NULL; key++)
		if (strcmp(key->name, name) == 0)
			return key;
	return NULL;
}

/* The last part of a key alone, as one remembers it: "memory". */
static bool
config_table_is_end(const char *key, const char *name)
{
	const char *dot = strrchr(key, '.');

	return dot != NULL && strcmp(dot + 1, name) == 0;
}

const char *
config_table_nearest(const char *name)
{
	unsigned least = CONFIG_TABLE_SUGGEST_MAX + 1, distance;
	const struct config_key *key;
	const char *best = NULL;

	for (key = config_table; key->name != NULL; key++) {
		distance = near_word_distance(
		    name, key->name, CONFIG_TABLE_SUGGEST_MAX);
		if (best == NULL && config_table_is_end(key->name, name))
			best = key->name;
		if (distance < least) {
			least = distance;
			best = key->name;
		}
	}
	return best;
}

const char *
config_table_type_text(enum config_type type)
{
	switch (type) {
	case CONFIG_TEXT:
		return "text";
	case CONFIG_INT:
		return "integer";
	case CONFIG_BOOL:
		return "true or false";
	case CONFIG_SIZE:
		return "size";
	case CONFIG_CHOICE:
		return "choice";
	case CONFIG_MONEY:
		return "amount of dollars";
	case CONFIG_LIST:
		return "list";
	case CONFIG_OBJECT:
		return "object";
	}
	return "";
}

const char *
config_table_narrow_text(enum config_narrow narrow)
{
	switch (narrow) {
	case CONFIG_FIX:
		return "the policy's value replaces the user's";
	case CONFIG_LEAST:
		return "the smaller value holds";
	case CONFIG_LEAST_NONZERO:
		return "the smaller limit holds";
	case CONFIG_LATER:
		return "the stricter (later) choice holds";
	case CONFIG_FALSE:
		return "false holds";
	case CONFIG_TRUE:
		return "true holds";
	case CONFIG_BOTH:
		return "only what the policy lists too remains";
	case CONFIG_WITHIN:
		return "only what the policy lists too remains; unset: what "
		       "it lists";
	case CONFIG_EITHER:
		return "the policy's items are added";
	case CONFIG_HELD:
		return "the stricter of both holds, item by item";
	}
	return "";
}
