/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agentnode-keyring: reads or stores one key of the user's keychain, then it
 * is gone. Started by the supervisor. It must never stay, never be linked
 * into another program (libsecret starts threads), and never give a key to
 * anybody but llm-key and the keychain.
 */
#include <unistd.h>

#include "common/confine.h"
#include "common/event_loop.h"
#include "common/log.h"
#include "common/peer.h"
#include "llm-broker/keyring/keyring_channel.h"
#include "llm-broker/keyring/keyring_config.h"
#include "llm-broker/keyring/keyring_guard.h"
#include "llm-broker/keyring/keyring_job.h"

#define MAIN_NAME "agentnode-keyring"

static void
main_config(struct keyring_config *config_r)
{
	struct json_fault fault = {""};
	struct ipc_message message;
	char detail[256] = "";

	if (peer_receive_first(IPC_CONTROL_FD, IPC_KEYRING, IPC_SUPERVISOR,
		IPC_START_TIMEOUT_MS, &message, detail,
		sizeof(detail)) != RESULT_OK)
		log_fatal(IPC_EXIT_BAD_CONFIG, "config", detail);
	keyring_config_read(&message, config_r, &fault);
	if (fault.text[0] != '\0')
		log_fatal(IPC_EXIT_BAD_CONFIG, "config", fault.text);
	log_open(config_r->log_fd, MAIN_NAME, LOG_INFO_LEVEL);
	ipc_message_clear(&message);
}

int
main(void)
{
	struct keyring_config config;
	json_t *layers;

	log_open(STDERR_FILENO, MAIN_NAME, LOG_INFO_LEVEL);
	confine_preload();
	if (keyring_guard_enter(&layers) != RESULT_OK)
		log_fatal(IPC_EXIT_CONFINE, "guard", "a layer is missing");
	main_config(&config);
	keyring_channel_ready(layers);
	keyring_job_run(&config);
	log_flush();
	/* A call of the keychain may still be under way in a thread. */
	_exit(IPC_EXIT_OK);
}
