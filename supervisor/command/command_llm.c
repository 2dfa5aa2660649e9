/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `agentnode llm usage`: what agents used, as the ledger tells it. Called by
 * command_dispatch. It changes nothing, and opens no database: the ledger
 * is asked (supervisor/policy/audit.h).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/log.h"
#include "supervisor/command/command.h"
#include "supervisor/command/command_ledger.h"
#include "supervisor/command/command_option.h"
#include "supervisor/policy/config_money.h"

#define COMMAND_LLM_DAY_S 86400
#define COMMAND_LLM_DAYS 30      /* when --since says nothing */
#define COMMAND_LLM_DAYS_MAX 400 /* what the ledger keeps */
#define COMMAND_LLM_PAGE 32U     /* rows of one answer */
#define COMMAND_LLM_ROWS_MAX 100000U
#define COMMAND_LLM_KEY_MAX 300U

struct command_llm_options {
	bool json;
	const char *by;
	int64_t since_day; /* since 1970-01-01, UTC */
};

static const char *const command_llm_sums[] = {"calls", "served", "estimated",
    "unpriced", "requests", "input_chars", "output_chars", "tokens",
    "cost_microusd"};
#define COMMAND_LLM_SUMS (sizeof(command_llm_sums) / sizeof(char *))

static void
command_llm_date(int64_t day, char text_r[16])
{
	time_t second = (time_t)(day * COMMAND_LLM_DAY_S);
	struct tm broken_down;

	if (gmtime_r(&second, &broken_down) == NULL ||
	    strftime(text_r, 16, "%Y-%m-%d", &broken_down) == 0)
		(void)snprintf(text_r, 16, "?");
}

/* "7d": the last seven days, today among them. "2026-01-31": from then on;
 * a date that the calendar does not have is refused. */
static bool
command_llm_since(const char *text, int64_t *day_r)
{
	int64_t today = (int64_t)time(NULL) / COMMAND_LLM_DAY_S;
	struct tm broken_down = {0};
	char again[16], *end;
	long days;

	days = strtol(text, &end, 10);
	if (end != text && strcmp(end, "d") == 0 && text[0] >= '0' &&
	    text[0] <= '9') {
		*day_r = today - days + 1;
		return days >= 1 && days <= COMMAND_LLM_DAYS_MAX;
	}
	end = strptime(text, "%Y-%m-%d", &broken_down);
	if (end == NULL || *end != '\0')
		return false;
	*day_r = (int64_t)timegm(&broken_down) / COMMAND_LLM_DAY_S;
	command_llm_date(*day_r, again);
	return *day_r >= 0 && strcmp(again, text) == 0;
}

static bool
command_llm_is_column(const char *by)
{
	static const char *const columns[] = {
	    "day", "agent", "provider", "model", NULL};

	for (size_t i = 0; columns[i] != NULL; i++) {
		if (strcmp(columns[i], by) == 0)
			return true;
	}
	return false;
}

static bool
command_llm_parse(int argc, char **argv, struct command_llm_options *options_r)
{
	static const struct option known[] = {{"json", no_argument, NULL, 'j'},
	    {"since", required_argument, NULL, 's'},
	    {"by", required_argument, NULL, 'b'}, {NULL, 0, NULL, 0}};
	int option;

	*options_r = (struct command_llm_options){.by = "day",
	    .since_day =
		(int64_t)time(NULL) / COMMAND_LLM_DAY_S - COMMAND_LLM_DAYS + 1};
	while ((option = command_option_next(argc, argv, "", known)) != -1) {
		if (option == 'j')
			options_r->json = true;
		else if (option == 'b' && command_llm_is_column(optarg))
			options_r->by = optarg;
		else if (option != 's' ||
			 !command_llm_since(optarg, &options_r->since_day))
			return false;
	}
	return optind == argc;
}

/* A row as it is told: its key under the name of what it is. */
static json_t *
command_llm_row(const char *by, const json_t *raw)
{
	json_t *row = json_object();
	char date[16];
	size_t i;

	if (strcmp(by, "day") == 0) {
		command_llm_date(
		    json_integer_value(json_object_get(raw, "key")), date);
		(void)json_object_set_new(row, by, json_string(date));
	} else
		(void)json_object_set(row, by, json_object_get(raw, "key"));
	if (strcmp(by, "model") == 0)
		(void)json_object_set(
		    row, "provider", json_object_get(raw, "provider"));
	for (i = 0; i < COMMAND_LLM_SUMS; i++)
		(void)json_object_set(row, command_llm_sums[i],
		    json_object_get(raw, command_llm_sums[i]));
	return row;
}

/* One page after the other, until one is not full. */
static enum result
command_llm_fetch(struct audit *audit,
    const struct command_llm_options *options, json_t *rows,
    struct json_fault *fault)
{
	size_t count = COMMAND_LLM_PAGE, i;
	json_t *query, *page;
	enum result result;

	while (count == COMMAND_LLM_PAGE &&
	       json_array_size(rows) < COMMAND_LLM_ROWS_MAX) {
		query = json_pack("{s:I, s:s, s:I}", "since_day",
		    (json_int_t)options->since_day, "by", options->by, "offset",
		    (json_int_t)json_array_size(rows));
		result = audit_usage(
		    audit, query, &page, fault->text, sizeof(fault->text));
		json_decref(query);
		if (result != RESULT_OK)
			return result;
		count = json_array_size(page);
		for (i = 0; i < count; i++)
			(void)json_array_append_new(
			    rows, command_llm_row(
				      options->by, json_array_get(page, i)));
		json_decref(page);
	}
	return RESULT_OK;
}

