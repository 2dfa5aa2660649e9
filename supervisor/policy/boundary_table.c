/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints the boundary; see boundary_table.h. Called by explain and the
 * test. It must never decide anything itself.
 */
#include "supervisor/policy/boundary_table.h"

#include <string.h>

#define BOUNDARY_TABLE_ROWS                                         \
	(BOUNDARY_KIND_COUNT * BOUNDARY_POLICY_COUNT * TIER_COUNT * \
	    (TIER_COUNT - 1) * 2)

const char *
boundary_table_word(const struct boundary_verdict *verdict)
{
	if (verdict->place == BOUNDARY_HOST)
		return verdict->warning[0] != '\0' ? "host!" : "host";
	if (verdict->place == BOUNDARY_SANDBOX)
		return "sandbox";
	if (strcmp(verdict->code, BOUNDARY_TOO_LOW) == 0)
		return "tier";
	return strcmp(verdict->code, BOUNDARY_AGENTS_OFF) == 0 ? "off"
							       : "refused";
}

static void
boundary_table_line(struct boundary_input *input, FILE *out)
{
	struct boundary_verdict verdict;

	(void)fprintf(out, "%-14s%-12s", boundary_policy_name(input->policy),
	    tier_name(input->minimum));
	for (int tier = TIER_CURATED; tier >= TIER_UNKNOWN; tier--) {
		input->tier = (enum tier)tier;
		verdict = boundary_decide(input);
		(void)fprintf(out, tier > TIER_UNKNOWN ? "%-11s" : "%s\n",
		    boundary_table_word(&verdict));
	}
}

/* One kind, with agents on or off. */
static void
boundary_table_block(enum boundary_kind kind, bool agents, FILE *out)
{
	struct boundary_input input = {.kind = kind, .agents_enabled = agents};

	(void)fprintf(out, "\n%s, agent_sandbox.enabled %s\n",
	    boundary_kind_name(kind), agents ? "true" : "false");
	(void)fprintf(out, "%-14s%-12s", "policy", "minimum");
	for (int tier = TIER_CURATED; tier >= TIER_UNKNOWN; tier--)
		(void)fprintf(out, tier > TIER_UNKNOWN ? "%-11s" : "%s\n",
		    tier_name((enum tier)tier));
	for (int policy = 0; policy < BOUNDARY_POLICY_COUNT; policy++) {
		input.policy = (enum boundary_policy)policy;
		for (int least = TIER_UNVERIFIED; least < TIER_COUNT; least++) {
			input.minimum = (enum tier)least;
			boundary_table_line(&input, out);
		}
	}
}

void
boundary_table_print(FILE *out)
{
	(void)fputs("Where a package may run. policy is "
		    "sandbox.host_trust_policy, minimum is\n"
		    "trust.minimum_trust_level.\n\n"
		    "  host      it may run on the host (a skill runs no "
		    "code)\n"
		    "  host!     the same, with a warning: policy, not a "
		    "boundary\n"
		    "  sandbox   in the sandbox or not at all\n"
		    "  tier      refused: " BOUNDARY_TOO_LOW "\n"
		    "  off       refused: " BOUNDARY_AGENTS_OFF "\n",
	    out);
	for (int kind = 0; kind < BOUNDARY_KIND_COUNT; kind++) {
		boundary_table_block((enum boundary_kind)kind, false, out);
		boundary_table_block((enum boundary_kind)kind, true, out);
	}
}

static json_t *
boundary_table_row(const struct boundary_input *input)
{
	struct boundary_verdict verdict = boundary_decide(input);

	return json_pack("{s:s, s:s, s:s, s:s, s:b, s:s, s:s, s:s, s:s, s:s}",
	    "kind", boundary_kind_name(input->kind), "tier",
	    tier_name(input->tier), "policy",
	    boundary_policy_name(input->policy), "minimum",
	    tier_name(input->minimum), "agents_enabled", input->agents_enabled,
	    "place", boundary_place_name(verdict.place), "code", verdict.code,
	    "reason", verdict.reason, "remedy", verdict.remedy, "warning",
	    verdict.warning);
}

json_t *
boundary_table_json(void)
{
	json_t *rows = json_array();

	for (unsigned i = 0; i < BOUNDARY_TABLE_ROWS; i++) {
		unsigned rest = i;
		struct boundary_input input;

		input.tier = (enum tier)(TIER_CURATED - rest % TIER_COUNT);
		rest /= TIER_COUNT;
		input.minimum = (enum tier)(1 + rest % (TIER_COUNT - 1));
		rest /= TIER_COUNT - 1;
		input.policy =
		    (enum boundary_policy)(rest % BOUNDARY_POLICY_COUNT);
		rest /= BOUNDARY_POLICY_COUNT;
		input.agents_enabled = rest % 2 != 0;
		input.kind = (enum boundary_kind)(rest / 2);
		if (json_array_append_new(rows, boundary_table_row(&input)) !=
		    0) {
			json_decref(rows);
			return NULL;
		}
	}
	return json_pack("{s:o}", "rows", rows);
}
