/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens, follows and extends the chain's files. Called by ledger.c. It must
 * never say that a record is on disk before fdatasync has said so, and
 * never append to a chain that does not end where the head says.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "supervisor/ledger/audit_chain.h"
#include "supervisor/ledger/audit_file.h"
#include "supervisor/ledger/audit_head_io.h"
#include "supervisor/ledger/audit_rotate.h"
#include "supervisor/ledger/audit_seal.h"

#define AUDIT_CHAIN_PENDING_MAX (32U * 1024U * 1024U)
/* What others may have added between two batches of ours, or a ledger
 * that died left behind the head. */
#define AUDIT_CHAIN_NEWS_MAX (64U * 1024U * 1024U)

void
audit_chain_init(struct audit_chain *chain)
{
	memset(chain, 0, sizeof(*chain));
	chain->dir_fd = chain->log_fd = chain->head_fd = chain->next_fd = -1;
	audit_record_first(&chain->head.link);
	audit_record_first(&chain->next);
	buffer_init(&chain->pending, AUDIT_CHAIN_PENDING_MAX);
}

static enum result
audit_chain_system(struct json_fault *fault, const char *name, const char *what)
{
	json_field_fault(fault, "%s: %s: %s", name, what, strerror(errno));
	return RESULT_SYSTEM;
}

enum result
audit_chain_open(
    struct audit_chain *chain, int dir_fd, struct json_fault *fault)
{
	enum result result;

	chain->dir_fd = dir_fd;
	result = audit_file_open(
	    dir_fd, AUDIT_HEAD_FILE, AUDIT_FILE_HEAD, &chain->head_fd, fault);
	if (result == RESULT_OK)
		result = audit_file_open(dir_fd, AUDIT_HEAD_LOG,
		    AUDIT_FILE_MAKE, &chain->log_fd, fault);
	if (result == RESULT_OK && fsync(dir_fd) != 0)
		return audit_chain_system(
		    fault, AUDIT_HEAD_DIR, "cannot be synced");
	return result;
}

void
audit_chain_close(struct audit_chain *chain)
{
	fd_close(&chain->log_fd);
	fd_close(&chain->next_fd);
	fd_close(&chain->head_fd);
	buffer_free(&chain->pending);
}

enum result
audit_chain_lock(struct audit_chain *chain)
{
	if (flock(chain->head_fd, LOCK_EX | LOCK_NB) == 0)
		return RESULT_OK;
	return errno == EWOULDBLOCK || errno == EINTR ? RESULT_NEED_MORE
						      : RESULT_SYSTEM;
}

void
audit_chain_unlock(struct audit_chain *chain)
{
	(void)flock(chain->head_fd, LOCK_UN);
}

/* The record that ends where the head says must be the head's. */
static enum result
audit_chain_check_last(struct audit_chain *chain, struct json_fault *fault)
{
	size_t size = chain->head.size < AUDIT_RECORD_LINE_MAX
			  ? (size_t)chain->head.size
			  : AUDIT_RECORD_LINE_MAX;
	char *bytes = malloc(size + 1), *line;
	struct audit_link before;
	enum result result;
	json_t *record = NULL;
	size_t len;

	if (bytes == NULL)
		return RESULT_NO_MEMORY;
	result = audit_file_read(
	    chain->log_fd, (off_t)(chain->head.size - size), bytes, size, &len);
	if (result == RESULT_OK && (len != size || bytes[len - 1] != '\n'))
		result = RESULT_MISMATCH;
	if (result == RESULT_OK) {
		line = memrchr(bytes, '\n', len - 1);
		line = line != NULL ? line + 1 : bytes;
		len -= (size_t)(line - bytes) + 1;
		result = json_field_parse(line, len, &record, fault);
	}
	if (result == RESULT_OK) {
		/* Its own prev is taken as given: what is before was checked
		 * when it was written, and `audit verify` reads all. */
		const char *prev =
		    json_string_value(json_object_get(record, "prev"));

		before.seq = chain->head.link.seq - 1;
		memset(before.hash, 0, sizeof(before.hash));
		strncpy(before.hash, prev != NULL ? prev : "", DIGEST_HEX);
		result = audit_record_check(&before, line, len, NULL, fault);
		if (result == RESULT_OK &&
		    strcmp(before.hash, chain->head.link.hash) != 0)
			result = RESULT_MISMATCH;
	}
	json_decref(record);
	free(bytes);
	return result == RESULT_BAD ? RESULT_MISMATCH : result;
}

