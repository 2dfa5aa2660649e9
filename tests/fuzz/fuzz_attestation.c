/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes of an attestation: what is accepted has its canonical text, reads
 * back as the same, and every refusal has a code and a sentence.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/policy/attestation.h"
#include "supervisor/policy/signed_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
fuzz_attestation_again(const struct attestation *first, const json_t *object)
{
	struct attestation second;
	struct json_fault fault = {""};
	char *text;
	size_t len;

	if (signed_text_attestation(object, &text, &len) != RESULT_OK ||
	    len > ATTESTATION_BYTES_MAX)
		abort();
	free(text);
	if (attestation_read(object, &second, &fault) != ATTESTATION_OK ||
	    memcmp(first, &second, sizeof(second)) != 0 ||
	    attestation_fits(first, first->slug, first->version,
		first->artifact_hash, first->issued, &fault) != ATTESTATION_OK)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct attestation attestation;
	struct json_fault fault = {""};
	const char *key, *signature;
	json_t *object = NULL;
	enum attestation_code code = attestation_parse(
	    (const char *)data, size, &attestation, &object, &fault);

	if ((code == ATTESTATION_OK) != (fault.text[0] == '\0') ||
	    (code == ATTESTATION_OK) != (object != NULL))
		abort();
	if (object != NULL)
		fuzz_attestation_again(&attestation, object);
	json_decref(object);
	fault = (struct json_fault){""};
	if (json_field_parse((const char *)data, size, &object, &fault) !=
	    RESULT_OK)
		return 0;
	fault = (struct json_fault){""};
	code = attestation_publisher(object, &key, &signature, &fault);
	if (code == ATTESTATION_OK &&
	    (strlen(key) != ATTESTATION_KEY_LEN ||
		strlen(signature) != ATTESTATION_SIGNATURE_LEN))
		abort();
	json_decref(object);
	return 0;
}
