/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds and enters Landlock domains (see the header). Called in forked
 * children only. Rights a kernel does not know are left out of what is
 * governed; the report tells the supervisor the version, so it knows.
 */
#include "supervisor/init/init_landlock.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "supervisor/init/init_layers.h"

#define INIT_LANDLOCK_RULE_PATH 1
#define INIT_LANDLOCK_VERSION_FLAG 1U
/* POSIX shared memory and semaphores; the engine mounts it with a size. */
#define INIT_LANDLOCK_SHM "/dev/shm"
#define INIT_LANDLOCK_READ (INIT_LANDLOCK_READ_FILE | INIT_LANDLOCK_READ_DIR)
/* What a workload may do where it writes: no devices, no execution. */
#define INIT_LANDLOCK_WRITE                                        \
	(INIT_LANDLOCK_FS_ALL &                                    \
	    ~(INIT_LANDLOCK_MAKE_CHAR | INIT_LANDLOCK_MAKE_BLOCK | \
		INIT_LANDLOCK_EXECUTE))
/* What may be granted on something that is no directory. */
#define INIT_LANDLOCK_FILE_RIGHTS                           \
	(INIT_LANDLOCK_EXECUTE | INIT_LANDLOCK_WRITE_FILE | \
	    INIT_LANDLOCK_READ_FILE | (1ULL << 14) | INIT_LANDLOCK_IOCTL_DEV)

/* The kernel's struct landlock_ruleset_attr and its path rule. */
struct init_landlock_attr {
	uint64_t fs, net, scopes;
};
struct init_landlock_path {
	uint64_t rights;
	int32_t fd;
} __attribute__((packed));

struct init_landlock_domain {
	int fd;
	uint64_t governed;
};

int
init_landlock_abi(void)
{
	long abi = syscall(
	    SYS_landlock_create_ruleset, NULL, 0, INIT_LANDLOCK_VERSION_FLAG);

	return abi < 0 ? 0 : (int)abi;
}

static uint64_t
init_landlock_known(int abi)
{
	if (abi >= 5)
		return INIT_LANDLOCK_FS_ALL;
	if (abi >= 3)
		return (1ULL << 15) - 1;
	return abi == 2 ? (1ULL << 14) - 1 : (1ULL << 13) - 1;
}

/* 0 with fd -1: no Landlock here and none required. */
static int
init_landlock_open(int required, struct init_landlock_domain *domain_r)
{
	int abi = init_landlock_abi();
	struct init_landlock_attr attr = {0};
	size_t size = sizeof(attr.fs);

	domain_r->fd = -1;
	if (abi == 0)
		return required ? EOPNOTSUPP : 0;
	attr.fs = init_layers.landlock_fs & init_landlock_known(abi);
	if (abi >= 6) {
		attr.scopes = init_layers.landlock_scopes;
		size = sizeof(attr);
	}
	if (attr.fs == 0 && attr.scopes == 0)
		return 0;
	domain_r->governed = attr.fs;
	domain_r->fd =
	    (int)syscall(SYS_landlock_create_ruleset, &attr, size, 0);
	return domain_r->fd < 0 ? errno : 0;
}

