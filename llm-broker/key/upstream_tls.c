/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OpenSSL, held in one file. Called by upstream.c and at start. Must never
 * accept a certificate for another name, less than TLS 1.2, or another
 * protocol; never read a file.
 */
#include "llm-broker/key/upstream_tls.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define UPSTREAM_TLS_CIPHERS "ECDHE+AESGCM:ECDHE+CHACHA20:!aNULL:!PSK:!SRP:!DSS"
#define UPSTREAM_TLS_READ_AHEAD 32768U /* bytes asked of the kernel at once */
/* Reads of the wire that brought no byte of a response, but tickets, key
 * updates: a provider that goes on so keeps us busy for nothing. */
#define UPSTREAM_TLS_SILENT_MAX 8U
#define UPSTREAM_TLS_SESSION_S 3600L /* a session is not used for longer */

struct upstream_tls_library {
	BIO_METHOD *method; /* onto a struct upstream_wire */
};

struct upstream_tls_trust {
	X509_STORE *store;
};

struct upstream_tls_context {
	const struct upstream_tls_library *library;
	SSL_CTX *ctx;
	char *host; /* for SNI; NULL for a literal */
	SSL_SESSION *sessions[UPSTREAM_TLS_SESSIONS_MAX]; /* oldest first */
	size_t session_count;
};

struct upstream_tls {
	SSL *ssl;
	struct upstream_wire *wire;
	struct upstream_tls_context *context;
	unsigned silent; /* reads since the last byte of a response */
	bool is_dead;    /* OpenSSL found a fault: nothing more is said */
};

static int
upstream_tls_bio_write(BIO *bio, const char *bytes, int len)
{
	BIO_clear_retry_flags(bio);
	if (len <= 0 || upstream_wire_send(
			    BIO_get_data(bio), bytes, (size_t)len) != RESULT_OK)
		return -1;
	return len;
}

static int
upstream_tls_bio_read(BIO *bio, char *bytes, int size)
{
	size_t len = 0;
	enum result result;

	BIO_clear_retry_flags(bio);
	if (size <= 0)
		return 0;
	result =
	    upstream_wire_receive(BIO_get_data(bio), bytes, (size_t)size, &len);
	if (result == RESULT_OK)
		return (int)len;
	if (result == RESULT_NEED_MORE)
		BIO_set_retry_read(bio);
	return result == RESULT_EOF ? 0 : -1;
}

static long
upstream_tls_bio_ctrl(BIO *bio, int command, long number, void *pointer)
{
	const struct upstream_wire *wire = BIO_get_data(bio);

	(void)number;
	(void)pointer;
	if (command == BIO_CTRL_FLUSH)
		return 1;
	if (command == BIO_CTRL_EOF)
		return wire->is_ended;
	return 0;
}

static bool
upstream_tls_make_method(struct upstream_tls_library *library)
{
	int type = BIO_get_new_index();

	if (type >= 0)
		library->method =
		    BIO_meth_new(type | BIO_TYPE_SOURCE_SINK, "wire");
	return library->method != NULL &&
	       BIO_meth_set_write(library->method, upstream_tls_bio_write) ==
		   1 &&
	       BIO_meth_set_read(library->method, upstream_tls_bio_read) == 1 &&
	       BIO_meth_set_ctrl(library->method, upstream_tls_bio_ctrl) == 1;
}

enum result
upstream_tls_library_new(struct upstream_tls_library **library_r)
{
	struct upstream_tls_library *library = calloc(1, sizeof(*library));
	uint8_t drawn[32];

	*library_r = NULL;
	if (library == NULL)
		return RESULT_NO_MEMORY;
	if (OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG |
				 OPENSSL_INIT_LOAD_SSL_STRINGS |
				 OPENSSL_INIT_LOAD_CRYPTO_STRINGS,
		NULL) != 1 ||
	    RAND_bytes(drawn, sizeof(drawn)) != 1 ||
	    RAND_priv_bytes(drawn, sizeof(drawn)) != 1 ||
	    !upstream_tls_make_method(library)) {
		upstream_tls_library_free(&library);
		return RESULT_INTERNAL;
	}
	OPENSSL_cleanse(drawn, sizeof(drawn));
	*library_r = library;
	return RESULT_OK;
}

void
upstream_tls_library_free(struct upstream_tls_library **library)
{
	if (*library == NULL)
		return;
	BIO_meth_free((*library)->method);
	free(*library);
	*library = NULL;
}

/* --- trust --- */

