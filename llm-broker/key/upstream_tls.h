/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TLS to providers over OpenSSL: 1.2 and later, chain and name checked,
 * ALPN http/1.1 alone, no renegotiation, sessions resumed per provider. The
 * record layer writes through a BIO of our own straight into the wire
 * (upstream_wire.h): a write is always taken whole, so the plaintext of a
 * request, key included, need not outlive the call. (libevent's
 * bufferevent_openssl would keep it in evbuffers, and copy twice.)
 * Everything OpenSSL reads or opens is read in upstream_tls_library_new,
 * before confinement.
 */
#ifndef LLM_BROKER_KEY_UPSTREAM_TLS_H
#define LLM_BROKER_KEY_UPSTREAM_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/ip_addr.h"
#include "common/result.h"
#include "llm-broker/key/upstream_wire.h"

#define UPSTREAM_TLS_BUNDLE_MAX (4U << 20) /* bytes of a CA bundle */
#define UPSTREAM_TLS_SESSIONS_MAX 128U     /* kept per provider */
#define UPSTREAM_TLS_WHY_MAX 128U

/* Once, before confinement: no configuration file, error texts, entropy,
 * the BIO. Outlives every context. */
struct upstream_tls_library; /* opaque */
enum result upstream_tls_library_new(struct upstream_tls_library **library_r);
void upstream_tls_library_free(struct upstream_tls_library **library);

/* The certificates of a bundle (PEM). RESULT_BAD: none, or one that cannot
 * be read. Shared by contexts. */
struct upstream_tls_trust; /* opaque */
enum result upstream_tls_trust_new(
    const char *pem, size_t len, struct upstream_tls_trust **trust_r);
void upstream_tls_trust_free(struct upstream_tls_trust **trust);

/* What all connections to one provider share. host is the name the
 * certificate must be for; literal (family 0: none) the address instead. */
struct upstream_tls_context; /* opaque */
enum result upstream_tls_context_new(const struct upstream_tls_library *library,
    const struct upstream_tls_trust *trust, const char *host,
    const struct ip_addr *literal, struct upstream_tls_context **context_r);
void upstream_tls_context_free(struct upstream_tls_context **context);

/* One connection; wire is borrowed and outlives it. */
struct upstream_tls; /* opaque */
enum result upstream_tls_new(struct upstream_tls_context *context,
    struct upstream_wire *wire, struct upstream_tls **tls_r);
/* Says goodbye if it can be said at once. */
void upstream_tls_free(struct upstream_tls **tls);

/* RESULT_NEED_MORE, RESULT_OK, RESULT_CLOSED (the other side left), or
 * RESULT_BAD: why_r has a sentence without a foreign byte. */
enum result upstream_tls_handshake(
    struct upstream_tls *tls, char why_r[UPSTREAM_TLS_WHY_MAX]);
/* RESULT_EOF only after the other side's close_notify; without one it is
 * RESULT_CLOSED: what came may have been cut. */
enum result upstream_tls_read(
    struct upstream_tls *tls, void *bytes, size_t size, size_t *len_r);
/* All of it; RESULT_CLOSED otherwise. */
enum result upstream_tls_write(
    struct upstream_tls *tls, const void *bytes, size_t len);
/* Bytes came that were not read yet, decrypted or not. */
bool upstream_tls_has_more(const struct upstream_tls *tls);
bool upstream_tls_is_resumed(const struct upstream_tls *tls);

#endif
