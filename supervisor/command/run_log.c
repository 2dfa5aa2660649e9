/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The log of a run's supervisor; see run_log.h. Called by the stories of
 * runs when everything that can fail early has not.
 */
#include "supervisor/command/run_log.h"

#include <fcntl.h>
#include <string.h>

#include "common/log.h"
#include "supervisor/policy/log_files.h"

/* Our own log is full: go on in the new one. */
static enum result
run_log_on_full(int fd, void *context)
{
	int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	(void)context;
	if (own < 0)
		return RESULT_SYSTEM;
	log_replace_fd(own);
	return RESULT_OK;
}

void
run_log_open(
    struct run_log *log, struct event_base *base, const struct run_entry *run)
{
	static const char *const levels[] = {"debug", "info", "warn", "error"};
	const char *level = config_text(run->config, "log.level");
	struct json_fault fault = {""};
	enum log_level lowest = LOG_INFO_LEVEL;
	int fd = -1;

	for (size_t i = 0; i < 4; i++) {
		if (level != NULL && strcmp(level, levels[i]) == 0)
			lowest = (enum log_level)i;
	}
	if (log_files_open(run->home, "agentnode", &fd, &fault) != RESULT_OK)
		return;
	log_open(fd, "agentnode", lowest);
	if (child_log_new(base, fd, "agentnode", run_log_on_full, log,
		&log->watch) != RESULT_OK)
		log_event(LOG_WARN_LEVEL, "log_not_watched");
}

void
run_log_close(struct run_log *log)
{
	child_log_free(&log->watch);
}
