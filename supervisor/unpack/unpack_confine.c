/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The system calls agentnode-unpack needs beyond confine_base. Called once
 * by main.c, before the first foreign byte. Must never gain exec, a socket,
 * a way to create or change a file, or a path outside of its roots.
 */
#include "supervisor/unpack/unpack_confine.h"

#include <asm/unistd.h>
#include <fcntl.h>
#include <linux/landlock.h>

#define UNPACK_CONFINE_MEMORY (UINT64_C(2) << 30)
#define UNPACK_CONFINE_FILES 256U

#define UNPACK_CONFINE_RIGHTS \
	(LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)

/* Without roots every open and stat is answered with EACCES. */
static const struct confine_syscall unpack_confine_syscalls[] = {
    {__NR_poll, CONFINE_ALLOW, 0, "unpack_io_wait, main_receive"},
    {__NR_ppoll, CONFINE_ALLOW, 0, "poll (arm64)"},
    {__NR_lseek, CONFINE_ALLOW, 0, "archive_source_on_seek, rewinddir"},
    {__NR_pread64, CONFINE_ALLOW, 0, "collect_handed_pread"},
    {__NR_getdents64, CONFINE_ALLOW, 0, "tree_walk_list"},
    {__NR_sysinfo, CONFINE_ALLOW, 0, "qsort"},
    {__NR_fstatfs, CONFINE_ALLOW, 0, "tree_stat_begin"},
    {__NR_geteuid, CONFINE_ALLOW, 0, "tree_stat_read"},
    {__NR_sync_file_range, CONFINE_ALLOW, 0, "tree_seal_settle"},
    {__NR_fcntl, CONFINE_ALLOW_ARG1, F_SETLEASE, "tree_seal_lease"},
    {-1, CONFINE_ALLOW, 0, NULL},
};

enum result
unpack_confine_enter(const struct unpack_config *config,
    struct confine_layers *layers_r, char *detail_r, size_t detail_size)
{
	struct confine_path paths[UNPACK_ROOTS_MAX + 1];
	struct confine_spec spec = {
	    .syscalls = unpack_confine_syscalls,
	    .paths = paths,
	    .landlock_required = !config->no_landlock,
	    .uid = config->uid != 0 ? config->uid : UNPACK_CONFINE_UID,
	    .memory_max = UNPACK_CONFINE_MEMORY,
	    .files_max = UNPACK_CONFINE_FILES,
	    .may_open = config->root_count > 0,
	    .deny_tcp_bind = true,
	    .deny_tcp_connect = true,
	};
	size_t count = config->root_count;

	spec.gid = (gid_t)spec.uid;
	for (size_t i = 0; i < count; i++)
		paths[i] = (struct confine_path){
		    config->roots[i], UNPACK_CONFINE_RIGHTS};
	paths[count] = (struct confine_path){-1, 0};
	return confine_enter(&spec, layers_r, detail_r, detail_size);
}
