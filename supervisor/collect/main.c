/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agentnode-collect: reads what a command writes and leaves, so that nobody
 * else has to: agentnode-unpack with that job alone, and without the
 * libraries of the others, which take longer to load than most commands
 * run. Started by the supervisor for each `agentnode exec`.
 */
#include <unistd.h>

#include "common/confine.h"
#include "common/log.h"
#include "supervisor/unpack/collect.h"
#include "supervisor/unpack/unpack_jobs.h"
#include "supervisor/unpack/unpack_serve.h"

static const struct job_table_row main_rows[] = {
    {UNPACK_JOB_COLLECT, JOB_OPTIONS_TOTAL, COLLECT_FD_COUNT,
	job_table_collect},
    {NULL, 0, 0, NULL},
};

int
main(void)
{
	log_open(STDERR_FILENO, "agentnode-collect", LOG_INFO_LEVEL);
	confine_preload();
	unpack_serve(main_rows);
}
