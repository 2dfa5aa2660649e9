/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ed25519 signatures over libcrypto, each bound to what it is for: signed is
 * the domain's name, a line feed, and the bytes. So a signature of one kind
 * never passes as another. Used by trust.c, registry.c and `trust sign`.
 */
#ifndef SUPERVISOR_POLICY_ED25519_H
#define SUPERVISOR_POLICY_ED25519_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/result.h"
#include "common/secret.h"

#define ED25519_KEY 32U
#define ED25519_SIGNATURE 64U
#define ED25519_MESSAGE_MAX (64U * 1024U * 1024U)

enum ed25519_domain {
	ED25519_ATTESTATION, /* canonical JSON without "signature" */
	ED25519_ARTIFACT,    /* canonical JSON of slug, version, hash */
	ED25519_INDEX,       /* the bytes of index.json */
	ED25519_DOMAIN_COUNT
};

/* "agentnode attestation v1", ... */
const char *ed25519_domain_name(enum ed25519_domain domain);

/* key and signature as lower-case hex. RESULT_OK: it holds. RESULT_MISMATCH:
 * it does not. RESULT_BAD: not hex of that length, or no point. */
enum result ed25519_verify(const char *key, const char *signature,
    enum ed25519_domain domain, const void *bytes, size_t len);

/* The key holds the 32 bytes of a private key. */
enum result ed25519_sign(const struct secret *key, enum ed25519_domain domain,
    const void *bytes, size_t len, char signature_r[2 * ED25519_SIGNATURE + 1]);
enum result ed25519_public(
    const struct secret *key, char hex_r[2 * ED25519_KEY + 1]);
/* A new random one, in locked memory. */
enum result ed25519_generate(struct secret **key_r);

/* Keep the private keys that libcrypto copies in locked memory too, and out
 * of core dumps; call once, before a key is read. */
enum result ed25519_prepare_signing(void);

/* len bytes of lower-case hex, exactly; false: another text. */
bool ed25519_unhex(const char *text, uint8_t *bytes_r, size_t len);

#endif