static enum result
upstream_tls_trust_fill(X509_STORE *store, BIO *pem)
{
	size_t count = 0;
	X509 *certificate;
	bool ok = true;

	while (ok && (certificate = PEM_read_bio_X509(pem, NULL, NULL, NULL)) !=
			 NULL) {
		ok = X509_STORE_add_cert(store, certificate) == 1;
		X509_free(certificate);
		count++;
	}
	/* The end of the bundle is the one fault there may be. */
	if (ok && ERR_GET_REASON(ERR_peek_last_error()) != PEM_R_NO_START_LINE)
		ok = false;
	ERR_clear_error();
	return ok && count > 0 ? RESULT_OK : RESULT_BAD;
}

enum result
upstream_tls_trust_new(
    const char *pem, size_t len, struct upstream_tls_trust **trust_r)
{
	struct upstream_tls_trust *trust = calloc(1, sizeof(*trust));
	BIO *bio = len <= INT_MAX ? BIO_new_mem_buf(pem, (int)len) : NULL;
	enum result result = RESULT_NO_MEMORY;

	*trust_r = NULL;
	ERR_clear_error();
	if (trust != NULL)
		trust->store = X509_STORE_new();
	if (trust != NULL && trust->store != NULL && bio != NULL)
		result = upstream_tls_trust_fill(trust->store, bio);
	BIO_free(bio);
	if (result == RESULT_OK)
		*trust_r = trust;
	else
		upstream_tls_trust_free(&trust);
	return result;
}

void
upstream_tls_trust_free(struct upstream_tls_trust **trust)
{
	if (*trust == NULL)
		return;
	X509_STORE_free((*trust)->store);
	free(*trust);
	*trust = NULL;
}

/* --- context --- */

static void
upstream_tls_forget_oldest(struct upstream_tls_context *context)
{
	SSL_SESSION_free(context->sessions[0]);
	context->session_count--;
	memmove(&context->sessions[0], &context->sessions[1],
	    context->session_count * sizeof(context->sessions[0]));
}

/* The other side gave a session; 1 keeps it. */
static int
upstream_tls_on_session(SSL *ssl, SSL_SESSION *session)
{
	struct upstream_tls_context *context =
	    SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl));

	if (SSL_SESSION_is_resumable(session) != 1)
		return 0;
	if (context->session_count == UPSTREAM_TLS_SESSIONS_MAX)
		upstream_tls_forget_oldest(context);
	context->sessions[context->session_count++] = session;
	return 1;
}

/* Who the certificate must be for. */
static bool
upstream_tls_set_peer(
    SSL_CTX *ctx, const char *host, const struct ip_addr *literal)
{
	X509_VERIFY_PARAM *param = SSL_CTX_get0_param(ctx);
	size_t len = literal->family == 4 ? 4 : 16;

	X509_VERIFY_PARAM_set_hostflags(
	    param, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS |
		       X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
	SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
	if (literal->family != 0)
		return X509_VERIFY_PARAM_set1_ip(param, literal->bytes, len) ==
		       1;
	return X509_VERIFY_PARAM_set1_host(param, host, strlen(host)) == 1;
}

static bool
upstream_tls_set_protocol(SSL_CTX *ctx)
{
	static const unsigned char alpn[] = "\x08http/1.1";

	/* What was read is overwritten: a provider may say a key. */
	SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION |
				     SSL_OP_NO_COMPRESSION |
				     SSL_OP_CLEANSE_PLAINTEXT);
	SSL_CTX_set_mode(ctx,
	    SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	/* Else one read goes on for as long as such records come. */
	SSL_CTX_clear_mode(ctx, SSL_MODE_AUTO_RETRY);
	SSL_CTX_set_read_ahead(ctx, 1);
	SSL_CTX_set_default_read_buffer_len(ctx, UPSTREAM_TLS_READ_AHEAD);
	SSL_CTX_set_security_level(ctx, 2);
	return SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION) == 1 &&
	       SSL_CTX_set_cipher_list(ctx, UPSTREAM_TLS_CIPHERS) == 1 &&
	       SSL_CTX_set_alpn_protos(ctx, alpn, sizeof(alpn) - 1) == 0;
}

