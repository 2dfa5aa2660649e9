/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pipes and copies of the standard streams. Called by mcp_run; it must
 * never hand a caller's descriptor to a container.
 */
#include "supervisor/command/mcp_streams.h"

#include <fcntl.h>
#include <unistd.h>

#include "common/fd.h"
#include "supervisor/engine/gate_part.h"

void
mcp_streams_init(struct mcp_streams *streams)
{
	streams->client_in = streams->client_out = streams->client_err = -1;
	for (int i = 0; i < 2; i++)
		streams->work_in[i] = streams->work_out[i] =
		    streams->work_err[i] = -1;
}

enum result
mcp_streams_open(struct mcp_streams *streams, bool with_input, bool verbose)
{
	enum result result = gate_part_pipe(streams->work_in, 1);

	if (result == RESULT_OK)
		result = gate_part_pipe(streams->work_out, 0);
	if (result == RESULT_OK)
		result = gate_part_pipe(streams->work_err, 0);
	if (result != RESULT_OK)
		return result;
	streams->client_out = gate_part_share(STDOUT_FILENO, O_WRONLY);
	if (with_input)
		streams->client_in = gate_part_share(STDIN_FILENO, O_RDONLY);
	if (verbose)
		streams->client_err = gate_part_share(STDERR_FILENO, O_WRONLY);
	if (streams->client_out < 0 || (with_input && streams->client_in < 0) ||
	    (verbose && streams->client_err < 0))
		return RESULT_SYSTEM;
	return RESULT_OK;
}

void
mcp_streams_close_work(struct mcp_streams *streams)
{
	fd_close(&streams->work_in[0]);
	fd_close(&streams->work_out[1]);
	fd_close(&streams->work_err[1]);
}

enum result
mcp_streams_let_go(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	bool good;

	if (null < 0)
		return RESULT_SYSTEM;
	good = dup2(null, STDIN_FILENO) >= 0 && dup2(null, STDOUT_FILENO) >= 0;
	fd_close(&null);
	return good ? RESULT_OK : RESULT_SYSTEM;
}

void
mcp_streams_close(struct mcp_streams *streams)
{
	mcp_streams_close_work(streams);
	fd_close(&streams->client_in);
	fd_close(&streams->client_out);
	fd_close(&streams->client_err);
	fd_close(&streams->work_in[1]);
	fd_close(&streams->work_out[0]);
	fd_close(&streams->work_err[0]);
}
