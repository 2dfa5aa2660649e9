/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The result of a command for a person; see exec_print.h. Called by
 * exec_run; must never let a command write to a terminal what it acts on.
 */
#include "supervisor/exec/exec_print.h"

#include <stdbool.h>
#include <string.h>
#include <unistd.h>

static const json_t *
exec_print_get(const json_t *object, const char *name)
{
	return json_object_get(object, name);
}

static const char *
exec_print_text(const json_t *object, const char *name)
{
	const char *text = json_string_value(json_object_get(object, name));

	return text != NULL ? text : "";
}

static long long
exec_print_number(const json_t *object, const char *name)
{
	return (long long)json_integer_value(json_object_get(object, name));
}

/* A terminal acts on control bytes: C0, DEL, and C1 as UTF-8. Of a text of
 * more than one line those of lines are kept. */
static void
exec_print_tame(const char *text, size_t len, bool lines, FILE *stream)
{
	const unsigned char *at = (const unsigned char *)text;

	for (size_t i = 0; i < len; i++) {
		bool c1 = at[i] == 0xc2 && i + 1 < len && at[i + 1] >= 0x80 &&
			  at[i + 1] < 0xa0;
		bool line = lines && (at[i] == '\n' || at[i] == '\t');

		if (c1)
			(void)fprintf(stream, "\\u00%02x", at[++i]);
		else if ((at[i] < 0x20 && !line) || at[i] == 0x7f)
			(void)fprintf(stream, "\\x%02x", at[i]);
		else
			(void)fputc(at[i], stream);
	}
}

/* A name, which is never more than a part of a line. */
static void
exec_print_name(const char *name, FILE *stream)
{
	exec_print_tame(name, strlen(name), false, stream);
}

static void
exec_print_bytes(const json_t *text, FILE *stream)
{
	const char *bytes = json_string_value(text);
	size_t len = json_string_length(text);

	if (bytes == NULL)
		return;
	if (isatty(fileno(stream)))
		exec_print_tame(bytes, len, true, stream);
	else
		(void)fwrite(bytes, 1, len, stream);
}

static void
exec_print_stream(const json_t *result, const char *name, FILE *err)
{
	char key[64];

	(void)snprintf(key, sizeof(key), "%s_truncated", name);
	if (json_is_true(exec_print_get(result, key))) {
		(void)snprintf(key, sizeof(key), "%s_bytes", name);
		(void)fprintf(err,
		    "agentnode: %s was cut: it had %lld bytes "
		    "(--max-output shows more)\n",
		    name, exec_print_number(result, key));
	}
	(void)snprintf(key, sizeof(key), "%s_escaped", name);
	if (json_is_true(exec_print_get(result, key)))
		(void)fprintf(err,
		    "agentnode: %s is no UTF-8 text: shown with \\xNN, and "
		    "\\\\ for a backslash\n",
		    name);
}

static void
exec_print_file(const json_t *file, FILE *err)
{
	const json_t *text = exec_print_get(file, "text");
	const char *bytes = exec_print_text(file, "text");
	size_t len = strlen(bytes);

	(void)fputs("agentnode: file ", err);
	exec_print_name(exec_print_text(file, "name"), err);
	(void)fprintf(err, ", %lld bytes%s%s%s:\n",
	    exec_print_number(file, "bytes"),
	    json_is_true(exec_print_get(file, "input")) ? ", a changed input"
							: "",
	    json_is_true(exec_print_get(file, "truncated")) ? ", cut" : "",
	    json_is_true(exec_print_get(file, "escaped")) ? ", escaped" : "");
	exec_print_bytes(text, err);
	if (len > 0 && bytes[len - 1] != '\n')
		(void)fputc('\n', err);
}

/* Behind the number of directories: what is in them. */
static void
exec_print_below(const json_t *skipped, FILE *err)
{
	long long count = exec_print_number(skipped, "below");
	bool some = json_is_false(exec_print_get(skipped, "below_complete"));

	(void)fprintf(err, " with %s%lld file%s", some ? "at least " : "",
	    count, count == 1 ? "" : "s");
}

static void
exec_print_skipped(const json_t *result, FILE *err)
{
	static const struct {
		const char *key, *one, *many;
	} kinds[] = {{"directories", "directory", "directories"},
	    {"links", "link", "links"},
	    {"special", "special file", "special files"},
	    {"unreadable", "unreadable file", "unreadable files"},
	    {"more", "more entry", "more entries"}};
	const json_t *skipped = exec_print_get(result, "skipped");
	const char *before = "agentnode: skipped: ";

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		long long count = exec_print_number(skipped, kinds[i].key);

		if (count == 0)
			continue;
		(void)fprintf(err, "%s%lld %s", before, count,
		    count == 1 ? kinds[i].one : kinds[i].many);
		if (i == 0)
			exec_print_below(skipped, err);
		before = ", ";
	}
	if (before[0] == ',')
		(void)fputc('\n', err);
}

