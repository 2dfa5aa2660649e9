/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The option table: docker 20.10 to 28, podman 4 and 5, nerdctl 1 and 2, of
 * `run`, `create` and the program itself, deprecated and hidden spellings
 * too. Read by argv_words.c; a test compares it with the installed podman.
 */
#include "supervisor/argv/argv_table.h"

#include <string.h>

#define D ARGV_DOCKER
#define P ARGV_PODMAN
#define N ARGV_NERDCTL
#define DPN (D | P | N)
#define DP (D | P)
#define DN (D | N)
#define PN (P | N)
#define G ARGV_GLOBAL
#define GP (ARGV_GLOBAL | ARGV_PERSISTENT)
#define R ARGV_RUN
#define RC (ARGV_RUN | ARGV_CREATE)
#define C ARGV_CREATE

/* clang-format off */
static const struct argv_row argv_table_rows[] = {
    {"add-host", 0, DPN, RC, ARGV_SLICE, ARGV_ADD_HOST},
    {"annotation", 0, DPN, RC, ARGV_SLICE, ARGV_ANNOTATION},
    {"arch", 0, P, RC, ARGV_ONE, ARGV_NOTHING},
    {"attach", 'a', DPN, RC, ARGV_SLICE, ARGV_NOTHING},
    {"authfile", 0, P, RC, ARGV_ONE, ARGV_NOTHING},
    {"blkio-weight", 0, DPN, RC, ARGV_ONE, ARGV_NOTHING},
    {"blkio-weight-device", 0, DPN, RC, ARGV_SLICE, ARGV_NOTHING},
    {"cap-add", 0, DPN, RC, ARGV_SLICE, ARGV_CAP_ADD},
    {"cap-drop", 0, DPN, RC, ARGV_SLICE, ARGV_CAP_DROP},
    {"cert-dir", 0, P, RC, ARGV_ONE, ARGV_NOTHING},
    {"cgroup-conf", 0, PN, RC, ARGV_SLICE, ARGV_CGROUP_CONF},
    {"cgroup-parent", 0, DPN, RC, ARGV_ONE, ARGV_CGROUP_PARENT},
    {"cgroupns", 0, DPN, RC, ARGV_ONE, ARGV_CGROUPNS},
    {"cgroups", 0, P, RC, ARGV_ONE, ARGV_CGROUPS},
    {"chrootdirs", 0, P, RC, ARGV_SLICE, ARGV_NOTHING},
    {"cidfile", 0, DPN, RC, ARGV_ONE, ARGV_NOTHING},
    {"conmon-pidfile", 0, P, RC, ARGV_ONE, ARGV_NOTHING},
    {"cosign-certificate-identity", 0, N, RC, ARGV_ONE, ARGV_NOTHING},
    {"cosign-certificate-identity-regexp", 0, N, RC, ARGV_ONE, ARGV_NOTHING},
    {"cosign-certificate-oidc-issuer", 0, N, RC, ARGV_ONE, ARGV_NOTHING},
    {"cosign-certificate-oidc-issuer-regexp", 0, N, RC, ARGV_ONE, ARGV_NOTHING},
    {"cosign-key", 0, N, RC, ARGV_ONE, ARGV_NOTHING},
    {"cpu-count", 0, D, RC, ARGV_ONE, ARGV_NOTHING},
    {"cpu-percent", 0, D, RC, ARGV_ONE, ARGV_NOTHING},
    {"cpu-period", 0, DPN, RC, ARGV_ONE, ARGV_NOTHING},
    {"cpu-quota", 0, DPN, RC, ARGV_ONE, ARGV_NOTHING},
    {"cpu-rt-period", 0, DPN, RC, ARGV_ONE, ARGV_NOTHING},
    {"cpu-rt-runtime", 0, DPN, RC, ARGV_ONE, ARGV_NOTHING},
    {"cpu-shares", 'c', DP, RC, ARGV_ONE, ARGV_NOTHING},
    {"cpu-shares", 0, N, RC, ARGV_ONE, ARGV_NOTHING},
    {"cpus", 0, DPN, RC, ARGV_ONE, ARGV_NOTHING},
    {"cpuset-cpus", 0, DPN, RC, ARGV_ONE, ARGV_NOTHING},
    {"cpuset-mems", 0, DPN, RC, ARGV_ONE, ARGV_NOTHING},
    {"creds", 0, P, RC, ARGV_ONE, ARGV_NOTHING},
    {"decryption-key", 0, P, RC, ARGV_SLICE, ARGV_NOTHING},
    {"detach", 'd', DPN, R, ARGV_BOOL, ARGV_NOTHING},
    {"detach-keys", 0, DPN, R, ARGV_ONE, ARGV_NOTHING},
    {"device", 0, DPN, RC, ARGV_SLICE, ARGV_DEVICE},
    {"device-cgroup-rule", 0, DPN, RC, ARGV_SLICE, ARGV_DEVICE_RULE},
    {"device-read-bps", 0, DPN, RC, ARGV_SLICE, ARGV_NOTHING},
    {"device-read-iops", 0, DPN, RC, ARGV_SLICE, ARGV_NOTHING},
    {"device-write-bps", 0, DPN, RC, ARGV_SLICE, ARGV_NOTHING},
    {"device-write-iops", 0, DPN, RC, ARGV_SLICE, ARGV_NOTHING},
    {"disable-content-trust", 0, DP, RC, ARGV_BOOL, ARGV_NOTHING},
    {"dns", 0, DPN, RC, ARGV_SLICE, ARGV_NOTHING},
    {"dns-opt", 0, DPN, RC, ARGV_SLICE, ARGV_NOTHING},
    {"dns-option", 0, DPN, RC, ARGV_SLICE, ARGV_NOTHING},
    {"dns-search", 0, DPN, RC, ARGV_SLICE, ARGV_NOTHING},
    {"domainname", 0, DN, RC, ARGV_ONE, ARGV_NOTHING},
    {"entrypoint", 0, DPN, RC, ARGV_ONE, ARGV_NOTHING},
    {"env", 'e', DPN, RC, ARGV_LIST, ARGV_ENV},
    {"env-file", 0, DPN, RC, ARGV_SLICE, ARGV_ENV_FILE},
    {"env-host", 0, P, RC, ARGV_BOOL, ARGV_ENV_HOST},
    {"env-merge", 0, P, RC, ARGV_LIST, ARGV_ENV_MERGE},
    {"expose", 0, DPN, RC, ARGV_SLICE, ARGV_NOTHING},
    {"gidmap", 0, P, RC, ARGV_SLICE, ARGV_NOTHING},
    {"gpus", 0, DPN, RC, ARGV_LIST, ARGV_GPUS},
    {"group-add", 0, DPN, RC, ARGV_SLICE, ARGV_GROUP_ADD},
    {"group-entry", 0, P, RC, ARGV_ONE, ARGV_NOTHING},
    {"health-cmd", 0, DPN, RC, ARGV_ONE, ARGV_NOTHING},
    {"health-interval", 0, DPN, RC, ARGV_ONE, ARGV_NOTHING},
    {"health-log-destination", 0, P, RC, ARGV_ONE, ARGV_HEALTH_LOG},
    {"health-max-log-count", 0, P, RC, ARGV_ONE, ARGV_NOTHING},
    {"health-max-log-size", 0, P, RC, ARGV_ONE, ARGV_NOTHING},
    {"health-on-failure", 0, P, RC, ARGV_ONE, ARGV_NOTHING},
    {"health-retries", 0, DPN, RC, ARGV_ONE, ARGV_NOTHING},
    {"health-start-interval", 0, DN, RC, ARGV_ONE, ARGV_NOTHING},
    {"health-start-period", 0, DPN, RC, ARGV_ONE, ARGV_NOTHING},
    {"health-startup-cmd", 0, P, RC, ARGV_ONE, ARGV_NOTHING},
    {"health-startup-interval", 0, P, RC, ARGV_ONE, ARGV_NOTHING},
    {"health-startup-retries", 0, P, RC, ARGV_ONE, ARGV_NOTHING},
    {"health-startup-success", 0, P, RC, ARGV_ONE, ARGV_NOTHING},
    {"health-startup-timeout", 0, P, RC, ARGV_ONE, ARGV_NOTHING},
    {"health-timeout", 0, DPN, RC, ARGV_ONE, ARGV_NOTHING},
    {"healthcheck-command", 0, P, RC, ARGV_ONE, ARGV_NOTHING},
    {"healthcheck-interval", 0, P, RC, ARGV_ONE, ARGV_NOTHING},
    {"healthcheck-retries", 0, P, RC, ARGV_ONE, ARGV_NOTHING},
    {"healthcheck-start-period", 0, P, RC, ARGV_ONE, ARGV_NOTHING},
    {"healthcheck-timeout", 0, P, RC, ARGV_ONE, ARGV_NOTHING},
    {"help", 0, DP, GP | RC, ARGV_HELP, ARGV_NOTHING},
    {"help", 'h', N, G, ARGV_HELP, ARGV_NOTHING},
    {"help", 0, N, RC, ARGV_HELP, ARGV_NOTHING},
    {"hostname", 'h', DPN, RC, ARGV_ONE, ARGV_NOTHING},
    {"hosts-file", 0, P, RC, ARGV_ONE, ARGV_HOSTS_FILE},
    {"hostuser", 0, P, RC, ARGV_SLICE, ARGV_HOSTUSER},
    {"http-proxy", 0, P, RC, ARGV_BOOL, ARGV_HTTP_PROXY},
    {"image-volume", 0, P, RC, ARGV_ONE, ARGV_NOTHING},
    {"init", 0, DPN, RC, ARGV_BOOL, ARGV_NOTHING},
    {"init-binary", 0, N, RC, ARGV_ONE, ARGV_INIT_PATH},
    {"init-ctr", 0, P, C, ARGV_ONE, ARGV_NOTHING},
    {"init-path", 0, P, RC, ARGV_ONE, ARGV_INIT_PATH},
    {"intel-rdt-closid", 0, P, RC, ARGV_ONE, ARGV_NOTHING},
    {"interactive", 'i', DPN, RC, ARGV_BOOL, ARGV_NOTHING},
    {"io-maxbandwidth", 0, D, RC, ARGV_ONE, ARGV_NOTHING},
    {"io-maxiops", 0, D, RC, ARGV_ONE, ARGV_NOTHING},
    {"ip", 0, DPN, RC, ARGV_ONE, ARGV_NOTHING},
    {"ip6", 0, DPN, RC, ARGV_ONE, ARGV_NOTHING},
    {"ipc", 0, DPN, RC, ARGV_ONE, ARGV_IPC},
    {"ipfs-address", 0, N, RC, ARGV_ONE, ARGV_NOTHING},
    {"isolation", 0, DN, RC, ARGV_ONE, ARGV_NOTHING},
    {"kernel-memory", 0, DPN, RC, ARGV_ONE, ARGV_NOTHING},
    {"label", 'l', DPN, RC, ARGV_LIST, ARGV_NOTHING},
    {"label-file", 0, DPN, RC, ARGV_SLICE, ARGV_NOTHING},
    {"link", 0, D, RC, ARGV_LIST, ARGV_LINK},
    {"link-local-ip", 0, D, RC, ARGV_LIST, ARGV_NOTHING},
    {"log-driver", 0, DPN, RC, ARGV_ONE, ARGV_LOG_DRIVER},
    {"log-opt", 0, DPN, RC, ARGV_SLICE, ARGV_LOG_OPT},
    {"mac-address", 0, DPN, RC, ARGV_ONE, ARGV_NOTHING},
    {"memory", 'm', DPN, RC, ARGV_ONE, ARGV_MEMORY},
    {"memory-reservation", 0, DPN, RC, ARGV_ONE, ARGV_NOTHING},
    {"memory-swap", 0, DPN, RC, ARGV_ONE, ARGV_MEMORY_SWAP},
    {"memory-swappiness", 0, DPN, RC, ARGV_ONE, ARGV_NOTHING},
    {"mount", 0, DPN, RC, ARGV_LIST, ARGV_MOUNT},
    {"name", 0, DPN, RC, ARGV_ONE, ARGV_NOTHING},
    {"net", 0, DPN, RC, ARGV_LIST, ARGV_NETWORK},
    {"net-alias", 0, D, RC, ARGV_LIST, ARGV_NOTHING},
    {"network", 0, DP, RC, ARGV_LIST, ARGV_NETWORK},
    {"network", 0, N, RC, ARGV_SLICE, ARGV_NETWORK},
    {"network-alias", 0, DPN, RC, ARGV_SLICE, ARGV_NOTHING},
    {"no-healthcheck", 0, DPN, RC, ARGV_BOOL, ARGV_NOTHING},
    {"no-hostname", 0, P, RC, ARGV_BOOL, ARGV_NOTHING},
    {"no-hosts", 0, P, RC, ARGV_BOOL, ARGV_NO_HOSTS},
    {"oom-kill-disable", 0, DPN, RC, ARGV_BOOL, ARGV_OOM_KILL_DISABLE},
    {"oom-score-adj", 0, DPN, RC, ARGV_ONE, ARGV_OOM_SCORE},
    {"os", 0, P, RC, ARGV_ONE, ARGV_NOTHING},
    {"override-arch", 0, P, RC, ARGV_ONE, ARGV_NOTHING},
    {"override-os", 0, P, RC, ARGV_ONE, ARGV_NOTHING},
    {"override-variant", 0, P, RC, ARGV_ONE, ARGV_NOTHING},
    {"passwd", 0, P, R, ARGV_BOOL, ARGV_NOTHING},
    {"passwd-entry", 0, P, RC, ARGV_ONE, ARGV_NOTHING},
    {"personality", 0, P, RC, ARGV_ONE, ARGV_NOTHING},
    {"pid", 0, DPN, RC, ARGV_ONE, ARGV_PID},
    {"pidfile", 0, PN, RC, ARGV_ONE, ARGV_NOTHING},
    {"pids-limit", 0, DPN, RC, ARGV_ONE, ARGV_PIDS_LIMIT},
    {"platform", 0, DPN, RC, ARGV_ONE, ARGV_NOTHING},
    {"pod", 0, P, RC, ARGV_ONE, ARGV_POD},
    {"pod-id-file", 0, P, RC, ARGV_ONE, ARGV_POD},
    {"preserve-fd", 0, P, R, ARGV_SLICE, ARGV_PRESERVE_FDS},
    {"preserve-fds", 0, P, R, ARGV_ONE, ARGV_PRESERVE_FDS},
    {"privileged", 0, DPN, RC, ARGV_BOOL, ARGV_PRIVILEGED},
    {"publish", 'p', DPN, RC, ARGV_SLICE, ARGV_PUBLISH},
    {"publish-all", 'P', DPN, RC, ARGV_BOOL, ARGV_PUBLISH_ALL},
    {"pull", 0, DPN, RC, ARGV_ONE, ARGV_PULL},
    {"quiet", 'q', DPN, RC, ARGV_BOOL, ARGV_NOTHING},
    {"rdt-class", 0, PN, RC, ARGV_ONE, ARGV_NOTHING},
    {"read-only", 0, DPN, RC, ARGV_BOOL, ARGV_READ_ONLY},
    {"read-only-tmpfs", 0, P, RC, ARGV_BOOL, ARGV_NOTHING},
    {"replace", 0, P, RC, ARGV_BOOL, ARGV_NOTHING},
    {"requires", 0, P, RC, ARGV_SLICE, ARGV_NOTHING},
    {"restart", 0, DPN, RC, ARGV_ONE, ARGV_RESTART},
    {"retry", 0, P, RC, ARGV_ONE, ARGV_NOTHING},
    {"retry-delay", 0, P, RC, ARGV_ONE, ARGV_NOTHING},
    {"rm", 0, DPN, RC, ARGV_BOOL, ARGV_NOTHING},
    {"rmi", 0, P, R, ARGV_BOOL, ARGV_NOTHING},
    {"rootfs", 0, PN, RC, ARGV_BOOL, ARGV_ROOTFS},
    {"runtime", 0, DN, RC, ARGV_ONE, ARGV_RUNTIME},
    {"sdnotify", 0, P, RC, ARGV_ONE, ARGV_NOTHING},
    {"seccomp-policy", 0, P, RC, ARGV_ONE, ARGV_SECCOMP_POLICY},
    {"secret", 0, P, RC, ARGV_LIST, ARGV_SECRET},
    {"security-opt", 0, DP, RC, ARGV_LIST, ARGV_SECURITY_OPT},
    {"security-opt", 0, N, RC, ARGV_SLICE, ARGV_SECURITY_OPT},
    {"shm-size", 0, DPN, RC, ARGV_ONE, ARGV_NOTHING},
    {"shm-size-systemd", 0, P, RC, ARGV_ONE, ARGV_NOTHING},
    {"sig-proxy", 0, DPN, R, ARGV_BOOL, ARGV_NOTHING},
    {"signature-policy", 0, P, RC, ARGV_ONE, ARGV_NOTHING},
    {"stop-signal", 0, DPN, RC, ARGV_ONE, ARGV_NOTHING},
    {"stop-timeout", 0, DPN, RC, ARGV_ONE, ARGV_NOTHING},
    {"storage-opt", 0, D, RC, ARGV_LIST, ARGV_NOTHING},
    {"subgidname", 0, P, RC, ARGV_ONE, ARGV_NOTHING},
    {"subuidname", 0, P, RC, ARGV_ONE, ARGV_NOTHING},
    {"sysctl", 0, DPN, RC, ARGV_SLICE, ARGV_SYSCTL},
    {"systemd", 0, PN, RC, ARGV_ONE, ARGV_SYSTEMD},
    {"timeout", 0, P, RC, ARGV_ONE, ARGV_NOTHING},
    {"tls-verify", 0, P, RC, ARGV_BOOL, ARGV_TLS_VERIFY},
    {"tmpfs", 0, DPN, RC, ARGV_LIST, ARGV_NOTHING},
    {"tty", 't', DPN, RC, ARGV_BOOL, ARGV_NOTHING},
    {"tz", 0, P, RC, ARGV_ONE, ARGV_NOTHING},
    {"uidmap", 0, P, RC, ARGV_SLICE, ARGV_NOTHING},
    {"ulimit", 0, DPN, RC, ARGV_SLICE, ARGV_NOTHING},
    {"umask", 0, PN, RC, ARGV_ONE, ARGV_NOTHING},
    {"unsetenv", 0, P, RC, ARGV_LIST, ARGV_NOTHING},
    {"unsetenv-all", 0, P, RC, ARGV_BOOL, ARGV_NOTHING},
    {"use-api-socket", 0, D, RC, ARGV_BOOL, ARGV_API_SOCKET},
    {"user", 'u', DPN, RC, ARGV_ONE, ARGV_USER},
    {"userns", 0, DPN, RC, ARGV_ONE, ARGV_USERNS},
    {"uts", 0, DPN, RC, ARGV_ONE, ARGV_UTS},
    {"variant", 0, P, RC, ARGV_ONE, ARGV_NOTHING},
    {"verify", 0, N, RC, ARGV_ONE, ARGV_NOTHING},
    {"volume", 'v', DPN, RC, ARGV_LIST, ARGV_VOLUME},
    {"volume-driver", 0, D, RC, ARGV_ONE, ARGV_NOTHING},
    {"volumes-from", 0, DPN, RC, ARGV_SLICE, ARGV_VOLUMES_FROM},
    {"workdir", 'w', DPN, RC, ARGV_ONE, ARGV_NOTHING},
    /* docker, before the command */
    {"config", 0, D, G, ARGV_ONE, ARGV_ENGINE_CONFIG},
    {"context", 'c', D, G, ARGV_ONE, ARGV_NOTHING},
    {"debug", 'D', D, G, ARGV_BOOL, ARGV_NOTHING},
    {"host", 'H', D, G, ARGV_LIST, ARGV_NOTHING},
    {"log-level", 'l', D, G, ARGV_ONE, ARGV_NOTHING},
    {"tls", 0, D, G, ARGV_BOOL, ARGV_NOTHING},
    {"tlscacert", 0, DP, G, ARGV_ONE, ARGV_NOTHING},
    {"tlscert", 0, DP, G, ARGV_ONE, ARGV_NOTHING},
    {"tlskey", 0, DP, G, ARGV_ONE, ARGV_NOTHING},
    {"tlsverify", 0, D, G, ARGV_BOOL, ARGV_NOTHING},
    {"version", 'v', DPN, G, ARGV_HELP, ARGV_NOTHING},
    /* podman, before the command or behind it */
    {"cdi-spec-dir", 0, P, GP, ARGV_LIST, ARGV_ENGINE_CONFIG},
    {"cgroup-manager", 0, PN, GP, ARGV_ONE, ARGV_NOTHING},
    {"config", 0, P, GP, ARGV_ONE, ARGV_ENGINE_CONFIG},
    {"conmon", 0, P, GP, ARGV_ONE, ARGV_ENGINE_PROGRAM},
    {"connection", 'c', P, G, ARGV_ONE, ARGV_NOTHING},
    {"connection", 0, P, GP, ARGV_ONE, ARGV_NOTHING},
    {"cpu-profile", 0, P, GP, ARGV_ONE, ARGV_NOTHING},
    {"default-mounts-file", 0, P, GP, ARGV_ONE, ARGV_ENGINE_EMPTY},
    {"events-backend", 0, P, GP, ARGV_ONE, ARGV_NOTHING},
    {"hooks-dir", 0, P, GP, ARGV_SLICE, ARGV_ENGINE_EMPTY},
    {"identity", 0, P, GP, ARGV_ONE, ARGV_NOTHING},
    {"imagestore", 0, P, GP, ARGV_ONE, ARGV_ENGINE_CONFIG},
    {"log-level", 0, P, GP, ARGV_ONE, ARGV_NOTHING},
    {"max-workers", 0, P, GP, ARGV_ONE, ARGV_NOTHING},
    {"memory-profile", 0, P, GP, ARGV_ONE, ARGV_NOTHING},
    {"module", 0, P, GP, ARGV_LIST, ARGV_ENGINE_CONFIG},
    {"namespace", 0, P, GP, ARGV_ONE, ARGV_NOTHING},
    {"network-cmd-path", 0, P, GP, ARGV_ONE, ARGV_ENGINE_PROGRAM},
    {"network-config-dir", 0, P, GP, ARGV_ONE, ARGV_ENGINE_CONFIG},
    {"noout", 0, P, GP, ARGV_BOOL, ARGV_NOTHING},
    {"out", 0, P, GP, ARGV_ONE, ARGV_OUTPUT_FILE},
    {"registries-conf", 0, P, GP, ARGV_ONE, ARGV_NOTHING},
    {"remote", 'r', P, G, ARGV_BOOL, ARGV_NOTHING},
    {"root", 0, P, GP, ARGV_ONE, ARGV_ENGINE_CONFIG},
    {"runroot", 0, P, GP, ARGV_ONE, ARGV_NOTHING},
    {"runtime", 0, P, GP, ARGV_ONE, ARGV_RUNTIME},
    {"runtime-flag", 0, P, GP, ARGV_LIST, ARGV_ENGINE_CONFIG},
    {"ssh", 0, P, GP, ARGV_ONE, ARGV_NOTHING},
    {"storage-driver", 0, PN, GP, ARGV_ONE, ARGV_NOTHING},
    {"storage-opt", 0, P, GP, ARGV_LIST, ARGV_STORAGE_OPT},
    {"syslog", 0, P, GP, ARGV_BOOL, ARGV_NOTHING},
    {"tls-ca", 0, P, GP, ARGV_ONE, ARGV_NOTHING},
    {"tls-cert", 0, P, GP, ARGV_ONE, ARGV_NOTHING},
    {"tls-key", 0, P, GP, ARGV_ONE, ARGV_NOTHING},
    {"tmpdir", 0, P, GP, ARGV_ONE, ARGV_NOTHING},
    {"trace", 0, P, GP, ARGV_BOOL, ARGV_NOTHING},
    {"transient-store", 0, P, GP, ARGV_BOOL, ARGV_NOTHING},
    {"url", 0, P, GP, ARGV_ONE, ARGV_NOTHING},
    {"volumepath", 0, P, GP, ARGV_ONE, ARGV_ENGINE_CONFIG},
    /* nerdctl, before the command or behind it */
    {"H", 'H', N, GP, ARGV_ONE, ARGV_NOTHING},
    {"a", 'a', N, G, ARGV_ONE, ARGV_NOTHING},
    {"address", 0, N, GP, ARGV_ONE, ARGV_NOTHING},
    {"bridge-ip", 0, N, GP, ARGV_ONE, ARGV_NOTHING},
    {"cdi-spec-dirs", 0, N, GP, ARGV_SLICE, ARGV_ENGINE_CONFIG},
    {"cni-netconfpath", 0, N, GP, ARGV_ONE, ARGV_ENGINE_CONFIG},
    {"cni-path", 0, N, GP, ARGV_ONE, ARGV_ENGINE_PROGRAM},
    {"data-root", 0, N, GP, ARGV_ONE, ARGV_ENGINE_CONFIG},
    {"debug", 0, N, GP, ARGV_BOOL, ARGV_NOTHING},
    {"debug-full", 0, N, GP, ARGV_BOOL, ARGV_NOTHING},
    {"experimental", 0, N, GP, ARGV_BOOL, ARGV_NOTHING},
    {"host", 0, N, GP, ARGV_ONE, ARGV_NOTHING},
    {"host-gateway-ip", 0, N, GP, ARGV_ONE, ARGV_NOTHING},
    {"hosts-dir", 0, N, GP, ARGV_SLICE, ARGV_NOTHING},
    {"insecure-registry", 0, N, GP, ARGV_BOOL, ARGV_NOTHING},
    {"kube-hide-dupe", 0, N, GP, ARGV_BOOL, ARGV_NOTHING},
    {"n", 'n', N, GP, ARGV_ONE, ARGV_NOTHING},
    {"namespace", 0, N, GP, ARGV_ONE, ARGV_NOTHING},
    {"snapshotter", 0, N, GP, ARGV_ONE, ARGV_NOTHING},
    {"userns-remap", 0, N, GP, ARGV_ONE, ARGV_NOTHING},
};
/* clang-format on */

#define ARGV_TABLE_COUNT (sizeof(argv_table_rows) / sizeof(argv_table_rows[0]))

const struct argv_row *
argv_table_at(size_t index)
{
	return index < ARGV_TABLE_COUNT ? &argv_table_rows[index] : NULL;
}

const struct argv_row *
argv_table_name(enum argv_engine engine, enum argv_scope scope,
    const char *name, size_t len)
{
	for (size_t i = 0; i < ARGV_TABLE_COUNT; i++) {
		const struct argv_row *row = &argv_table_rows[i];

		if ((row->engines & engine) != 0 &&
		    (row->scopes & scope) != 0 && strlen(row->name) == len &&
		    memcmp(row->name, name, len) == 0)
			return row;
	}
	return NULL;
}

const struct argv_row *
argv_table_letter(enum argv_engine engine, enum argv_scope scope, char letter)
{
	for (size_t i = 0; i < ARGV_TABLE_COUNT; i++) {
		const struct argv_row *row = &argv_table_rows[i];

		if (letter != '\0' && row->letter == letter &&
		    (row->engines & engine) != 0 && (row->scopes & scope) != 0)
			return row;
	}
	return NULL;
}
