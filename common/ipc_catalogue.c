/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The catalogue of messages: the one table that says who may send what to
 * whom, when, with which fields and how many descriptors. Data only;
 * docs/protocol.md says the same in prose, and a unit test compares.
 */
#include "common/ipc_catalogue.h"

#define IPC_CATALOGUE_BIT(role) (1U << (role))
#define SUPERVISOR IPC_CATALOGUE_BIT(IPC_SUPERVISOR)
#define GATE IPC_CATALOGUE_BIT(IPC_GATE)
#define LEDGER IPC_CATALOGUE_BIT(IPC_LEDGER)
#define UNPACK IPC_CATALOGUE_BIT(IPC_UNPACK)
#define PROXY IPC_CATALOGUE_BIT(IPC_PROXY)
#define BROKER IPC_CATALOGUE_BIT(IPC_BROKER)
#define KEY IPC_CATALOGUE_BIT(IPC_KEY)
#define KEYRING IPC_CATALOGUE_BIT(IPC_KEYRING)
#define CHILDREN (GATE | LEDGER | UNPACK | PROXY | BROKER | KEY | KEYRING)
#define ANYTIME (IPC_STARTING | IPC_RUNNING | IPC_CLOSING)
#define STARTED (IPC_RUNNING | IPC_CLOSING)

/* Bounds that several messages share. */
#define ID_MAX 64          /* bytes of a sandbox id */
#define NAME_MAX_BYTES 253 /* bytes of a host name */
#define WORD_MAX 64
#define TEXT_MAX 1024
#define MODEL_MAX 200          /* bytes of a model's name */
#define SECRET_BYTES_MAX 16384 /* SECRET_MAX */
#define PATTERNS_MAX 16
#define CALLS_MAX 64     /* RATE_COUNT_MAX */
#define RATE_MAX 1000000 /* RATE_LIMIT_MAX */
#define WAIT_MS_MAX 5000

#define END                                   \
	{                                     \
		NULL, IPC_TEXT, 0, 0, 0, NULL \
	}
#define SANDBOX                                         \
	{                                               \
		"sandbox", IPC_TEXT, 1, 1, ID_MAX, NULL \
	}
#define PROVIDER                                           \
	{                                                  \
		"provider", IPC_TEXT, 1, 1, WORD_MAX, NULL \
	}
#define OBJECT(name, required)                             \
	{                                                  \
		(name), IPC_OBJECT, (required), 0, 0, NULL \
	}

static const char *const ipc_catalogue_kinds[] = {
    "connect", "direct", "llm", "tools", NULL};
static const char *const ipc_catalogue_key_states[] = {
    "found", "missing", "unavailable", NULL};
static const char *const ipc_catalogue_verdicts[] = {"allow", "deny", NULL};
static const char *const ipc_catalogue_methods[] = {
    "call", "list", "cancel", NULL};

static const struct ipc_field ipc_catalogue_none[] = {END};
static const struct ipc_field ipc_catalogue_config[] = {
    {"sandbox", IPC_TEXT, 0, 1, ID_MAX, NULL},
    OBJECT("options", 0),                                    /* this one ... */
    {"options_fd", IPC_NUMBER, 0, 0, IPC_FDS_MAX - 1, NULL}, /* or this */
    END};
static const struct ipc_field ipc_catalogue_ready[] = {
    OBJECT("layers", 1), END};
static const struct ipc_field ipc_catalogue_policy[] = {
    SANDBOX, OBJECT("policy", 1), END};
static const struct ipc_field ipc_catalogue_listen[] = {SANDBOX,
    {"kind", IPC_TEXT, 1, 1, WORD_MAX, ipc_catalogue_kinds},
    {"name", IPC_TEXT, 0, 1, NAME_MAX_BYTES, NULL},
    {"port", IPC_NUMBER, 0, 1, 65535, NULL}, END};
static const struct ipc_field ipc_catalogue_stream[] = {
    {"name", IPC_TEXT, 1, 1, WORD_MAX, NULL}, END};
static const struct ipc_field ipc_catalogue_sandbox[] = {SANDBOX, END};
static const struct ipc_field ipc_catalogue_audit[] = {
    {"event", IPC_TEXT, 1, 1, WORD_MAX, NULL}, OBJECT("fields", 1), END};
static const struct ipc_field ipc_catalogue_failed[] = {
    {"code", IPC_TEXT, 1, 1, WORD_MAX, NULL},
    {"detail", IPC_TEXT, 1, 0, TEXT_MAX, NULL}, END};
static const struct ipc_field ipc_catalogue_decision[] = {SANDBOX,
    {"verdict", IPC_TEXT, 1, 1, WORD_MAX, ipc_catalogue_verdicts},
    {"code", IPC_TEXT, 1, 0, WORD_MAX, NULL},
    {"target", IPC_TEXT, 1, 0, TEXT_MAX, NULL},
    {"rule", IPC_TEXT, 0, 0, TEXT_MAX, NULL},
    {"count", IPC_NUMBER, 1, 1, INT64_MAX, NULL},
    {"request", IPC_TEXT, 0, 1, 96, NULL}, END};
