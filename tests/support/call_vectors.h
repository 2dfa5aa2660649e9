/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of requests that stand for known bypasses of LLM brokers. Used
 * by tests/unit/test_call_vectors.c and tests/support/call_vectors_print.c.
 */
#ifndef TESTS_SUPPORT_CALL_VECTORS_H
#define TESTS_SUPPORT_CALL_VECTORS_H

#include "tests/support/call_case.h"

extern const struct call_case_row call_vectors_rows[];
extern const size_t call_vectors_count;

#endif
