/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses requirements; see requirement.h. It must never pass a byte on that
 * is not a letter, a digit or one of a few marks: pip reads the result.
 */
#include "supervisor/package/requirement.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REQUIREMENT_NAME_MAX 100U
#define REQUIREMENT_VERSION_MAX 64U
#define REQUIREMENT_HASH "--hash=sha256:"
#define REQUIREMENT_FORM "NAME==VERSION --hash=sha256:<64 hex digits>"

/* What is left of one line. */
struct requirement {
	const char *at, *end;
	char name[REQUIREMENT_NAME_MAX + 1];
	char version[REQUIREMENT_VERSION_MAX + 1];
	json_t *hashes; /* owned */
};

static void
requirement_skip(struct requirement *item)
{
	while (item->at < item->end && (*item->at == ' ' || *item->at == '\t'))
		item->at++;
}

/* Take letters, digits and the bytes of more; 0 when there are none or more
 * than fit. */
static size_t
requirement_word(
    struct requirement *item, const char *more, char *word_r, size_t size)
{
	size_t len = 0;

	while (
	    item->at + len < item->end &&
	    (isalnum((unsigned char)item->at[len]) ||
		(item->at[len] != '\0' && strchr(more, item->at[len]) != NULL)))
		len++;
	if (len == 0 || len >= size)
		return 0;
	memcpy(word_r, item->at, len);
	word_r[len] = '\0';
	item->at += len;
	return len;
}

/* PEP 503: lower case, runs of "-_." are one '-'. */
static void
requirement_normalise(char *name)
{
	char *to = name;

	for (const char *from = name; *from != '\0'; from++) {
		bool mark = strchr("-_.", *from) != NULL;

		if (mark && to > name && to[-1] == '-')
			continue;
		*to++ = mark ? '-' : (char)tolower((unsigned char)*from);
	}
	*to = '\0';
}

/* NAME==VERSION */
static bool
requirement_pin(struct requirement *item)
{
	if (requirement_word(item, "-_.", item->name, sizeof(item->name)) ==
		0 ||
	    !isalnum((unsigned char)item->name[0]))
		return false;
	requirement_skip(item);
	if (item->end - item->at < 3 || memcmp(item->at, "==", 2) != 0 ||
	    item->at[2] == '=')
		return false;
	item->at += 2;
	requirement_skip(item);
	if (requirement_word(
		item, ".+!_-", item->version, sizeof(item->version)) == 0 ||
	    !isdigit((unsigned char)item->version[0]))
		return false;
	requirement_normalise(item->name);
	return item->at == item->end || *item->at == ' ' || *item->at == '\t';
}

/* One --hash=sha256:...; false: something else stands here. */
static bool
requirement_hash(struct requirement *item)
{
	size_t prefix = strlen(REQUIREMENT_HASH);
	char text[80] = "sha256:";

	if ((size_t)(item->end - item->at) < prefix + 64 ||
	    memcmp(item->at, REQUIREMENT_HASH, prefix) != 0)
		return false;
	item->at += prefix;
	memcpy(text + 7, item->at, 64);
	text[71] = '\0';
	item->at += 64;
	if (strspn(text + 7, "0123456789abcdef") != 64 ||
	    json_array_size(item->hashes) >= REQUIREMENT_HASHES_MAX)
		return false;
	(void)json_array_append_new(item->hashes, json_string(text));
	return item->at == item->end || *item->at == ' ' || *item->at == '\t';
}

static bool
requirement_is_there(const json_t *list, const char *name)
{
	json_t *item;
	size_t i;

	json_array_foreach((json_t *)list, i, item)
	{
		if (strcmp(json_string_value(json_object_get(item, "name")),
			name) == 0)
			return true;
	}
	return false;
}

static void
requirement_add(struct requirement *item, bool may_lack_hash, const char *path,
    json_t *list, struct manifest_report *report)
{
	if (json_array_size(item->hashes) == 0 && !may_lack_hash)
		manifest_report_fault(report, path,
		    "has no hash: %s==%s needs --hash=sha256:<64 hex digits> "
		    "('pip hash FILE' prints it)",
		    item->name, item->version);
	else if (requirement_is_there(list, item->name))
		manifest_report_fault(
		    report, path, "names %s a second time", item->name);
	else if (json_array_size(list) >= REQUIREMENT_ITEMS_MAX)
		manifest_report_fault(report, path,
		    "is more than %u requirements", REQUIREMENT_ITEMS_MAX);
	else
		(void)json_array_append_new(list,
		    json_pack("{s:s,s:s,s:O}", "name", item->name, "version",
			item->version, "hashes", item->hashes));
}

