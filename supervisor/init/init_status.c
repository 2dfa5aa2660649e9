/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads /proc/self/status for the report (see the header): by the child
 * that tries the walls, for itself.
 */
#include "supervisor/init/init_status.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define INIT_STATUS_SIZE 8192U

int
init_status_file(const char *path, char *bytes_r, size_t size, size_t *len_r)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	size_t len = 0;
	ssize_t got;
	char more;

	*len_r = 0;
	if (fd < 0)
		return errno == ENOENT ? 0 : errno;
	while (len < size) {
		got = read(fd, bytes_r + len, size - len);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		len += (size_t)got;
	}
	if (len == size && read(fd, &more, 1) == 1)
		len++;
	close(fd);
	*len_r = len;
	return 0;
}

/* The text behind "\nName:", or NULL. */
static const char *
init_status_field(const char *text, const char *name)
{
	const char *at = text;
	size_t len = strlen(name);

	while ((at = strstr(at, name)) != NULL) {
		if (at != text && at[-1] == '\n' && at[len] == ':')
			return at + len + 1;
		at += len;
	}
	return NULL;
}

static int
init_status_number(
    const char *text, const char *name, int base, uint64_t *value_r)
{
	const char *field = init_status_field(text, name);

	if (field == NULL)
		return EPROTO;
	*value_r = strtoull(field, NULL, base);
	return 0;
}

static int
init_status_ids(const char *text, const char *name, uint32_t ids_r[4])
{
	const char *field = init_status_field(text, name);
	char *end;

	if (field == NULL)
		return EPROTO;
	for (unsigned i = 0; i < 4; i++) {
		ids_r[i] = (uint32_t)strtoull(field, &end, 10);
		if (end == field)
			return EPROTO;
		field = end;
	}
	return 0;
}

static int
init_status_groups(const char *text, struct init_report_status *status)
{
	const char *field = init_status_field(text, "Groups");
	char *end;

	if (field == NULL)
		return EPROTO;
	while (*field != '\n' && *field != '\0') {
		uint64_t group = strtoull(field, &end, 10);

		if (end == field)
			break;
		if (group != status->gid[0])
			status->group_count++;
		field = end;
		field += strspn(field, " \t");
	}
	return 0;
}

/* Not every kernel that init runs in has these two lines; the kernel itself
 * is asked then. One that does not know of ambient sets has none. */
static int
init_status_privs(const char *text, uint64_t *privs_r)
{
	int value;

	if (init_status_field(text, "NoNewPrivs") != NULL)
		return init_status_number(text, "NoNewPrivs", 10, privs_r);
	value = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0);
	*privs_r = (uint64_t)value;
	return value < 0 ? errno : 0;
}

static int
init_status_ambient(const char *text, uint64_t *set_r)
{
	*set_r = 0;
	if (init_status_field(text, "CapAmb") != NULL)
		return init_status_number(text, "CapAmb", 16, set_r);
	return prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, 0, 0, 0) < 0 &&
		       errno == EINVAL
		   ? 0
		   : EPROTO;
}

int
init_status_read(struct init_report_status *status_r)
{
	char text[INIT_STATUS_SIZE];
	uint64_t privs, mode;
	size_t len;
	int error =
	    init_status_file("/proc/self/status", text, sizeof(text) - 1, &len);

	if (error != 0)
		return error;
	if (len >= sizeof(text))
		return EFBIG;
	text[len] = '\0';
	status_r->group_count = 0;
	if ((error = init_status_ids(text, "Uid", status_r->uid)) != 0 ||
	    (error = init_status_ids(text, "Gid", status_r->gid)) != 0 ||
	    (error = init_status_groups(text, status_r)) != 0 ||
	    (error = init_status_number(
		 text, "CapInh", 16, &status_r->inheritable)) != 0 ||
	    (error = init_status_number(
		 text, "CapPrm", 16, &status_r->permitted)) != 0 ||
	    (error = init_status_number(
		 text, "CapEff", 16, &status_r->effective)) != 0 ||
	    (error = init_status_number(
		 text, "CapBnd", 16, &status_r->bounding)) != 0 ||
	    (error = init_status_ambient(text, &status_r->ambient)) != 0 ||
	    (error = init_status_privs(text, &privs)) != 0 ||
	    (error = init_status_number(text, "Seccomp", 10, &mode)) != 0)
		return error;
	status_r->no_new_privs = (uint32_t)privs;
	status_r->seccomp = (uint32_t)mode;
	return 0;
}
