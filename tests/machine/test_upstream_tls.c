/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TLS to a provider, both ends in one process over a real socket: what a
 * hostile server may do after a good handshake, a socket that takes nothing,
 * ends in order and not, and another protocol than the offered one.
 */
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/fd.h"
#include "llm-broker/key/upstream_tls.h"

#define HOST "api.example.test"

/* A certificate for HOST that signs itself, and its key. */
struct test_upstream_tls_identity {
	EVP_PKEY *key;
	X509 *certificate;
};

/* Both ends of one connection, and what they are made of. */
struct test_upstream_tls_pair {
	struct test_upstream_tls_identity identity;
	struct upstream_tls_library *library;
	struct upstream_tls_trust *trust;
	struct upstream_tls_context *context;
	struct upstream_wire wire;
	struct upstream_tls *client;
	SSL_CTX *server_ctx;
	SSL *server;
	int server_fd;
};

static void
test_upstream_tls_extension(X509 *certificate, int id, const char *value)
{
	X509V3_CTX context;
	X509_EXTENSION *extension;

	X509V3_set_ctx(&context, certificate, certificate, NULL, NULL, 0);
	extension = X509V3_EXT_conf_nid(NULL, &context, id, value);
	assert_non_null(extension);
	assert_int_equal(X509_add_ext(certificate, extension, -1), 1);
	X509_EXTENSION_free(extension);
}

static void
test_upstream_tls_identify(struct test_upstream_tls_identity *identity)
{
	X509 *certificate = X509_new();
	X509_NAME *name = X509_get_subject_name(certificate);

	identity->key = EVP_EC_gen("P-256");
	identity->certificate = certificate;
	X509_set_version(certificate, 2);
	ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
	X509_gmtime_adj(X509_getm_notBefore(certificate), -60);
	X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
	X509_NAME_add_entry_by_txt(
	    name, "CN", MBSTRING_ASC, (const unsigned char *)"test", -1, -1, 0);
	X509_set_issuer_name(certificate, name);
	X509_set_pubkey(certificate, identity->key);
	test_upstream_tls_extension(
	    certificate, NID_subject_alt_name, "DNS:" HOST);
	test_upstream_tls_extension(
	    certificate, NID_basic_constraints, "critical,CA:TRUE");
	assert_true(X509_sign(certificate, identity->key, EVP_sha256()) > 0);
}

static void
test_upstream_tls_client(struct test_upstream_tls_pair *pair)
{
	const struct ip_addr none = {0, {0}};
	BIO *pem = BIO_new(BIO_s_mem());
	char *text = NULL;
	long len;

	assert_int_equal(
	    PEM_write_bio_X509(pem, pair->identity.certificate), 1);
	len = BIO_get_mem_data(pem, &text);
	assert_int_equal(upstream_tls_library_new(&pair->library), RESULT_OK);
	assert_int_equal(
	    upstream_tls_trust_new(text, (size_t)len, &pair->trust), RESULT_OK);
	BIO_free(pem);
	assert_int_equal(upstream_tls_context_new(pair->library, pair->trust,
			     HOST, &none, &pair->context),
	    RESULT_OK);
	assert_int_equal(
	    upstream_tls_new(pair->context, &pair->wire, &pair->client),
	    RESULT_OK);
}

static void
test_upstream_tls_make(struct test_upstream_tls_pair *pair, int version)
{
	int fds[2];

	memset(pair, 0, sizeof(*pair));
	test_upstream_tls_identify(&pair->identity);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	fd_set_nonblocking(fds[0], true);
	fd_set_nonblocking(fds[1], true);
	upstream_wire_init(&pair->wire, fds[0]);
	pair->server_fd = fds[1];
	test_upstream_tls_client(pair);
	pair->server_ctx = SSL_CTX_new(TLS_server_method());
	SSL_CTX_use_certificate(pair->server_ctx, pair->identity.certificate);
	SSL_CTX_use_PrivateKey(pair->server_ctx, pair->identity.key);
	SSL_CTX_set_max_proto_version(pair->server_ctx, version);
	pair->server = SSL_new(pair->server_ctx);
	SSL_set_fd(pair->server, fds[1]);
	SSL_set_accept_state(pair->server);
}

static void
test_upstream_tls_unmake(struct test_upstream_tls_pair *pair)
{
	upstream_tls_free(&pair->client);
	upstream_wire_close(&pair->wire);
	upstream_tls_context_free(&pair->context);
	upstream_tls_trust_free(&pair->trust);
	upstream_tls_library_free(&pair->library);
	SSL_free(pair->server);
	SSL_CTX_free(pair->server_ctx);
	fd_close(&pair->server_fd);
	X509_free(pair->identity.certificate);
	EVP_PKEY_free(pair->identity.key);
}

