/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agentnode-egress-proxy: the way out of sandboxes. Started by the
 * supervisor with its control socket as descriptor 3; argv and environment
 * mean nothing. Everything that has to be opened or read is opened and read
 * before main_confine; the first foreign byte comes after it.
 */
#include <stdlib.h>
#include <sys/resource.h>

#include "common/confine.h"
#include "common/event_loop.h"
#include "common/fd.h"
#include "common/ipc.h"
#include "common/log.h"
#include "common/peer.h"
#include "egress-proxy/proxy.h"
#include "egress-proxy/proxy_config.h"
#include "egress-proxy/proxy_confine.h"
#include "egress-proxy/proxy_control.h"

/* The first message: log descriptor and options. */
static void
main_configure(struct proxy_config *config)
{
	struct ipc_message message;
	struct json_fault fault = {{0}};
	char detail[JSON_FIELD_FAULT_MAX] = "";
	const json_t *options;
	const char *sandbox;
	int log_fd;

	if (peer_receive_first(IPC_CONTROL_FD, IPC_PROXY, IPC_SUPERVISOR,
		IPC_START_TIMEOUT_MS, &message, detail,
		sizeof(detail)) != RESULT_OK)
		log_fatal(IPC_EXIT_BAD_CONFIG, "config_refused", detail);
	log_fd = ipc_message_take_fd(&message, 0);
	log_open(log_fd, "agentnode-egress-proxy", LOG_INFO_LEVEL);
	options = json_object_get(message.body, "options");
	proxy_config_read(options, config, &fault);
	if (fault.text[0] != '\0')
		log_fatal(IPC_EXIT_BAD_CONFIG, "config_refused", fault.text);
	log_open(log_fd, "agentnode-egress-proxy", config->log_level);
	log_set_rate((unsigned)config->log_rate);
	sandbox = json_string_value(json_object_get(message.body, "sandbox"));
	if (sandbox != NULL)
		log_set_sandbox(sandbox);
	ipc_message_clear(&message);
}

/* As many descriptors as we are allowed to have. */
static void
main_raise_files(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &limit); /* fewer: fewer tunnels */
}

static void
main_confine(const struct proxy_config *config, struct confine_layers *layers)
{
	char detail[256] = "";

	if (proxy_confine_enter((uid_t)config->uid, !config->no_landlock,
		layers, detail, sizeof(detail)) != RESULT_OK)
		log_fatal(IPC_EXIT_CONFINE, "confine_failed", detail);
}

int
main(void)
{
	struct proxy *proxy = calloc(1, sizeof(*proxy));
	struct proxy_control control = {0};
	struct confine_layers layers = {0};
	struct event_base *base = NULL;

	confine_preload();
	if (proxy == NULL)
		return IPC_EXIT_CRASH;
	main_configure(&proxy->config);
	main_raise_files();
	if (event_loop_new_batched(&base) != RESULT_OK ||
	    proxy_init(proxy, base) != RESULT_OK ||
	    proxy_control_init(&control, proxy) != RESULT_OK)
		log_fatal(IPC_EXIT_CRASH, "start_failed",
		    "the event loop or the resolver cannot be made");
	main_confine(&proxy->config, &layers);
	if (proxy_control_ready(&control, &layers) != RESULT_OK)
		log_fatal(IPC_EXIT_SUPERVISOR, "start_failed",
		    "the supervisor does not listen");
	if (event_loop_run(base) != RESULT_OK)
		control.exit_code = IPC_EXIT_CRASH;
	proxy_close(proxy);
	proxy_control_close(&control);
	event_base_free(base);
	log_flush();
	free(proxy);
	return control.exit_code;
}
