/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks the chain's files from the oldest one kept with bounded memory.
 * Called by the audit commands. It must never repair: that is the ledger's.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/buffer.h"
#include "common/fd.h"
#include "supervisor/ledger/audit_file.h"
#include "supervisor/ledger/audit_head_io.h"
#include "supervisor/ledger/audit_rotate.h"
#include "supervisor/ledger/audit_seal.h"
#include "supervisor/ledger/audit_verify.h"

#define AUDIT_VERIFY_LOCK_TRIES 250U
#define AUDIT_VERIFY_LOCK_PAUSE_NS 20000000L
#define AUDIT_VERIFY_PASSES_MAX 8U

struct audit_verify_walk {
	int dir_fd; /* borrowed */
	const struct secret *key;
	struct audit_link link;
	struct audit_link start; /* before the first record that is kept */
	bool start_named;        /* a rotation says that it ended so */
	uint64_t oldest;         /* the file that we begin with */
	uint64_t told;           /* the last record that each was told */
	uint64_t file;           /* the file that is read */
	char name[AUDIT_HEAD_NAME_MAX];
	uint64_t line; /* whole lines of it so far */
	uint64_t at;   /* and their bytes */
	uint64_t size; /* of the newest file when we began */
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

/* Under the lock: the head, and how far the newest file goes. A file behind
 * the head's is one whose writer died before it moved the head. */
static enum result
audit_verify_snapshot(
    struct audit_verify_walk *walk, int head_fd, uint64_t *newest_r)
{
	enum result result = audit_verify_lock(head_fd);