/* Move the head; it may lag behind after a power cut, never run ahead. When
 * that fails without `failed` the file is as it was. */
static enum result
audit_chain_move_head(struct audit_chain *chain, struct audit_head *head)
{
	bool is_rare =
	    chain->head.link.seq == 0 || chain->head.file != head->file;
	enum result result = audit_seal_put(chain->key, head);

	if (result == RESULT_OK)
		result = audit_head_io_write(chain->head_fd, head);
	/* Which block is on the disk is not known: both must be right, so
	 * that what the new one names has to stay. */
	if (result == RESULT_CLOSED ||
	    (result == RESULT_OK && is_rare && fsync(chain->head_fd) != 0)) {
		chain->failed = true;
		return RESULT_SYSTEM;
	}
	if (result != RESULT_OK)
		return RESULT_SYSTEM;
	chain->head = *head;
	chain->is_key_new = false;
	return RESULT_OK;
}

static bool
audit_chain_is_empty(const struct audit_chain *chain)
{
	return audit_file_size(chain->dir_fd, 0) == 0 &&
	       audit_file_size(chain->dir_fd, 1) == 0;
}

/* A chain that has no record yet gets its head first: from then on a log
 * without head is one that somebody changed. */
static enum result
audit_chain_create(struct audit_chain *chain, struct json_fault *fault)
{
	struct audit_head head = {.size = 0};

	chain->next = chain->head.link;
	if (!audit_chain_is_empty(chain)) {
		json_field_fault(fault, "%s is empty, but %s is not",
		    AUDIT_HEAD_FILE, AUDIT_HEAD_LOG);
		return RESULT_MISMATCH;
	}
	audit_record_first(&head.link);
	if (audit_chain_move_head(chain, &head) != RESULT_OK)
		return audit_chain_system(
		    fault, AUDIT_HEAD_FILE, "cannot be written");
	return RESULT_OK;
}

/* Take the head's file in place of ours. */
static enum result
audit_chain_switch(
    struct audit_chain *chain, uint64_t file, struct json_fault *fault)
{
	char name[AUDIT_HEAD_NAME_MAX];
	enum result result;
	int fd = -1;

	audit_head_name(file, name);
	result =
	    audit_file_open(chain->dir_fd, name, AUDIT_FILE_APPEND, &fd, fault);
	if (result == RESULT_NOT_FOUND) {
		json_field_fault(fault, "%s names %s, which is missing",
		    AUDIT_HEAD_FILE, name);
		return RESULT_MISMATCH;
	}
	if (result != RESULT_OK)
		return result;
	fd_close(&chain->log_fd);
	chain->log_fd = fd;
	return RESULT_OK;
}

/* Go on from the head as it stands on disk: its file must reach it. */
static enum result
audit_chain_begin(struct audit_chain *chain, const struct audit_head *disk,
    struct json_fault *fault)
{
	char name[AUDIT_HEAD_NAME_MAX];
	enum result result = audit_chain_switch(chain, disk->file, fault);
	struct stat status;

