/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes and checks single records. Called by audit_chain (writer) and
 * audit_verify (reader). Pure: it must never open, read the clock, or
 * accept a record in any spelling but the one it makes itself.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/ledger/audit_record.h"

#define AUDIT_RECORD_VERSION 1

void
audit_record_first(struct audit_link *link_r)
{
	link_r->seq = 0;
	memset(link_r->hash, '0', DIGEST_HEX);
	link_r->hash[DIGEST_HEX] = '\0';
}

static bool
audit_record_is_event(const char *event)
{
	size_t len = strlen(event);

	return len > 0 && len <= AUDIT_RECORD_EVENT_MAX &&
	       strspn(event, "abcdefghijklmnopqrstuvwxyz0123456789_") == len;
}

/* The record's canonical line with its newline. */
static enum result
audit_record_line(const json_t *record, char **line_r, size_t *len_r)
{
	enum result result = digest_canonical(record, line_r, len_r);

	if (result != RESULT_OK)
		return result;
	if (*len_r >= AUDIT_RECORD_LINE_MAX) {
		free(*line_r);
		*line_r = NULL;
		return RESULT_TOO_LONG;
	}
	(*line_r)[(*len_r)++] = '\n'; /* in place of the NUL */
	return RESULT_OK;
}

enum result
audit_record_make(struct audit_link *link, const char *ts, const char *event,
    const json_t *fields, char **line_r, size_t *len_r)
{
	char hash[DIGEST_HEX + 1];
	enum result result;
	json_t *record;

	*line_r = NULL;
	*len_r = 0;
	if (!audit_record_is_event(event))
		return RESULT_BAD;
	record = json_pack("{s:i, s:I, s:s, s:s, s:O, s:s}", "v",
	    AUDIT_RECORD_VERSION, "seq", (json_int_t)link->seq + 1, "ts", ts,
	    "event", event, "fields", fields, "prev", link->hash);
	if (record == NULL)
		return RESULT_NO_MEMORY;
	result = digest_json(record, hash);
	if (result == RESULT_OK &&
	    json_object_set_new(record, "hash", json_string(hash)) != 0)
		result = RESULT_NO_MEMORY;
	if (result == RESULT_OK)
		result = audit_record_line(record, line_r, len_r);
	json_decref(record);
	if (result != RESULT_OK)
		return result;
	link->seq++;
	memcpy(link->hash, hash, sizeof(hash));
	return RESULT_OK;
}

struct audit_record_read {
	int64_t version, seq;
	const char *ts, *event, *prev, *hash;
	const json_t *fields;
};

static void
audit_record_read(const json_t *record, struct audit_record_read *read_r,
    struct json_fault *fault)
{
	static const char *const keys[] = {
	    "v", "seq", "ts", "event", "fields", "prev", "hash", NULL};

	if (!json_is_object(record)) {
		json_field_fault(fault, "must be an object");
		return;
	}
	json_field_only(record, "record", keys, fault);
	json_field_int(record, "record", "v", AUDIT_RECORD_VERSION,
	    AUDIT_RECORD_VERSION, &read_r->version, fault);
	json_field_int(
	    record, "record", "seq", 1, INT64_MAX, &read_r->seq, fault);
	json_field_string(
	    record, "record", "ts", AUDIT_RECORD_TS_MAX, &read_r->ts, fault);
	json_field_string(record, "record", "event", AUDIT_RECORD_EVENT_MAX,
	    &read_r->event, fault);
	json_field_object(record, "record", "fields", &read_r->fields, fault);
	json_field_string(
	    record, "record", "prev", DIGEST_HEX, &read_r->prev, fault);
	json_field_string(
	    record, "record", "hash", DIGEST_HEX, &read_r->hash, fault);
}

/* The hash of the record without its hash must be its hash, and the line
 * must be the record's only spelling. */