static const struct ipc_field ipc_catalogue_stats[] = {
    OBJECT("values", 0), END};
static const struct ipc_field ipc_catalogue_resolver[] = {
    {"servers", IPC_TEXT, 1, 1, TEXT_MAX, NULL}, END};
static const struct ipc_field ipc_catalogue_work[] = {
    {"job", IPC_TEXT, 1, 1, WORD_MAX, NULL}, OBJECT("options", 1), END};
static const struct ipc_field ipc_catalogue_done[] = {
    {"job", IPC_TEXT, 0, 1, WORD_MAX, NULL}, OBJECT("result", 1), END};

static const struct ipc_field ipc_catalogue_grant[] = {
    SANDBOX, OBJECT("grant", 1), END};
static const struct ipc_field ipc_catalogue_key_secret[] = {PROVIDER,
    {"status", IPC_TEXT, 1, 1, WORD_MAX, ipc_catalogue_key_states},
    {"length", IPC_NUMBER, 0, 1, SECRET_BYTES_MAX, NULL},
    {"detail", IPC_TEXT, 0, 0, TEXT_MAX, NULL}, END};
static const struct ipc_field ipc_catalogue_provider[] = {PROVIDER, END};
static const struct ipc_field ipc_catalogue_key_pattern[] = {PROVIDER,
    {"status", IPC_TEXT, 1, 1, WORD_MAX, ipc_catalogue_key_states},
    {"patterns", IPC_LIST, 1, 0, PATTERNS_MAX, NULL}, END};
static const struct ipc_field ipc_catalogue_budget_open[] = {SANDBOX,
    {"package", IPC_TEXT, 1, 1, ID_MAX, NULL}, OBJECT("limits", 1), END};
static const struct ipc_field ipc_catalogue_usage[] = {SANDBOX,
    {"provider", IPC_TEXT, 1, 0, WORD_MAX, NULL},
    {"model", IPC_TEXT, 1, 0, MODEL_MAX, NULL},
    {"code", IPC_TEXT, 1, 0, WORD_MAX, NULL},
    {"count", IPC_NUMBER, 1, 1, INT64_MAX, NULL}, OBJECT("amounts", 1),
    {"estimated", IPC_FLAG, 1, 0, 0, NULL}, END};
static const struct ipc_field ipc_catalogue_tool_call[] = {SANDBOX,
    {"package", IPC_TEXT, 1, 1, ID_MAX, NULL},
    {"tool", IPC_TEXT, 0, 1, 128, NULL},
    {"method", IPC_TEXT, 1, 1, WORD_MAX, ipc_catalogue_methods}, END};
static const struct ipc_field ipc_catalogue_tool_result[] = {
    {"code", IPC_TEXT, 1, 0, WORD_MAX, NULL},
    {"detail", IPC_TEXT, 0, 0, TEXT_MAX, NULL}, END};

static const struct ipc_field ipc_catalogue_guard_ask[] = {
    {"tool", IPC_TEXT, 1, 1, 128, NULL},
    {"code", IPC_TEXT, 1, 0, WORD_MAX, NULL},
    {"actions", IPC_TEXT, 1, 0, TEXT_MAX, NULL},
    {"detail", IPC_TEXT, 1, 0, TEXT_MAX, NULL},
    {"count", IPC_NUMBER, 1, 1, CALLS_MAX, NULL}, END};
static const struct ipc_field ipc_catalogue_rate_take[] = {
    {"package", IPC_TEXT, 1, 1, ID_MAX, NULL},
    {"count", IPC_NUMBER, 1, 1, CALLS_MAX, NULL},
    {"second", IPC_NUMBER, 1, 1, RATE_MAX, NULL},
    {"minute", IPC_NUMBER, 1, 1, RATE_MAX, NULL},
    {"hour", IPC_NUMBER, 1, 1, RATE_MAX, NULL},
    {"wait_ms", IPC_NUMBER, 1, 0, WAIT_MS_MAX, NULL}, END};