	if (result != RESULT_OK)
		return result;
	chain->head = *disk;
	audit_head_name(disk->file, name);
	if (fstat(chain->log_fd, &status) != 0)
		return audit_chain_system(fault, name, "cannot be examined");
	if ((uint64_t)status.st_size < disk->size) {
		json_field_fault(fault,
		    "%s ends at byte %jd, before the %" PRIu64
		    " of %s: it was cut",
		    name, (intmax_t)status.st_size, disk->size,
		    AUDIT_HEAD_FILE);
		return RESULT_MISMATCH;
	}
	if (disk->size == 0)
		return RESULT_OK;
	result = audit_chain_check_last(chain, fault);
	if (result == RESULT_MISMATCH)
		json_field_fault(
		    fault, "%s does not end as %s says", name, AUDIT_HEAD_FILE);
	return result;
}

static enum result
audit_chain_follow_lines(struct audit_chain *chain, const char *bytes,
    size_t len, size_t *used_r, struct json_fault *fault)
{
	char name[AUDIT_HEAD_NAME_MAX];
	const char *end;
	enum result result;
	struct json_fault inner = {""};

	*used_r = 0;
	audit_head_name(chain->head.file, name);
	while ((end = memchr(bytes + *used_r, '\n', len - *used_r)) != NULL) {
		size_t line = (size_t)(end - bytes) - *used_r;

		result = audit_record_check(
		    &chain->head.link, bytes + *used_r, line, NULL, &inner);
		if (result != RESULT_OK) {
			json_field_fault(fault, "%s, byte %" PRIu64 ": %s",
			    name, chain->head.size, inner.text);
			return result == RESULT_BAD ? RESULT_MISMATCH : result;
		}
		*used_r += line + 1;
		chain->head.size += line + 1;
	}
	return RESULT_OK;
}

/* Cut off a line without end and put a record of it into the batch. */
static enum result
audit_chain_cut_torn(struct audit_chain *chain, const char *bytes, size_t len,
    int64_t now_ms, struct json_fault *fault)
{
	char hash[DIGEST_HEX + 1];
	enum result result;
	json_t *fields;

	result = digest_sha256(bytes, len, hash);
	if (result != RESULT_OK)
		return result;
	if (ftruncate(chain->log_fd, (off_t)chain->head.size) != 0)
		return audit_chain_system(
		    fault, AUDIT_HEAD_LOG, "its torn end cannot be cut");
	chain->next = chain->head.link;
	fields =
	    json_pack("{s:I, s:s}", "bytes", (json_int_t)len, "sha256", hash);
	if (fields == NULL)
		return RESULT_NO_MEMORY;
	result = audit_chain_add(chain, now_ms, "torn_tail", fields);
	json_decref(fields);
	return result;
}

static enum result
audit_chain_follow(struct audit_chain *chain, size_t news, int64_t now_ms,
    struct json_fault *fault)
{
	enum result result;
	size_t len, used;
	char *bytes;

	if (news > AUDIT_CHAIN_NEWS_MAX) {
		json_field_fault(fault, "%s has %zu bytes behind its head",
		    AUDIT_HEAD_LOG, news);
		return RESULT_MISMATCH;
	}
	bytes = malloc(news);
	if (bytes == NULL)
		return RESULT_NO_MEMORY;
	result = audit_file_read(
	    chain->log_fd, (off_t)chain->head.size, bytes, news, &len);
	if (result != RESULT_OK)
		audit_chain_system(fault, AUDIT_HEAD_LOG, "cannot be read");
	else
		result =
		    audit_chain_follow_lines(chain, bytes, len, &used, fault);
	if (result == RESULT_OK && used < len)
		result = audit_chain_cut_torn(
		    chain, bytes + used, len - used, now_ms, fault);
	free(bytes);
	return result;
}

/* What stands behind our end in the file we are in. */
static enum result
audit_chain_follow_file(
    struct audit_chain *chain, int64_t now_ms, struct json_fault *fault)
{
	char name[AUDIT_HEAD_NAME_MAX];
	struct stat status;

