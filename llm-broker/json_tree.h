/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One JSON object as jansson's tree, read where it lies. jansson's own
 * reader takes every byte through several functions; a body of a call is
 * mostly long texts. This one knows plain, good JSON only: what it does not
 * like (also what may be good but is odd) it leaves to jansson, which then
 * says what is wrong. What it accepts, jansson accepts as the same tree
 * (tests/fuzz/fuzz_json_tree.c). Pure; used by call_json.c alone, which has
 * bounded depth and count before.
 */
#ifndef LLM_BROKER_JSON_TREE_H
#define LLM_BROKER_JSON_TREE_H

#include <jansson.h>
#include <stddef.h>

#define JSON_TREE_DEPTH_MAX 64U

/* The caller owns it. NULL: ask jansson. No name stands twice in it. */
json_t *json_tree_read(const char *bytes, size_t len);

#endif