void
requirement_parse(const char *line, size_t len, bool may_lack_hash,
    const char *path, json_t *list, struct manifest_report *report)
{
	struct requirement item = {.at = line, .end = line + len};
	bool good;

	item.hashes = json_array();
	requirement_skip(&item);
	good = item.hashes != NULL && requirement_pin(&item);
	if (!good)
		manifest_report_fault(report, path,
		    "'%.*s' is not pinned: write " REQUIREMENT_FORM
		    ", without range, extra, marker, URL or option",
		    len > 60 ? 60 : (int)len, line);
	requirement_skip(&item);
	while (good && item.at < item.end) {
		good = requirement_hash(&item);
		if (!good)
			manifest_report_fault(report, path,
			    "has something else than --hash=sha256:<64 hex "
			    "digits> behind %s==%s",
			    item.name, item.version);
		requirement_skip(&item);
	}
	if (good)
		requirement_add(&item, may_lack_hash, path, list, report);
	json_decref(item.hashes);
}

/* Copy one line, joined with those that it goes on in and without comment;
 * how many bytes of the input it took, 0 when it is too long. */
static size_t
requirement_line(const char *bytes, size_t len, char *line_r, size_t *len_r,
    unsigned *lines_r)
{
	size_t at = 0, used = 0;

	*lines_r = 1;
	while (at < len && bytes[at] != '\n') {
		bool is_last = at + 1 == len;

		if (bytes[at] == '\\' && !is_last && bytes[at + 1] == '\n') {
			line_r[used++] = ' ';
			at += 2;
			(*lines_r)++;
		} else if (bytes[at] == '#' &&
			   (used == 0 || line_r[used - 1] == ' ' ||
			       line_r[used - 1] == '\t')) {
			while (at < len && bytes[at] != '\n')
				at++;
		} else {
			line_r[used++] = bytes[at++];
		}
		if (used >= REQUIREMENT_LINE_MAX)
			return 0;
	}
	while (used > 0 && strchr(" \t\r", line_r[used - 1]) != NULL &&
	       line_r[used - 1] != '\0')
		used--;
	line_r[used] = '\0';
	*len_r = used;
	return at < len ? at + 1 : at;
}

void
requirement_parse_file(const char *bytes, size_t len, bool may_lack_hash,
    json_t *list, struct manifest_report *report)
{
	char line[REQUIREMENT_LINE_MAX], path[48];
	size_t took, line_len;
	unsigned number = 1, lines;

	while (len > 0) {
		(void)snprintf(
		    path, sizeof(path), REQUIREMENT_FILE ":%u", number);
		took = requirement_line(bytes, len, line, &line_len, &lines);
		if (took == 0) {
			manifest_report_fault(report, path, "is too long");
			return;
		}
		if (line_len > 0 && strspn(line, " \t") < line_len)
			requirement_parse(
			    line, line_len, may_lack_hash, path, list, report);
		bytes += took;
		len -= took;
		number += lines;
	}
}

/* NAME==VERSION, and each hash on a line of its own. */
static size_t
requirement_write(const json_t *item, char *text, size_t size)
{
	const json_t *hashes = json_object_get(item, "hashes");
	size_t used = (size_t)snprintf(text, size, "%s==%s",
	    json_string_value(json_object_get(item, "name")),
	    json_string_value(json_object_get(item, "version")));
	json_t *hash;
	size_t i;

	json_array_foreach((json_t *)hashes, i, hash)
	{
		used += (size_t)snprintf(text + used, size - used,
		    " \\\n    --hash=%s", json_string_value(hash));
	}
	return used + (size_t)snprintf(text + used, size - used, "\n");
}

char *
requirement_text(const json_t *list)
{
	size_t size = 1, used = 0, i;
	json_t *item;
	char *text;

	json_array_foreach((json_t *)list, i, item) size +=
	    REQUIREMENT_NAME_MAX + REQUIREMENT_VERSION_MAX + 8 +
	    90 * json_array_size(json_object_get(item, "hashes"));
	text = malloc(size);
	if (text == NULL)
		return NULL;
	text[0] = '\0';
	json_array_foreach((json_t *)list, i, item) used +=
	    requirement_write(item, text + used, size - used);
	return text;
}
