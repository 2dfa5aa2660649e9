/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an installed package may do on this host, as facts and as sentences:
 * tier and proof, place and why, network, tools, secrets by name, limits,
 * LLM. Reads what a run reads and decides what a run decides, but goes on
 * where a run would stop. Used by explain.
 */
#ifndef SUPERVISOR_COMMAND_EXPLAIN_FACTS_H
#define SUPERVISOR_COMMAND_EXPLAIN_FACTS_H

#include <jansson.h>

#include "common/json_field.h"
#include "common/result.h"
#include "supervisor/package/run_entry.h"

struct explain_facts {
	struct run_entry run;
	/* Owned. The facts of config/schema/explain.json; "words" holds
	 * {"about", "text"}, in order, of foreign text unescaped. */
	json_t *answer;
	enum result result; /* as returned */
	struct json_fault fault;
};

/* RESULT_OK also for a package that would be refused: the facts say so.
 * Anything else (no lockfile, no entry, a broken configuration): fault.
 * explain_facts_clear in any case. */
enum result explain_facts_make(
    const char *slug, const char *lockfile, struct explain_facts *facts_r);
void explain_facts_clear(struct explain_facts *facts);

#endif
