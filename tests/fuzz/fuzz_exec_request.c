/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words of exec: what is taken is within its bounds, and no word of a
 * variable's value is in a sentence.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/exec/exec_request.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	static struct exec_request request;
	struct exec_request_fault fault = {""};
	char *word = malloc(len + 1);

	if (word == NULL)
		return 0;
	memcpy(word, bytes, len);
	word[len] = '\0';
	memset(&request, 0, sizeof(request));
	if (exec_request_input(&request, word, &fault)) {
		const char *name = request.inputs[0].name;

		if (name[0] == '\0' || strchr(name, '/') != NULL ||
		    strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
			abort();
	} else if (fault.text[0] == '\0')
		abort();
	if (exec_request_timeout(&request, word, &fault) !=
		(request.timeout_ms != 0) ||
	    request.timeout_ms > EXEC_REQUEST_TIMEOUT_MAX_MS)
		abort();
	if (exec_request_output(&request, word, &fault) !=
		(request.max_output != 0) ||
	    request.max_output > EXEC_REQUEST_OUTPUT_MAX)
		abort();
	(void)exec_request_boundary(&request, word, &fault);
	if (exec_request_env(&request, word, "/home/dev", &fault) !=
	    (request.env_count == 1))
		abort();
	(void)exec_request_check(&request, &fault);
	free(word);
	return 0;
}
