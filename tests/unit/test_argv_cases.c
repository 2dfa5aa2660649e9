/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Command lines and exactly the codes they are found guilty of; hardened
 * ones without any; and words that are no command line.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "supervisor/argv/argv_judge.h"

#define TEST_HEX                           \
	"0123456789abcdef0123456789abcdef" \
	"0123456789abcdef0123456789abcdef"
#define I " python@sha256:" TEST_HEX
/* Everything that a line needs to be clean, but engine and image. */
#define H                                                      \
	" --network none --read-only --cap-drop ALL"           \
	" --security-opt no-new-privileges --user 65534:65534" \
	" --pids-limit 256 --memory 512m"
#define D "docker run" H " "
#define P "podman run" H " "
#define N "nerdctl run" H " "

struct test_argv_case {
	const char *line;  /* words between spaces; "_" is a space in a word
			    * that begins with "@" or "c_" */
	const char *codes; /* in their order, a space between two */
};

static const struct test_argv_case test_argv_guilty[] = {
    /* the example of the how-to */
    {"docker run --rm -v /home/dev/project:/work -w /work -e "
     "AWS_SECRET_ACCESS_KEY python:3.12-slim",
	"env_forwarded network_not_none mount_read_write root_user "
	"root_writable caps_kept new_privileges no_memory_limit "
	"no_pids_limit no_digest pull"},
    {"docker run" I, "network_not_none root_user root_writable caps_kept "
		     "new_privileges no_memory_limit no_pids_limit"},
    {"podman run" I,
	"network_not_none root_user root_writable caps_kept new_privileges "
	"no_memory_limit no_pids_limit proxy_default host_name_default"},
    /* environment */
    {D "-e NAME" I, "env_forwarded"},
    {D "-eNAME" I, "env_forwarded"},
    {D "--env NAME" I, "env_forwarded"},
    {D "--env=NAME" I, "env_forwarded"},
    {D "-e=NAME" I, "env_forwarded"},
    {D "-e A -e B -e C=1" I, "env_forwarded"},
    {P "-e LC_*" I, "env_forwarded"},
    {D "-ite NAME" I, "env_forwarded"},
    {D "-iteNAME" I, "env_forwarded"},
    {D "--env-file .env" I, "env_file"},
    {D "--env-file=.env --env-file=b" I, "env_file env_file"},
    {P "--env-host" I, "env_host"},
    {P "--env-host=false --env-host=1" I, "env_host"},
    {D "-e DB_PASSWORD=hunter2" I, "env_key"},
    {D "-e K=AKIAABCDEFGHIJKLMNOP" I, "env_key"},
    {D "-e GH=ghp_abcdefghijklmnopqrstuvwxyz" I, "env_key"},
    {D "-e URL=postgres://u:pw@db/x" I, "env_key"},
    {D "-e T=eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc" I, "env_key"},
    {D "-e HOME=/data/x -v /srv/x:/data:ro" I, "env_home mount_read_only"},
    {P "--env-merge K=AKIAABCDEFGHIJKLMNOP" I, "env_key"},
    {P "--http-proxy" I, "env_proxy"},
    {P "--http-proxy=true" I, "env_proxy"},
    /* network */
    {D "--network host" I, "network_not_none network_host"},
    {D "--net=host" I, "network_not_none network_host"},
    {D "--net container:db" I, "network_not_none network_joined"},
    {D "--network bridge" I, "network_not_none"},
    {D "--network name=mine,alias=x" I, "network_not_none"},
    {D "--network name=host" I, "network_not_none network_host"},
    {D "--network name=none,name=host" I, "network_not_none network_host"},
    {D "--network name=none,NAME=bridge" I, "network_not_none"},
    {D "--network @name=none,_Name_=HOST" I, "network_not_none network_host"},
    {D "--network alias=x,\"name=host\"" I, "network_not_none network_host"},
    {D "--network name=none,wat=1" I, "network_not_none"},
    {D "--network name=none,wat" I, "network_not_none"},
    {D "--network name=none,\"alias=x" I, "network_not_none"},
    {D "--network alias=x" I, "network_not_none"},
    {D "--network None" I, "network_not_none"},
    {D "--network none,name=none" I, "network_not_none"},
    {N "--network name=none" I, "network_not_none"},
    {N "--network none,host" I, "network_not_none network_host"},
    {P "--network none:opt --http-proxy=false --no-hosts" I,
	"network_not_none"},
    {P "--network name=none --http-proxy=false --no-hosts" I,
	"network_not_none"},
    {P "--network none,host --http-proxy=false --no-hosts" I,
	"network_not_none"},
    {P "--network ns:/proc/1/ns/net" I,
	"network_not_none network_joined proxy_default host_name_default"},
    {P "--network slirp4netns --http-proxy=false --no-hosts" I,
	"network_not_none"},
    {P "--pod web" I, "pod_joined"},
    {D "--link db:db" I, "link"},
    {D "--add-host gw:host-gateway" I, "host_gateway"},
    {D "--add-host=gw=host-gateway" I, "host_gateway"},
    {D "--add-host=gw:[host-gateway]" I, "host_gateway"},
    {P "--add-host a:10.0.0.1,b:host-gateway" I, "host_gateway"},
    {D "-p 8080:80" I, "ports_published"},
    {D "-p8080:80 -p 9:9 -P" I, "ports_published"},
    {D "-itP" I, "ports_published"},
    {D "--publish-all=true" I, "ports_published"},
    /* mounts */
    {D "-v /var/run/docker.sock:/var/run/docker.sock" I, "mount_engine_socket"},
    {D "-v /var/run:/r:ro" I, "mount_engine_socket"},
    {P "-v /run/user/1000/podman/podman.sock:/s" I, "mount_engine_socket"},
    {D "-v /srv/app/x.sock:/x.sock" I, "mount_socket"},
    {D "-v /:/host:ro" I, "mount_host_root"},
    {D "-v /..//./:/host" I, "mount_host_root"},
    {D "-v /proc:/p" I, "mount_kernel"},
    {D "-v /sys/fs/cgroup:/sys/fs/cgroup:ro" I, "mount_kernel"},
    {D "-v /dev:/dev" I, "mount_kernel"},
    {D "-v /home/dev/.aws:/root/.aws:ro" I, "mount_credentials"},
    {D "-v ~/.ssh:/k:ro" I, "mount_credentials"},
    {D "-v /home/dev:/h:ro" I, "mount_home"},
    {D "-v $HOME:/h" I, "mount_home"},
    {D "-v /root:/h" I, "mount_home"},
    {D "-v /etc:/e:ro" I, "mount_system"},
    {D "-v /usr/lib/../../var/log:/l:ro" I, "mount_system"},
    {D "-v /home/dev/project:/work:ro" I, "mount_project"},
    {D "-v ./:/work:ro" I, "mount_project"},
    {D "-v $PWD:/work" I, "mount_read_write"},
    {D "-v $(pwd):/work" I, "mount_read_write"},
    {D "-itv /srv/a:/b" I, "mount_read_write"},
    {D "-v/srv/a:/b:rw" I, "mount_read_write"},
    {D "-v /srv/a:/b:ro" I, "mount_read_only"},
    {D "-v /srv/a:/b:ro -v /srv/a:/c:ro" I, "mount_read_only"},
    {D "-v /srv/a:/b:ro -v /srv/c:/d" I, "mount_read_write mount_read_only"},
    {D "-v /tmp/x:/work" I, "mount_scratch"},
    {D "-v /tmp:/work" I, "mount_system"},
    {D "-v /srv/a:/b:ro,rshared" I, "mount_propagation mount_read_only"},
    {P "-v /srv/a:/b:O" I, "mount_read_only"},
    {D "--mount type=bind,src=/srv/a,dst=/b" I, "mount_read_write"},
    {D "--mount type=bind,source=/srv/a,target=/b,readonly" I,
	"mount_read_only"},
    {D "--mount type=bind,source=/srv/a,destination=/b,ro=true" I,
	"mount_read_only"},
    {D "--mount=type=bind,source=/srv/a,target=/b,readonly=false" I,
	"mount_read_write"},
    {D "--mount \"type=bind\",\"src=/srv/a,b\",dst=/b" I, "mount_read_write"},
    {D "--mount TYPE=bind,src=/home,dst=/b" I, "mount_home"},
    {D "--mount type=volume,dst=/b,volume-opt=type=none,"
       "volume-opt=o=bind,volume-opt=device=/etc" I,
	"mount_system"},
    {P "--mount type=glob,src=/srv/*,dst=/b,ro" I, "mount_read_only"},
    {D "--volumes-from db" I, "volumes_from"},
    {"podman run" H " --rootfs /srv/root", "rootfs"},
    {D "--use-api-socket" I, "api_socket"},
    {P "--secret db,type=env" I, "secret"},
    {P "--preserve-fds 2" I, "descriptors"},
    {P "--init --init-path /opt/init" I, "init_path"},
    {D "--device /dev/kvm" I, "device"},
    {P "--device=/dev/fuse,/dev/net/tun" I, "device device"},
    {D "--device-cgroup-rule c_1:3_rwm" I, "device_rule"},
    {D "--gpus all" I, "gpus"},
    {D "--runtime nvidia" I, "gpus"},
    /* rights */
    {D "-u 0" I, "root_user"},
    {D "-u root:users" I, "root_user"},
    {D "--user=000:5" I, "root_user"},
    {D "--user :5" I, "root_user"},
    {D "--read-only=false" I, "root_writable"},
    {D "--read-only=0" I, "root_writable"},
    {D "--privileged" I, "privileged"},
    {D "--privileged=false --privileged=T" I, "privileged"},
    {D "--cap-add NET_ADMIN --cap-add=SYS_PTRACE" I, "cap_added cap_added"},
    {P "--cap-add NET_ADMIN,SYS_PTRACE" I, "cap_added cap_added"},
    {D "--security-opt seccomp=unconfined" I, "seccomp_off"},
    {D "--security-opt seccomp:unconfined" I, "seccomp_off"},
    {P "--seccomp-policy image" I, "seccomp_off"},
    {D "--security-opt apparmor=unconfined" I, "apparmor_off"},
    {D "--security-opt label=disable" I, "label_off"},
    {D "--security-opt label:type:spc_t" I, "label_off"},
    {D "--security-opt systempaths=unconfined" I, "paths_unmasked"},
    {P "--security-opt unmask=/proc/kcore" I, "paths_unmasked"},
    {D "--security-opt writable-cgroups=true" I, "cgroup_writable"},
    {D "--pid host" I, "pid_host"},
    {D "--pid=container:db" I, "namespace_joined"},
    {D "--ipc host --uts=host --userns host --cgroupns=host" I,
	"ipc_host uts_host userns_host cgroupns_host"},
    {P "--group-add keep-groups" I, "groups_kept"},
    {D "--group-add docker" I, "group_added"},
    {P "--hostuser dev" I, "host_user"},
    {D "--sysctl kernel.core_pattern=x" I, "sysctl_host"},
    {P "--annotation run.oci.keep_original_groups=1" I, "annotation"},
    {"docker run --network none --read-only --cap-drop NET_RAW "
     "--security-opt no-new-privileges -u 1 --pids-limit 9 -m 1g" I,
	"caps_kept"},
    {D "--security-opt no-new-privileges=false" I, "new_privileges"},
    {D "--security-opt no-new-privileges:0" I, "new_privileges"},
    {P "--group-add 00" I, "group_added"},
    {P "--annotation io.containers.trace-syscall=of:/srv/x" I, "annotation"},
    {D "--annotation dev.gvisor.flag.network=host" I, "annotation"},
#define K                                                                     \
	"podman run --network none --read-only --cap-drop ALL --security-opt" \
	" no-new-privileges --pids-limit 9 -m 64m --userns "
    {K "keep-id:uid=0" I, "root_user"},
    {K "keep-id:uid=00,gid=5" I, "root_user"},
    {K "keep-id:gid=5,uid=0" I, "root_user"},
    {K "keep-id:uid=5,uid=0" I, "root_user"},
    {K "keep-id:uid=" I, "root_user"},
    {K "keep-id:uid=0x5" I, "root_user"},
    {K "keep-id:" I, "root_user"},
    {K "keep-id:wat=5" I, "root_user"},
    {K "keep-idle" I, "root_user"},
    {K "keep-id:uid=5 --user 0" I, "root_user"},
    /* what the engine obeys, runs and writes */
    {P "--hooks-dir /srv/hooks" I, "engine_config"},
    {P "--hooks-dir=/proc/self/ns,/srv/hooks" I, "engine_config"},
    {P "--hooks-dir=/proc/self/ns/../cwd" I, "engine_config"},
    {"podman --hooks-dir /srv/hooks run" H I, "engine_config"},
    {"podman --default-mounts-file=/srv/m run" H I, "engine_config"},
    {"podman --module x.conf run" H I, "engine_config"},
    {"podman --config /srv/c run" H I, "engine_config"},
    {"podman --runtime-flag network=host run" H I, "engine_config"},
    {"podman --network-config-dir /srv/n run" H I, "engine_config"},
    {"podman --cdi-spec-dir /srv/n run" H I, "engine_config"},
    {"podman --volumepath /etc run" H " -v ssl:/x" I, "engine_config"},
    {"podman --root /srv/r --imagestore /srv/i run" H I,
	"engine_config engine_config"},
    {"podman --storage-opt overlay.imagestore=/srv/i run" H I, "engine_config"},
    {"podman --storage-opt overlay.mount_program=/srv/x run" H I,
	"engine_program"},
    {"podman --conmon /srv/x run" H I, "engine_program"},
    {P "--network-cmd-path=/srv/x" I, "engine_program"},
    {"docker --config /srv/c run" H I, "engine_config"},
    {"nerdctl --cni-path /srv/x --cni-netconfpath /srv/n run" H I,
	"engine_config engine_program"},
    {N "--cdi-spec-dirs=/a,/b --data-root /srv/d" I,
	"engine_config engine_config engine_config"},
    {N "--log-driver binary:///srv/x" I, "engine_program"},
    {P "--hosts-file /etc/passwd" I, "hosts_file"},
    {P "--hooks-dir=/PROC/self/ns --hosts-file NONE" I,
	"engine_config hosts_file"},
    {P "--hosts-file=" I, "hosts_file"},
    {P "--log-opt path=/etc/cron.d/x" I, "output_file"},
    {P "--log-driver k8s-file --log-opt max-size=1m,PATH=/etc/x" I,
	"output_file"},
    {D "--log-driver none --log-opt path=/etc/x" I, "output_file"},
    {N "--log-opt log-path=/etc/x" I, "output_file"},
    {P "--health-log-destination /etc" I, "output_file"},
    {"podman --out /etc/x run" H I, "output_file"},
    /* limits, image, engine */
    {P "--cgroup-conf memory.max=max,pids.max=max" I,
	"cgroup_conf cgroup_conf"},
    {D "--cgroup-parent //system.slice/" I, "cgroup_parent"},
    {"podman --runtime /srv/x/crun run" H I, "runtime"},
    {"podman --runtime ./crun run" H I, "runtime"},
    {D "--memory 0" I, "no_memory_limit"},
    {D "-m nothing" I, "no_memory_limit"},
    {D "--memory-swap -1" I, "swap_unlimited"},
    {D "--pids-limit -1" I, "no_pids_limit"},
    {D "--pids-limit=0" I, "no_pids_limit"},
    {P "--cgroups disabled" I, "cgroups_off"},
    {D "--cgroup-parent /" I, "cgroup_parent"},
    {D "--oom-kill-disable --oom-score-adj -500" I, "oom_kill_off oom_score"},
    {D "--pull never python:3.12", "no_digest"},
    {D "--pull=always" I, "pull"},
    {D "python", "no_digest pull"},
    {D "python@sha256:0123", "no_digest pull"},
    {P "--tls-verify=false" I, "tls_off"},
    {D "--runtime mine" I, "runtime"},
    {P "--systemd always" I, "systemd"},
    {D "--log-driver journald" I, "log_driver"},
    {D "--restart unless-stopped" I, "restart"},
    /* where options end, and where they may stand */
    {D "-e A" I " -e B --privileged", "env_forwarded"},
    {D "-e A --" I " --privileged", "env_forwarded"},
    {"docker --context x -D -H unix:///s run" H " --privileged" I,
	"privileged"},
    {"docker -lerror container run" H " --privileged" I, "privileged"},
    {"/usr/bin/podman --log-level debug container create" H " --privileged" I,
	"privileged"},
    {"podman run --runtime /opt/x --log-level=debug" H I, "runtime"},
    {"nerdctl -n k8s.io --snapshotter=x run" H " --privileged" I, "privileged"},
    {N "--cap-add A,B" I, "cap_added cap_added"},
    {D "-c 512 -h x -l a=b -w / -a stdin -P" I, "ports_published"},
};

