/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A JSON document into jansson's tree, as agents' requests are: jansson reads
 * byte by byte and takes tens of cycles for each; here texts are read eight
 * bytes at a time. Whatever is odd about a document is left to jansson, and
 * so is every part of it that needs care (numbers with a fraction, texts with
 * \u), so that what is taken, what is refused and why never depends on this
 * file. Pure; used by call_json.c.
 */
#ifndef LLM_BROKER_JSON_QUICK_H
#define LLM_BROKER_JSON_QUICK_H

#include <jansson.h>
#include <stddef.h>

/* As json_loadb(bytes, len, JSON_REJECT_DUPLICATES, error_r). */
json_t *json_quick_load(const char *bytes, size_t len, json_error_t *error_r);

#ifdef JSON_QUICK_INTERNAL
#define JSON_QUICK_DEPTH_MAX 128U /* deeper is jansson's, as it is odd */
/* The same without jansson's second opinion. NULL: it has to read it all. */
json_t *json_quick_try(const char *bytes, size_t len);
#endif

#endif
