/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A JSON document with long texts in it, as prompts are. jansson reads the
 * document byte by byte and takes tens of cycles for each; here it reads all
 * but the long texts (it sees "" in their place), and they are put into its
 * tree afterwards. Whatever is odd about a document or a text is left to
 * jansson, so that what is taken, what is refused and why never depends on
 * this file. Pure; used by call_json.c.
 */
#ifndef LLM_BROKER_JSON_LONG_H
#define LLM_BROKER_JSON_LONG_H

#include <jansson.h>
#include <stddef.h>

#define JSON_LONG_MIN 24U /* bytes of a text that is long */

/* As json_loadb(bytes, len, JSON_REJECT_DUPLICATES, error_r). The caller has
 * bounded the depth: the tree is walked by recursion. */
json_t *json_long_load(const char *bytes, size_t len, json_error_t *error_r);

#ifdef JSON_LONG_INTERNAL
/* The same without jansson's second opinion. NULL: it has to read it all. */
json_t *json_long_try(const char *bytes, size_t len);
#endif

#endif
