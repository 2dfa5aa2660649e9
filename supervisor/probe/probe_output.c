/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Output of the probe (see the header): buffered by stdio, flushed after
 * each probe.
 */
#include "supervisor/probe/probe_output.h"

#include <stdio.h>
#include <string.h>

#include "supervisor/probe/probe_record.h"

void
probe_output_text(const char *text)
{
	putchar('"');
	for (; *text != '\0'; text++) {
		unsigned char c = (unsigned char)*text;

		if (c < 0x20 || c >= 0x7f || c == '"' || c == '\\')
			printf("\\u%04x", c);
		else
			putchar(c);
	}
	putchar('"');
}

void
probe_output_begin(enum probe_output_form form)
{
	if (form == PROBE_OUTPUT_JSON)
		printf("{\"probes\":[");
	fflush(stdout);
}

static void
probe_output_record(uint32_t index, uint32_t count, const char *name,
    const struct probe_result *result)
{
	struct probe_record record = {.magic = PROBE_RECORD_MAGIC,
	    .version = PROBE_RECORD_VERSION,
	    .index = index,
	    .count = count,
	    .ok = result->ok ? 1 : 0};
	size_t len = strlen(name);

	memcpy(record.name, name,
	    len < sizeof(record.name) ? len : sizeof(record.name) - 1);
	len = strlen(result->detail);
	memcpy(record.detail, result->detail,
	    len < sizeof(record.detail) ? len : sizeof(record.detail) - 1);
	(void)fwrite(&record, sizeof(record), 1, stdout);
}

void
probe_output_one(enum probe_output_form form, uint32_t index, uint32_t count,
    const char *name, const struct probe_result *result)
{
	if (form == PROBE_OUTPUT_RECORDS)
		probe_output_record(index, count, name, result);
	else {
		printf("%s\n{\"name\":", index == 0 ? "" : ",");
		probe_output_text(name);
		printf(",\"ok\":%s,\"detail\":", result->ok ? "true" : "false");
		probe_output_text(result->detail);
		putchar('}');
	}
	fflush(stdout);
}

void
probe_output_end(enum probe_output_form form, bool ok)
{
	if (form == PROBE_OUTPUT_JSON)
		printf("\n],\"ok\":%s}\n", ok ? "true" : "false");
	fflush(stdout);
}
