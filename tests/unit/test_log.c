/* SPDX-License-Identifier: Apache-2.0 */
/* common/log: escaping, bounds, rates, lost lines, errno, terminals. */
#include "common/log.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <pty.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/fd.h"

static int test_log_fd = -1;

static int
test_log_start(void **state)
{
	(void)state;
	test_log_fd = memfd_create("log", MFD_CLOEXEC);
	log_open(test_log_fd, "test", LOG_INFO_LEVEL);
	return 0;
}

static int
test_log_end(void **state)
{
	(void)state;
	log_open(-1, "test", LOG_INFO_LEVEL);
	fd_close(&test_log_fd);
	return 0;
}

/* Everything written so far; static buffer. */
static const char *
test_log_text(void)
{
	static char text[1 << 20];
	ssize_t got = pread(test_log_fd, text, sizeof(text) - 1, 0);

	assert_true(got >= 0);
	text[got] = '\0';
	return text;
}

static unsigned
test_log_count(const char *needle)
{
	const char *at = test_log_text();
	unsigned count = 0;

	while ((at = strstr(at, needle)) != NULL) {
		at += strlen(needle);
		count++;
	}
	return count;
}

/* The last line as JSON: must parse strictly. */
static json_t *
test_log_last(void)
{
	const char *text = test_log_text(), *at;
	size_t len = strlen(text);
	json_t *line;

	assert_true(len > 0 && text[len - 1] == '\n');
	for (at = text + len - 1; at > text && at[-1] != '\n'; at--)
		continue;
	line = json_loadb(at, len - (size_t)(at - text),
	    JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
	assert_non_null(line);
	return line;
}

static void
test_log_line(void **state)
{
	json_t *line;

	(void)state;
	log_set_sandbox("0123456789abcdef");
	errno = ENOENT;
	log_event(LOG_WARN_LEVEL, "thing_done", LOG_TEXT("host", "a.example"),
	    LOG_INT("port", -443), LOG_UINT("big", UINT64_MAX),
	    LOG_BOOL("ok", 1), LOG_TEXT("none", NULL),
	    LOG_BYTES("raw", "a\0b", 3));
	assert_int_equal(errno, ENOENT);
	assert_non_null(
	    strstr(test_log_text(), "\"big\":18446744073709551615"));
	assert_int_equal(test_log_count("\n"), 1);
	assert_non_null(strstr(test_log_text(),
	    "\"level\":\"warn\",\"process\":\"test\",\"sandbox\":"
	    "\"0123456789abcdef\",\"event\":\"thing_done\",\"host\":"
	    "\"a.example\",\"port\":-443,"));
	assert_non_null(strstr(test_log_text(),
	    "\"ok\":true,\"none\":\"\",\"raw\":\"a\\u0000b\"}\n"));
	log_event(LOG_DEBUG_LEVEL, "below");
	assert_int_equal(test_log_count("\n"), 1);
	log_event(LOG_INFO_LEVEL, "bare");
	line = test_log_last();
	assert_string_equal(
	    json_string_value(json_object_get(line, "event")), "bare");
	assert_int_equal(
	    strlen(json_string_value(json_object_get(line, "ts"))), 24);
	json_decref(line);
}

static void
test_log_time(void **state)
{
	struct tm utc = {.tm_sec = 0};
	time_t before = time(NULL), told;
	const char *rest;
	json_t *line;

	(void)state;
	setenv("TZ", "Asia/Tokyo", 1); /* times are UTC whatever it says */
	log_event(LOG_INFO_LEVEL, "now");
	line = test_log_last();
	rest = strptime(json_string_value(json_object_get(line, "ts")),
	    "%Y-%m-%dT%H:%M:%S", &utc);
	assert_non_null(rest);
	told = timegm(&utc);
	assert_true(told >= before && told <= time(NULL));
	assert_int_equal(rest[0], '.');
	assert_string_equal(rest + 4, "Z");
	json_decref(line);
}

static void
test_log_escapes(void **state)
{
	static const char *const cases[][2] = {
	    {"plain \xc3\xa4", "plain \xc3\xa4"}, {"q\"b\\", "q\\\"b\\\\"},
	    {"\x1b[2J\n\r\t\x07", "\\u001b[2J\\u000a\\u000d\\u0009\\u0007"},
	    {"\x7f", "\\u007f"},
	    {"\xc2\x9b"
	     "31m",
		"\\u009b31m"},
	    {"\xc2\x80\xc2\x9f\xc2\xa0", "\\u0080\\u009f\xc2\xa0"},
	    {"\xe2\x80\xae"
	     "cod",
		"\\u202ecod"},
	    {"\xe2\x81\xa6\xe2\x80\x8f", "\\u2066\\u200f"},
	    {"\xe2\x80\xa8", "\\u2028"}, {"\xef\xbb\xbf", "\\ufeff"},
	    {"\xf3\xa0\x81\x81", "\\udb40\\udc41"}, /* a tag character */
	    {"\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80"}, {"\xff", "\\ufffd"},
	    {"\xc3", "\\ufffd"}, {"\xc0\x80", "\\ufffd\\ufffd"},
	    {"\xe0\x80\xaf", "\\ufffd\\ufffd\\ufffd"},
	    {"\xed\xa0\x80", "\\ufffd\\ufffd\\ufffd"},
	    {"\xf4\x90\x80\x80", "\\ufffd\\ufffd\\ufffd\\ufffd"},
	    {"\x9b"
	     "31m",
		"\\ufffd31m"}};
	char text[128];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		log_escape(
		    cases[i][0], strlen(cases[i][0]), text, sizeof(text));
		assert_string_equal(text, cases[i][1]);
	}
	log_clean("\"\\\n", 3, text, sizeof(text));
	assert_string_equal(text, "\"\\\\u000a");
}

