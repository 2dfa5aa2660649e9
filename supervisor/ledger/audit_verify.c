/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks audit.jsonl from its first byte with bounded memory. Called by the
 * audit commands. It must never repair: that is the ledger's.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/buffer.h"
#include "supervisor/ledger/audit_head.h"
#include "supervisor/ledger/audit_verify.h"

#define AUDIT_VERIFY_LOCK_TRIES 250U
#define AUDIT_VERIFY_LOCK_PAUSE_NS 20000000L

struct audit_verify_walk {
	struct audit_link link;
	uint64_t at;   /* bytes of whole lines so far */
	uint64_t size; /* of the log when we began */
	struct audit_head head;
	bool head_met; /* the head's record was passed */
	audit_verify_each *each;
	void *context;
	struct audit_verify_report *report;
	struct json_fault *fault;
};

/* Head and size belong together only while no ledger writes. */
static enum result
audit_verify_lock(int head_fd)
{
	const struct timespec pause = {0, AUDIT_VERIFY_LOCK_PAUSE_NS};
	unsigned tries;

	for (tries = 0; tries < AUDIT_VERIFY_LOCK_TRIES; tries++) {
		if (flock(head_fd, LOCK_SH | LOCK_NB) == 0)
			return RESULT_OK;
		if (errno != EWOULDBLOCK && errno != EINTR)
			return RESULT_SYSTEM;
		nanosleep(&pause, NULL);
	}
	return RESULT_TIMEOUT;
}

static enum result
audit_verify_snapshot(struct audit_verify_walk *walk, int log_fd, int head_fd)
{
	char block[AUDIT_HEAD_SIZE + 1];
	struct json_fault inner = {""};
	struct stat status;
	enum result result;
	ssize_t got;

	result = audit_verify_lock(head_fd);
	if (result != RESULT_OK) {
		json_field_fault(
		    walk->fault, "%s is kept locked", AUDIT_HEAD_FILE);
		return result;
	}
	got = pread(head_fd, block, sizeof(block), 0);
	if (fstat(log_fd, &status) != 0 || got < 0)
		result = RESULT_SYSTEM;
	(void)flock(head_fd, LOCK_UN);
	if (result != RESULT_OK)
		return result;
	walk->size = (uint64_t)status.st_size;
	result = audit_head_read(block, (size_t)got, &walk->head, &inner);
	if (result == RESULT_BAD) {
		json_field_fault(
		    walk->fault, "%s: %s", AUDIT_HEAD_FILE, inner.text);
		return RESULT_MISMATCH;
	}
	if (result == RESULT_NOT_FOUND && walk->size > 0) {
		json_field_fault(walk->fault, "%s is empty, but %s is not",
		    AUDIT_HEAD_FILE, AUDIT_HEAD_LOG);
		return RESULT_MISMATCH;
	}
	return RESULT_OK;
}

static enum result
audit_verify_line(struct audit_verify_walk *walk, const char *line, size_t len)
{
	struct json_fault inner = {""};
	enum result result;
	json_t *record;

	result = audit_record_check(&walk->link, line, len, &record, &inner);
	if (result != RESULT_OK) {
		walk->report->line = walk->report->records + 1;
		json_field_fault(walk->fault, "%s, line %" PRIu64 ": %s",
		    AUDIT_HEAD_LOG, walk->report->line, inner.text);
		return result == RESULT_BAD ? RESULT_MISMATCH : result;
	}
	walk->report->records++;
	walk->at += len + 1;
	snprintf(walk->report->last_ts, sizeof(walk->report->last_ts), "%s",
	    json_string_value(json_object_get(record, "ts")));
	if (walk->at == walk->head.size &&
	    walk->link.seq == walk->head.link.seq &&
	    strcmp(walk->link.hash, walk->head.link.hash) == 0)
		walk->head_met = true;
	if (walk->each != NULL)
		walk->each(record, walk->context);
	json_decref(record);
	return RESULT_OK;
}