static const char *const test_argv_hardened[] = {
    D I,
    P I,
    N I,
    D "--rm --init -it" I " sh -c echo",
    D "--tmpfs /tmp:size=64m --tmpfs=/run" I,
    D "-e LANG=C.UTF-8 -e MAX_TOKENS=4096 -e TZ=UTC" I,
    D "-e TOKENIZERS_PARALLELISM=false -e PUBLIC_KEY=abc" I,
    D "-e AWS_SHARED_CREDENTIALS_FILE=/run/x" I,
    D "-v data:/data -v /cache" I,
    D "--mount type=volume,src=data,dst=/data,ro" I,
    D "--mount type=tmpfs,dst=/x,tmpfs-size=1m" I,
    D "--security-opt seccomp=/etc/profile.json" I,
    D "--security-opt=label=type:container_t" I,
    D "--pull never --restart=no --log-driver none" I,
    D "--add-host api.example.com:127.64.0.1" I,
    D "--sysctl net.ipv4.ip_unprivileged_port_start=0" I,
    D "--privileged=false --publish-all=false" I,
    D "--ulimit core=0:0 --shm-size 16m --cpus 1.5" I,
    D "--memory-swap 512m --oom-score-adj 500" I,
    D "--pid= --ipc private --cgroupns private" I,
    D "--network=none sha256:" TEST_HEX,
    D "--no-healthcheck --stop-timeout 0 --label a=b" I " --privileged",
    P "--http-proxy=false --unsetenv-all --systemd=false" I,
    P "--userns=auto --read-only-tmpfs=false --image-volume=ignore" I,
    P "--preserve-fds=0 --annotation a=b --cap-drop all" I,
    P "--mount type=image,src=x,dst=/y" I,
    P "--runtime=/usr/bin/crun --group-add 1000,users" I,
    "podman --cgroup-manager=cgroupfs --hooks-dir=/proc/self/ns "
    "--default-mounts-file=/dev/null run" H I,
    "podman --hooks-dir= --default-mounts-file= run" H I,
    K "keep-id" I,
    K "keep-id:uid=5,gid=0,size=9" I,
    D "--network name=none" I,
    D "--network @NAME_=_None,alias=none" I,
    D "--network name=host,name=none" I,
    P "--hosts-file none --health-log-destination events_logger" I,
    P "--log-opt max-size=1m --hosts-file=image" I,
    P "--cidfile /tmp/x --pidfile /tmp/y --runtime-flag=" I,
    P "--env-merge A=b --cgroup-parent /sandbox.slice" I,
    "docker container create" H I,
};

