/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `agentnode trust keygen` and `trust sign`: what a publisher or the owner
 * of a registry types. Their rows are in command_trust.c.
 */
#ifndef SUPERVISOR_COMMAND_TRUST_SIGN_H
#define SUPERVISOR_COMMAND_TRUST_SIGN_H

#include <stdbool.h>
#include <stdint.h>

#include "common/json_field.h"
#include "common/secret.h"

/* What the three kinds of signing are told; texts are borrowed from argv. */
struct trust_sign {
	const char *key_file, *slug, *version, *tier, *publisher;
	const char *publisher_key, *add, *drop, *file, *attestation;
	const char *signatures, *previous_key, *out, *kind;
	const char *target; /* the artifact, or the registry's folder */
	int key_fd;         /* -1: not given */
	int64_t days, serial;
	bool keep_latest;
	struct secret *key; /* owned once loaded */
	char public_key[65];
};

int trust_sign_keygen(int argc, char **argv);
int trust_sign_run(int argc, char **argv);

/* A public key as typed, or the one line of a file; false: neither. */
bool trust_sign_public(const char *text, char hex_r[65]);

/* trust_index.c: the new index and its signature, into the registry's
 * folder. Exit code. */
int trust_index_sign(struct trust_sign *sign);

/* "now" and "now and so many days" as signed documents write them; false
 * when the clock is beyond them. */
bool trust_sign_times(int64_t days, char issued_r[24], char expires_r[24]);
/* A sentence that names what was wrong; COMMAND_USAGE. */
int trust_sign_fault(const struct json_fault *fault);

#endif
