/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes keys and signs; see trust_sign.h. The private key is in locked
 * memory for the time of one signature; it must never be printed, logged or
 * written anywhere but into the file that keygen was told.
 */
#include "supervisor/command/command_option.h"
#include "supervisor/command/trust_sign.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/fd.h"
#include "supervisor/command/command.h"
#include "supervisor/package/registry_file.h"
#include "supervisor/package/slug.h"
#include "supervisor/policy/attestation.h"
#include "supervisor/policy/ed25519.h"
#include "supervisor/policy/signed_text.h"
#include "supervisor/policy/signing_key.h"
#include "supervisor/policy/trust_key.h"
#include "supervisor/policy/utc_time.h"

#define TRUST_SIGN_DAY 86400
#define TRUST_SIGN_PUBLIC_MAX 4096U

int
trust_sign_fault(const struct json_fault *fault)
{
	return command_error(COMMAND_USAGE, "%s", fault->text);
}

bool
trust_sign_times(int64_t days, char issued_r[24], char expires_r[24])
{
	time_t now = time(NULL);

	return utc_time_text(now, issued_r) &&
	       utc_time_text(now + days * TRUST_SIGN_DAY, expires_r);
}

bool
trust_sign_public(const char *text, char hex_r[65])
{
	FD_CLEANUP int fd = -1;
	char *bytes = NULL;
	size_t len = 0;
	bool good = false;

	if (trust_key_parse(text, hex_r))
		return true;
	fd = open(text, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd >= 0 &&
	    fd_read_all(fd, TRUST_SIGN_PUBLIC_MAX, &bytes, &len) == RESULT_OK) {
		while (len > 0 && strchr(" \r\n\t", bytes[len - 1]) != NULL)
			bytes[--len] = '\0';
		good = strlen(bytes) == len && trust_key_parse(bytes, hex_r);
	}
	free(bytes);
	return good;
}

/* FILE.pub, and only then FILE: a key without its public half is never
 * left. */
static enum result
trust_sign_store(const char *out, const struct secret *key,
    const char *public_key, struct json_fault *fault)
{
	char path[PATH_MAX], line[TRUST_KEY_HEX + 2];
	enum result result = RESULT_OK;
	FD_CLEANUP int fd = -1;
	int len = snprintf(path, sizeof(path), "%s.pub", out);

	(void)snprintf(line, sizeof(line), "%s\n", public_key);
	if (len > 0 && (size_t)len < sizeof(path))
		fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd < 0) {
		json_field_fault(fault, "%.120s.pub: %s", out, strerror(errno));
		return RESULT_BAD;
	}
	if (fd_write_all(fd, line, strlen(line)) != RESULT_OK ||
	    fsync(fd) != 0) {
		json_field_fault(fault, "%.120s.pub: %s", out, strerror(errno));
		result = RESULT_SYSTEM;
	}
	if (result == RESULT_OK)
		result = signing_key_store(out, key, fault);
	if (result != RESULT_OK)
		(void)unlink(path);
	return result;
}

int
trust_sign_keygen(int argc, char **argv)
{
	static const struct option known[] = {
	    {"out", required_argument, NULL, 'o'}, {NULL, 0, NULL, 0}};
	char public_key[2 * ED25519_KEY + 1] = "";
	struct json_fault fault = {""};
	struct secret *key = NULL;
	const char *out = NULL;
	enum result result;
	int option;

	while ((option = command_option_next(argc, argv, "", known)) == 'o')
		out = optarg;
	if (option != -1 || out == NULL || optind != argc)
		return command_option_fault("trust keygen");
	result = ed25519_prepare_signing();
	if (result == RESULT_OK)
		result = ed25519_generate(&key);
	if (result == RESULT_OK)
		result = ed25519_public(key, public_key);
	if (result == RESULT_OK)
		result = trust_sign_store(out, key, public_key, &fault);
	secret_free(&key);
	if (result != RESULT_OK)
		return command_error(COMMAND_NO, "no key was made: %s",
		    fault.text[0] != '\0' ? fault.text : result_text(result));
	puts(public_key);
	return COMMAND_DONE;
}

static bool
trust_sign_number(const char *text, int64_t max, int64_t *number_r)
{
	char *end = NULL;
	long long number;

	errno = 0;
	number = strtoll(text, &end, 10);
	if (errno != 0 || text[0] < '0' || text[0] > '9' || *end != '\0' ||
	    number < 1 || number > max)
		return false;
	*number_r = number;
	return true;
}

static const char **
trust_sign_text(struct trust_sign *sign, int option)
{
	switch (option) {
	case 'k':
		return &sign->key_file;
	case 's':
		return &sign->slug;
	case 'v':
		return &sign->version;
	case 't':
		return &sign->tier;
	case 'p':
		return &sign->publisher;
	case 'P':
		return &sign->publisher_key;
	case 'a':
		return &sign->add;
	case 'd':
		return &sign->drop;
	case 'f':
		return &sign->file;
	case 'A':
		return &sign->attestation;
	case 'S':
		return &sign->signatures;
	case 'o':
		return &sign->out;
	case 'r':
		return &sign->previous_key;
	case 'i':
		return &sign->kind;
	default:
		return NULL;
	}
}