static const struct {
	const char *line, *says; /* part of the sentence */
} test_argv_unknown[] = {
    {"sudo docker run x", "word 1"},
    {"env A=1 docker run x", "word 1"},
    {"A=1 docker run x", "word 1"},
    {"@docker_run_x", "whole line"},
    {"lxc run x", "no engine"},
    {"docker", "run or create"},
    {"docker ps", "word 2"},
    {"docker compose run x", "word 2"},
    {"docker container container run x", "word 3"},
    {"docker -- run x", "word 2"},
    {"docker run", "no image"},
    {"docker run --rm", "no image"},
    {"docker run --", "no image"},
    {"docker run --bogus x", "word 3: --bogus"},
    {"docker run --rm --env-host x", "word 4: --env-host"},
    {"docker run --privilege x", "word 3: --privilege"},
    {"docker run -z x", "word 3: -z"},
    {"docker run -itz x", "word 3: -z"},
    {"docker run -i= x", "word 3: -="},
    {"docker run ---rm x", "word 3"},
    {"docker run --=x x", "word 3"},
    {"docker run --env", "needs a value"},
    {"docker run -e", "needs a value"},
    {"docker run --rm=maybe x", "true or false"},
    {"docker run -t=maybe x", "true or false"},
    {"docker run --help x", "help"},
    {"podman --version", "help"},
    {"docker run --context=x y", "word 3: --context"},
    {"docker --privileged run x", "word 2: --privileged"},
    {"docker run -v a:b:c:d x", "word 3"},
    {"docker run -v :/b x", "word 3"},
    {"docker run --mount type=odd,dst=/b x", "type=odd"},
    {"docker run --mount type=bind,source=/a,wat=1,dst=/b x", "wat=1"},
    {"docker run --mount type=bind,dst=/b x", "word 3"},
    {"docker run --mount type=bind,source=/a,ro=maybe x", "ro=maybe"},
    {"docker run --mount \"type=bind x", "no mount"},
    {"podman run --cap-add A,\"B x", "word 3"},
};