	audit_head_name(chain->head.file, name);
	if (fstat(chain->log_fd, &status) != 0)
		return audit_chain_system(fault, name, "cannot be examined");
	if ((uint64_t)status.st_size < chain->head.size) {
		json_field_fault(fault, "%s was cut to %jd bytes", name,
		    (intmax_t)status.st_size);
		return RESULT_MISMATCH;
	}
	if ((uint64_t)status.st_size == chain->head.size)
		return RESULT_OK;
	return audit_chain_follow(chain,
	    (size_t)((uint64_t)status.st_size - chain->head.size), now_ms,
	    fault);
}

/* A ledger that died between the first records of a new file and the head:
 * its file is the next one, and not empty. */
static enum result
audit_chain_follow_next(
    struct audit_chain *chain, int64_t now_ms, struct json_fault *fault)
{
	char name[AUDIT_HEAD_NAME_MAX];
	enum result result;

	if (audit_file_size(chain->dir_fd, chain->head.file + 1) == 0)
		return RESULT_OK;
	if (chain->pending.len > 0 || chain->head.size == 0) {
		audit_head_name(chain->head.file + 1, name);
		json_field_fault(fault,
		    "%s goes on although the file before it %s", name,
		    chain->head.size == 0 ? "is empty" : "has a torn end");
		return RESULT_MISMATCH;
	}
	result = audit_chain_switch(chain, chain->head.file + 1, fault);
	if (result != RESULT_OK)
		return result;
	chain->head.file++;
	chain->head.size = 0;
	return audit_chain_follow_file(chain, now_ms, fault);
}

/* The head on disk: sealed by us, or (*unsealed_r) of an empty chain, or of
 * one that is older than its key. */
static enum result
audit_chain_look(struct audit_chain *chain, struct audit_head *disk_r,
    bool *unsealed_r, struct json_fault *fault)
{
	enum result result = audit_head_io_read(chain->head_fd, disk_r, fault);

	*unsealed_r = false;
	if (result != RESULT_OK)
		return result;
	result = audit_seal_check(chain->key, disk_r, fault);
	if (result == RESULT_OK)
		chain->is_key_new = false;
	if (result != RESULT_NOT_FOUND)
		return result;
	*unsealed_r = true;
	if (chain->is_key_new ||
	    (disk_r->link.seq == 0 && audit_chain_is_empty(chain)))
		return RESULT_OK;
	return audit_seal_missing(fault);
}

static enum result
audit_chain_note(
    struct audit_chain *chain, int64_t now_ms, const char *event, uint64_t from)
{
	json_t *fields = json_pack("{s:I, s:I}", "from", (json_int_t)from, "to",
	    (json_int_t)chain->head.link.seq);
	enum result result =
	    fields == NULL ? RESULT_NO_MEMORY
			   : audit_chain_add(chain, now_ms, event, fields);

	json_decref(fields);
	return result;
}

/* Say in the chain which of its records no seal of ours covered so far. */
static enum result
audit_chain_note_unsealed(struct audit_chain *chain,
    const struct audit_head *disk, bool unsealed, int64_t now_ms)
{
	if (chain->key == NULL || chain->head.link.seq == 0)
		return RESULT_OK;
	if (unsealed)
		return audit_chain_note(chain, now_ms, "chain_unsealed", 1);
	if (chain->head.link.seq > disk->link.seq)
		return audit_chain_note(
		    chain, now_ms, "chain_adopted", disk->link.seq + 1);
	return RESULT_OK;
}

/* Our place in the chain, and everything behind it. */
static enum result
audit_chain_find_end(struct audit_chain *chain, const struct audit_head *disk,
    int64_t now_ms, struct json_fault *fault)
{
	enum result result = RESULT_OK;

	if (chain->head.size == 0 || disk->file > chain->head.file)
		result = audit_chain_begin(chain, disk, fault);
	chain->next = chain->head.link;
	if (result == RESULT_OK)
		result = audit_chain_follow_file(chain, now_ms, fault);
	if (result == RESULT_OK)
		result = audit_chain_follow_next(chain, now_ms, fault);
	if (chain->pending.len == 0)
		chain->next = chain->head.link;
	return result;
}

