/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Typed fields in, the words of `podman run` or `docker run` out. Called once
 * per start; must never pass a value through unchecked or put two values in one
 * word without a separator that neither can contain.
 */
#include "supervisor/engine/run_argv.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "supervisor/engine/engine_files.h"

#define RUN_ARGV_TEXT_MAX 512U

static enum result run_argv_word(struct run_argv *argv, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Append one word; a full table is RESULT_TOO_LONG. */
static enum result
run_argv_word(struct run_argv *argv, const char *format, ...)
{
	size_t room = sizeof(argv->bytes) - argv->used;
	va_list list;
	int len;

	if (argv->count >= RUN_ARGV_WORDS_MAX)
		return RESULT_TOO_LONG;
	va_start(list, format);
	len = vsnprintf(argv->bytes + argv->used, room, format, list);
	va_end(list);
	if (len < 0 || (size_t)len >= room)
		return RESULT_TOO_LONG;
	argv->words[argv->count++] = argv->bytes + argv->used;
	argv->words[argv->count] = NULL;
	argv->used += (size_t)len + 1;
	return RESULT_OK;
}

static bool
run_argv_all_of(const char *text, const char *alphabet)
{
	return text != NULL && text[0] != '\0' &&
	       strlen(text) < RUN_ARGV_TEXT_MAX &&
	       text[strspn(text, alphabet)] == '\0';
}

#define RUN_ARGV_LOWER "abcdefghijklmnopqrstuvwxyz"
#define RUN_ARGV_UPPER "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define RUN_ARGV_DIGIT "0123456789"
#define RUN_ARGV_WORD RUN_ARGV_LOWER RUN_ARGV_UPPER RUN_ARGV_DIGIT "._-"

/* A name of ours or the engine's: a word that starts with a letter or a
 * digit, so never with '-'. */
static bool
run_argv_is_name(const char *text)
{
	return run_argv_all_of(text, RUN_ARGV_WORD) &&
	       strchr("._-", text[0]) == NULL &&
	       strlen(text) < RUN_ARGV_NAME_MAX;
}

/* Absolute, no ',' ':' or control byte, so that it is one field of a mount
 * option; no part that is empty, "." or "..", so that it is the place it
 * says. */
static bool
run_argv_is_path(const char *text)
{
	const char *part = text;

	if (!run_argv_all_of(text, RUN_ARGV_WORD "/+@ "))
		return false;
	while (*part == '/') {
		size_t len = strcspn(++part, "/");
		size_t dots = strspn(part, ".");

		if (len == 0 || (dots == len && len <= 2))
			return false;
		part += len;
	}
	return *part == '\0';
}

/* [HOST[:PORT]/]PATH[:TAG] up to end. A word before a colon that is no host
 * would be a transport ("oci:/directory") to the engine. */
static bool
run_argv_is_repository(const char *name, const char *end)
{
	const char *slash = memchr(name, '/', (size_t)(end - name));
	const char *colon = memchr(name, ':', (size_t)(end - name));

	if (memchr(name, '@', (size_t)(end - name)) != NULL)
		return false;
	if (colon == NULL)
		return true;
	if (slash == NULL)
		return false;
	if (colon < slash) {
		size_t len = (size_t)(colon - name);
		bool host = memchr(name, '.', len) != NULL ||
			    (len == 9 && strncmp(name, "localhost", len) == 0);
		size_t digits = strspn(colon + 1, RUN_ARGV_DIGIT);

		if (!host || digits == 0 || colon + 1 + digits != slash)
			return false;
		colon = memchr(slash, ':', (size_t)(end - slash));
	}
	return colon == NULL ||
	       (colon + 1 < end &&
		   memchr(colon + 1, '/', (size_t)(end - colon - 1)) == NULL &&
		   memchr(colon + 1, ':', (size_t)(end - colon - 1)) == NULL);
}

bool
run_argv_is_pinned(const char *image)
{
	const char *at = image == NULL ? NULL : strstr(image, "@sha256:");
	const char *hex = at == NULL ? NULL : at + strlen("@sha256:");

	return hex != NULL && at > image &&
	       run_argv_all_of(image, RUN_ARGV_WORD "/:@") &&
	       strchr("._-/:@", image[0]) == NULL &&
	       strstr(image, "//") == NULL &&
	       run_argv_is_repository(image, at) && strlen(hex) == 64 &&
	       hex[strspn(hex, RUN_ARGV_DIGIT "abcdef")] == '\0';
}

bool
run_argv_is_image_id(const char *image)
{
	const char *hex;

	if (image == NULL || strncmp(image, "sha256:", 7) != 0)
		return false;
	hex = image + 7;
	return strlen(hex) == 64 &&
	       hex[strspn(hex, RUN_ARGV_DIGIT "abcdef")] == '\0';
}

static enum result
run_argv_fault(char *fault_r, size_t size, const char *field, const char *want)
{
	(void)snprintf(fault_r, size,
	    "%s of the sandbox is not usable: it must be %s", field, want);
	return RESULT_BAD;
}

enum result
run_argv_name(const char *kind, const char *package, const char *id,
    char *name_r, size_t size)
{
	int len;

	if (!run_argv_is_name(kind) || !run_argv_is_name(package) ||
	    !run_argv_all_of(id, RUN_ARGV_DIGIT "abcdef"))
		return RESULT_BAD;
	len = snprintf(
	    name_r, size, "agentnode-%.16s-%.64s-%s", kind, package, id);
	return len < 0 || (size_t)len >= size ? RESULT_TOO_LONG : RESULT_OK;
}

static enum result
run_argv_check_paths(
    const struct run_argv_input *input, char *fault_r, size_t size)
{
	const struct {
		const char *field, *path;
	} paths[] = {{"engine", input->client},
	    {"seccomp profile", input->seccomp}, {"id file", input->id_file},
	    {"entrypoint", input->entrypoint},
	    /* Of podman alone. */
	    {"runtime", input->runtime}, {"hooks directory", input->hooks},
	    {"mounts file", input->mounts_conf}};
	size_t count = sizeof(paths) / sizeof(paths[0]);

	if (input->dialect == RUN_ARGV_DOCKER)
		count -= 3;
	for (size_t i = 0; i < count; i++) {
		if (!run_argv_is_path(paths[i].path))
			return run_argv_fault(fault_r, size, paths[i].field,
			    "an absolute path without ',' or ':'");
	}
	return RESULT_OK;
}

static enum result
run_argv_check(const struct run_argv_input *input, char *fault_r, size_t size)
{
	if (!run_argv_is_pinned(input->image) &&
	    (input->dialect != RUN_ARGV_DOCKER ||
		!run_argv_is_image_id(input->image)))
		return run_argv_fault(
		    fault_r, size, "image", "NAME@sha256:<64 hex digits>");
	if (input->id == NULL || strlen(input->id) != 16)
		return run_argv_fault(fault_r, size, "id", "16 hex digits");
	if (input->uid == 0 || input->gid == 0)
		return run_argv_fault(fault_r, size, "uid", "above 0");
	if (input->memory < (4U << 20) || input->memory > (1ULL << 42))
		return run_argv_fault(
		    fault_r, size, "memory limit", "4 MiB to 4 TiB");
	if (input->pids < 2 || input->pids > 32768)
		return run_argv_fault(fault_r, size, "pids limit", "2..32768");
	if (input->cpu_milli < 10 || input->cpu_milli > 1024000)
		return run_argv_fault(
		    fault_r, size, "cpu limit", "10..1024000 (1000 = one CPU)");
	if (input->files < 16 || input->files > 1048576)
		return run_argv_fault(
		    fault_r, size, "file limit", "16..1048576");
	if (input->mount_count > RUN_ARGV_MOUNTS_MAX ||
	    input->tmpfs_count > RUN_ARGV_TMPFS_MAX ||
	    input->host_count > RUN_ARGV_HOSTS_MAX)
		return run_argv_fault(fault_r, size,
		    "number of mounts, tmpfs "
		    "or direct names",
		    "within its bound");
	return run_argv_check_paths(input, fault_r, size);
}

/* The engine and its global flags. */
static enum result
run_argv_engine(struct run_argv *argv, const struct run_argv_input *input)
{
	/* The daemon has its own runtime, and no hooks. */
	if (input->dialect == RUN_ARGV_DOCKER)
		return run_argv_word(argv, "%s", input->client) == RESULT_OK
			   ? run_argv_word(argv, input->made ? "create" : "run")
			   : RESULT_TOO_LONG;
	if (strcmp(input->cgroup_manager, "cgroupfs") != 0 &&
	    strcmp(input->cgroup_manager, "systemd") != 0)
		return RESULT_BAD;
	if (run_argv_word(argv, "%s", input->client) != RESULT_OK ||
	    /* Chosen by trying, not by the engine's default. */
	    run_argv_word(argv, "--runtime=%s", input->runtime) != RESULT_OK ||
	    run_argv_word(argv, "--cgroup-manager=%s", input->cgroup_manager) !=
		RESULT_OK ||
	    /* No journal entry that names the workload. */
	    run_argv_word(argv, "--events-backend=none") != RESULT_OK ||
	    /* OCI hooks are programs run as us: none. */
	    run_argv_word(argv, "--hooks-dir=%s", input->hooks) != RESULT_OK ||
	    /* Host directories copied into every container: none. */
	    run_argv_word(argv, "--default-mounts-file=%s",
		input->mounts_conf) != RESULT_OK)
		return RESULT_TOO_LONG;
	return run_argv_word(argv, "run");
}

/* Who it is: name, labels (gc finds leftovers by them), its own uid. */
static enum result
run_argv_identity(struct run_argv *argv, const struct run_argv_input *input)
{
	enum result result = run_argv_name(input->kind, input->package,
	    input->id, argv->name, sizeof(argv->name));

	if (result == RESULT_OK)
		result = run_argv_word(argv, "--name=%s", argv->name);
	if (result == RESULT_OK)
		result =
		    run_argv_word(argv, "--label=agentnode.run=%s", input->id);
	if (result == RESULT_OK)
		result = run_argv_word(
		    argv, "--label=agentnode.package=%s", input->package);
	/* A daemon has those of all its users. */
	if (result == RESULT_OK && input->dialect == RUN_ARGV_DOCKER &&
	    input->owner != NULL)
		result =
		    run_argv_is_name(input->owner)
			? run_argv_word(argv,
			      "--label=" ENGINE_FILES_OWNER "=%s", input->owner)
			: RESULT_BAD;
	/* Written before the runtime is called: whatever dies then, what the
	 * runtime keeps of the container can be found. */
	if (result == RESULT_OK)
		result = run_argv_word(argv, "--cidfile=%s", input->id_file);
	if (result == RESULT_OK)
		result =
		    run_argv_word(argv, "--user=%u:%u", input->uid, input->gid);
	/* os.userInfo() and getpwuid() find a name, and no other uid's. */
	if (result == RESULT_OK && input->dialect == RUN_ARGV_PODMAN)
		result = run_argv_word(argv,
		    "--passwd-entry=sandbox:x:%u:%u:sandbox:/sandbox-home:"
		    "/usr/sbin/nologin",
		    input->uid, input->gid);
	return result;
}

/* cgroup limits and rlimits; memory-swap equal to memory means no swap. */
static enum result
run_argv_limits(struct run_argv *argv, const struct run_argv_input *input)
{
	enum result result =
	    run_argv_word(argv, "--pids-limit=%u", input->pids);

	if (result == RESULT_OK)
		result = run_argv_word(
		    argv, "--memory=%llu", (unsigned long long)input->memory);
	if (result == RESULT_OK)
		result = run_argv_word(argv, "--memory-swap=%llu",
		    (unsigned long long)input->memory);
	if (result == RESULT_OK)
		result = run_argv_word(argv, "--cpus=%u.%03u",
		    input->cpu_milli / 1000, input->cpu_milli % 1000);
	if (result == RESULT_OK)
		result = run_argv_word(
		    argv, "--ulimit=nofile=%u:%u", input->files, input->files);
	/* Its uid is nobody else's, so this counts its own processes, also
	 * where cgroup limits are impossible. */
	if (result == RESULT_OK)
		result = run_argv_word(
		    argv, "--ulimit=nproc=%u:%u", input->pids, input->pids);
	if (result == RESULT_OK)
		result = run_argv_word(
		    argv, "--security-opt=seccomp=%s", input->seccomp);
	return result;
}

/* podman needs to be told that the image puts nothing in and that its mode
 * is not copied; docker that the owner is not root. */
static enum result
run_argv_tmpfs(struct run_argv *argv, const struct run_argv_input *input,
    const struct run_argv_tmpfs *tmpfs, char *fault_r, size_t size)
{
	const char *tail = tmpfs->owned ? ",notmpcopyup,U" : ",notmpcopyup";
	char owner[64] = "";

	if (tmpfs->owned)
		(void)snprintf(owner, sizeof(owner), ",uid=%u,gid=%u",
		    input->uid, input->gid);
	if (input->dialect == RUN_ARGV_DOCKER)
		tail = owner;
	if (!run_argv_is_path(tmpfs->target) || tmpfs->size == 0)
		return run_argv_fault(fault_r, size, "tmpfs",
		    "an absolute path without ',' or ':' and a size");
	return run_argv_word(argv,
	    "--tmpfs=%s:rw,%s,nosuid,nodev,size=%llu,mode=%04o%s",
	    tmpfs->target, tmpfs->exec ? "exec" : "noexec",
	    (unsigned long long)tmpfs->size, tmpfs->mode, tail);
}

/* A named volume, read-only; the image's content is not copied into it. */
static enum result
run_argv_mount(struct run_argv *argv, enum run_argv_dialect dialect,
    const struct run_argv_mount *mount, char *fault_r, size_t size)
{
	if (!run_argv_is_name(mount->volume))
		return run_argv_fault(fault_r, size, "volume",
		    "a name of letters, digits, '.', '_' and '-'");
	if (!run_argv_is_path(mount->target))
		return run_argv_fault(fault_r, size, "mount target",
		    "an absolute path without ',' or ':'");
	return run_argv_word(argv,
	    dialect == RUN_ARGV_DOCKER
		? "--mount=type=volume,src=%s,dst=%s,readonly,volume-nocopy"
		: "--volume=%s:%s:ro,nodev,nosuid,nocopy",
	    mount->volume, mount->target);
}

static enum result
run_argv_host(struct run_argv *argv, const struct run_argv_host *host,
    char *fault_r, size_t size)
{
	if (!run_argv_all_of(host->name, RUN_ARGV_WORD) ||
	    strchr("._-", host->name[0]) != NULL || strlen(host->name) > 253 ||
	    !run_argv_all_of(host->address, RUN_ARGV_DIGIT "."))
		return run_argv_fault(fault_r, size, "direct name",
		    "a host name with an IPv4 address");
	return run_argv_word(
	    argv, "--add-host=%s:%s", host->name, host->address);
}

static enum result
run_argv_places(struct run_argv *argv, const struct run_argv_input *input,
    char *fault_r, size_t size)
{
	enum result result = RESULT_OK;

	for (size_t i = 0; i < input->tmpfs_count && result == RESULT_OK; i++)
		result = run_argv_tmpfs(
		    argv, input, &input->tmpfs[i], fault_r, size);
	for (size_t i = 0; i < input->mount_count && result == RESULT_OK; i++)
		result = run_argv_mount(
		    argv, input->dialect, &input->mounts[i], fault_r, size);
	for (size_t i = 0; i < input->host_count && result == RESULT_OK; i++)
		result = run_argv_host(argv, &input->hosts[i], fault_r, size);
	return result;
}

enum result
run_argv_build(const struct run_argv_input *input, struct run_argv *argv_r,
    char *fault_r, size_t fault_size)
{
	enum result result = run_argv_check(input, fault_r, fault_size);
	bool docker = input->dialect == RUN_ARGV_DOCKER;
	const char *const *fixed =
	    docker ? run_argv_fixed_docker : run_argv_fixed;

	if (result != RESULT_OK)
		return result;
	argv_r->count = 0;
	argv_r->used = 0;
	result = run_argv_engine(argv_r, input);
	for (size_t i = 0; fixed[i] != NULL && result == RESULT_OK; i++)
		result = run_argv_word(argv_r, "%s", fixed[i]);
	if (result == RESULT_OK)
		result = run_argv_identity(argv_r, input);
	if (result == RESULT_OK)
		result = run_argv_limits(argv_r, input);
	if (result == RESULT_OK)
		result = run_argv_places(argv_r, input, fault_r, fault_size);
	if (result == RESULT_OK && input->fd_count > 0 && !docker)
		result =
		    run_argv_word(argv_r, "--preserve-fds=%u", input->fd_count);
	/* The engine keeps no copy of what the workload says. Where init is
	 * spoken to by standard input and output, it gets the client's own,
	 * so that no process of the engine's carries a byte of them. */
	if (result == RESULT_OK && !docker)
		result = run_argv_word(argv_r, "--log-driver=%s",
		    input->interactive ? "passthrough" : "none");
	if (result == RESULT_OK && input->interactive)
		result = run_argv_word(argv_r, "--interactive");
	/* Nothing of it passes through the client: streams come to init over
	 * its control socket. */
	else if (result == RESULT_OK && docker)
		result = run_argv_word(argv_r, "--detach");
	if (result == RESULT_OK)
		result =
		    run_argv_word(argv_r, "--entrypoint=%s", input->entrypoint);
	if (result == RESULT_OK)
		result = run_argv_word(argv_r, "--");
	if (result == RESULT_OK)
		result = run_argv_word(argv_r, "%s", input->image);
	if (result == RESULT_OK && input->init_word != NULL)
		result = run_argv_word(argv_r, "%s", input->init_word);
	if (result != RESULT_OK && result != RESULT_BAD)
		(void)run_argv_fault(fault_r, fault_size,
		    "number of mounts, tmpfs or direct names", "smaller");
	else if (result == RESULT_BAD && fault_r[0] == '\0')
		(void)run_argv_fault(fault_r, fault_size, "kind or package",
		    "letters, digits, '.', '_' and '-'");
	return result;
}