struct test_argv_words {
	char bytes[4096];
	const char *words[128];
	size_t count;
};

/* Split at spaces; "_" is a space in a word that begins with "@" or looks
 * like a device rule. */
static void
test_argv_split(const char *line, struct test_argv_words *words_r)
{
	char *at = words_r->bytes, *word;

	assert_true(strlen(line) < sizeof(words_r->bytes));
	strcpy(words_r->bytes, line);
	words_r->count = 0;
	while ((word = strsep(&at, " ")) != NULL) {
		if (word[0] == '\0')
			continue;
		if (word[0] == '@' || strncmp(word, "c_", 2) == 0) {
			for (char *c = word; *c != '\0'; c++)
				*c = *c == '_' ? ' ' : *c;
			word += word[0] == '@' ? 1 : 0;
		}
		assert_true(words_r->count < 128);
		words_r->words[words_r->count++] = word;
	}
}

/* The codes of a line, or the sentence; true when it was judged. */
static bool
test_argv_judge(const char *text, char *said_r, size_t size)
{
	struct test_argv_words words;
	struct argv_line line;
	struct argv_items items;
	struct argv_findings findings;
	struct argv_fault fault;
	enum result result;
	size_t used = 0;

	test_argv_split(text, &words);
	result = argv_words_read(words.words, words.count, &line, &fault);
	if (result == RESULT_OK) {
		result = argv_items_of_line(&line, &items, &fault);
		if (result == RESULT_OK)
			result = argv_judge(&items, &findings, &fault);
		else
			argv_words_clear(&line);
	}
	said_r[0] = '\0';
	if (result != RESULT_OK) {
		assert_int_equal(result, RESULT_BAD);
		snprintf(said_r, size, "%s", fault.text);
		assert_true(fault.text[0] != '\0');
		if (line.options != NULL) {
			argv_items_clear(&items);
			argv_words_clear(&line);
		}
		return false;
	}
	for (size_t i = 0; i < findings.count; i++)
		used += (size_t)snprintf(said_r + used, size - used, "%s%s",
		    i > 0 ? " " : "",
		    argv_code_row(findings.list[i].code)->code);
	argv_finding_clear(&findings);
	argv_items_clear(&items);
	argv_words_clear(&line);
	return true;
}

