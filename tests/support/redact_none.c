/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A redactor that does nothing: linked into a broker of the tests in front
 * of the real one, so that the search for keys has something to find. Never
 * part of an installed program.
 */
#include <stdlib.h>

#include "llm-broker/redact.h"

struct redact {
	int nothing;
};

enum result
redact_new(const struct redact_set *set, struct redact **redact_r)
{
	(void)set;
	*redact_r = calloc(1, sizeof(**redact_r));
	return *redact_r != NULL ? RESULT_OK : RESULT_NO_MEMORY;
}

void
redact_free(struct redact **redact)
{
	free(*redact);
	*redact = NULL;
}

enum result
redact_feed(
    struct redact *redact, const char *bytes, size_t len, struct buffer *out)
{
	(void)redact;
	return buffer_append(out, bytes, len);
}

enum result
redact_finish(struct redact *redact, struct buffer *out)
{
	(void)redact;
	(void)out;
	return RESULT_OK;
}

uint64_t
redact_count(const struct redact *redact)
{
	(void)redact;
	return 0;
}

bool
redact_text(const struct redact_set *set, char *text, size_t len)
{
	(void)set;
	(void)text;
	(void)len;
	return false;
}