static void
test_log_escape_sizes(void **state)
{
	char text[16];
	size_t size;

	(void)state;
	for (size = 1; size <= sizeof(text); size++) {
		memset(text, 'Z', sizeof(text));
		log_escape("ab\n\nabcdefgh", 12, text, size);
		assert_true(strlen(text) < size);
		if (size == 16)
			assert_string_equal(text, "ab\\u000a...");
	}
	log_escape("abcdefg", 7, text, 8);
	assert_string_equal(text, "abcdefg");
	log_escape("abcdefgh", 8, text, 8);
	assert_string_equal(text, "abcd...");
}

/* Every two-byte value, written through the whole path: still strict JSON
 * and never a byte that steers. */
static void
test_log_all_bytes(void **state)
{
	char bytes[2];
	unsigned i;
	const unsigned char *at;

	(void)state;
	log_set_rate(0);
	for (i = 0; i < 65536; i += 7) {
		bytes[0] = (char)(i >> 8);
		bytes[1] = (char)i;
		assert_int_equal(ftruncate(test_log_fd, 0), 0);
		lseek(test_log_fd, 0, SEEK_SET);
		log_event(LOG_INFO_LEVEL, "b", LOG_BYTES("v", bytes, 2));
		json_decref(test_log_last());
		for (at = (const unsigned char *)test_log_text(); at[1] != 0;
		     at++) {
			assert_true(*at >= 0x20 && *at != 0x7f);
			assert_false(at[0] == 0xc2 && at[1] < 0xa0);
		}
	}
}

static void
test_log_long(void **state)
{
	char big[2000];
	json_t *line;

	(void)state;
	memset(big, 'x', sizeof(big));
	log_event(LOG_INFO_LEVEL, "one", LOG_BYTES("v", big, sizeof(big)));
	line = test_log_last();
	assert_int_equal(
	    json_string_length(json_object_get(line, "v")), LOG_VALUE_MAX);
	json_decref(line);
	log_event(LOG_INFO_LEVEL, "many", LOG_BYTES("a", big, 2000),
	    LOG_BYTES("b", big, 2000), LOG_BYTES("c", big, 2000),
	    LOG_BYTES("d", big, 2000), LOG_BYTES("e", big, 2000),
	    LOG_BYTES("f", big, 2000), LOG_BYTES("g", big, 2000),
	    LOG_BYTES("h", big, 2000), LOG_BYTES("i", big, 2000));
	line = test_log_last();
	assert_true(json_is_true(json_object_get(line, "cut")));
	assert_non_null(json_object_get(line, "g"));
	assert_null(json_object_get(line, "i"));
	json_decref(line);
}

