/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rotation; see audit_rotate.h. Called by audit_chain.c. Must never drop a
 * record before the chain says on disk that it goes.
 */
#include "supervisor/ledger/audit_rotate.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/log.h"
#include "supervisor/ledger/audit_file.h"

/* {"file":N,"records_before":seq} and, when files go, "dropped":how many,
 * and the last record that goes: "dropped_seq", "dropped_hash". */
static enum result
audit_rotate_record(struct audit_chain *chain, uint64_t oldest,
    const struct audit_link *dropped, int64_t now_ms)
{
	uint64_t file = chain->head.file + 1;
	json_t *fields = json_pack("{s:I, s:I}", "file", (json_int_t)file,
	    "bytes_before", (json_int_t)chain->head.size);
	enum result result = RESULT_NO_MEMORY;
	bool good = fields != NULL;

	if (good && dropped->seq > 0)
		good = json_object_set_new(fields, "dropped",
			   json_integer((
			       json_int_t)(chain->drop_below - oldest))) == 0 &&
		       json_object_set_new(fields, "dropped_seq",
			   json_integer((json_int_t)dropped->seq)) == 0 &&
		       json_object_set_new(fields, "dropped_hash",
			   json_string(dropped->hash)) == 0;
	if (good)
		result =
		    audit_chain_add(chain, now_ms, AUDIT_ROTATE_EVENT, fields);
	json_decref(fields);
	return result;
}

/* The last record of what is dropped: what the oldest file kept follows. */
static enum result
audit_rotate_dropped(struct audit_chain *chain, uint64_t *oldest_r,
    struct audit_link *dropped_r, struct json_fault *fault)
{
	uint64_t file = chain->head.file + 1;
	char name[AUDIT_HEAD_NAME_MAX];
	int fd FD_CLEANUP = -1;
	enum result result;

	audit_record_first(dropped_r);
	chain->drop_below = 0;
	*oldest_r = audit_file_oldest(chain->dir_fd, file);
	if (chain->max_files == 0 || file < chain->max_files ||
	    *oldest_r >= file - chain->max_files + 1)
		return RESULT_OK;
	chain->drop_below = file - chain->max_files + 1;
	audit_head_name(chain->drop_below, name);
	result =
	    audit_file_open(chain->dir_fd, name, AUDIT_FILE_READ, &fd, fault);
	if (result == RESULT_OK)
		result = audit_file_before(fd, dropped_r);
	if (result == RESULT_OK)
		return RESULT_OK;
	json_field_fault(fault, "%s does not begin with a record", name);
	return RESULT_MISMATCH;
}

enum result
audit_rotate_begin(
    struct audit_chain *chain, int64_t now_ms, struct json_fault *fault)
{
	char name[AUDIT_HEAD_NAME_MAX];
	struct audit_link dropped;
	uint64_t oldest;
	enum result result;

	if (chain->max_size == 0 || chain->head.size < chain->max_size ||
	    chain->head.file >= AUDIT_HEAD_FILE_MAX)
		return RESULT_OK;
	result = audit_rotate_dropped(chain, &oldest, &dropped, fault);
	if (result != RESULT_OK)
		return result;
	audit_head_name(chain->head.file + 1, name);
	result = audit_file_open(
	    chain->dir_fd, name, AUDIT_FILE_MAKE, &chain->next_fd, fault);
	/* Its name must be on disk before its first record counts. */
	if (result == RESULT_OK && fsync(chain->dir_fd) != 0) {
		json_field_fault(fault, "%s: the folder: %m", name);
		result = RESULT_SYSTEM;
	}
	if (result == RESULT_OK)
		result = audit_rotate_record(chain, oldest, &dropped, now_ms);
	if (result != RESULT_OK)
		fd_close(&chain->next_fd);
	return result;
}

void
audit_rotate_end(struct audit_chain *chain)
{
	char name[AUDIT_HEAD_NAME_MAX];
	struct json_fault fault = {""};
	uint64_t oldest;

	fd_close(&chain->log_fd);
	chain->log_fd = chain->next_fd;
	chain->next_fd = -1;
	oldest = audit_file_oldest(chain->dir_fd, chain->head.file);
	for (; oldest < chain->drop_below; oldest++) {
		int fd FD_CLEANUP = -1;

		audit_head_name(oldest, name);
		if (audit_file_open(chain->dir_fd, name, AUDIT_FILE_APPEND, &fd,
			&fault) != RESULT_OK ||
		    ftruncate(fd, 0) != 0) {
			log_event(LOG_WARN_LEVEL, "audit_drop",
			    LOG_TEXT("file", name),
			    LOG_TEXT("detail", fault.text));
			return;
		}
	}
}
