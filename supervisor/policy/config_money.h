/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dollars as a person types them and as whole micro-dollars: 2.50 is
 * 2500000. At most six digits behind the point; nothing is ever rounded.
 * Used by config_value.c and config_llm.c. Pure.
 */
#ifndef SUPERVISOR_POLICY_CONFIG_MONEY_H
#define SUPERVISOR_POLICY_CONFIG_MONEY_H

#include <jansson.h>
#include <stdint.h>

#include "common/result.h"

#define CONFIG_MONEY_MAX INT64_C(1000000000000) /* a million dollars */
#define CONFIG_MONEY_TEXT_MAX 32U

/* "2.50", "3"; no sign, exponent or space. RESULT_BAD. */
enum result config_money_parse(const char *text, int64_t *micro_r);
/* The same for a JSON text or number. */
enum result config_money_read(const json_t *value, int64_t *micro_r);
/* As short as it can be typed: "2.5". */
void config_money_text(int64_t micro, char text_r[CONFIG_MONEY_TEXT_MAX]);

#endif