static void
test_argv_cases(void **state)
{
	size_t count = sizeof(test_argv_guilty) / sizeof(test_argv_guilty[0]);
	int failed = 0;
	char said[4096];

	(void)state;
	assert_true(count >= 90);
	for (size_t i = 0; i < count; i++) {
		bool judged = test_argv_judge(
		    test_argv_guilty[i].line, said, sizeof(said));

		if (judged && strcmp(said, test_argv_guilty[i].codes) == 0)
			continue;
		print_error("%s\n  want: %s\n  have: %s\n",
		    test_argv_guilty[i].line, test_argv_guilty[i].codes, said);
		failed++;
	}
	assert_int_equal(failed, 0);
}

static void
test_argv_clean(void **state)
{
	size_t count =
	    sizeof(test_argv_hardened) / sizeof(test_argv_hardened[0]);
	int failed = 0;
	char said[4096];

	(void)state;
	assert_true(count >= 20);
	for (size_t i = 0; i < count; i++) {
		if (test_argv_judge(
			test_argv_hardened[i], said, sizeof(said)) &&
		    said[0] == '\0')
			continue;
		print_error("%s\n  have: %s\n", test_argv_hardened[i], said);
		failed++;
	}
	assert_int_equal(failed, 0);
}

static void
test_argv_no_line(void **state)
{
	int failed = 0;
	char said[4096];

	(void)state;
	for (size_t i = 0;
	     i < sizeof(test_argv_unknown) / sizeof(test_argv_unknown[0]);
	     i++) {
		if (!test_argv_judge(
			test_argv_unknown[i].line, said, sizeof(said)) &&
		    strstr(said, test_argv_unknown[i].says) != NULL)
			continue;
		print_error("%s\n  want: %s\n  have: %s\n",
		    test_argv_unknown[i].line, test_argv_unknown[i].says, said);
		failed++;
	}
	assert_int_equal(failed, 0);
}