static bool
trust_sign_option(struct trust_sign *sign, int option, const char *value)
{
	const char **text = trust_sign_text(sign, option);
	int64_t number = 0;

	if (text != NULL) {
		*text = value;
		return true;
	}
	if (option == 'l') {
		sign->keep_latest = true;
		return true;
	}
	if (option == 'D')
		return trust_sign_number(value, 1100, &sign->days);
	if (option == 'n')
		return trust_sign_number(
		    value, REGISTRY_INDEX_SERIAL_MAX, &sign->serial);
	if (option != 'K' || !trust_sign_number(value, 65535, &number))
		return false;
	sign->key_fd = (int)number;
	return fcntl(sign->key_fd, F_GETFD) >= 0;
}

static bool
trust_sign_options(struct trust_sign *sign, int argc, char **argv)
{
	static const struct option known[] = {
	    {"key", required_argument, NULL, 'k'},
	    {"key-fd", required_argument, NULL, 'K'},
	    {"slug", required_argument, NULL, 's'},
	    {"version", required_argument, NULL, 'v'},
	    {"tier", required_argument, NULL, 't'},
	    {"publisher", required_argument, NULL, 'p'},
	    {"publisher-key", required_argument, NULL, 'P'},
	    {"days", required_argument, NULL, 'D'},
	    {"serial", required_argument, NULL, 'n'},
	    {"add", required_argument, NULL, 'a'},
	    {"drop", required_argument, NULL, 'd'},
	    {"file", required_argument, NULL, 'f'},
	    {"kind", required_argument, NULL, 'i'},
	    {"attestation", required_argument, NULL, 'A'},
	    {"signatures", required_argument, NULL, 'S'},
	    {"previous-key", required_argument, NULL, 'r'},
	    {"keep-latest", no_argument, NULL, 'l'},
	    {"out", required_argument, NULL, 'o'}, {NULL, 0, NULL, 0}};
	int option;

	while ((option = command_option_next(argc, argv, "", known)) != -1)
		if (!trust_sign_option(sign, option, optarg))
			return false;
	return (sign->key_file != NULL) != (sign->key_fd >= 0);
}

static int
trust_sign_key(struct trust_sign *sign)
{
	struct json_fault fault = {""};
	enum result result = ed25519_prepare_signing();

	if (result == RESULT_OK)
		result =
		    sign->key_file != NULL
			? signing_key_load(sign->key_file, &sign->key, &fault)
			: signing_key_read(sign->key_fd, &sign->key, &fault);
	if (result == RESULT_OK)
		result = ed25519_public(sign->key, sign->public_key);
	if (result == RESULT_OK)
		return COMMAND_DONE;
	return command_error(COMMAND_CONFIG, "the signing key: %s",
	    fault.text[0] != '\0' ? fault.text : result_text(result));
}

/* On standard output, or into a new file; takes value. */
static int
trust_sign_print(const struct trust_sign *sign, json_t *value)
{
	int code = COMMAND_INTERNAL;

	if (value == NULL)
		return command_error(COMMAND_INTERNAL, "out of memory");
	if (sign->out == NULL)
		code = command_print_json(value);
	else if (json_dump_file(value, sign->out, JSON_INDENT(2)) == 0)
		code = COMMAND_DONE;
	else
		(void)command_error(
		    COMMAND_INTERNAL, "%.200s: cannot be written", sign->out);
	json_decref(value);
	return code;
}