/* What the boundary refused, and the flag that would allow it. */
static void
exec_print_denied(const json_t *result, FILE *err)
{
	const json_t *denied = exec_print_get(result, "denied");

	for (size_t i = 0; i < json_array_size(denied); i++) {
		const json_t *one = json_array_get(denied, i);
		const char *flag = exec_print_text(one, "flag");

		(void)fprintf(
		    err, "agentnode: %s: ", exec_print_text(one, "code"));
		exec_print_name(exec_print_text(one, "target"), err);
		(void)fputs(flag[0] != '\0' ? " (" : "", err);
		exec_print_name(flag, err);
		(void)fputs(flag[0] != '\0' ? " would allow it)\n" : "\n", err);
	}
}

/* What the boundary did not hold to the end. */
static void
exec_print_changed(const json_t *result, FILE *err)
{
	const json_t *native = exec_print_get(result, "native");
	const json_t *changed = json_object_get(native, "protected_changed");

	for (size_t i = 0; i < json_array_size(changed); i++) {
		const char *path =
		    json_string_value(json_array_get(changed, i));

		(void)fputs("agentnode: warning: ", err);
		exec_print_name(path, err);
		(void)fputs(" is protected, and something on the host changed "
			    "or removed it during the run: from then on the "
			    "command could write it; look at it first\n",
		    err);
	}
}

/* What waits for the host's own git. */
static void
exec_print_repositories(const json_t *result, FILE *err)
{
	const json_t *native = exec_print_get(result, "native");
	const json_t *found = json_object_get(native, "repositories");

	for (size_t i = 0; i < json_array_size(found); i++) {
		const char *path = json_string_value(json_array_get(found, i));

		(void)fputs("agentnode: warning: ", err);
		exec_print_name(path, err);
		(void)fputs(" is a new or changed repository: git on the host, "
			    "in this workspace too, may run code that its "
			    "config names; look at it first\n",
		    err);
	}
	if (json_is_false(json_object_get(native, "repositories_complete")))
		(void)fputs("agentnode: warning: not every directory was "
			    "looked through for new repositories\n",
		    err);
}

/* What a person let through, now or once for all. */
static void
exec_print_granted(const json_t *result, FILE *err)
{
	const json_t *granted =
	    json_object_get(exec_print_get(result, "native"), "granted");

	for (size_t i = 0; i < json_array_size(granted); i++) {
		const char *entry =
		    json_string_value(json_array_get(granted, i));

		(void)fputs("agentnode: granted: ", err);
		exec_print_name(entry, err);
		(void)fputc('\n', err);
	}
}

static void
exec_print_end(const json_t *result, FILE *err)
{
	const json_t *signal = exec_print_get(result, "signal");

	if (exec_print_text(result, "code")[0] != '\0') {
		(void)fprintf(
		    err, "agentnode: %s: ", exec_print_text(result, "code"));
		exec_print_name(exec_print_text(result, "detail"), err);
		(void)fputc('\n', err);
	} else if (json_is_true(exec_print_get(result, "timed_out")))
		(void)fprintf(err,
		    "agentnode: it reached its time limit and was ended after "
		    "%lld ms, with all it had started\n",
		    exec_print_number(result, "duration_ms"));
	else if (json_is_integer(signal))
		(void)fprintf(err, "agentnode: signal %lld after %lld ms\n",
		    (long long)json_integer_value(signal),
		    exec_print_number(result, "duration_ms"));
	else
		(void)fprintf(err, "agentnode: exit %lld after %lld ms (%s)\n",
		    exec_print_number(result, "exit_code"),
		    exec_print_number(result, "duration_ms"),
		    exec_print_text(result, "boundary"));
	if (exec_print_text(result, "note")[0] != '\0')
		(void)fprintf(
		    err, "agentnode: %s\n", exec_print_text(result, "note"));
}

void
exec_print(const json_t *result, FILE *out, FILE *err)
{
	const json_t *files = exec_print_get(result, "files");
	const json_t *known = exec_print_get(result, "i_know");

	exec_print_bytes(exec_print_get(result, "stdout"), out);
	(void)fflush(out);
	exec_print_bytes(exec_print_get(result, "stderr"), err);
	exec_print_end(result, err);
	for (size_t i = 0; i < json_array_size(known); i++) {
		const json_t *one = json_array_get(known, i);

		(void)fprintf(err, "agentnode: handed over by --i-know: %s ",
		    exec_print_text(one, "option"));
		exec_print_name(exec_print_text(one, "name"), err);
		(void)fputc('\n', err);
	}
	if (!json_is_true(exec_print_get(result, "started")))
		return;
	exec_print_stream(result, "stdout", err);
	exec_print_stream(result, "stderr", err);
	for (size_t i = 0; i < json_array_size(files); i++)
		exec_print_file(json_array_get(files, i), err);
	exec_print_skipped(result, err);
	exec_print_granted(result, err);
	exec_print_denied(result, err);
	exec_print_changed(result, err);
	exec_print_repositories(result, err);
	if (!json_is_true(exec_print_get(result, "files_complete")))
		(void)fprintf(err,
		    "agentnode: the files it left are not all here: what came "
		    "%s\n",
		    exec_print_text(result, "files_fault"));
}