	if (result != RESULT_OK) {
		json_field_fault(
		    walk->fault, "%s is kept locked", AUDIT_HEAD_FILE);
		return result;
	}
	result = audit_head_io_read(head_fd, &walk->head, walk->fault);
	walk->head_met = walk->head.link.seq == 0;
	*newest_r = walk->head.file;
	walk->size = audit_file_size(walk->dir_fd, *newest_r + 1);
	if (walk->size > 0)
		(*newest_r)++;
	else
		walk->size = audit_file_size(walk->dir_fd, *newest_r);
	(void)flock(head_fd, LOCK_UN);
	if (result != RESULT_NOT_FOUND)
		return result;
	if (walk->size == 0)
		return RESULT_OK;
	json_field_fault(walk->fault, "%s is empty, but %s is not",
	    AUDIT_HEAD_FILE, AUDIT_HEAD_LOG);
	return RESULT_MISMATCH;
}

/* Without a seal, although there is a key, is only what is empty. */
static enum result
audit_verify_seal(struct audit_verify_walk *walk)
{
	struct audit_verify_report *report = walk->report;
	enum result result =
	    audit_seal_check(walk->key, &walk->head, walk->fault);

	report->sealed = result == RESULT_OK && walk->head.mac[0] != '\0';
	if (result != RESULT_NOT_FOUND)
		return result;
	if (walk->head.link.seq == 0 && report->records == 0 &&
	    report->torn_bytes == 0)
		return RESULT_OK;
	return audit_seal_missing(walk->fault);
}

/* A rotation that dropped files names the record they ended with; files
 * before that one may be left when its ledger was killed meanwhile. */
static void
audit_verify_rotated(struct audit_verify_walk *walk, const json_t *record)
{
	const json_t *fields = json_object_get(record, "fields");
	const char *event = json_string_value(json_object_get(record, "event"));
	const char *hash =
	    json_string_value(json_object_get(fields, "dropped_hash"));

	json_int_t seq =
	    json_integer_value(json_object_get(fields, "dropped_seq"));

	if (strcmp(event, AUDIT_ROTATE_EVENT) != 0 || hash == NULL)
		return;
	if (seq > (json_int_t)walk->start.seq ||
	    (seq == (json_int_t)walk->start.seq &&
		strcmp(hash, walk->start.hash) == 0))
		walk->start_named = true;
}

static enum result
audit_verify_wrong(struct audit_verify_walk *walk, const char *why)
{
	walk->report->line = walk->line + 1;
	memcpy(walk->report->file, walk->name, sizeof(walk->name));
	json_field_fault(walk->fault, "%s, line %" PRIu64 ": %s", walk->name,
	    walk->report->line, why);
	return RESULT_MISMATCH;
}

static void
audit_verify_count(struct audit_verify_walk *walk, const json_t *record)
{
	struct audit_verify_report *report = walk->report;

	report->records++;
	if (walk->head_met)
		report->unsealed++;
	(void)snprintf(report->last_ts, sizeof(report->last_ts), "%s",
	    json_string_value(json_object_get(record, "ts")));
	if (walk->file == walk->head.file && walk->at == walk->head.size &&
	    walk->link.seq == walk->head.link.seq &&
	    strcmp(walk->link.hash, walk->head.link.hash) == 0)
		walk->head_met = true;
	audit_verify_rotated(walk, record);
	if (walk->each != NULL && walk->link.seq > walk->told)
		walk->each(record, walk->context);
	if (walk->link.seq > walk->told)
		walk->told = walk->link.seq;
}

static enum result
audit_verify_line(struct audit_verify_walk *walk, const char *line, size_t len)
{
	struct json_fault inner = {""};
	enum result result;
	json_t *record;

	result = audit_record_check(&walk->link, line, len, &record, &inner);
	if (result == RESULT_BAD || result == RESULT_MISMATCH)
		return audit_verify_wrong(walk, inner.text);
	if (result != RESULT_OK)
		return result;
	walk->line++;
	walk->at += len + 1;
	audit_verify_count(walk, record);
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

/* Read up to size: what is appended meanwhile is the next verification's. */
static enum result
audit_verify_read(struct audit_verify_walk *walk, int log_fd, uint64_t size,
    struct buffer *buffer)
{
	enum result result = RESULT_OK;
	uint64_t offset = 0;
	uint8_t *space;
	size_t room;
	ssize_t got;

	while (result == RESULT_OK && offset < size) {
		result = buffer_reserve(buffer, 65536, &space, &room);
		if (result != RESULT_OK)
			break;
		if (room > size - offset)
			room = (size_t)(size - offset);
		got = pread(log_fd, space, room, (off_t)offset);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got == 0 ? RESULT_OK : RESULT_SYSTEM;
		buffer_commit(buffer, (size_t)got);
		offset += (uint64_t)got;
		result = audit_verify_lines(walk, buffer);
	}
	return result == RESULT_TOO_LONG ? audit_verify_wrong(walk, "too long")
					 : result;
}

/* One file; last: the newest, which may end in a torn line. */
static enum result
audit_verify_file(struct audit_verify_walk *walk, uint64_t file, bool last)
{
	struct buffer buffer;
	int fd FD_CLEANUP = -1;
	enum result result;

	walk->file = file;
	walk->line = walk->at = 0;
	audit_head_name(file, walk->name);
	result = audit_file_open(
	    walk->dir_fd, walk->name, AUDIT_FILE_READ, &fd, walk->fault);
	if (result == RESULT_NOT_FOUND) {
		json_field_fault(walk->fault, "%s is missing", walk->name);
		return RESULT_MISMATCH;
	}
	if (result != RESULT_OK)
		return result;
	buffer_init(&buffer, AUDIT_RECORD_LINE_MAX + 65536);
	result = audit_verify_read(walk, fd,
	    last ? walk->size : audit_file_size(walk->dir_fd, file), &buffer);
	walk->report->torn_bytes = buffer.len;
	if (result == RESULT_OK && !last && buffer.len > 0)
		result = audit_verify_wrong(walk, "has no end");
	buffer_free(&buffer);
	return result;
}

static enum result
audit_verify_end(struct audit_verify_walk *walk)
{
	if (!walk->start_named) {
		json_field_fault(walk->fault,
		    "what was before record %" PRIu64
		    " is gone, and no rotation says so",
		    walk->start.seq + 1);
		return RESULT_MISMATCH;
	}
	if (walk->head_met)
		return RESULT_OK;
	if (walk->link.seq < walk->head.link.seq)
		json_field_fault(walk->fault,
		    "%s ends with record %" PRIu64 ", but %s says %" PRIu64
		    ": its end was cut",
		    walk->name, walk->link.seq, AUDIT_HEAD_FILE,
		    walk->head.link.seq);
	else
		json_field_fault(walk->fault,
		    "record %" PRIu64 " is not the one that %s names",
		    walk->head.link.seq, AUDIT_HEAD_FILE);
	return RESULT_MISMATCH;
}

/* The first record that is kept says what it follows. */
static enum result
audit_verify_start(struct audit_verify_walk *walk, uint64_t oldest)
{
	char name[AUDIT_HEAD_NAME_MAX];
	int fd FD_CLEANUP = -1;
	enum result result;

	audit_record_first(&walk->start);
	walk->start_named = oldest == 0;
	if (oldest == 0)
		return RESULT_OK;
	audit_head_name(oldest, name);
	result = audit_file_open(
	    walk->dir_fd, name, AUDIT_FILE_READ, &fd, walk->fault);
	if (result == RESULT_OK)
		result = audit_file_before(fd, &walk->start);
	if (result == RESULT_OK)
		return RESULT_OK;
	json_field_fault(walk->fault, "%s does not begin with a record", name);
	return result == RESULT_NOT_FOUND ? RESULT_MISMATCH : result;
}

static enum result
audit_verify_pass(struct audit_verify_walk *walk, uint64_t newest)
{
	uint64_t file = walk->oldest;
	enum result result = audit_verify_start(walk, file);

	walk->link = walk->start;
	walk->report->first = walk->start.seq + 1;
	for (; result == RESULT_OK && file <= newest; file++)
		result = audit_verify_file(walk, file, file == newest);
	if (result == RESULT_OK)
		result = audit_verify_end(walk);
	return result == RESULT_OK ? audit_verify_seal(walk) : result;
}

/* A rotation may have emptied the oldest file under our eyes: then it is
 * read anew from the one that is the oldest now. */
static enum result
audit_verify_all(struct audit_verify_walk *walk, int head_fd)
{
	uint64_t newest = 0;
	unsigned pass;
	enum result result;

	for (pass = 1;; pass++) {
		result = audit_verify_snapshot(walk, head_fd, &newest);
		if (result != RESULT_OK)
			return result;
		walk->oldest = audit_file_oldest(walk->dir_fd, newest);
		result = audit_verify_pass(walk, newest);
		if (result != RESULT_MISMATCH ||
		    pass == AUDIT_VERIFY_PASSES_MAX ||
		    audit_file_oldest(walk->dir_fd, newest) == walk->oldest)
			return result;
		walk->fault->text[0] = '\0';
		memset(walk->report, 0, sizeof(*walk->report));
	}
}

enum result
audit_verify_files(int dir_fd, const struct secret *key,
    audit_verify_each *each, void *context,
    struct audit_verify_report *report_r, struct json_fault *fault)
{
	struct audit_verify_walk walk = {.dir_fd = dir_fd,
	    .key = key,
	    .each = each,
	    .context = context,
	    .report = report_r,
	    .fault = fault};
	int head_fd FD_CLEANUP = -1;
	enum result result;

	memset(report_r, 0, sizeof(*report_r));
	if (dir_fd < 0)
		return RESULT_OK; /* nothing was ever written */
	result = audit_file_open(
	    dir_fd, AUDIT_HEAD_FILE, AUDIT_FILE_READ, &head_fd, fault);
	if (result == RESULT_NOT_FOUND && audit_file_size(dir_fd, 0) == 0 &&
	    audit_file_size(dir_fd, 1) == 0)
		return RESULT_OK;
	if (result == RESULT_NOT_FOUND) {
		json_field_fault(fault, "%s is missing", AUDIT_HEAD_FILE);
		return RESULT_MISMATCH;
	}
	return result == RESULT_OK ? audit_verify_all(&walk, head_fd) : result;
}
