/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ways out of the container: there is none but the sandbox's own listeners
 * on loopback.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "supervisor/probe/probe.h"
#include "supervisor/probe/probe_dial.h"
#include "supervisor/probe/probe_fetch.h"
#include "supervisor/probe/probe_try.h"

#define PROBE_NETWORK_TEXT 65536U
#define PROBE_NETWORK_DNS_WAIT_MS 1000

struct probe_network_target {
	const char *address;
	uint16_t port;
};

static void
probe_network_dial(const struct probe *probe,
    const struct probe_options *options, struct probe_result *result)
{
	const struct probe_network_target *target = probe->data;
	int fd = probe_dial_address(target->address, target->port);
	int error = errno;

	(void)options;
	if (fd >= 0)
		close(fd);
	/* Nobody listening on loopback, or no route at all. */
	probe_say(result,
	    fd < 0 && (error == ENETUNREACH || error == ECONNREFUSED ||
			  error == EADDRNOTAVAIL || error == EAFNOSUPPORT),
	    "%s port %u: %s", target->address, target->port,
	    fd >= 0 ? "connected" : probe_try_error(error));
}

/* Services of the host's loopback would answer here, were it shared. */
static void
probe_network_services(const struct probe *probe,
    const struct probe_options *options, struct probe_result *result)
{
	static const uint16_t ports[] = {22, 25, 53, 111, 631, 2375, 2376, 3306,
	    5432, 6379, 8080, 9200, 11211, 27017};

	(void)probe;
	(void)options;
	for (size_t i = 0; i < sizeof(ports) / sizeof(ports[0]); i++) {
		int fd = probe_dial_address("127.0.0.1", ports[i]);

		if (fd >= 0) {
			close(fd);
			probe_say(result, false, "port %u answers", ports[i]);
			return;
		}
	}
	probe_say(result, true, "%zu ports, none answers",
	    sizeof(ports) / sizeof(ports[0]));
}

/* A query for "example.com", type A. */
int
probe_network_ask(const char *server)
{
	static const uint8_t query[] = "\x41\x4e\x01\x00\x00\x01\x00\x00\x00"
				       "\x00\x00\x00\x07"
				       "example\x03"
				       "com\x00\x00\x01\x00\x01";
	struct sockaddr_in address = {
	    .sin_family = AF_INET, .sin_port = htons(53)};
	uint8_t answer[512];
	struct pollfd ready = {-1, POLLIN, 0};
	int error = 0;

	if (inet_pton(AF_INET, server, &address.sin_addr) != 1)
		return EINVAL;
	ready.fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (ready.fd < 0)
		return errno;
	if (connect(ready.fd, (const struct sockaddr *)&address,
		sizeof(address)) != 0 ||
	    send(ready.fd, query, sizeof(query) - 1, 0) < 0)
		error = errno;
	else if (poll(&ready, 1, PROBE_NETWORK_DNS_WAIT_MS) != 1)
		error = ETIMEDOUT;
	if (error == 0 && recv(ready.fd, answer, sizeof(answer), 0) < 0)
		error = errno;
	close(ready.fd);
	return error;
}

static void
probe_network_resolve(const struct probe *probe,
    const struct probe_options *options, struct probe_result *result)
{
	static const char *const servers[] = {
	    "127.0.0.1", "127.0.0.53", "127.0.0.11", "8.8.8.8", "1.1.1.1"};
	int error = 0;

	(void)probe;
	(void)options;
	for (size_t i = 0; i < sizeof(servers) / sizeof(servers[0]); i++) {
		error = probe_network_ask(servers[i]);
		if (error == 0) {
			probe_say(
			    result, false, "%s answers a query", servers[i]);
			return;
		}
	}
	probe_say(
	    result, true, "no server answers (%s)", probe_try_error(error));
}

static void
probe_network_interfaces(const struct probe *probe,
    const struct probe_options *options, struct probe_result *result)
{
	struct if_nameindex *list = if_nameindex();
	bool only = list != NULL && list[0].if_name != NULL &&
		    strcmp(list[0].if_name, "lo") == 0 &&
		    list[1].if_name == NULL;

	(void)probe;
	(void)options;
	probe_say(result, only, "%s",
	    list == NULL ? probe_try_error(errno)
	    : only       ? "only lo"
			 : "there is more than lo");
	if (list != NULL)
		if_freenameindex(list);
}

static void
probe_network_routes(const struct probe *probe,
    const struct probe_options *options, struct probe_result *result)
{
	char text[PROBE_NETWORK_TEXT];
	const char *second;

	(void)probe;
	(void)options;
	if (probe_try_file("/proc/net/route", text, sizeof(text)) != 0) {
		probe_say(result, false, "%s", probe_try_error(errno));
		return;
	}
	second = strchr(text, '\n');
	probe_say(result, second == NULL || second[1] == '\0', "%s",
	    second == NULL || second[1] == '\0' ? "no route" : second + 1);
}

/* Unix sockets of the namespace: ours, and what this probe made. */
/* init's own connection to its supervisor, by the number the folder had
 * there; nothing listens under it any more. */
static bool
probe_network_is_control(const char *path)
{
	static const char before[] = "/proc/self/fd/", after[] = "/control";

	if (strncmp(path, before, sizeof(before) - 1) != 0)
		return false;
	path += sizeof(before) - 1;
	path += strspn(path, "0123456789");
	return strcmp(path, after) == 0;
}

static void
probe_network_unix(const struct probe *probe,
    const struct probe_options *options, struct probe_result *result)
{
	static char text[PROBE_NETWORK_TEXT];
	char *rest = text, *line;

	(void)probe;
	(void)options;
	if (probe_try_file("/proc/net/unix", text, sizeof(text)) != 0) {
		probe_say(result, false, "%s", probe_try_error(errno));
		return;
	}
	(void)strsep(&rest, "\n");
	while ((line = strsep(&rest, "\n")) != NULL) {
		const char *path = strpbrk(line, "/@");

		if (path != NULL && strncmp(path, "/run/agentnode/", 15) != 0 &&
		    !probe_network_is_control(path)) {
			probe_say(result, false, "%.150s is there", path);
			return;
		}
	}
	probe_say(result, true, "none but the sandbox's own");
}

/* clang-format off */
#define TARGET(name, address, port) \
	{name, probe_network_dial, \
	    &(const struct probe_network_target) {address, port}}
/* clang-format on */

static const struct probe probe_network[] = {
    {"interfaces", probe_network_interfaces, NULL},
    {"routes", probe_network_routes, NULL},
    TARGET("raw_address", "1.1.1.1", 443),
    TARGET("raw_address_v6", "2606:4700:4700::1111", 443),
    TARGET("metadata", "169.254.169.254", 80),
    TARGET("metadata_v6", "fd00:ec2::254", 80),
    TARGET("private_network", "10.0.0.1", 443),
    TARGET("engine_gateway", "10.88.0.1", 22),
    TARGET("name_server_tcp", "127.0.0.1", 53),
    {"name_lookup", probe_network_resolve, NULL},
    {"loopback_services", probe_network_services, NULL},
    {"unix_sockets", probe_network_unix, NULL},
};

const struct probe_list probe_network_list = {
    probe_network, sizeof(probe_network) / sizeof(probe_network[0])};
