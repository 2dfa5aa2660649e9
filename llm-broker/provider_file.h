/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a provider's file from a folder the host trusts. Used by the
 * supervisor, which hands the object on; no confined process reads files.
 */
#ifndef LLM_BROKER_PROVIDER_FILE_H
#define LLM_BROKER_PROVIDER_FILE_H

#include "llm-broker/provider.h"

/* name: "openai.json", no slash. The file must be a regular one of at most
 * PROVIDER_FILE_MAX bytes and hold the provider that its name says. The
 * object is there for handing on; both are the caller's. RESULT_NOT_FOUND:
 * no such file; RESULT_BAD: the fault names file and place. */
enum result provider_file_load(int folder_fd, const char *name,
    struct provider **provider_r, json_t **object_r, struct json_fault *fault);

#endif