/* Sum of the counts of all summaries. */
static unsigned
test_log_suppressed(const char *of)
{
	const char *at = test_log_text();
	char needle[64];
	unsigned sum = 0;

	snprintf(needle, sizeof(needle), "\"of\":\"%s\",\"count\":", of);
	while ((at = strstr(at, needle)) != NULL) {
		at += strlen(needle);
		sum += (unsigned)strtoul(at, NULL, 10);
	}
	return sum;
}

static void
test_log_rate(void **state)
{
	unsigned i, lines;

	(void)state;
	log_set_rate(3);
	for (i = 0; i < 50; i++)
		log_event(LOG_INFO_LEVEL, "flood", LOG_UINT("i", i));
	log_event(LOG_INFO_LEVEL, "other_event");
	assert_int_equal(test_log_count("other_event"), 1);
	log_flush();
	lines = test_log_count("\"event\":\"flood\"");
	assert_in_range(lines, 3, 6); /* a second may end meanwhile */
	assert_int_equal(lines + test_log_suppressed("flood"), 50);
	assert_int_equal(test_log_suppressed("other_event"), 0);
	lines = test_log_count("\n");
	log_flush();
	assert_int_equal(test_log_count("\n"), lines);
}

/* The next second lets lines through again, after the summary. */
static void
test_log_rate_next_second(void **state)
{
	const struct timespec second = {1, 10000000};

	(void)state;
	log_set_rate(1);
	log_event(LOG_INFO_LEVEL, "flood");
	log_event(LOG_INFO_LEVEL, "flood");
	log_event(LOG_INFO_LEVEL, "flood");
	nanosleep(&second, NULL);
	log_event(LOG_INFO_LEVEL, "flood", LOG_INT("last", 1));
	assert_non_null(strstr(test_log_text(), "\"last\":1}"));
	assert_true(test_log_suppressed("flood") >= 1);
	assert_int_equal(test_log_count("\"event\":\"flood\"") +
			     test_log_suppressed("flood"),
	    4);
}

/* More event names than the table holds: still nothing is lost unsaid. */
static void
test_log_rate_names(void **state)
{
	char name[16];
	unsigned i, k;

	(void)state;
	log_set_rate(1);
	for (i = 0; i < 100; i++)
		for (k = 0; k < 2; k++) {
			snprintf(name, sizeof(name), "event%u", i);
			log_event(LOG_INFO_LEVEL, name);
		}
	log_flush();
	/* 63 names have their own counter, the other 37 share one */
	assert_int_equal(test_log_count("\"event\":\"event") +
			     test_log_count("\"of\":\"event") +
			     test_log_suppressed("other"),
	    200);
	assert_true(test_log_suppressed("other") > 0);
}

static void
test_log_lost(void **state)
{
	int fds[2];
	char bytes[65536] = {0};
	ssize_t got;

	(void)state;
	assert_int_equal(pipe2(fds, O_NONBLOCK), 0);
	log_open(fds[1], "test", LOG_INFO_LEVEL);
	log_set_rate(0);
	while (write(fds[1], bytes, sizeof(bytes)) > 0)
		continue;
	log_event(LOG_INFO_LEVEL, "first_lost");
	log_event(LOG_INFO_LEVEL, "second_lost");
	while (read(fds[0], bytes, sizeof(bytes)) > 0)
		continue;
	log_event(LOG_INFO_LEVEL, "after");
	got = read(fds[0], bytes, sizeof(bytes) - 1);
	assert_true(got > 0);
	bytes[got] = '\0';
	assert_null(strstr(bytes, "first_lost"));
	assert_non_null(strstr(
	    bytes, "\"event\":\"log_lost\",\"count\":2,\"error\":\"EAGAIN\""));
	assert_non_null(strstr(bytes, "\"event\":\"after\""));
	/* with nothing more to say, the flush at the end tells it */
	while (write(fds[1], bytes, sizeof(bytes)) > 0)
		continue;
	log_event(LOG_INFO_LEVEL, "third_lost");
	while (read(fds[0], bytes, sizeof(bytes)) > 0)
		continue;
	log_flush();
	got = read(fds[0], bytes, sizeof(bytes) - 1);
	assert_true(got > 0);
	bytes[got] = '\0';
	assert_non_null(strstr(bytes, "\"event\":\"log_lost\",\"count\":1"));
	log_open(-1, "test", LOG_INFO_LEVEL);
	fd_close(&fds[0]);
	fd_close(&fds[1]);
}

