/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads and writes private keys; see signing_key.h. It must never leave a
 * byte of one in memory that is not locked, nor in a file others can read.
 */
#include "supervisor/policy/signing_key.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "supervisor/policy/ed25519.h"

#define SIGNING_KEY_BEGIN "-----BEGIN PRIVATE KEY-----\n"
#define SIGNING_KEY_END "\n-----END PRIVATE KEY-----\n"
#define SIGNING_KEY_BASE64 64U
#define SIGNING_KEY_DER 48U
#define SIGNING_KEY_PEM                                       \
	(sizeof(SIGNING_KEY_BEGIN) - 1 + SIGNING_KEY_BASE64 + \
	    sizeof(SIGNING_KEY_END) - 1)

/* SEQUENCE { 0, { 1.3.101.112 }, OCTET STRING { OCTET STRING, 32 bytes } } */
static const uint8_t signing_key_head[SIGNING_KEY_DER - ED25519_KEY] = {0x30,
    0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04,
    0x22, 0x04, 0x20};

/* The base64 inside, or NULL; the line feed at the end may be missing. */
static const uint8_t *
signing_key_body(const struct secret *pem)
{
	const size_t head = sizeof(SIGNING_KEY_BEGIN) - 1;
	const size_t tail = sizeof(SIGNING_KEY_END) - 1;
	const uint8_t *bytes = secret_bytes_borrow(pem);
	size_t len = secret_len(pem);

	if ((len != SIGNING_KEY_PEM && len != SIGNING_KEY_PEM - 1) ||
	    memcmp(bytes, SIGNING_KEY_BEGIN, head) != 0 ||
	    memcmp(bytes + head + SIGNING_KEY_BASE64, SIGNING_KEY_END,
		len == SIGNING_KEY_PEM ? tail : tail - 1) != 0)
		return NULL;
	return bytes + head;
}

static enum result
signing_key_decode(const struct secret *pem, struct secret **key_r)
{
	const uint8_t *body = signing_key_body(pem);
	struct secret *der = NULL;
	enum result result = RESULT_BAD;

	if (body == NULL)
		return RESULT_BAD;
	result = secret_new(SIGNING_KEY_DER + 1, &der);
	if (result != RESULT_OK)
		return result;
	if (EVP_DecodeBlock(secret_resize(der, SIGNING_KEY_DER), body,
		(int)SIGNING_KEY_BASE64) != (int)SIGNING_KEY_DER ||
	    memcmp(secret_bytes_borrow(der), signing_key_head,
		sizeof(signing_key_head)) != 0)
		result = RESULT_BAD;
	else
		result = secret_new(ED25519_KEY, key_r);
	if (result == RESULT_OK)
		result = secret_set(*key_r,
		    secret_bytes_borrow(der) + sizeof(signing_key_head),
		    ED25519_KEY);
	secret_free(&der);
	return result;
}

enum result
signing_key_read(int fd, struct secret **key_r, struct json_fault *fault)
{
	struct secret *pem = NULL;
	enum result result = secret_new(4096, &pem);

	*key_r = NULL;
	if (result == RESULT_OK)
		result = secret_read_fd(pem, fd);
	if (result == RESULT_OK)
		result = signing_key_decode(pem, key_r);
	secret_free(&pem);
	if (result == RESULT_OK)
		return RESULT_OK;
	json_field_fault(
	    fault, result == RESULT_UNSUPPORTED
		       ? "memory for a key cannot be locked (RLIMIT_MEMLOCK)"
		       : "must be a PEM file with one Ed25519 private key, as "
			 "'agentnode trust keygen' makes");
	return result;
}

static const char *
signing_key_wrong(int fd)
{
	struct stat status;

	if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))
		return "must be a regular file";
	if (status.st_uid != geteuid())
		return "must belong to you";
	if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0)
		return "others may read or write it; 'chmod 600' it (and if "
		       "they did, make a new key)";
	return NULL;
}

enum result
signing_key_load(
    const char *path, struct secret **key_r, struct json_fault *fault)
{
	FD_CLEANUP int fd = open(
	    path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct json_fault inner = {""};
	enum result result = RESULT_BAD;
	const char *wrong;

	*key_r = NULL;
	if (fd < 0) {
		json_field_fault(fault, "%.120s: %s", path,
		    errno == ELOOP ? "must not be a link" : strerror(errno));
		return errno == ENOENT ? RESULT_NOT_FOUND : RESULT_BAD;
	}
	wrong = signing_key_wrong(fd);
	if (wrong != NULL)
		json_field_fault(&inner, "%s", wrong);
	else
		result = signing_key_read(fd, key_r, &inner);
	if (result != RESULT_OK)
		json_field_fault(fault, "%.120s: %s", path, inner.text);
	return result;
}

/* The PEM text of a key. */
static enum result
signing_key_encode(const struct secret *key, struct secret **pem_r)
{
	const size_t head = sizeof(SIGNING_KEY_BEGIN) - 1;
	struct secret *der = NULL;
	enum result result = secret_new(SIGNING_KEY_DER, &der);
	uint8_t *bytes;

	*pem_r = NULL;
	if (result == RESULT_OK)
		result = secret_new(SIGNING_KEY_PEM + 1, pem_r);
	if (result == RESULT_OK) {
		bytes = secret_resize(der, SIGNING_KEY_DER);
		memcpy(bytes, signing_key_head, sizeof(signing_key_head));
		memcpy(bytes + sizeof(signing_key_head),
		    secret_bytes_borrow(key), ED25519_KEY);
		bytes = secret_resize(*pem_r, SIGNING_KEY_PEM + 1);
		memcpy(bytes, SIGNING_KEY_BEGIN, head);
		(void)EVP_EncodeBlock(bytes + head, secret_bytes_borrow(der),
		    (int)SIGNING_KEY_DER);
		memcpy(bytes + head + SIGNING_KEY_BASE64, SIGNING_KEY_END,
		    sizeof(SIGNING_KEY_END));
		(void)secret_resize(*pem_r, SIGNING_KEY_PEM);
	}
	secret_free(&der);
	return result;
}

enum result
signing_key_store(
    const char *path, const struct secret *key, struct json_fault *fault)
{
	struct secret *pem = NULL;
	enum result result = signing_key_encode(key, &pem);
	FD_CLEANUP int fd = -1;

	if (result == RESULT_OK)
		fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (result == RESULT_OK && fd < 0) {
		json_field_fault(fault, "%.120s: %s", path, strerror(errno));
		result = errno == EEXIST ? RESULT_EXISTS : RESULT_BAD;
	} else if (result == RESULT_OK &&
		   (fd_write_all(fd, secret_bytes_borrow(pem),
			secret_len(pem)) != RESULT_OK ||
		       fchmod(fd, 0600) != 0 || fsync(fd) != 0)) {
		json_field_fault(fault, "%.120s: %s", path, strerror(errno));
		(void)unlink(path);
		result = RESULT_SYSTEM;
	}
	secret_free(&pem);
	return result;
}