static int
init_landlock_allow(const struct init_landlock_domain *domain, int at,
    const char *path, uint64_t rights)
{
	struct init_landlock_path rule = {.rights = rights & domain->governed};
	struct stat st;
	int error = 0;

	rule.fd = openat(at, path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (rule.fd < 0)
		return errno;
	if (fstat(rule.fd, &st) != 0)
		error = errno;
	else if (!S_ISDIR(st.st_mode))
		rule.rights &= INIT_LANDLOCK_FILE_RIGHTS;
	/* A symbolic link is judged where it leads. */
	if (error == 0 && rule.rights != 0 && !S_ISLNK(st.st_mode) &&
	    syscall(SYS_landlock_add_rule, domain->fd, INIT_LANDLOCK_RULE_PATH,
		&rule, 0) != 0)
		error = errno;
	close(rule.fd);
	return error;
}

/* Enters the domain and closes it. */
static int
init_landlock_enter(struct init_landlock_domain *domain, int error)
{
	if (domain->fd < 0)
		return error;
	if (error == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		error = errno;
	if (error == 0 &&
	    syscall(SYS_landlock_restrict_self, domain->fd, 0) != 0)
		error = errno;
	close(domain->fd);
	domain->fd = -1;
	return error;
}

/* True when nothing below /name may be executed: it is, or leads to, a
 * writable directory, or it holds no programs. */
static int
init_landlock_bare(const struct init_setup *setup, const char *name)
{
	static const char *const kernel[] = {"proc", "sys", "dev", "run"};
	size_t len = strlen(name);

	for (size_t i = 0; i < sizeof(kernel) / sizeof(kernel[0]); i++) {
		if (strcmp(name, kernel[i]) == 0)
			return 1;
	}
	for (uint32_t i = 0; i < setup->writable_count; i++) {
		const char *path = setup->writable[i];

		if (path[0] != '/' || strncmp(path + 1, name, len) != 0)
			continue;
		/* Where what is written may be executed anyway, the programs
		 * around it may be too. */
		if (path[1 + len] == '\0' ||
		    (path[1 + len] == '/' && setup->writable_exec == 0))
			return 1;
	}
	return 0;
}

/* A right given on "/" would hold everywhere below, writable directories
 * too: execution is given to each of its entries that is not bare. */
static int
init_landlock_programs(
    const struct init_landlock_domain *domain, const struct init_setup *setup)
{
	DIR *root = opendir("/");
	struct dirent *entry;
	int error = 0;

	if (root == NULL)
		return errno;
	while (error == 0 && (entry = readdir(root)) != NULL) {
		if (strcmp(entry->d_name, ".") == 0 ||
		    strcmp(entry->d_name, "..") == 0 ||
		    init_landlock_bare(setup, entry->d_name))
			continue;
		error = init_landlock_allow(
		    domain, dirfd(root), entry->d_name, INIT_LANDLOCK_EXECUTE);
	}
	closedir(root);
	return error;
}

/* Not every engine mounts it. */
static int
init_landlock_shared(const struct init_landlock_domain *domain)
{
	int error = init_landlock_allow(
	    domain, AT_FDCWD, INIT_LANDLOCK_SHM, INIT_LANDLOCK_WRITE);

	return error == ENOENT ? 0 : error;
}

int
init_landlock_workload(const struct init_setup *setup)
{
	uint64_t writing = INIT_LANDLOCK_WRITE;
	struct init_landlock_domain domain;
	int error = init_landlock_open((int)setup->landlock_required, &domain);

	if (error != 0 || domain.fd < 0)
		return error;
	if (setup->writable_exec != 0)
		writing |= INIT_LANDLOCK_EXECUTE;
	error = init_landlock_allow(&domain, AT_FDCWD, "/", INIT_LANDLOCK_READ);
	if (error == 0)
		error = init_landlock_allow(&domain, AT_FDCWD, "/dev",
		    INIT_LANDLOCK_WRITE_FILE | INIT_LANDLOCK_IOCTL_DEV);
	if (error == 0)
		error = init_landlock_shared(&domain);
	if (error == 0)
		error = init_landlock_programs(&domain, setup);
	for (uint32_t i = 0; error == 0 && i < setup->writable_count; i++)
		error = init_landlock_allow(
		    &domain, AT_FDCWD, setup->writable[i], writing);
	return init_landlock_enter(&domain, error);
}

int
init_landlock_tree(const char *path, int writable, int required)
{
	struct init_landlock_domain domain;
	int error = init_landlock_open(required, &domain);
	uint64_t rights = INIT_LANDLOCK_READ;

	if (error != 0 || domain.fd < 0)
		return error;
	if (writable)
		rights = INIT_LANDLOCK_FS_ALL & ~INIT_LANDLOCK_EXECUTE;
	error = init_landlock_allow(&domain, AT_FDCWD, path, rights);
	return init_landlock_enter(&domain, error);
}

int
init_landlock_nothing(int required)
{
	struct init_landlock_domain domain;
	int error = init_landlock_open(required, &domain);

	return init_landlock_enter(&domain, error);
}
