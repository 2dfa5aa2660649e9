/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Map the report and compare it with what the plan expects. Called once
 * per start, before go; must never read the report with a size it does not
 * have.
 */
#include "supervisor/sandbox_walls.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "common/log.h"
#include "supervisor/engine/engine.h"
#include "supervisor/engine/wall_table.h"

#define SANDBOX_WALLS_MOUNTS (RUN_ARGV_TMPFS_MAX + RUN_ARGV_MOUNTS_MAX)

struct sandbox_walls {
	struct wall_table_mount mounts[SANDBOX_WALLS_MOUNTS];
	struct wall_table_host hosts[RUN_ARGV_HOSTS_MAX];
	struct wall_table_expected expected;
	char *detail;
	size_t detail_size;
	unsigned told;
};

static void
sandbox_walls_expect_mounts(struct sandbox_walls *walls,
    const struct run_argv_input *input, const struct engine *engine)
{
	const uint32_t flags =
	    INIT_REPORT_RDONLY | INIT_REPORT_NOSUID | INIT_REPORT_NODEV;
	size_t count = 0;

	for (size_t i = 0; i < input->tmpfs_count; i++) {
		const struct run_argv_tmpfs *tmpfs = &input->tmpfs[i];

		walls->mounts[count++] =
		    (struct wall_table_mount){tmpfs->target, "tmpfs",
			((INIT_REPORT_NOSUID | INIT_REPORT_NODEV) &
			    ~engine->tmpfs_lack) |
			    (tmpfs->exec ? 0 : INIT_REPORT_NOEXEC),
			tmpfs->size};
	}
	for (size_t i = 0; i < input->mount_count; i++)
		walls->mounts[count++] =
		    (struct wall_table_mount){input->mounts[i].target, NULL,
			flags & ~engine->mounts_lack, 0};
	walls->expected.mounts = walls->mounts;
	walls->expected.mount_count = count;
}

static void
sandbox_walls_expect(
    struct sandbox_walls *walls, const struct sandbox_plan *plan)
{
	const struct run_argv_input *input = &plan->input;

	walls->expected = (struct wall_table_expected){.uid = input->uid,
	    .gid = input->gid,
	    .landlock_required = !plan->no_landlock,
	    .writable_exec = plan->setup.writable_exec != 0,
	    .host_written = plan->setup.host_written != 0,
	    .sockets = true,
	    .hostname = "sandbox",
	    .container_name = plan->facts.name,
	    .looks = plan->setup.look_count,
	    .files_max = input->files,
	    .processes_max = input->pids};
	sandbox_walls_expect_mounts(walls, input, plan->engine);
	for (size_t i = 0; i < input->host_count; i++)
		walls->hosts[i] = (struct wall_table_host){
		    input->hosts[i].address, input->hosts[i].name};
	walls->expected.hosts = walls->hosts;
	walls->expected.host_count = input->host_count;
	plan->engine->expect(plan, &walls->expected);
}

static void
sandbox_walls_on_difference(const char *text, void *context)
{
	struct sandbox_walls *walls = context;

	log_event(LOG_ERROR_LEVEL, "wall_difference", LOG_TEXT("text", text));
	if (walls->told++ == 0)
		(void)snprintf(walls->detail, walls->detail_size, "%s", text);
}

enum result
sandbox_walls_check(const struct sandbox_plan *plan, int report_fd,
    char *detail_r, size_t detail_size)
{
	struct sandbox_walls walls = {
	    .detail = detail_r, .detail_size = detail_size};
	struct stat info;
	void *report;
	size_t used;

	if (fstat(report_fd, &info) != 0 ||
	    info.st_size != (off_t)sizeof(struct init_report)) {
		(void)snprintf(detail_r, detail_size,
		    "init's report does not have the size of a report");
		return RESULT_MISMATCH;
	}
	report = mmap(NULL, sizeof(struct init_report), PROT_READ, MAP_PRIVATE,
	    report_fd, 0);
	if (report == MAP_FAILED) {
		(void)snprintf(
		    detail_r, detail_size, "init's report cannot be mapped");
		return RESULT_SYSTEM;
	}
	sandbox_walls_expect(&walls, plan);
	(void)wall_table_compare(report, (size_t)info.st_size, &walls.expected,
	    sandbox_walls_on_difference, &walls);
	(void)munmap(report, sizeof(struct init_report));
	if (walls.told == 0)
		return RESULT_OK;
	used = strlen(detail_r);
	(void)snprintf(detail_r + used, detail_size - used,
	    " (%u difference%s from the expected walls; see `agentnode "
	    "sandbox doctor`)",
	    walls.told, walls.told == 1 ? "" : "s");
	return RESULT_MISMATCH;
}

enum result
sandbox_walls_volumes(const struct sandbox_plan *plan, pid_t init,
    char *detail_r, size_t detail_size)
{
	enum result result = RESULT_OK;

	if (plan->engine->places != NULL)
		init = plan->engine->places(plan, init);
	for (size_t i = 0; i < plan->seal_count && result == RESULT_OK; i++)
		result = mount_check(init, plan->seals[i].target,
		    &plan->seals[i].place, detail_r, detail_size);
	return result;
}
