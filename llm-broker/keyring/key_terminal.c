/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hidden prompt (see the header). Called by key_input.c. Signals from
 * the keyboard are read as bytes, because they would end the supervisor and
 * us before the echo is back on. It must never leave without that.
 */
#include "llm-broker/keyring/key_terminal.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/ipc.h"
#include "llm-broker/keyring/keyring_guard.h"

#define KEY_TERMINAL_INTERRUPT '\003'
#define KEY_TERMINAL_END '\004'
#define KEY_TERMINAL_BACKSPACE '\b'
#define KEY_TERMINAL_KILL '\025'
#define KEY_TERMINAL_QUIT '\034'
#define KEY_TERMINAL_DELETE '\177'

static enum result
key_terminal_hide(int terminal, struct termios *before_r)
{
	struct termios hidden;

	if (tcgetattr(terminal, before_r) != 0)
		return RESULT_SYSTEM;
	hidden = *before_r;
	hidden.c_lflag &=
	    ~(tcflag_t)(ECHO | ECHOE | ECHOK | ECHONL | ICANON | ISIG | IEXTEN);
	hidden.c_iflag &= ~(tcflag_t)(ICRNL | INLCR | IXON | ISTRIP);
	hidden.c_cc[VMIN] = 1;
	hidden.c_cc[VTIME] = 0;
	return tcsetattr(terminal, TCSAFLUSH, &hidden) == 0 ? RESULT_OK
							    : RESULT_SYSTEM;
}

/* Wait for a byte. The supervisor's end shows on the control socket. */
static enum result
key_terminal_wait(int terminal)
{
	struct pollfd fds[] = {
	    {.fd = terminal, .events = POLLIN},
	    {.fd = IPC_CONTROL_FD, .events = 0},
	};

	for (;;) {
		if (poll(fds, 2, -1) < 0) {
			if (errno == EINTR)
				continue;
			return RESULT_SYSTEM;
		}
		if (fds[1].revents != 0)
			return RESULT_CLOSED;
		if ((fds[0].revents & POLLIN) != 0)
			return RESULT_OK;
		if (fds[0].revents != 0)
			return RESULT_EOF;
	}
}

/* What one typed byte, the last of line, means. NEED_MORE: go on. */
static enum result
key_terminal_take(struct secret *line)
{
	size_t len = secret_len(line) - 1;

	switch (secret_bytes_borrow(line)[len]) {
	case '\r':
	case '\n':
		(void)secret_resize(line, len);
		return RESULT_OK;
	case KEY_TERMINAL_INTERRUPT:
	case KEY_TERMINAL_QUIT:
		return RESULT_REFUSED;
	case KEY_TERMINAL_END:
		(void)secret_resize(line, len);
		return len == 0 ? RESULT_REFUSED : RESULT_OK;
	case KEY_TERMINAL_BACKSPACE:
	case KEY_TERMINAL_DELETE:
		(void)secret_resize(line, len > 0 ? len - 1 : 0);
		return RESULT_NEED_MORE;
	case KEY_TERMINAL_KILL:
		(void)secret_resize(line, 0);
		return RESULT_NEED_MORE;
	}
	return RESULT_NEED_MORE;
}

static enum result
key_terminal_read(int terminal, struct secret *line)
{
	enum result result = RESULT_NEED_MORE;
	size_t len;
	uint8_t *bytes;
	ssize_t got;

	while (result == RESULT_NEED_MORE) {
		len = secret_len(line);
		bytes = secret_resize(line, len + 1);
		if (bytes == NULL)
			return RESULT_TOO_LONG;
		result = key_terminal_wait(terminal);
		if (result != RESULT_OK)
			return result;
		got = read(terminal, bytes + len, 1);
		if (got == 1)
			result = key_terminal_take(line);
		else if (got == 0)
			return RESULT_EOF;
		else if (errno == EINTR || errno == EAGAIN) {
			(void)secret_resize(line, len);
			result = RESULT_NEED_MORE;
		} else
			return errno == EIO ? RESULT_EOF : RESULT_SYSTEM;
	}
	return result;
}

enum result
key_terminal_ask(int terminal, const char *prompt, struct secret *line)
{
	struct termios before;
	enum result result;

	(void)secret_resize(line, 0);
	keyring_guard_die_with_supervisor(false);
	result = key_terminal_hide(terminal, &before);
	if (result == RESULT_OK) {
		result = fd_write_all(terminal, prompt, strlen(prompt));
		if (result == RESULT_OK)
			result = key_terminal_read(terminal, line);
		(void)tcsetattr(terminal, TCSAFLUSH, &before);
		(void)fd_write_all(terminal, "\n", 1);
	}
	keyring_guard_die_with_supervisor(true);
	if (result != RESULT_OK)
		(void)secret_resize(line, 0);
	return result;
}