/* The five of the how-to, word for word and in its order. */
static void
test_argv_example(void **state)
{
	static const char *const want[] = {
	    "forwards host environment variables", "network is not none",
	    "mounts /home/dev/project read-write",
	    "runs as root inside the container", "root filesystem is writable"};
	struct test_argv_words words;
	struct argv_line line;
	struct argv_items items;
	struct argv_findings findings;
	struct argv_fault fault;
	size_t leaks = 0;

	(void)state;
	test_argv_split(test_argv_guilty[0].line, &words);
	assert_int_equal(
	    argv_words_read(words.words, words.count, &line, &fault),
	    RESULT_OK);
	assert_int_equal(argv_items_of_line(&line, &items, &fault), RESULT_OK);
	assert_int_equal(argv_judge(&items, &findings, &fault), RESULT_OK);
	for (size_t i = 0; i < findings.count; i++) {
		char says[256];

		if (argv_code_row(findings.list[i].code)->group != ARGV_LEAK)
			continue;
		assert_true(leaks < 5);
		argv_finding_says(&findings.list[i], says, sizeof(says));
		assert_string_equal(says, want[leaks++]);
	}
	assert_int_equal(leaks, 5);
	assert_int_equal(findings.list[0].place_count, 1);
	assert_int_equal(findings.list[0].places[0]->position, 8);
	assert_string_equal(
	    findings.list[0].places[0]->words[1], "AWS_SECRET_ACCESS_KEY");
	argv_finding_clear(&findings);
	argv_items_clear(&items);
	argv_words_clear(&line);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_argv_cases),
	    cmocka_unit_test(test_argv_clean),
	    cmocka_unit_test(test_argv_no_line),
	    cmocka_unit_test(test_argv_example),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