/* A file size limit tears a line as a full disk does; what follows begins
 * on a line of its own and says how many were lost. */
static void
test_log_torn(void **state)
{
	struct rlimit old, limit;
	off_t size;

	(void)state;
	log_event(LOG_INFO_LEVEL, "whole");
	size = lseek(test_log_fd, 0, SEEK_END);
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	limit = old;
	limit.rlim_cur = (rlim_t)size + 20;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	log_event(LOG_INFO_LEVEL, "torn");
	log_event(LOG_INFO_LEVEL, "refused");
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	log_event(LOG_INFO_LEVEL, "after");
	assert_non_null(strstr(test_log_text(),
	    "\"event\":\"log_lost\",\"count\":2,\"error\":\"EFBIG\""));
	/* the whole line, the rest of the torn one, log_lost, after */
	assert_int_equal(test_log_count("\n"), 4);
	assert_int_equal(test_log_count("\n{\"ts\""), 3);
	json_decref(test_log_last());
}

static void
test_log_terminal(void **state)
{
	char text[4096];
	ssize_t got;
	int master, slave;

	(void)state;
	assert_int_equal(openpty(&master, &slave, NULL, NULL, NULL), 0);
	log_open(slave, "test", LOG_INFO_LEVEL);
	log_event(LOG_INFO_LEVEL, "hello", LOG_TEXT("who", "a\x1b[2Jb"),
	    LOG_INT("n", 3));
	got = read(master, text, sizeof(text) - 1);
	assert_true(got > 0);
	text[got] = '\0';
	assert_non_null(
	    strstr(text, "Z info hello who=\"a\\u001b[2Jb\" n=3\r\n"));
	assert_null(strchr(text, '{'));
	log_open(-1, "test", LOG_INFO_LEVEL);
	fd_close(&master);
	fd_close(&slave);
}

static void
test_log_replace(void **state)
{
	int other = memfd_create("new", MFD_CLOEXEC);

	(void)state;
	log_replace_fd(other);
	assert_int_equal(fcntl(test_log_fd, F_GETFD), -1);
	test_log_fd = other;
	log_event(LOG_INFO_LEVEL, "in_new_file");
	assert_int_equal(test_log_count("in_new_file"), 1);
}

/* Standard error too, without dup2. */
static void
test_log_replace_all(void **state)
{
	int next = memfd_create("next", MFD_CLOEXEC), status;
	pid_t pid = fork();

	(void)state;
	if (pid == 0) {
		struct stat wanted, got;

		log_replace_all(next);
		_exit(fstat(next, &wanted) == 0 &&
			      fstat(STDERR_FILENO, &got) == 0 &&
			      wanted.st_ino == got.st_ino &&
			      wanted.st_dev == got.st_dev &&
			      fcntl(test_log_fd, F_GETFD) == -1
			  ? 0
			  : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	fd_close(&next);
}

static void
test_log_fatal(void **state)
{
	int status;
	pid_t pid = fork();

	(void)state;
	if (pid == 0)
		log_fatal(82, "confine_failed", "landlock: not there");
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 82);
	assert_int_equal(
	    test_log_count("\"event\":\"confine_failed\",\"detail\":"
			   "\"landlock: not there\""),
	    1);
}

#define TEST_LOG(name) \
	cmocka_unit_test_setup_teardown(name, test_log_start, test_log_end)

int
main(void)
{
	const struct CMUnitTest tests[] = {TEST_LOG(test_log_line),
	    TEST_LOG(test_log_time), TEST_LOG(test_log_escapes),
	    TEST_LOG(test_log_escape_sizes), TEST_LOG(test_log_all_bytes),
	    TEST_LOG(test_log_long), TEST_LOG(test_log_rate),
	    TEST_LOG(test_log_rate_next_second), TEST_LOG(test_log_rate_names),
	    TEST_LOG(test_log_lost), TEST_LOG(test_log_torn),
	    TEST_LOG(test_log_terminal), TEST_LOG(test_log_replace),
	    TEST_LOG(test_log_replace_all), TEST_LOG(test_log_fatal)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