/* Both sides in turn; the client's result. */
static enum result
test_upstream_tls_shake(struct test_upstream_tls_pair *pair, char *why)
{
	enum result result = RESULT_NEED_MORE;

	for (unsigned i = 0; i < 10 && result == RESULT_NEED_MORE; i++) {
		upstream_wire_note(&pair->wire, false);
		result = upstream_tls_handshake(pair->client, why);
		(void)SSL_do_handshake(pair->server);
	}
	return result;
}

static void
test_upstream_tls_connect(struct test_upstream_tls_pair *pair, int version)
{
	char why[UPSTREAM_TLS_WHY_MAX];

	test_upstream_tls_make(pair, version);
	assert_int_equal(test_upstream_tls_shake(pair, why), RESULT_OK);
	(void)SSL_do_handshake(pair->server);
}

static enum result
test_upstream_tls_read(
    struct test_upstream_tls_pair *pair, char *bytes, size_t size, size_t *len)
{
	upstream_wire_note(&pair->wire, false);
	return upstream_tls_read(pair->client, bytes, size, len);
}

static void
test_upstream_tls_passes(void **state)
{
	static const int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};
	struct test_upstream_tls_pair pair;
	char bytes[64];
	size_t len;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		test_upstream_tls_connect(&pair, versions[i]);
		assert_int_equal(SSL_version(pair.server), versions[i]);
		assert_string_equal(
		    SSL_get_servername(pair.server, TLSEXT_NAMETYPE_host_name),
		    HOST);
		assert_int_equal(
		    upstream_tls_write(pair.client, "request", 7), RESULT_OK);
		assert_int_equal(SSL_read(pair.server, bytes, 64), 7);
		assert_int_equal(test_upstream_tls_read(&pair, bytes, 64, &len),
		    RESULT_NEED_MORE);
		assert_int_equal(SSL_write(pair.server, "response", 8), 8);
		assert_int_equal(
		    test_upstream_tls_read(&pair, bytes, 64, &len), RESULT_OK);
		assert_int_equal(len, 8);
		assert_memory_equal(bytes, "response", 8);
		test_upstream_tls_unmake(&pair);
	}
}

/* In order is only what says so. */
static void
test_upstream_tls_ends(void **state)
{
	struct test_upstream_tls_pair pair;
	char bytes[64];
	size_t len;

	(void)state;
	test_upstream_tls_connect(&pair, TLS1_3_VERSION);
	SSL_write(pair.server, "bye", 3);
	SSL_shutdown(pair.server);
	fd_close(&pair.server_fd);
	assert_int_equal(
	    test_upstream_tls_read(&pair, bytes, 64, &len), RESULT_OK);
	assert_int_equal(
	    test_upstream_tls_read(&pair, bytes, 64, &len), RESULT_EOF);
	test_upstream_tls_unmake(&pair);
	test_upstream_tls_connect(&pair, TLS1_3_VERSION);
	SSL_write(pair.server, "bye", 3);
	fd_close(&pair.server_fd);
	assert_int_equal(
	    test_upstream_tls_read(&pair, bytes, 64, &len), RESULT_OK);
	assert_int_equal(
	    test_upstream_tls_read(&pair, bytes, 64, &len), RESULT_CLOSED);
	assert_int_equal(
	    upstream_tls_write(pair.client, "more", 4), RESULT_CLOSED);
	test_upstream_tls_unmake(&pair);
}

/* A change of a byte on the way is the end. */
static void
test_upstream_tls_forged(void **state)
{
	struct test_upstream_tls_pair pair;
	char bytes[64] = "\x17\x03\x03\x00\x14";
	size_t len;

	(void)state;
	test_upstream_tls_connect(&pair, TLS1_3_VERSION);
	memset(bytes + 5, 'x', 20);
	assert_int_equal(send(pair.server_fd, bytes, 25, 0), 25);
	assert_int_equal(
	    test_upstream_tls_read(&pair, bytes, 64, &len), RESULT_CLOSED);
	test_upstream_tls_unmake(&pair);
}

static void
test_upstream_tls_ticket(struct test_upstream_tls_pair *pair)
{
	char byte;

	assert_int_equal(SSL_new_session_ticket(pair->server), 1);
	assert_int_equal(SSL_do_handshake(pair->server), 1);
	(void)SSL_read(pair->server, &byte, 1);
}

static void
test_upstream_tls_key_update(struct test_upstream_tls_pair *pair)
{
	assert_int_equal(
	    SSL_key_update(pair->server, SSL_KEY_UPDATE_REQUESTED), 1);
	assert_int_equal(SSL_do_handshake(pair->server), 1);
}

/* Some records that are none of a response are usual; nothing but them, one
 * after the other or all at once, is the end. */