/* name, type, senders, receivers, states, id_min, fds_min, fds_max, fields */
static const struct ipc_row ipc_catalogue_rows[IPC_TYPE_COUNT] = {
    {"config", IPC_CONFIG, SUPERVISOR, CHILDREN, IPC_STARTING, 0, 0, 6,
	ipc_catalogue_config},
    {"ready", IPC_READY, CHILDREN, SUPERVISOR, IPC_STARTING, 0, 0, 0,
	ipc_catalogue_ready},
    {"sandbox_open", IPC_SANDBOX_OPEN, SUPERVISOR, PROXY, IPC_RUNNING, 0, 0, 0,
	ipc_catalogue_policy},
    {"listen", IPC_LISTEN, SUPERVISOR, PROXY | BROKER | GATE, IPC_RUNNING, 0, 1,
	1, ipc_catalogue_listen},
    {"stream", IPC_STREAM, SUPERVISOR, GATE | UNPACK | BROKER | KEY,
	IPC_RUNNING, 0, 1, 1, ipc_catalogue_stream},
    {"policy_replace", IPC_POLICY_REPLACE, SUPERVISOR, PROXY, IPC_RUNNING, 0, 0,
	0, ipc_catalogue_policy},
    {"sandbox_close", IPC_SANDBOX_CLOSE, SUPERVISOR, PROXY | BROKER | GATE,
	STARTED, 0, 0, 0, ipc_catalogue_sandbox},
    {"audit", IPC_AUDIT, SUPERVISOR, LEDGER, STARTED, 1, 0, 0,
	ipc_catalogue_audit},
    {"synced", IPC_SYNCED, LEDGER, SUPERVISOR, STARTED, 1, 0, 0,
	ipc_catalogue_none},
    {"failed", IPC_FAILED, CHILDREN, SUPERVISOR, ANYTIME, 0, 0, 0,
	ipc_catalogue_failed},
    {"decision", IPC_DECISION, PROXY | GATE | BROKER, SUPERVISOR, STARTED, 0, 0,
	0, ipc_catalogue_decision},
    {"stats", IPC_STATS, SUPERVISOR | CHILDREN, SUPERVISOR | CHILDREN, STARTED,
	0, 0, 0, ipc_catalogue_stats},
    {"log_replace", IPC_LOG_REPLACE, SUPERVISOR, CHILDREN, STARTED, 0, 1, 1,
	ipc_catalogue_none},
    {"resolver_replace", IPC_RESOLVER_REPLACE, SUPERVISOR, PROXY | KEY,
	IPC_RUNNING, 0, 0, 0, ipc_catalogue_resolver},
    {"work", IPC_WORK, SUPERVISOR, UNPACK | GATE | KEYRING, IPC_RUNNING, 1, 0,
	16, ipc_catalogue_work},
    {"done", IPC_DONE, UNPACK | GATE | KEYRING, SUPERVISOR, STARTED, 0, 0, 2,
	ipc_catalogue_done},
    {"grant", IPC_GRANT, SUPERVISOR, BROKER, IPC_RUNNING, 0, 0, 0,
	ipc_catalogue_grant},
    {"key", IPC_KEY_SECRET, KEYRING, KEY, IPC_RUNNING, 0, 0, 0,
	ipc_catalogue_key_secret},
    {"key_changed", IPC_KEY_CHANGED, SUPERVISOR, KEY | BROKER, IPC_RUNNING, 0,
	0, 0, ipc_catalogue_provider},
    {"key_pattern", IPC_KEY_PATTERN, KEY, BROKER, IPC_RUNNING, 0, 0, 0,
	ipc_catalogue_key_pattern},
    {"upstream_open", IPC_UPSTREAM_OPEN, BROKER, KEY, IPC_RUNNING, 0, 1, 16,
	ipc_catalogue_none},
    {"budget_open", IPC_BUDGET_OPEN, SUPERVISOR, LEDGER, IPC_RUNNING, 1, 1, 1,
	ipc_catalogue_budget_open},
    {"budget_close", IPC_BUDGET_CLOSE, SUPERVISOR, LEDGER, STARTED, 1, 0, 0,
	ipc_catalogue_sandbox},
    {"usage", IPC_USAGE, BROKER, SUPERVISOR, STARTED, 0, 0, 0,
	ipc_catalogue_usage},
    {"tool_call", IPC_TOOL_CALL, GATE, SUPERVISOR, IPC_RUNNING, 1, 0, 1,
	ipc_catalogue_tool_call},
    {"tool_result", IPC_TOOL_RESULT, SUPERVISOR, GATE, IPC_RUNNING, 1, 0, 1,
	ipc_catalogue_tool_result},
    {"guard_ask", IPC_GUARD_ASK, GATE, SUPERVISOR, STARTED, 1, 0, 0,
	ipc_catalogue_guard_ask},
    {"guard_answer", IPC_GUARD_ANSWER, SUPERVISOR, GATE, STARTED, 1, 0, 0,
	ipc_catalogue_tool_result},
    {"rate_take", IPC_RATE_TAKE, SUPERVISOR, LEDGER, STARTED, 1, 0, 0,
	ipc_catalogue_rate_take},
};

const struct ipc_row *
ipc_catalogue_row(enum ipc_type type)
{
	if ((unsigned)type >= IPC_TYPE_COUNT)
		return NULL;
	return &ipc_catalogue_rows[type];
}

/* Rows that the supervisor has a part in are between it and one child; the
 * others belong to the pairs of children that have a socketpair: a secret
 * on its way to the process that holds it, calls on their way upstream,
 * budgets. */
bool
ipc_catalogue_may_talk(
    const struct ipc_row *row, enum ipc_role sender, enum ipc_role receiver)
{
	if (((row->senders | row->receivers) & SUPERVISOR) != 0)
		return (sender == IPC_SUPERVISOR) !=
		       (receiver == IPC_SUPERVISOR);
	return (sender == IPC_KEYRING && receiver == IPC_KEY) ||
	       (sender == IPC_BROKER && receiver == IPC_KEY) ||
	       (sender == IPC_KEY && receiver == IPC_BROKER) ||
	       (sender == IPC_BROKER && receiver == IPC_LEDGER) ||
	       (sender == IPC_LEDGER && receiver == IPC_BROKER);
}