static enum result
audit_record_compare(const json_t *record, const char *hash, const char *line,
    size_t len, struct json_fault *fault)
{
	char computed[DIGEST_HEX + 1];
	enum result result;
	json_t *bare;
	size_t size;
	char *text;

	bare = json_copy((json_t *)record);
	if (bare == NULL || json_object_del(bare, "hash") != 0) {
		json_decref(bare);
		return RESULT_NO_MEMORY;
	}
	result = digest_json(bare, computed);
	json_decref(bare);
	if (result != RESULT_OK)
		return result;
	if (strcmp(computed, hash) != 0) {
		json_field_fault(fault, "its hash does not fit its content");
		return RESULT_MISMATCH;
	}
	result = audit_record_line(record, &text, &size);
	if (result != RESULT_OK)
		return result;
	if (size != len + 1 || memcmp(text, line, len) != 0) {
		json_field_fault(fault, "its spelling was changed");
		result = RESULT_MISMATCH;
	}
	free(text);
	return result;
}

static enum result
audit_record_follow(struct audit_link *link,
    const struct audit_record_read *read, struct json_fault *fault)
{
	if ((uint64_t)read->seq != link->seq + 1)
		json_field_fault(fault,
		    "seq %" PRId64 " stands where %" PRIu64 " belongs",
		    read->seq, link->seq + 1);
	else if (strcmp(read->prev, link->hash) != 0)
		json_field_fault(fault,
		    "seq %" PRId64 ": prev is not the hash of the record "
		    "before",
		    read->seq);
	else
		return RESULT_OK;
	return RESULT_MISMATCH;
}

enum result
audit_record_check(struct audit_link *link, const char *line, size_t len,
    json_t **record_r, struct json_fault *fault)
{
	struct audit_record_read read = {0};
	enum result result;
	json_t *record;

	if (record_r != NULL)
		*record_r = NULL;
	if (json_field_parse(line, len, &record, fault) != RESULT_OK)
		return RESULT_BAD;
	audit_record_read(record, &read, fault);
	result =
	    fault->text[0] != '\0' || read.prev == NULL || read.hash == NULL
		? RESULT_BAD
		: RESULT_OK;
	if (result == RESULT_OK)
		result = audit_record_follow(link, &read, fault);
	if (result == RESULT_OK)
		result =
		    audit_record_compare(record, read.hash, line, len, fault);
	if (result == RESULT_OK) {
		link->seq++;
		snprintf(link->hash, sizeof(link->hash), "%s", read.hash);
	}
	if (result == RESULT_OK && record_r != NULL)
		*record_r = json_incref(record);
	json_decref(record);
	return result;
}

/* Days since 1970-01-01 as a date (proleptic Gregorian calendar, years
 * counted from March so that leap days come last). */
static void
audit_record_date(int64_t days, int *year_r, int *month_r, int *day_r)
{
	int64_t z = days + 719468, era = z / 146097;
	int64_t of_era = z - era * 146097;
	int64_t year =
	    (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
	int64_t of_year = of_era - (365 * year + year / 4 - year / 100);
	int64_t month = (5 * of_year + 2) / 153;

	*day_r = (int)(of_year - (153 * month + 2) / 5 + 1);
	*month_r = (int)(month < 10 ? month + 3 : month - 9);
	*year_r = (int)(year + era * 400 + (*month_r <= 2));
}

void
audit_record_time(int64_t unix_ms, char text_r[AUDIT_RECORD_TS_MAX])
{
	int64_t seconds, ms;
	int year, month, day, of_day;

	if (unix_ms < 0 || unix_ms > INT64_C(253402300799999)) /* year 9999 */
		unix_ms = 0;
	seconds = unix_ms / 1000;
	ms = unix_ms % 1000;
	of_day = (int)(seconds % 86400);
	audit_record_date(seconds / 86400, &year, &month, &day);
	snprintf(text_r, AUDIT_RECORD_TS_MAX,
	    "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", year % 10000, month % 100,
	    day % 100, of_day / 3600 % 100, of_day / 60 % 60, of_day % 60,
	    (int)ms);
}
