/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agentnode-unpack: reads foreign archives and file trees so that nobody
 * else has to. Started by the supervisor.
 */
#include <signal.h>
#include <unistd.h>

#include "common/confine.h"
#include "common/ipc.h"
#include "common/log.h"
#include "supervisor/unpack/archive_source.h"
#include "supervisor/unpack/job_rows.h"
#include "supervisor/unpack/tree_digest.h"
#include "supervisor/unpack/unpack_serve.h"

int
main(void)
{
	log_open(STDERR_FILENO, "agentnode-unpack", LOG_INFO_LEVEL);
	/* Somebody wants a file of which we have a lease: it is given back
	 * at once, nothing is to be done. */
	(void)signal(SIGIO, SIG_IGN);
	confine_preload();
	archive_source_load();
	if (tree_digest_load() != RESULT_OK)
		log_fatal(IPC_EXIT_BAD_CONFIG, "libcrypto", "no SHA-2");
	unpack_serve(job_rows);
}