static enum result
audit_verify_lines(struct audit_verify_walk *walk, struct buffer *buffer)
{
	const char *bytes, *end;
	enum result result = RESULT_OK;
	size_t len;

	while (result == RESULT_OK && buffer->len > 0) {
		bytes = (const char *)buffer_bytes_borrow(buffer);
		end = memchr(bytes, '\n', buffer->len);
		if (end == NULL)
			break;
		len = (size_t)(end - bytes);
		result = audit_verify_line(walk, bytes, len);
		buffer_consume(buffer, len + 1);
	}
	return result;
}

/* Read up to the size of the snapshot: what is appended meanwhile is the
 * next verification's. */
static enum result
audit_verify_read(
    struct audit_verify_walk *walk, int log_fd, struct buffer *buffer)
{
	enum result result = RESULT_OK;
	uint64_t offset = 0;
	uint8_t *space;
	size_t room;
	ssize_t got;

	while (result == RESULT_OK && offset < walk->size) {
		result = buffer_reserve(buffer, 65536, &space, &room);
		if (result != RESULT_OK)
			break;
		if (room > walk->size - offset)
			room = (size_t)(walk->size - offset);
		got = pread(log_fd, space, room, (off_t)offset);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got == 0 ? RESULT_OK : RESULT_SYSTEM;
		buffer_commit(buffer, (size_t)got);
		offset += (uint64_t)got;
		result = audit_verify_lines(walk, buffer);
	}
	if (result == RESULT_TOO_LONG) {
		walk->report->line = walk->report->records + 1;
		json_field_fault(walk->fault, "%s, line %" PRIu64 ": too long",
		    AUDIT_HEAD_LOG, walk->report->line);
		return RESULT_MISMATCH;
	}
	return result;
}

static enum result
audit_verify_end(struct audit_verify_walk *walk, const struct buffer *rest)
{
	walk->report->torn_bytes = rest->len;
	if (walk->head.link.seq == 0 || walk->head_met)
		return RESULT_OK;
	if (walk->report->records < walk->head.link.seq)
		json_field_fault(walk->fault,
		    "%s ends with record %" PRIu64 ", but %s says %" PRIu64
		    ": its end was cut",
		    AUDIT_HEAD_LOG, walk->report->records, AUDIT_HEAD_FILE,
		    walk->head.link.seq);
	else
		json_field_fault(walk->fault,
		    "record %" PRIu64 " is not the one that %s names",
		    walk->head.link.seq, AUDIT_HEAD_FILE);
	return RESULT_MISMATCH;
}

static enum result
audit_verify_missing(int log_fd, int head_fd, struct json_fault *fault)
{
	if (log_fd < 0 && head_fd < 0)
		return RESULT_OK; /* nothing was ever written */
	json_field_fault(fault, "%s is missing",
	    log_fd < 0 ? AUDIT_HEAD_LOG : AUDIT_HEAD_FILE);
	return RESULT_MISMATCH;
}

enum result
audit_verify_files(int log_fd, int head_fd, audit_verify_each *each,
    void *context, struct audit_verify_report *report_r,
    struct json_fault *fault)
{
	struct audit_verify_walk walk = {.each = each,
	    .context = context,
	    .report = report_r,
	    .fault = fault};
	struct buffer buffer;
	enum result result;

	memset(report_r, 0, sizeof(*report_r));
	audit_record_first(&walk.link);
	if (log_fd < 0 || head_fd < 0)
		return audit_verify_missing(log_fd, head_fd, fault);
	result = audit_verify_snapshot(&walk, log_fd, head_fd);
	if (result != RESULT_OK)
		return result;
	buffer_init(&buffer, AUDIT_RECORD_LINE_MAX + 65536);
	result = audit_verify_read(&walk, log_fd, &buffer);
	if (result == RESULT_OK)
		result = audit_verify_end(&walk, &buffer);
	buffer_free(&buffer);
	return result;
}
