/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes and opens the key of the audit chain; see audit_key.h. Must never
 * replace one that is there.
 */
#include "supervisor/policy/audit_key.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "supervisor/ledger/audit_head_io.h"
#include "supervisor/ledger/audit_seal.h"

static enum result
audit_key_existing(
    const struct state_dir *home, int *fd_r, struct json_fault *fault)
{
	struct stat status;

	*fd_r = openat(home->fd, AUDIT_SEAL_KEY_FILE,
	    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (*fd_r < 0 && errno == ENOENT)
		return RESULT_NOT_FOUND;
	if (*fd_r >= 0 && fstat(*fd_r, &status) == 0 &&
	    S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
	    (status.st_mode & 077) == 0 &&
	    status.st_size == AUDIT_SEAL_KEY_TEXT)
		return RESULT_OK;
	fd_close(fd_r);
	json_field_fault(fault,
	    "%s/" AUDIT_SEAL_KEY_FILE ": must be a file of %u bytes that is "
	    "ours and that nobody else may read (mode 0600)",
	    state_dir_shown(home->path), AUDIT_SEAL_KEY_TEXT);
	return RESULT_BAD;
}

static enum result
audit_key_write(const struct state_dir *home, struct json_fault *fault)
{
	char text[AUDIT_SEAL_KEY_TEXT + 1];
	uint8_t bytes[32];
	enum result result;

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes)) {
		json_field_fault(fault, "no random numbers: %m");
		return RESULT_SYSTEM;
	}
	for (size_t i = 0; i < sizeof(bytes); i++)
		(void)snprintf(text + 2 * i, 4, "%02x\n", bytes[i]);
	result = state_dir_write(
	    home, AUDIT_SEAL_KEY_FILE, 0600, text, AUDIT_SEAL_KEY_TEXT, fault);
	secret_wipe(bytes, sizeof(bytes));
	secret_wipe(text, sizeof(text));
	return result;
}

/* Two that begin at once agree on one key. */
static enum result
audit_key_make(const struct state_dir *home, int ledger_fd,
    struct audit_key *key_r, struct json_fault *fault)
{
	int lock FD_CLEANUP = -1;
	enum result result = state_dir_lock(home, &lock, fault);

	if (result == RESULT_OK)
		result = audit_key_existing(home, &key_r->fd, fault);
	if (result != RESULT_NOT_FOUND)
		return result;
	if (audit_head_io_is_sealed(ledger_fd))
		return RESULT_OK; /* of what is lost; the ledger says so */
	result = audit_key_write(home, fault);
	if (result == RESULT_OK)
		result = audit_key_existing(home, &key_r->fd, fault);
	key_r->is_new = result == RESULT_OK;
	return result;
}

enum result
audit_key_home(const char *home, int ledger_fd, struct audit_key *key_r,
    struct json_fault *fault)
{
	struct state_dir dir;
	enum result result = state_dir_open(home, STATE_DIR_OURS, &dir, fault);

	*key_r = (struct audit_key){-1, false};
	if (result != RESULT_OK)
		return result;
	result = audit_key_existing(&dir, &key_r->fd, fault);
	if (result == RESULT_NOT_FOUND)
		result = audit_key_make(&dir, ledger_fd, key_r, fault);
	state_dir_close(&dir);
	return result;
}

enum result
audit_key_load(const struct state_dir *home, struct secret **key_r,
    struct json_fault *fault)
{
	int fd FD_CLEANUP = -1;
	enum result result = audit_key_existing(home, &fd, fault);

	*key_r = NULL;
	if (result != RESULT_OK)
		return result == RESULT_NOT_FOUND ? RESULT_OK : result;
	result = secret_new(AUDIT_SEAL_KEY_TEXT, key_r);
	if (result == RESULT_OK)
		result = secret_read_fd(*key_r, fd);
	if (result == RESULT_OK && !audit_seal_is_key(*key_r))
		result = RESULT_BAD;
	if (result == RESULT_OK)
		return RESULT_OK;
	secret_free(key_r);
	json_field_fault(fault, AUDIT_SEAL_KEY_FILE " cannot be used: %s",
	    result_text(result));
	return result;
}