/* Hash of the artifact that was named. */
static int
trust_sign_artifact_hash(
    const struct trust_sign *sign, char hash_r[ATTESTATION_HASH_LEN + 1])
{
	FD_CLEANUP int fd =
	    open(sign->target, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct json_fault fault = {""};
	int64_t size;

	if (fd < 0)
		return command_error(
		    COMMAND_USAGE, "%.200s: %s", sign->target, strerror(errno));
	if (registry_file_hash(fd, hash_r, &size, &fault) == REGISTRY_OK)
		return COMMAND_DONE;
	return command_error(
	    COMMAND_USAGE, "%.200s: %s", sign->target, fault.text);
}

static bool
trust_sign_is_named(const struct trust_sign *sign)
{
	return sign->slug != NULL && slug_is_valid(sign->slug) &&
	       sign->version != NULL && attestation_is_version(sign->version);
}

/* A publisher's signature, as `_signatures` of a lockfile entry has it. */
static int
trust_sign_artifact(struct trust_sign *sign)
{
	char hash[ATTESTATION_HASH_LEN + 1], mark[2 * ED25519_SIGNATURE + 1];
	int code = trust_sign_artifact_hash(sign, hash);
	enum result result;
	char *text = NULL;
	size_t len = 0;

	if (code != COMMAND_DONE)
		return code;
	result =
	    signed_text_artifact(sign->slug, sign->version, hash, &text, &len);
	if (result == RESULT_OK)
		result =
		    ed25519_sign(sign->key, ED25519_ARTIFACT, text, len, mark);
	free(text);
	if (result != RESULT_OK)
		return command_error(COMMAND_INTERNAL, "it was not signed: %s",
		    result_text(result));
	return trust_sign_print(
	    sign, json_pack("{s:{s:s, s:s}}", "publisher", "key",
		      sign->public_key, "signature", mark));
}

/* Everything but the signature; NULL when the clock is beyond us. */
static json_t *
trust_sign_statement(const struct trust_sign *sign, const char *hash)
{
	char issued[24], expires[24], key[TRUST_KEY_HEX + 1];
	json_t *statement;

	if (!trust_sign_public(sign->publisher_key, key) ||
	    !trust_sign_times(
		sign->days > 0 ? sign->days : 365, issued, expires))
		return NULL;
	statement = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s}",
	    "slug", sign->slug, "version", sign->version, "artifact_hash", hash,
	    "tier", sign->tier, "publisher", sign->publisher, "publisher_key",
	    key, "issued", issued, "expires", expires, "registry_key",
	    sign->public_key);
	if (statement != NULL && sign->serial > 0)
		(void)json_object_set_new(statement, "serial",
		    json_integer((json_int_t)sign->serial));
	return statement;
}

static enum result
trust_sign_seal(const struct trust_sign *sign, json_t *statement)
{
	char mark[2 * ED25519_SIGNATURE + 1];
	enum result result;
	char *text = NULL;
	size_t len = 0;

	result = signed_text_attestation(statement, &text, &len);
	if (result == RESULT_OK)
		result = ed25519_sign(
		    sign->key, ED25519_ATTESTATION, text, len, mark);
	free(text);
	if (result == RESULT_OK &&
	    json_object_set_new(statement, "signature", json_string(mark)) != 0)
		result = RESULT_NO_MEMORY;
	return result;
}

/* A registry's word; it is read again before it is given out, so that what
 * would be refused is never signed and shipped. */
static int
trust_sign_attestation(struct trust_sign *sign)
{
	char hash[ATTESTATION_HASH_LEN + 1], key[TRUST_KEY_HEX + 1];
	struct attestation attestation;
	struct json_fault fault = {""};
	json_t *statement;
	int code;

	if (sign->tier == NULL || sign->publisher == NULL ||
	    sign->publisher_key == NULL ||
	    !trust_sign_public(sign->publisher_key, key))
		return command_error(COMMAND_USAGE,
		    "an attestation needs --tier, --publisher SLUG and "
		    "--publisher-key KEY (64 hex digits, base64, or a file "
		    "with one of them)");
	code = trust_sign_artifact_hash(sign, hash);
	if (code != COMMAND_DONE)
		return code;
	statement = trust_sign_statement(sign, hash);
	if (statement != NULL &&
	    trust_sign_seal(sign, statement) == RESULT_OK &&
	    attestation_read(statement, &attestation, &fault) == ATTESTATION_OK)
		return trust_sign_print(sign, statement);
	json_decref(statement);
	return fault.text[0] != '\0'
		   ? trust_sign_fault(&fault)
		   : command_error(COMMAND_INTERNAL, "it was not signed");
}

static int
trust_sign_kind(struct trust_sign *sign, const char *kind)
{
	bool is_index = strcmp(kind, "index") == 0;

	if (!is_index && strcmp(kind, "artifact") != 0 &&
	    strcmp(kind, "attestation") != 0)
		return command_error(COMMAND_USAGE,
		    "'%.40s' is none of: artifact, attestation, index", kind);
	if (!is_index && !trust_sign_is_named(sign))
		return command_error(COMMAND_USAGE,
		    "--slug (%s) and --version say what is signed", SLUG_RULE);
	if (sign->kind != NULL &&
	    (!is_index || sign->add == NULL || strcmp(sign->kind, "mcp") != 0))
		return command_error(COMMAND_USAGE,
		    "--kind '%.40s': it is mcp, for --add; a package with a "
		    "manifest has none",
		    sign->kind);
	if (trust_sign_key(sign) != COMMAND_DONE)
		return COMMAND_CONFIG;
	if (is_index)
		return trust_index_sign(sign);
	return strcmp(kind, "artifact") == 0 ? trust_sign_artifact(sign)
					     : trust_sign_attestation(sign);
}

int
trust_sign_run(int argc, char **argv)
{
	struct trust_sign sign = {.key_fd = -1};
	int code;

	if (!trust_sign_options(&sign, argc, argv) || argc - optind != 2)
		return command_option_fault("trust sign");
	sign.target = argv[optind + 1];
	code = trust_sign_kind(&sign, argv[optind]);
	secret_free(&sign.key);
	return code;
}
