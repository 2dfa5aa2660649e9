/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agentnode-llm-broker: the way to language models for the agent in one
 * sandbox. Started by the supervisor with its control socket as descriptor
 * 3; argv and environment mean nothing. Everything that has to be opened or
 * read is opened and read before main_confine; the first foreign byte comes
 * after it.
 */
#include <jansson.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "common/buffer.h"
#include "common/confine.h"
#include "common/event_loop.h"
#include "common/ipc.h"
#include "common/log.h"
#include "common/peer.h"
#include "llm-broker/broker.h"
#include "llm-broker/broker_config.h"
#include "llm-broker/broker_confine.h"
#include "llm-broker/broker_control.h"
#include "llm-broker/key_digest.h"

/* The first message: log descriptor and options. */
static void
main_configure(struct broker_config *config)
{
	struct ipc_message message;
	struct json_fault fault = {{0}};
	char detail[JSON_FIELD_FAULT_MAX] = "";
	const json_t *options;
	const char *sandbox;
	int log_fd;

	if (peer_receive_first(IPC_CONTROL_FD, IPC_BROKER, IPC_SUPERVISOR,
		IPC_START_TIMEOUT_MS, &message, detail,
		sizeof(detail)) != RESULT_OK)
		log_fatal(IPC_EXIT_BAD_CONFIG, "config_refused", detail);
	log_fd = ipc_message_take_fd(&message, 0);
	log_open(log_fd, "agentnode-llm-broker", LOG_INFO_LEVEL);
	options = json_object_get(message.body, "options");
	broker_config_read(options, config, &fault);
	if (fault.text[0] != '\0')
		log_fatal(IPC_EXIT_BAD_CONFIG, "config_refused", fault.text);
	log_open(log_fd, "agentnode-llm-broker", config->log_level);
	log_set_rate((unsigned)config->log_rate);
	sandbox = json_string_value(json_object_get(message.body, "sandbox"));
	if (sandbox != NULL)
		log_set_sandbox(sandbox);
	ipc_message_clear(&message);
}

/* A hostile provider may send the key back: what is let go is overwritten,
 * texts of parsed JSON too. */
static void
main_release(void *memory)
{
	if (memory != NULL)
		explicit_bzero(memory, malloc_usable_size(memory));
	free(memory);
}

/* As many descriptors as we are allowed to have. */
static void
main_raise_files(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &limit); /* fewer: fewer calls */
}

static void
main_confine(const struct broker_config *config, struct confine_layers *layers)
{
	char detail[256] = "";

	if (broker_confine_enter((uid_t)config->uid, !config->no_landlock,
		layers, detail, sizeof(detail)) != RESULT_OK)
		log_fatal(IPC_EXIT_CONFINE, "confine_failed", detail);
}

int
main(void)
{
	struct broker *broker = calloc(1, sizeof(*broker));
	struct broker_control control = {0};
	struct confine_layers layers = {0};
	struct event_base *base = NULL;

	buffer_wipe();
	json_set_alloc_funcs(malloc, main_release);
	confine_preload();
	if (broker == NULL)
		return IPC_EXIT_CRASH;
	main_configure(&broker->config);
	main_raise_files();
	if (key_digest_prepare() != RESULT_OK ||
	    event_loop_new_batched(&base) != RESULT_OK ||
	    broker_init(broker, base) != RESULT_OK ||
	    broker_control_init(&control, broker) != RESULT_OK)
		log_fatal(IPC_EXIT_CRASH, "start_failed",
		    "the event loop or the digest cannot be made");
	main_confine(&broker->config, &layers);
	if (broker_control_ready(&control, &layers) != RESULT_OK)
		log_fatal(IPC_EXIT_SUPERVISOR, "start_failed",
		    "the supervisor does not listen");
	if (quick_wait_run(base, &broker->shared.quick) != RESULT_OK)
		control.exit_code = IPC_EXIT_CRASH;
	broker_close(broker);
	broker_control_close(&control);
	event_base_free(base);
	log_flush();
	free(broker);
	return control.exit_code;
}
