/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The system calls the ledger needs. Called once by its main, before the
 * first record. Landlock leaves it one folder, without subfolders, links
 * or removal (budget_vfs.c spares SQLite those). Must never gain a socket,
 * exec, clone or rename.
 */
#include "supervisor/ledger/ledger_confine.h"

#include <asm/unistd.h>
#include <fcntl.h>
#include <linux/landlock.h>

#ifndef LANDLOCK_ACCESS_FS_TRUNCATE
#define LANDLOCK_ACCESS_FS_TRUNCATE (1ULL << 14)
#endif

#define LEDGER_CONFINE_MEMORY (UINT64_C(1) << 30)
#define LEDGER_CONFINE_FILES 64

/* Beside confine_base (common/confine.c). */
static const struct confine_syscall ledger_confine_syscalls[] = {
    {__NR_pread64, CONFINE_ALLOW, 0, "audit_chain_read_at"},
    {__NR_pwrite64, CONFINE_ALLOW, 0, "audit_chain_move_head"},
    {__NR_fdatasync, CONFINE_ALLOW, 0, "audit_chain_write_all"},
    {__NR_fsync, CONFINE_ALLOW, 0, "audit_chain_open: the folder"},
    {__NR_ftruncate, CONFINE_ALLOW, 0, "audit_chain: torn ends"},
    {__NR_flock, CONFINE_ALLOW, 0, "audit_chain_lock"},
    {__NR_clock_nanosleep, CONFINE_ALLOW, 0, "waiting for that lock"},
    {__NR_sysinfo, CONFINE_ALLOW, 0, "qsort in digest_write_object"},
    /* SQLite, on usage.db, its -wal and -shm */
    {__NR_fcntl, CONFINE_ALLOW_ARG1, F_SETLK, "SQLite: its locks"},
    {__NR_fcntl, CONFINE_ALLOW_ARG1, F_GETLK, "SQLite: its locks"},
    {__NR_fcntl, CONFINE_ALLOW_ARG1, F_OFD_SETLK, "budget_alive_take"},
    {__NR_fcntl, CONFINE_ALLOW_ARG1, F_OFD_GETLK, "budget_alive_is_held"},
    {__NR_geteuid, CONFINE_ALLOW, 0, "SQLite: robustFchown asks who it is"},
    {-1, CONFINE_EACCES, 0, NULL},
};

enum result
ledger_confine_enter(uid_t uid, int dir_fd, bool landlock,
    struct confine_layers *layers_r, char *detail_r, size_t detail_size)
{
	const struct confine_path paths[] = {
	    {dir_fd,
		LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE |
		    LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_TRUNCATE},
	    {-1, 0},
	};
	struct confine_spec spec = {
	    .syscalls = ledger_confine_syscalls,
	    .paths = paths,
	    .landlock_required = landlock,
	    .uid = uid != 0 ? uid : LEDGER_CONFINE_UID,
	    .gid = (gid_t)(uid != 0 ? uid : LEDGER_CONFINE_UID),
	    .memory_max = LEDGER_CONFINE_MEMORY,
	    .files_max = LEDGER_CONFINE_FILES,
	    .may_open = true,
	};

	return confine_enter(&spec, layers_r, detail_r, detail_size);
}
