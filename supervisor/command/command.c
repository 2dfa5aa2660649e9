/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every command prints alike: the one error sentence, JSON, and the
 * question of colours. Used by all command_*.c. Foreign bytes are escaped
 * before they reach a terminal.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"
#include "supervisor/command/command.h"

#define COMMAND_SENTENCE_MAX 2048U

/* stdio knows that something did not arrive, and no longer why: one more
 * byte behind what was cut says it again. */
static int
command_ask_why(void)
{
	ssize_t put;

	do {
		put = write(STDOUT_FILENO, "\n", 1);
	} while (put < 0 && errno == EINTR);
	return put < 0 ? errno : EIO;
}

int
command_flush(void)
{
	static int first;

	if (fflush(stdout) != 0 && first == 0)
		first = errno;
	if (ferror(stdout) && first == 0)
		first = command_ask_why();
	return first;
}

int
command_error(int code, const char *format, ...)
{
	char raw[COMMAND_SENTENCE_MAX], safe[COMMAND_SENTENCE_MAX];
	va_list args;

	va_start(args, format);
	vsnprintf(raw, sizeof(raw), format, args);
	va_end(args);
	log_clean(raw, strlen(raw), safe, sizeof(safe));
	(void)command_flush();
	fprintf(stderr, "agentnode: %s\n", safe);
	return code;
}

/* One line per result that a command may end with; the manual page's
 * list of exit codes says the same. */
int
command_exit_of(enum result result)
{
	switch (result) {
	case RESULT_OK:
		return COMMAND_DONE;
	case RESULT_BAD:
	case RESULT_TOO_LONG:
	case RESULT_NOT_FOUND:
		return COMMAND_CONFIG;
	case RESULT_REFUSED:
		return COMMAND_REFUSED;
	case RESULT_UNSUPPORTED:
	case RESULT_TIMEOUT:
		return COMMAND_UNAVAILABLE;
	case RESULT_MISMATCH:
		return COMMAND_INTEGRITY;
	case RESULT_NEED_MORE:
	case RESULT_EOF:
	case RESULT_NO_MEMORY:
	case RESULT_SYSTEM:
	case RESULT_EXISTS:
	case RESULT_CLOSED:
	case RESULT_INTERNAL:
	case RESULT_COUNT:
		break;
	}
	return COMMAND_INTERNAL;
}

int
command_fault(enum result result, const struct json_fault *fault)
{
	return command_error(command_exit_of(result), "%s",
	    fault->text[0] != '\0' ? fault->text : result_text(result));
}

int
command_print_json(const json_t *value)
{
	/* What stdout did not take is the mains' to say (command_flush). */
	if (json_dumpf(value, stdout, JSON_INDENT(2)) != 0 && !ferror(stdout))
		return command_error(
		    COMMAND_INTERNAL, "the answer could not be made");
	putchar('\n');
	return COMMAND_DONE;
}

bool
command_colour(FILE *stream)
{
	const char *no = getenv("NO_COLOR");
	int fd = fileno(stream);

	return (no == NULL || no[0] == '\0') && fd >= 0 && isatty(fd) == 1;
}
