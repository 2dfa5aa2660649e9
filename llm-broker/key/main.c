/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agentnode-llm-key: holds provider keys and speaks TLS to their hosts.
 * Started by the supervisor with its control socket as descriptor 3; argv
 * and environment mean nothing. Everything that has to be opened or read is
 * opened and read before main_confine; a key comes only after it.
 */
#include <stdlib.h>
#include <sys/resource.h>

#include "common/buffer.h"
#include "common/confine.h"
#include "common/event_loop.h"
#include "common/fd.h"
#include "common/ipc.h"
#include "common/log.h"
#include "common/peer.h"
#include "llm-broker/key/key_confine.h"
#include "llm-broker/key/key_control.h"

/* The first message: log descriptor, options, CA bundles. */
static void
main_configure(struct key_config *config, struct ipc_message *message)
{
	struct json_fault fault = {{0}};
	char detail[JSON_FIELD_FAULT_MAX] = "";
	const char *sandbox;
	int log_fd;

	if (peer_receive_first(IPC_CONTROL_FD, IPC_KEY, IPC_SUPERVISOR,
		IPC_START_TIMEOUT_MS, message, detail,
		sizeof(detail)) != RESULT_OK)
		log_fatal(IPC_EXIT_BAD_CONFIG, "config_refused", detail);
	log_fd = ipc_message_take_fd(message, 0);
	log_open(log_fd, "agentnode-llm-key", LOG_INFO_LEVEL);
	key_config_read(
	    json_object_get(message->body, "options"), config, &fault);
	if (fault.text[0] != '\0')
		log_fatal(IPC_EXIT_BAD_CONFIG, "config_refused", fault.text);
	log_open(log_fd, "agentnode-llm-key", config->log_level);
	log_set_rate((unsigned)config->log_rate);
	sandbox = json_string_value(json_object_get(message->body, "sandbox"));
	if (sandbox != NULL)
		log_set_sandbox(sandbox);
}

/* As many descriptors as we are allowed to have; no core, from now on. */
static void
main_limits(void)
{
	const struct rlimit none = {0, 0};
	struct rlimit limit;

	(void)setrlimit(RLIMIT_CORE, &none); /* main_confine insists */
	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &limit); /* fewer: fewer calls */
}

static void
main_start(struct key_holder *holder, struct event_base *base,
    struct ipc_message *message)
{
	char why[KEY_HOLDER_WHY_MAX] = "";

	if (key_holder_init(holder, base, message, why) != RESULT_OK)
		log_fatal(IPC_EXIT_BAD_CONFIG, "start_failed", why);
	ipc_message_clear(message);
}

static void
main_confine(const struct key_config *config, struct confine_layers *layers)
{
	char detail[256] = "";

	if (key_confine_enter((uid_t)config->uid, !config->no_landlock, layers,
		detail, sizeof(detail)) != RESULT_OK)
		log_fatal(IPC_EXIT_CONFINE, "confine_failed", detail);
}

int
main(void)
{
	struct key_holder *holder = calloc(1, sizeof(*holder));
	struct key_control control = {0};
	struct confine_layers layers = {0};
	struct event_base *base = NULL;
	struct ipc_message message;

	confine_preload();
	buffer_wipe(); /* a provider may say a key that it was sent */
	if (holder == NULL)
		return IPC_EXIT_CRASH;
	main_configure(&holder->config, &message);
	main_limits();
	if (event_loop_new(&base) != RESULT_OK)
		log_fatal(
		    IPC_EXIT_CRASH, "start_failed", "no event loop can be had");
	main_start(holder, base, &message);
	if (key_control_init(&control, holder) != RESULT_OK)
		log_fatal(IPC_EXIT_CRASH, "start_failed", "no control socket");
	main_confine(&holder->config, &layers);
	if (key_control_ready(&control, &layers) != RESULT_OK)
		log_fatal(IPC_EXIT_SUPERVISOR, "start_failed",
		    "the supervisor does not listen");
	if (quick_wait_run(base, &holder->world.quick) != RESULT_OK)
		control.exit_code = IPC_EXIT_CRASH;
	if (holder->is_broken)
		control.exit_code = IPC_EXIT_PROTOCOL;
	key_holder_close(holder);
	key_control_close(&control);
	event_base_free(base);
	log_flush();
	free(holder);
	return control.exit_code;
}