static void
test_upstream_tls_silence(void (*say)(struct test_upstream_tls_pair *pair))
{
	struct test_upstream_tls_pair pair;
	char bytes[64];
	size_t len;
	unsigned reads = 0;

	test_upstream_tls_connect(&pair, TLS1_3_VERSION);
	for (unsigned i = 0; i < 100; i++) {
		say(&pair);
		say(&pair);
		assert_int_equal(SSL_write(pair.server, "x", 1), 1);
		assert_int_equal(
		    test_upstream_tls_read(&pair, bytes, 64, &len), RESULT_OK);
		(void)SSL_read(pair.server, bytes, 1);
	}
	do {
		say(&pair);
		assert_in_range(++reads, 1, 20);
	} while (
	    test_upstream_tls_read(&pair, bytes, 64, &len) == RESULT_NEED_MORE);
	assert_in_range(reads, 4, 20);
	assert_int_equal(
	    test_upstream_tls_read(&pair, bytes, 64, &len), RESULT_CLOSED);
	test_upstream_tls_unmake(&pair);
}

static void
i11_upstream_tls_silence(void **state)
{
	(void)state;
	test_upstream_tls_silence(test_upstream_tls_ticket);
	test_upstream_tls_silence(test_upstream_tls_key_update);
}

/* A socket that takes nothing: the write is taken whole, and goes later. */
static void
i11_upstream_tls_unsent(void **state)
{
	struct test_upstream_tls_pair pair;
	static char block[16384], got[16384];
	size_t written = 0, total = 0;
	int len;

	(void)state;
	test_upstream_tls_connect(&pair, TLS1_3_VERSION);
	while (pair.wire.unsent.len == 0) {
		memset(block, (int)('a' + written % 26), sizeof(block));
		assert_int_equal(
		    upstream_tls_write(pair.client, block, sizeof(block)),
		    RESULT_OK);
		written++;
	}
	assert_in_range(pair.wire.unsent.len, 1, sizeof(block) + 256);
	while (total < written * sizeof(block)) {
		len = SSL_read(pair.server, got, sizeof(got));
		if (len <= 0) {
			assert_int_not_equal(
			    upstream_wire_flush(&pair.wire), RESULT_CLOSED);
			continue;
		}
		for (int i = 0; i < len; i++)
			assert_int_equal(got[i],
			    'a' + (int)((total + (size_t)i) / sizeof(block)) %
				      26);
		total += (size_t)len;
	}
	assert_int_equal(pair.wire.unsent.len, 0);
	test_upstream_tls_unmake(&pair);
}

static int
test_upstream_tls_choose(SSL *ssl, const unsigned char **out,
    unsigned char *out_len, const unsigned char *in, unsigned in_len,
    void *context)
{
	static const unsigned char other[] = "h2";

	(void)ssl;
	(void)context;
	assert_int_equal(in_len, 9);
	assert_memory_equal(in, "\x08http/1.1", 9);
	*out = other;
	*out_len = 2;
	return SSL_TLSEXT_ERR_OK;
}

/* The server chooses what nobody offered. */
static void
test_upstream_tls_other_protocol(void **state)
{
	struct test_upstream_tls_pair pair;
	char why[UPSTREAM_TLS_WHY_MAX];

	(void)state;
	test_upstream_tls_make(&pair, TLS1_3_VERSION);
	SSL_CTX_set_alpn_select_cb(
	    pair.server_ctx, test_upstream_tls_choose, NULL);
	assert_int_equal(test_upstream_tls_shake(&pair, why), RESULT_BAD);
	assert_string_not_equal(why, "");
	test_upstream_tls_unmake(&pair);
}

/* TLS 1.2: the other side wants to begin anew. */
static void
test_upstream_tls_renegotiation(void **state)
{
	struct test_upstream_tls_pair pair;
	char bytes[64];
	size_t len;
	enum result result;
	uint64_t sent;

	(void)state;
	test_upstream_tls_connect(&pair, TLS1_2_VERSION);
	sent = pair.wire.sent;
	assert_int_equal(SSL_renegotiate(pair.server), 1);
	(void)SSL_do_handshake(pair.server);
	result = test_upstream_tls_read(&pair, bytes, 64, &len);
	assert_true(result == RESULT_NEED_MORE || result == RESULT_CLOSED);
	/* An alert at most, no ClientHello. */
	assert_in_range(pair.wire.sent - sent, 0, 64);
	test_upstream_tls_unmake(&pair);
}

static void
test_upstream_tls_bundles(void **state)
{
	static const char broken[] = "-----BEGIN CERTIFICATE-----\nnonsense\n"
				     "-----END CERTIFICATE-----\n";
	static const char *const bad[] = {"", "no PEM at all", broken};
	struct upstream_tls_trust *trust = NULL;

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(
		    upstream_tls_trust_new(bad[i], strlen(bad[i]), &trust),
		    RESULT_BAD);
		assert_null(trust);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_upstream_tls_passes),
	    cmocka_unit_test(test_upstream_tls_ends),
	    cmocka_unit_test(test_upstream_tls_forged),
	    cmocka_unit_test(i11_upstream_tls_silence),
	    cmocka_unit_test(i11_upstream_tls_unsent),
	    cmocka_unit_test(test_upstream_tls_other_protocol),
	    cmocka_unit_test(test_upstream_tls_renegotiation),
	    cmocka_unit_test(test_upstream_tls_bundles),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
