/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The schema of usage.db and every statement on it. Data only; used by
 * budget_db.c. Nothing is ever put into these texts but by binding.
 *
 * run      one row per run that is, or was left by a ledger that died
 * call     what is reserved: a row is one call, or some of one kind ahead
 * charged  the sums that limits are held against; package '' is the host
 * usage    what was used, for people; one row per day, agent and model
 */
#include "supervisor/ledger/budget_db.h"

#define AMOUNTS "requests, input_chars, output_chars, tokens, cost"
#define COLUMN(name) name " INTEGER NOT NULL DEFAULT 0"
#define COLUMNS                                                             \
	COLUMN("requests")                                                  \
	", " COLUMN("input_chars") ", " COLUMN("output_chars") ", " COLUMN( \
	    "tokens") ", " COLUMN("cost")
/* Far from where an integer of SQLite would become a fraction. */
#define MOST "4000000000000000000"
#define SUMS                                                      \
	"sum(calls), sum(served), sum(estimated), sum(unpriced)," \
	" sum(requests), sum(input_chars), sum(output_chars),"    \
	" sum(tokens), sum(cost)"
#define REPORT(key, more, group)                                   \
	"SELECT " key ", " SUMS more " FROM usage WHERE day >= ?1" \
	" GROUP BY " group " ORDER BY " group " LIMIT ?2 OFFSET ?3"
#define ADD(name, value) name "=min(" name "+" value "," MOST ")"

#define TABLE(name, columns, more) "CREATE TABLE " name "(" columns ")" more ";"
#define RUN_COLUMNS                                                        \
	"id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE," \
	" package TEXT NOT NULL, " COLUMN("open") ", " COLUMNS
#define CALL_COLUMNS                                     \
	"run INTEGER NOT NULL, id INTEGER NOT NULL,"     \
	" day INTEGER NOT NULL, provider TEXT NOT NULL," \
	" model TEXT NOT NULL, " COLUMNS ", " CALLS ", PRIMARY KEY(run, id)"
#define CALLS "calls INTEGER NOT NULL DEFAULT 1"
#define CHARGED_COLUMNS                                         \
	"day INTEGER NOT NULL, package TEXT NOT NULL, " COLUMNS \
	", PRIMARY KEY(day, package)"
#define COUNTS          \
	COLUMN("calls") \
	", " COLUMN("served") ", " COLUMN("estimated") ", " COLUMN("unpriced")
#define USAGE_COLUMNS                                                        \
	"day INTEGER NOT NULL, package TEXT NOT NULL,"                       \
	" provider TEXT NOT NULL, model TEXT NOT NULL, " COUNTS ", " COLUMNS \
	", PRIMARY KEY(day, package, provider, model)"

const char budget_db_schema[] =
    TABLE("run", RUN_COLUMNS, "") TABLE("call", CALL_COLUMNS, " WITHOUT ROWID")
	TABLE("charged", CHARGED_COLUMNS, " WITHOUT ROWID")
	    TABLE("usage", USAGE_COLUMNS,
		" WITHOUT ROWID") "PRAGMA application_id = 1095652674;"
				  "PRAGMA user_version = 2;";

const char budget_db_upgrade[] = "ALTER TABLE call ADD COLUMN " CALLS ";"
				 "PRAGMA user_version = 2;";

const char *const budget_db_sql[BUDGET_DB_STATEMENT_COUNT] = {
    [BUDGET_DB_BEGIN] = "BEGIN IMMEDIATE",
    [BUDGET_DB_COMMIT] = "COMMIT",
    [BUDGET_DB_RUN_NEW] = "INSERT INTO run(name, package) VALUES(?1, ?2)",
    [BUDGET_DB_RUN_FIND] = "SELECT id FROM run WHERE name = ?1",
    [BUDGET_DB_RUN_GET] = "SELECT open, " AMOUNTS " FROM run WHERE id = ?1",
    [BUDGET_DB_RUN_SET] =
	"UPDATE run SET open = ?2, requests = ?3, input_chars = ?4,"
	" output_chars = ?5, tokens = ?6, cost = ?7 WHERE id = ?1",
    [BUDGET_DB_RUN_DROP] = "DELETE FROM run WHERE id = ?1",
    [BUDGET_DB_RUNS] = "SELECT id, package FROM run WHERE id > ?1"
		       " ORDER BY id LIMIT 1",
    [BUDGET_DB_OPEN_AGENT] =
	"SELECT coalesce(sum(open), 0) FROM run WHERE package = ?1",
    [BUDGET_DB_OPEN_HOST] = "SELECT coalesce(sum(open), 0) FROM run",
    [BUDGET_DB_CHARGED_GET] =
	"SELECT " AMOUNTS " FROM charged WHERE day = ?1 AND package = ?2",
    [BUDGET_DB_CHARGED_SET] =
	"UPDATE charged SET requests = ?3, input_chars = ?4,"
	" output_chars = ?5, tokens = ?6, cost = ?7"
	" WHERE day = ?1 AND package = ?2",
    [BUDGET_DB_CHARGED_NEW] =
	"INSERT INTO charged VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    [BUDGET_DB_CALL_NEW] =
	"INSERT INTO call VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10,"
	" ?11)",
    [BUDGET_DB_CALL_GET] = "SELECT day, provider, model, " AMOUNTS
			   ", calls FROM call WHERE run = ?1 AND id = ?2",
    [BUDGET_DB_CALL_SET] =
	"UPDATE call SET requests = ?3, input_chars = ?4, output_chars = ?5,"
	" tokens = ?6, cost = ?7, calls = ?8 WHERE run = ?1 AND id = ?2",
    [BUDGET_DB_CALL_DROP] = "DELETE FROM call WHERE run = ?1 AND id = ?2",
    [BUDGET_DB_CALLS] = "SELECT day, provider, model, " AMOUNTS
			", calls FROM call WHERE run = ?1",
    [BUDGET_DB_CALLS_DROP] = "DELETE FROM call WHERE run = ?1",
    [BUDGET_DB_USAGE_ADD] = "UPDATE usage SET " ADD("calls", "?13") ", " ADD(
	"served", "?5") ", " ADD("estimated", "?6") ", " ADD("unpriced",
	"?7") ", " ADD("requests", "?8") ", " ADD("input_chars",
	"?9") ", " ADD("output_chars", "?10") ", " ADD("tokens",
	"?11") ", " ADD("cost", "?12") " WHERE day = ?1 AND package = ?2"
				       " AND provider = ?3 AND model = ?4",
    [BUDGET_DB_USAGE_NEW] =
	"INSERT INTO usage VALUES(?1, ?2, ?3, ?4, ?13, ?5, ?6, ?7, ?8,"
	" ?9, ?10, ?11, ?12)",
    [BUDGET_DB_USAGE_COUNT] =
	"SELECT count(*) FROM usage WHERE day = ?1 AND package = ?2",
    [BUDGET_DB_BY_DAY] = REPORT("day", "", "day"),
    [BUDGET_DB_BY_AGENT] = REPORT("package", "", "package"),
    [BUDGET_DB_BY_PROVIDER] = REPORT("provider", "", "provider"),
    [BUDGET_DB_BY_MODEL] = REPORT("model", ", provider", "provider, model"),
    [BUDGET_DB_FORGET_CHARGED] = "DELETE FROM charged WHERE day < ?1",
    [BUDGET_DB_FORGET_USAGE] = "DELETE FROM usage WHERE day < ?1",
};
