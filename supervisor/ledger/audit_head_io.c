/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads and writes audit.head; see audit_head_io.h. Called by audit_chain,
 * audit_verify and audit_key. Must never sync: who writes knows when.
 */
#include "supervisor/ledger/audit_head_io.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "supervisor/ledger/audit_file.h"

enum result
audit_head_io_read(int fd, struct audit_head *head_r, struct json_fault *fault)
{
	char block[AUDIT_HEAD_SIZE + 1]; /* one more: a longer file shows */
	struct json_fault inner = {""};
	enum result result;
	size_t len;

	if (audit_file_read(fd, 0, block, sizeof(block), &len) != RESULT_OK) {
		json_field_fault(fault, "%s: cannot be read: %s",
		    AUDIT_HEAD_FILE, strerror(errno));
		return RESULT_SYSTEM;
	}
	result = audit_head_read(block, len, head_r, &inner);
	if (result != RESULT_BAD)
		return result;
	json_field_fault(fault, "%s: %s", AUDIT_HEAD_FILE, inner.text);
	return RESULT_MISMATCH;
}

enum result
audit_head_io_write(int fd, const struct audit_head *head)
{
	char block[AUDIT_HEAD_SIZE];
	size_t done = 0;
	ssize_t put;

	audit_head_write(head, block);
	while (done < sizeof(block)) {
		put =
		    pwrite(fd, block + done, sizeof(block) - done, (off_t)done);
		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
			return done == 0 ? RESULT_SYSTEM : RESULT_CLOSED;
		done += (size_t)put;
	}
	return RESULT_OK;
}

bool
audit_head_io_is_sealed(int dir_fd)
{
	struct json_fault unused = {""};
	struct audit_head head;
	int fd FD_CLEANUP = -1;
	enum result result;

	result = audit_file_open(
	    dir_fd, AUDIT_HEAD_FILE, AUDIT_FILE_READ, &fd, &unused);
	if (result == RESULT_OK)
		result = audit_head_io_read(fd, &head, &unused);
	if (result == RESULT_NOT_FOUND)
		return false;
	return result != RESULT_OK || head.mac[0] != '\0';
}