enum result
audit_chain_catch_up(
    struct audit_chain *chain, int64_t now_ms, struct json_fault *fault)
{
	struct audit_head disk;
	bool unsealed;
	enum result result;

	buffer_clear(&chain->pending);
	fd_close(&chain->next_fd);
	result = audit_chain_look(chain, &disk, &unsealed, fault);
	if (result == RESULT_NOT_FOUND && chain->head.link.seq == 0)
		return audit_chain_create(chain, fault);
	if (result == RESULT_NOT_FOUND) {
		json_field_fault(fault, "%s was emptied", AUDIT_HEAD_FILE);
		return RESULT_MISMATCH;
	}
	if (result == RESULT_OK)
		result = audit_chain_find_end(chain, &disk, now_ms, fault);
	if (result == RESULT_OK && chain->pending.len == 0)
		result = audit_rotate_begin(chain, now_ms, fault);
	if (result == RESULT_OK)
		result =
		    audit_chain_note_unsealed(chain, &disk, unsealed, now_ms);
	return result;
}

enum result
audit_chain_add(struct audit_chain *chain, int64_t now_ms, const char *event,
    const json_t *fields)
{
	struct audit_link next = chain->next;
	char ts[AUDIT_RECORD_TS_MAX];
	enum result result;
	char *line;
	size_t len;

	audit_record_time(now_ms, ts);
	result = audit_record_make(&next, ts, event, fields, &line, &len);
	if (result != RESULT_OK)
		return result;
	result = buffer_append(&chain->pending, line, len);
	free(line);
	if (result == RESULT_OK)
		chain->next = next;
	return result;
}

static enum result
audit_chain_write_all(struct audit_chain *chain, int fd)
{
	if (fd_write_all(fd, buffer_bytes_borrow(&chain->pending),
		chain->pending.len) != RESULT_OK)
		return RESULT_SYSTEM;
	if (fdatasync(fd) == 0)
		return RESULT_OK;
	/* The kernel may have dropped the pages: nothing later can be
	 * trusted to be on disk either. */
	chain->failed = true;
	return RESULT_SYSTEM;
}

/* Nothing of the batch counts. cut: the files end as before; a line that
 * stays half written is cut by the next catch-up. */
static enum result
audit_chain_take_back(
    struct audit_chain *chain, bool cut, struct json_fault *fault)
{
	int error = errno;

	buffer_clear(&chain->pending);
	chain->next = chain->head.link;
	if (cut && chain->next_fd >= 0)
		(void)!ftruncate(chain->next_fd, 0);
	else if (cut)
		(void)!ftruncate(chain->log_fd, (off_t)chain->head.size);
	fd_close(&chain->next_fd);
	errno = error;
	return audit_chain_system(
	    fault, cut ? AUDIT_HEAD_LOG : AUDIT_HEAD_FILE, "cannot be written");
}

enum result
audit_chain_commit(struct audit_chain *chain, struct json_fault *fault)
{
	bool rotates = chain->next_fd >= 0;
	struct audit_head head = {.link = chain->next,
	    .file = chain->head.file + (rotates ? 1 : 0),
	    .size = (rotates ? 0 : chain->head.size) + chain->pending.len};

	if (chain->pending.len == 0)
		return RESULT_OK;
	errno = EIO;
	if (chain->failed)
		return audit_chain_take_back(chain, false, fault);
	if (audit_chain_write_all(
		chain, rotates ? chain->next_fd : chain->log_fd) != RESULT_OK)
		return audit_chain_take_back(chain, true, fault);
	if (audit_chain_move_head(chain, &head) != RESULT_OK)
		return audit_chain_take_back(chain, !chain->failed, fault);
	buffer_clear(&chain->pending);
	if (rotates)
		audit_rotate_end(chain);
	return RESULT_OK;
}
