/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of volumes; see volume_seal.h. One line per file:
 *   agentnode-seal 1 BOOT HASH FINGERPRINT WALL BOOTTIME
 * (clocks in nanoseconds). Called by volume_check.c. Must never make more
 * of a line than it says: all but the fingerprint is compared here, and the
 * fingerprint by who asked.
 */
#define VOLUME_SEAL_INTERNAL
#include "supervisor/engine/volume_seal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/fd.h"

#define VOLUME_SEAL_MAGIC "agentnode-seal 1"
#define VOLUME_SEAL_BOOT_FILE "/proc/sys/kernel/random/boot_id"
/* A clock that was set moves by more against the time since the boot. */
#define VOLUME_SEAL_CLOCK_NS INT64_C(2000000000)

static enum result
volume_seal_boot(char boot_r[VOLUME_SEAL_BOOT_MAX])
{
	int fd FD_CLEANUP = open(VOLUME_SEAL_BOOT_FILE, O_RDONLY | O_CLOEXEC);
	ssize_t len = fd < 0 ? -1 : read(fd, boot_r, VOLUME_SEAL_BOOT_MAX - 1);

	if (len != 37 || boot_r[36] != '\n')
		return RESULT_SYSTEM;
	boot_r[36] = '\0';
	return strspn(boot_r, "0123456789abcdef-") == 36 ? RESULT_OK
							 : RESULT_SYSTEM;
}

enum result
volume_seal_open(struct volume_seal *seal_r, struct json_fault *fault)
{
	struct state_dir home = {.fd = -1};
	enum result result;

	*seal_r = (struct volume_seal){.dir = {.fd = -1}};
	result = volume_seal_boot(seal_r->boot);
	if (result != RESULT_OK) {
		json_field_fault(
		    fault, "%s cannot be read", VOLUME_SEAL_BOOT_FILE);
		return result;
	}
	result = state_dir_home(true, &home, fault);
	if (result == RESULT_OK)
		result =
		    state_dir_sub(&home, VOLUME_SEAL_DIR, &seal_r->dir, fault);
	state_dir_close(&home);
	return result;
}

void
volume_seal_close(struct volume_seal *seal)
{
	if (seal->dir.fd >= 0)
		state_dir_close(&seal->dir);
}

static enum result
volume_seal_now(struct volume_seal_clock *clock_r)
{
	struct timespec wall, boot;

	if (clock_gettime(CLOCK_REALTIME, &wall) != 0 ||
	    clock_gettime(CLOCK_BOOTTIME, &boot) != 0)
		return RESULT_SYSTEM;
	clock_r->wall_ns = wall.tv_sec * INT64_C(1000000000) + wall.tv_nsec;
	clock_r->boot_ns = boot.tv_sec * INT64_C(1000000000) + boot.tv_nsec;
	return RESULT_OK;
}

/* A number of at most 18 digits up to end. */
static bool
volume_seal_number(const char **text, char end, int64_t *value_r)
{
	size_t len = strspn(*text, "0123456789");

	if (len == 0 || len > 19 || (*text)[len] != end)
		return false;
	errno = 0;
	*value_r = strtoll(*text, NULL, 10);
	*text += len + 1;
	return errno == 0;
}

/* Was the clock set since, or is this a record of the future? */
static bool
volume_seal_clock_fits(
    const struct volume_seal_clock *then, const struct volume_seal_clock *now)
{
	int64_t wall = now->wall_ns - then->wall_ns;
	int64_t boot = now->boot_ns - then->boot_ns;

	return then->wall_ns >= 0 && then->boot_ns >= 0 && wall >= 0 &&
	       boot >= 0 && wall - boot <= VOLUME_SEAL_CLOCK_NS &&
	       boot - wall <= VOLUME_SEAL_CLOCK_NS;
}

enum result
volume_seal_parse(const char *line, const char *boot, const char *hash,
    const struct volume_seal_clock *now, char stat_r[VOLUME_SEAL_STAT_MAX])
{
	char begin[192];
	struct volume_seal_clock then;
	int len = snprintf(begin, sizeof(begin),
	    VOLUME_SEAL_MAGIC " %s %s sha256:", boot, hash);

	if (len < 0 || (size_t)len >= sizeof(begin) ||
	    strncmp(line, begin, (size_t)len) != 0)
		return RESULT_MISMATCH;
	line += len;
	if (strspn(line, "0123456789abcdef") != 64 || line[64] != ' ')
		return RESULT_BAD;
	(void)snprintf(stat_r, VOLUME_SEAL_STAT_MAX, "sha256:%.64s", line);
	line += 65;
	if (!volume_seal_number(&line, ' ', &then.wall_ns) ||
	    !volume_seal_number(&line, '\n', &then.boot_ns) || line[0] != '\0')
		return RESULT_BAD;
	return volume_seal_clock_fits(&then, now) ? RESULT_OK : RESULT_MISMATCH;
}

enum result
volume_seal_read(const struct volume_seal *seal, const char *volume,
    const char *hash, char stat_r[VOLUME_SEAL_STAT_MAX])
{
	struct json_fault fault = {""};
	struct volume_seal_clock now;
	char *line = NULL;
	size_t len = 0;
	enum result result;

	if (seal->dir.fd < 0)
		return RESULT_NOT_FOUND;
	result = state_dir_read(&seal->dir, volume, STATE_DIR_OURS,
	    VOLUME_SEAL_LINE_MAX, &line, &len, &fault);
	if (result == RESULT_OK && strlen(line) != len)
		result = RESULT_BAD;
	if (result == RESULT_OK)
		result = volume_seal_now(&now);
	if (result == RESULT_OK)
		result =
		    volume_seal_parse(line, seal->boot, hash, &now, stat_r);
	free(line);
	return result;
}

enum result
volume_seal_write(const struct volume_seal *seal, const char *volume,
    const char *hash, const char *stat)
{
	struct volume_seal_clock now;
	char line[VOLUME_SEAL_LINE_MAX];
	int fd FD_CLEANUP = -1;
	int len;

	if (seal->dir.fd < 0 || volume_seal_now(&now) != RESULT_OK)
		return RESULT_SYSTEM;
	len = snprintf(line, sizeof(line),
	    VOLUME_SEAL_MAGIC " %s %s %s %" PRId64 " %" PRId64 "\n", seal->boot,
	    hash, stat, now.wall_ns, now.boot_ns);
	if (len < 0 || (size_t)len >= sizeof(line))
		return RESULT_TOO_LONG;
	fd = openat(seal->dir.fd, volume,
	    O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	if (fd < 0 || fd_write_all(fd, line, (size_t)len) != RESULT_OK ||
	    ftruncate(fd, len) != 0)
		return RESULT_SYSTEM;
	return RESULT_OK;
}

void
volume_seal_forget(const struct volume_seal *seal, const char *volume)
{
	if (seal->dir.fd >= 0)
		(void)unlinkat(seal->dir.fd, volume, 0);
}
