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
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "supervisor/ledger/audit_chain.h"

#define AUDIT_CHAIN_PENDING_MAX (32U * 1024U * 1024U)
/* What others may have added between two batches of ours, or a ledger
 * that died left behind the head. */
#define AUDIT_CHAIN_NEWS_MAX (64U * 1024U * 1024U)

void
audit_chain_init(struct audit_chain *chain)
{
	memset(chain, 0, sizeof(*chain));
	chain->log_fd = -1;
	chain->head_fd = -1;
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

static enum result
audit_chain_open_one(int dir_fd, const char *name, int flags, int *fd_r,
    struct json_fault *fault)
{
	struct stat status;

	*fd_r = openat(dir_fd, name,
	    O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | flags,
	    0600);
	if (*fd_r < 0)
		return audit_chain_system(fault, name, "cannot be opened");
	if (fstat(*fd_r, &status) != 0)
		return audit_chain_system(fault, name, "cannot be examined");
	if (!S_ISREG(status.st_mode) || (status.st_mode & 022) != 0) {
		json_field_fault(fault,
		    "%s: must be a regular file that nobody else may write",
		    name);
		return RESULT_BAD;
	}
	return RESULT_OK;
}

enum result
audit_chain_open(
    struct audit_chain *chain, int dir_fd, struct json_fault *fault)
{
	enum result result;

	result = audit_chain_open_one(
	    dir_fd, AUDIT_HEAD_FILE, 0, &chain->head_fd, fault);
	if (result == RESULT_OK)
		result = audit_chain_open_one(
		    dir_fd, AUDIT_HEAD_LOG, O_APPEND, &chain->log_fd, fault);
	if (result == RESULT_OK && fsync(dir_fd) != 0)
		return audit_chain_system(
		    fault, AUDIT_HEAD_DIR, "cannot be synced");
	return result;
}

void
audit_chain_close(struct audit_chain *chain)
{
	fd_close(&chain->log_fd);
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

/* Up to size bytes at an offset; *len_r says how many there were. */
static enum result
audit_chain_read_at(int fd, off_t at, char *bytes_r, size_t size, size_t *len_r)
{
	ssize_t got;

	*len_r = 0;
	while (*len_r < size) {
		got = pread(
		    fd, bytes_r + *len_r, size - *len_r, at + (off_t)*len_r);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return RESULT_SYSTEM;
		if (got == 0)
			break;
		*len_r += (size_t)got;
	}
	return RESULT_OK;
}

static enum result
audit_chain_read_head(struct audit_chain *chain, struct audit_head *head_r,
    struct json_fault *fault)
{
	char block[AUDIT_HEAD_SIZE + 1]; /* one more: a longer file shows */
	struct json_fault inner = {""};
	enum result result;
	size_t len;

	result =
	    audit_chain_read_at(chain->head_fd, 0, block, sizeof(block), &len);
	if (result != RESULT_OK)
		return audit_chain_system(
		    fault, AUDIT_HEAD_FILE, "cannot be read");
	result = audit_head_read(block, len, head_r, &inner);
	if (result == RESULT_BAD) {
		json_field_fault(fault, "%s: %s", AUDIT_HEAD_FILE, inner.text);
		return RESULT_MISMATCH;
	}
	return result; /* RESULT_NOT_FOUND: an empty file */
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
	result = audit_chain_read_at(
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

/* Move the head; it may lag behind after a power cut, never run ahead. */
static enum result
audit_chain_move_head(struct audit_chain *chain, const struct audit_head *head)
{
	char block[AUDIT_HEAD_SIZE];
	bool is_first = chain->head.link.seq == 0;
	ssize_t put;

	audit_head_write(head, block);
	do
		put = pwrite(chain->head_fd, block, sizeof(block), 0);
	while (put < 0 && errno == EINTR);
	if (put != (ssize_t)sizeof(block))
		return RESULT_SYSTEM;
	if (is_first && fsync(chain->head_fd) != 0)
		return RESULT_SYSTEM;
	chain->head = *head;
	return RESULT_OK;
}

/* A chain that has no record yet gets its head first: from then on a log
 * without head is one that somebody changed. */
static enum result
audit_chain_create(
    struct audit_chain *chain, off_t size, struct json_fault *fault)
{
	struct audit_head head;

	if (size != 0) {
		json_field_fault(fault, "%s is empty, but %s is not",
		    AUDIT_HEAD_FILE, AUDIT_HEAD_LOG);
		return RESULT_MISMATCH;
	}
	audit_record_first(&head.link);
	head.size = 0;
	if (audit_chain_move_head(chain, &head) != RESULT_OK)
		return audit_chain_system(
		    fault, AUDIT_HEAD_FILE, "cannot be written");
	return RESULT_OK;
}

/* First catch-up: take the head and see that the log reaches it. */
static enum result
audit_chain_begin(
    struct audit_chain *chain, off_t size, struct json_fault *fault)
{
	enum result result;

	result = audit_chain_read_head(chain, &chain->head, fault);
	if (result == RESULT_NOT_FOUND)
		return audit_chain_create(chain, size, fault);
	if (result != RESULT_OK)
		return result;
	if ((uint64_t)size < chain->head.size) {
		json_field_fault(fault,
		    "%s ends at byte %jd, before the %" PRIu64
		    " of %s: it was cut",
		    AUDIT_HEAD_LOG, (intmax_t)size, chain->head.size,
		    AUDIT_HEAD_FILE);
		return RESULT_MISMATCH;
	}
	if (chain->head.size == 0)
		return RESULT_OK;
	result = audit_chain_check_last(chain, fault);
	if (result == RESULT_MISMATCH)
		json_field_fault(fault, "%s does not end as %s says",
		    AUDIT_HEAD_LOG, AUDIT_HEAD_FILE);
	return result;
}

static enum result
audit_chain_follow_lines(struct audit_chain *chain, const char *bytes,
    size_t len, size_t *used_r, struct json_fault *fault)
{
	const char *end;
	enum result result;
	struct json_fault inner = {""};

	*used_r = 0;
	while ((end = memchr(bytes + *used_r, '\n', len - *used_r)) != NULL) {
		size_t line = (size_t)(end - bytes) - *used_r;

		result = audit_record_check(
		    &chain->head.link, bytes + *used_r, line, NULL, &inner);
		if (result != RESULT_OK) {
			json_field_fault(fault, "%s, byte %" PRIu64 ": %s",
			    AUDIT_HEAD_LOG, chain->head.size, inner.text);
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
	result = audit_chain_read_at(
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

enum result
audit_chain_catch_up(
    struct audit_chain *chain, int64_t now_ms, struct json_fault *fault)
{
	enum result result = RESULT_OK;
	struct stat status;

	buffer_clear(&chain->pending);
	if (fstat(chain->log_fd, &status) != 0)
		return audit_chain_system(
		    fault, AUDIT_HEAD_LOG, "cannot be examined");
	if (chain->head.size == 0)
		result = audit_chain_begin(chain, status.st_size, fault);
	else if ((uint64_t)status.st_size < chain->head.size) {
		json_field_fault(fault, "%s was cut to %jd bytes",
		    AUDIT_HEAD_LOG, (intmax_t)status.st_size);
		result = RESULT_MISMATCH;
	}
	chain->next = chain->head.link;
	if (result != RESULT_OK || (uint64_t)status.st_size == chain->head.size)
		return result;
	result = audit_chain_follow(chain,
	    (size_t)((uint64_t)status.st_size - chain->head.size), now_ms,
	    fault);
	if (chain->pending.len == 0)
		chain->next = chain->head.link;
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
audit_chain_write_all(struct audit_chain *chain)
{
	if (fd_write_all(chain->log_fd, buffer_bytes_borrow(&chain->pending),
		chain->pending.len) != RESULT_OK)
		return RESULT_SYSTEM;
	if (fdatasync(chain->log_fd) == 0)
		return RESULT_OK;
	/* The kernel may have dropped the pages: nothing later can be
	 * trusted to be on disk either. */
	chain->failed = true;
	return RESULT_SYSTEM;
}

enum result
audit_chain_commit(struct audit_chain *chain, struct json_fault *fault)
{
	struct audit_head head = {
	    chain->next, chain->head.size + chain->pending.len};
	enum result result = RESULT_SYSTEM;
	int error;

	if (chain->pending.len == 0)
		return RESULT_OK;
	errno = EIO;
	if (!chain->failed)
		result = audit_chain_write_all(chain);
	if (result == RESULT_OK)
		result = audit_chain_move_head(chain, &head);
	buffer_clear(&chain->pending);
	if (result == RESULT_OK)
		return RESULT_OK;
	error = errno;
	chain->next = chain->head.link;
	/* A line that stays half written is cut by the next catch-up. */
	(void)!ftruncate(chain->log_fd, (off_t)chain->head.size);
	errno = error;
	return audit_chain_system(fault, AUDIT_HEAD_LOG, "cannot be written");
}
