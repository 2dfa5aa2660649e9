/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is signed; see signed_text.h. Called by trust.c and `trust sign`. It
 * must never leave a field out that a reader acts on.
 */
#include "supervisor/policy/signed_text.h"

#include "supervisor/policy/digest.h"

static enum result
signed_text_take(json_t *value, char **text_r, size_t *len_r)
{
	enum result result = value == NULL
				 ? RESULT_NO_MEMORY
				 : digest_canonical(value, text_r, len_r);

	json_decref(value);
	return result;
}

enum result
signed_text_attestation(const json_t *attestation, char **text_r, size_t *len_r)
{
	json_t *copy = json_copy((json_t *)(uintptr_t)attestation);

	*text_r = NULL;
	if (copy != NULL)
		(void)json_object_del(copy, "signature");
	return signed_text_take(copy, text_r, len_r);
}

enum result
signed_text_artifact(const char *slug, const char *version, const char *hash,
    char **text_r, size_t *len_r)
{
	*text_r = NULL;
	return signed_text_take(json_pack("{s:s, s:s, s:s}", "slug", slug,
				    "version", version, "artifact_hash", hash),
	    text_r, len_r);
}