static void
upstream_tls_set_sessions(struct upstream_tls_context *context)
{
	SSL_CTX_set_app_data(context->ctx, context);
	SSL_CTX_set_session_cache_mode(
	    context->ctx, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
	SSL_CTX_sess_set_new_cb(context->ctx, upstream_tls_on_session);
	SSL_CTX_set_timeout(context->ctx, UPSTREAM_TLS_SESSION_S);
}

enum result
upstream_tls_context_new(const struct upstream_tls_library *library,
    const struct upstream_tls_trust *trust, const char *host,
    const struct ip_addr *literal, struct upstream_tls_context **context_r)
{
	struct upstream_tls_context *context = calloc(1, sizeof(*context));

	*context_r = NULL;
	if (context == NULL)
		return RESULT_NO_MEMORY;
	context->library = library;
	context->ctx = SSL_CTX_new(TLS_client_method());
	if (literal->family == 0)
		context->host = strdup(host); /* no name for a literal */
	if (context->ctx == NULL ||
	    (literal->family == 0 && context->host == NULL) ||
	    !upstream_tls_set_protocol(context->ctx) ||
	    !upstream_tls_set_peer(context->ctx, host, literal)) {
		upstream_tls_context_free(&context);
		return RESULT_NO_MEMORY;
	}
	SSL_CTX_set1_cert_store(context->ctx, trust->store);
	upstream_tls_set_sessions(context);
	*context_r = context;
	return RESULT_OK;
}

void
upstream_tls_context_free(struct upstream_tls_context **context)
{
	if (*context == NULL)
		return;
	while ((*context)->session_count > 0)
		upstream_tls_forget_oldest(*context);
	SSL_CTX_free((*context)->ctx);
	free((*context)->host);
	free(*context);
	*context = NULL;
}

/* --- connection --- */

/* The newest session. A ticket of TLS 1.3 is used once (RFC 8446 C.4); the
 * chain of an old one was checked too long ago. */
static void
upstream_tls_resume(struct upstream_tls_context *context, SSL *ssl)
{
	long oldest = (long)time(NULL) - UPSTREAM_TLS_SESSION_S;
	SSL_SESSION *session;

	while (context->session_count > 0 &&
	       SSL_SESSION_get_time(context->sessions[0]) < oldest)
		upstream_tls_forget_oldest(context);
	if (context->session_count == 0)
		return;
	session = context->sessions[context->session_count - 1];
	(void)SSL_set_session(ssl, session); /* else a full handshake */
	if (SSL_SESSION_get_protocol_version(session) < TLS1_3_VERSION)
		return;
	context->session_count--;
	SSL_SESSION_free(session);
}

enum result
upstream_tls_new(struct upstream_tls_context *context,
    struct upstream_wire *wire, struct upstream_tls **tls_r)
{
	struct upstream_tls *tls = calloc(1, sizeof(*tls));
	BIO *bio = BIO_new(context->library->method);

	*tls_r = NULL;
	if (tls != NULL)
		tls->ssl = SSL_new(context->ctx);
	if (tls == NULL || bio == NULL || tls->ssl == NULL ||
	    (context->host != NULL &&
		SSL_set_tlsext_host_name(tls->ssl, context->host) != 1)) {
		BIO_free(bio);
		upstream_tls_free(&tls);
		return RESULT_NO_MEMORY;
	}
	tls->wire = wire;
	tls->context = context;
	BIO_set_data(bio, wire);
	BIO_set_init(bio, 1);
	SSL_set_bio(tls->ssl, bio, bio);
	SSL_set_connect_state(tls->ssl);
	upstream_tls_resume(context, tls->ssl);
	*tls_r = tls;
	return RESULT_OK;
}

void
upstream_tls_free(struct upstream_tls **tls)
{
	if (*tls == NULL)
		return;
	if ((*tls)->ssl != NULL) {
		if (!(*tls)->is_dead && SSL_is_init_finished((*tls)->ssl))
			(void)SSL_shutdown((*tls)->ssl); /* one way is enough */
		SSL_free((*tls)->ssl);
	}
	ERR_clear_error();
	free(*tls);
	*tls = NULL;
}

/* What OpenSSL says of a call that gave ret. */
static enum result
upstream_tls_result(struct upstream_tls *tls, int ret)
{
	switch (SSL_get_error(tls->ssl, ret)) {
	case SSL_ERROR_NONE:
		return RESULT_OK;
	case SSL_ERROR_WANT_READ:
	case SSL_ERROR_WANT_WRITE:
		return RESULT_NEED_MORE;
	case SSL_ERROR_ZERO_RETURN:
		return RESULT_EOF;
	case SSL_ERROR_SYSCALL:
		tls->is_dead = true;
		return RESULT_CLOSED;
	default:
		tls->is_dead = true;
		return RESULT_BAD;
	}
}

/* Fixed texts of OpenSSL's; none quotes what came. */
static void
upstream_tls_why(struct upstream_tls *tls, char why_r[UPSTREAM_TLS_WHY_MAX])
{
	long verified = SSL_get_verify_result(tls->ssl);
	const char *reason = ERR_reason_error_string(ERR_peek_last_error());

	if (verified != X509_V_OK)
		reason = X509_verify_cert_error_string(verified);
	(void)snprintf(why_r, UPSTREAM_TLS_WHY_MAX, "%s",
	    reason != NULL ? reason : "the handshake failed");
}

/* No protocol, or the one that was offered. */
static bool
upstream_tls_protocol_fits(const SSL *ssl)
{
	const unsigned char *chosen = NULL;
	unsigned len = 0;

	SSL_get0_alpn_selected(ssl, &chosen, &len);
	return len == 0 || (len == 8 && memcmp(chosen, "http/1.1", 8) == 0);
}

enum result
upstream_tls_handshake(
    struct upstream_tls *tls, char why_r[UPSTREAM_TLS_WHY_MAX])
{
	enum result result;
	int ret;

	why_r[0] = '\0';
	ERR_clear_error();
	ret = SSL_do_handshake(tls->ssl);
	if (ret != 1) {
		result = upstream_tls_result(tls, ret);
		if (result == RESULT_BAD && !tls->wire->is_ended)
			upstream_tls_why(tls, why_r);
		else if (result != RESULT_NEED_MORE)
			result = RESULT_CLOSED;
		ERR_clear_error();
		/* Many may wait at one time: without the 16 KiB they wrote
		 * from. */
		if (result == RESULT_NEED_MORE)
			(void)SSL_free_buffers(tls->ssl); /* 0: in use */
		return result;
	}
	if (SSL_get_verify_result(tls->ssl) == X509_V_OK &&
	    upstream_tls_protocol_fits(tls->ssl))
		return RESULT_OK;
	(void)snprintf(why_r, UPSTREAM_TLS_WHY_MAX, "%s",
	    "another protocol than http/1.1 was chosen");
	return RESULT_BAD;
}

/* Of one read of the wire. RESULT_NEED_MORE, and the wire not dry: there was
 * nothing of a response in it. */
static enum result
upstream_tls_read_one(
    struct upstream_tls *tls, void *bytes, size_t size, size_t *len_r)
{
	enum result result;
	int ret;

	ERR_clear_error();
	ret = SSL_read_ex(tls->ssl, bytes, size, len_r);
	if (ret == 1)
		return RESULT_OK;
	result = upstream_tls_result(tls, ret);
	if (result == RESULT_NEED_MORE)
		return result; /* which is no fault, so there is no text */
	ERR_clear_error();
	return result == RESULT_EOF ? result : RESULT_CLOSED;
}

enum result
upstream_tls_read(
    struct upstream_tls *tls, void *bytes, size_t size, size_t *len_r)
{
	enum result result = RESULT_NEED_MORE;

	*len_r = 0;
	/* Nothing came, and nothing was kept: OpenSSL need not be asked. */
	if (!tls->is_dead && tls->wire->is_drained &&
	    SSL_has_pending(tls->ssl) == 0)
		return RESULT_NEED_MORE;
	while (!tls->is_dead && tls->silent <= UPSTREAM_TLS_SILENT_MAX) {
		result = upstream_tls_read_one(tls, bytes, size, len_r);
		if (result != RESULT_NEED_MORE || tls->wire->is_dry)
			break;
		tls->silent++;
	}
	if (tls->is_dead || tls->silent > UPSTREAM_TLS_SILENT_MAX) {
		tls->is_dead = true;
		return RESULT_CLOSED;
	}
	if (result == RESULT_OK)
		tls->silent = 0;
	/* SSL_MODE_RELEASE_BUFFERS lets go of what was read into, but not of
	 * the 16 KiB that were written from (see upstream_tls_write), and a
	 * ticket brings them back. */
	if (result == RESULT_NEED_MORE)
		(void)SSL_free_buffers(tls->ssl); /* 0: they are in use */
	return result;
}

enum result
upstream_tls_write(struct upstream_tls *tls, const void *bytes, size_t len)
{
	size_t written = 0;

	if (tls->is_dead)
		return RESULT_CLOSED;
	ERR_clear_error();
	if (SSL_write_ex(tls->ssl, bytes, len, &written) == 1 &&
	    written == len) {
		(void)SSL_free_buffers(tls->ssl);
		return RESULT_OK;
	}
	ERR_clear_error();
	tls->is_dead = true;
	return RESULT_CLOSED;
}

bool
upstream_tls_has_more(const struct upstream_tls *tls)
{
	return SSL_has_pending(tls->ssl) == 1;
}

bool
upstream_tls_is_resumed(const struct upstream_tls *tls)
{
	return SSL_session_reused(tls->ssl) == 1;
}