static int64_t
command_llm_sum(const json_t *row, const char *name)
{
	return json_integer_value(json_object_get(row, name));
}

static json_t *
command_llm_total(const json_t *rows)
{
	json_t *total = json_object();
	size_t i, j;

	for (i = 0; i < COMMAND_LLM_SUMS; i++) {
		int64_t sum = 0;

		for (j = 0; j < json_array_size(rows); j++)
			if (__builtin_add_overflow(sum,
				command_llm_sum(json_array_get(rows, j),
				    command_llm_sums[i]),
				&sum))
				sum = INT64_MAX;
		(void)json_object_set_new(
		    total, command_llm_sums[i], json_integer(sum));
	}
	return total;
}

/* Names of models are words of agents: they are shown clean. */
static void
command_llm_key(const char *by, const json_t *row, char *text_r, size_t size)
{
	const char *key = json_string_value(json_object_get(row, by));
	const char *provider =
	    json_string_value(json_object_get(row, "provider"));
	char name[COMMAND_LLM_KEY_MAX];
	int len = snprintf(name, sizeof(name), "%s%s%s",
	    strcmp(by, "model") == 0 && provider != NULL ? provider : "",
	    strcmp(by, "model") == 0 ? "/" : "", key != NULL ? key : "?");

	if (len < 0 || (size_t)len >= sizeof(name))
		len = (int)sizeof(name) - 1;
	log_clean(name, (size_t)len, text_r, size);
}

static void
command_llm_print_row(const char *key, const json_t *row)
{
	char cost[CONFIG_MONEY_TEXT_MAX];

	config_money_text(command_llm_sum(row, "cost_microusd"), cost);
	printf("%-32s %8lld %8lld %12lld %12lld %12lld%s %10s%s\n", key,
	    (long long)command_llm_sum(row, "calls"),
	    (long long)command_llm_sum(row, "served"),
	    (long long)command_llm_sum(row, "input_chars"),
	    (long long)command_llm_sum(row, "output_chars"),
	    (long long)command_llm_sum(row, "tokens"),
	    command_llm_sum(row, "estimated") > 0 ? "~" : " ", cost,
	    command_llm_sum(row, "unpriced") > 0 ? "+" : "");
}

static void
command_llm_print(const char *by, const json_t *rows, const json_t *total)
{
	char key[COMMAND_LLM_KEY_MAX];
	size_t i;

	printf("%-32s %8s %8s %12s %12s %12s  %10s\n", by, "calls", "served",
	    "input chars", "output chars", "tokens", "dollars");
	for (i = 0; i < json_array_size(rows); i++) {
		const json_t *row = json_array_get(rows, i);

		command_llm_key(by, row, key, sizeof(key));
		command_llm_print_row(key, row);
	}
	command_llm_print_row("total", total);
	if (command_llm_sum(total, "estimated") > 0)
		puts("~ some are estimates: the provider did not say");
	if (command_llm_sum(total, "unpriced") > 0)
		puts("+ some calls had no price in llm.prices");
}

static int
command_llm_answer(const struct command_llm_options *options, json_t *rows)
{
	json_t *total = command_llm_total(rows), *answer;
	char since[16];
	int code = COMMAND_DONE;

	if (options->json) {
		command_llm_date(options->since_day, since);
		answer = json_pack("{s:s, s:s, s:O, s:O}", "since", since, "by",
		    options->by, "rows", rows, "total", total);
		code = command_print_json(answer);
		json_decref(answer);
	} else
		command_llm_print(options->by, rows, total);
	json_decref(total);
	return code;
}

static int
command_llm_usage(int argc, char **argv)
{
	struct command_llm_options options;
	struct json_fault fault = {""};
	struct command_ledger ledger;
	json_t *rows;
	int code;

	if (!command_llm_parse(argc, argv, &options))
		return command_option_fault("llm usage");
	code = command_ledger_open(&ledger);
	rows = json_array();
	if (code == COMMAND_DONE) {
		enum result result =
		    command_llm_fetch(ledger.audit, &options, rows, &fault);

		code = result != RESULT_OK ? command_fault(result, &fault)
					   : command_llm_answer(&options, rows);
	}
	command_ledger_close(&ledger);
	json_decref(rows);
	return code;
}

const struct command command_llm_rows[] = {
    {"llm usage", "show what agents used of LLM providers",
	"Usage: agentnode llm usage [--since DATE|Nd] [--by COLUMN] [--json]\n"
	"\n"
	"Sums of the calls that were made: how many, how many the provider\n"
	"served, characters, tokens, dollars by llm.prices. Calls that are\n"
	"under way are not in it.\n\n"
	"Options:\n"
	"  --since DATE  from that UTC day on (2026-01-31), or the last N "
	"days\n"
	"                (7d), today among them; the default is 30d, what is\n"
	"                older than 400 days is forgotten\n"
	"  --by COLUMN   day (the default), agent, provider or model\n"
	"  --json        {\"since\", \"by\", \"rows\": [...], \"total\": "
	"{...}};\n"
	"                dollars are millionths (cost_microusd)\n\n"
	"Example:\n"
	"  agentnode llm usage --since 7d --by model\n",
	command_llm_usage},
    {NULL, NULL, NULL, NULL},
};
