/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of run records. Called by run_record.c. It must never remove a file
 * of a living run, or one that is no record.
 */
#include "supervisor/policy/run_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "supervisor/policy/run_record.h"

#define RUN_FILES_END ".jsonl"
#define RUN_FILES_LOOKED_AT 8192U
#define RUN_FILES_DAY_S 86400

struct run_files_entry {
	char name[RUN_FILES_NAME_MAX];
	struct timespec changed;
};

bool
run_files_name(const char *run, char name_r[RUN_FILES_NAME_MAX])
{
	if (strlen(run) != RUN_FILES_ID_MAX ||
	    run[strspn(run, "0123456789abcdef")] != '\0')
		return false;
	(void)snprintf(name_r, RUN_FILES_NAME_MAX, "%.16s" RUN_FILES_END, run);
	return true;
}

enum result
run_files_folder(const struct state_dir *home, struct state_dir *runs_r,
    struct json_fault *fault)
{
	char path[STATE_DIR_PATH_MAX];

	runs_r->fd = -1;
	if ((size_t)snprintf(path, sizeof(path), "%s/" RUN_RECORD_DIR,
		home->path) >= sizeof(path))
		return RESULT_TOO_LONG;
	return state_dir_open(path, STATE_DIR_OURS, runs_r, fault);
}

enum result
run_files_make(const struct state_dir *runs, const char *run, int *fd_r,
    struct json_fault *fault)
{
	char name[RUN_FILES_NAME_MAX];

	*fd_r = -1;
	if (!run_files_name(run, name)) {
		json_field_fault(fault, "'%.40s' is not a run's id", run);
		return RESULT_BAD;
	}
	*fd_r = openat(runs->fd, name,
	    O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
	    0600);
	if (*fd_r >= 0 && flock(*fd_r, LOCK_EX | LOCK_NB) == 0)
		return RESULT_OK;
	json_field_fault(fault, "%s/%s: cannot be made: %s",
	    state_dir_shown(runs->path), name, strerror(errno));
	fd_close(fd_r);
	return RESULT_SYSTEM;
}

static int
run_files_compare(const void *a, const void *b)
{
	const struct run_files_entry *x = a, *y = b;

	if (x->changed.tv_sec != y->changed.tv_sec)
		return x->changed.tv_sec < y->changed.tv_sec ? -1 : 1;
	if (x->changed.tv_nsec != y->changed.tv_nsec)
		return x->changed.tv_nsec < y->changed.tv_nsec ? -1 : 1;
	return strcmp(x->name, y->name);
}

static bool
run_files_entry(const struct state_dir *runs, const char *file,
    struct run_files_entry *entry_r)
{
	char run[RUN_FILES_ID_MAX + 1];
	struct stat status;

	(void)snprintf(run, sizeof(run), "%.16s", file);
	if (!run_files_name(run, entry_r->name) ||
	    strcmp(entry_r->name, file) != 0 ||
	    fstatat(runs->fd, file, &status, AT_SYMLINK_NOFOLLOW) != 0 ||
	    !S_ISREG(status.st_mode))
		return false;
	entry_r->changed = status.st_mtim;
	return true;
}

static size_t
run_files_list(const struct state_dir *runs, struct run_files_entry *entries_r)
{
	int fd = openat(runs->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *stream = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *file;
	size_t count = 0;

	if (stream == NULL) {
		fd_close(&fd);
		return 0;
	}
	while (count < RUN_FILES_LOOKED_AT && (file = readdir(stream)) != NULL)
		if (run_files_entry(runs, file->d_name, &entries_r[count]))
			count++;
	(void)closedir(stream);
	return count;
}

static void
run_files_remove(const struct state_dir *runs, const char *name)
{
	FD_CLEANUP int fd = openat(
	    runs->fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
		(void)unlinkat(runs->fd, name, 0);
}

void
run_files_expire(
    const struct state_dir *runs, size_t kept, int days, time_t now)
{
	struct run_files_entry *entries =
	    calloc(RUN_FILES_LOOKED_AT, sizeof(*entries));
	size_t count, i;

	if (entries == NULL)
		return;
	count = run_files_list(runs, entries);
	qsort(entries, count, sizeof(*entries), run_files_compare);
	for (i = 0; i < count; i++)
		if (count - i > kept || now - entries[i].changed.tv_sec >
					    (time_t)days * RUN_FILES_DAY_S)
			run_files_remove(runs, entries[i].name);
	free(entries);
}
