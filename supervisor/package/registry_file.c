/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads from a registry's folder; see registry_file.h. It must never leave
 * the folder, hang on a pipe, or hand out bytes that were not hashed.
 */
#include "supervisor/package/registry_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/fd.h"

#define REGISTRY_FILE_CHUNK 65536U
#define REGISTRY_FILE_SEALS \
	(F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

static enum registry_code
registry_file_fault(struct json_fault *fault, enum registry_code code,
    const char *name, const char *what)
{
	json_field_fault(fault, "registry: %.120s: %s", name, what);
	return code;
}

/* A regular file below the folder, no link anywhere on the way. */
static int
registry_file_open(int folder, const char *name)
{
	const struct open_how how = {
	    .flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
	    .resolve =
		RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
	int fd = (int)syscall(SYS_openat2, folder, name, &how, sizeof(how));
	struct stat status;

	if (fd >= 0 && (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))) {
		fd_close(&fd);
		errno = EINVAL;
	}
	return fd;
}

enum registry_code
registry_file_read(int folder, const char *name, size_t max, char **bytes_r,
    size_t *len_r, struct json_fault *fault)
{
	FD_CLEANUP int fd = registry_file_open(folder, name);
	enum result result;

	*bytes_r = NULL;
	*len_r = 0;
	if (fd < 0)
		return registry_file_fault(fault, REGISTRY_UNREADABLE, name,
		    errno == ENOENT ? "is not there"
				    : "is no plain file, or not readable");
	result = fd_read_all(fd, max, bytes_r, len_r);
	if (result == RESULT_OK)
		return REGISTRY_OK;
	return registry_file_fault(fault, REGISTRY_UNREADABLE, name,
	    result == RESULT_TOO_LONG ? "is too large" : "cannot be read");
}

static ssize_t
registry_file_chunk(int fd, char *bytes)
{
	ssize_t got;

	do
		got = read(fd, bytes, REGISTRY_FILE_CHUNK);
	while (got < 0 && errno == EINTR);
	return got;
}

/* Hash fd to its end, at most max bytes, and write them to copy if there is
 * one. RESULT_TOO_LONG beyond. */
static enum result
registry_file_pump(
    int fd, int copy, int64_t max, EVP_MD_CTX *context, int64_t *size_r)
{
	char *bytes = malloc(REGISTRY_FILE_CHUNK);
	enum result result = bytes == NULL ? RESULT_NO_MEMORY : RESULT_OK;
	ssize_t got;

	*size_r = 0;
	while (result == RESULT_OK &&
	       (got = registry_file_chunk(fd, bytes)) != 0) {
		if (got < 0) {
			result = RESULT_SYSTEM;
			break;
		}
		*size_r += got;
		if (*size_r > max)
			result = RESULT_TOO_LONG;
		else if (EVP_DigestUpdate(context, bytes, (size_t)got) != 1)
			result = RESULT_NO_MEMORY;
		else if (copy >= 0)
			result = fd_write_all(copy, bytes, (size_t)got);
	}
	free(bytes);
	return result;
}

static enum result
registry_file_digest(
    int fd, int copy, int64_t max, char *hash_r, int64_t *size_r)
{
	EVP_MD_CTX *context = EVP_MD_CTX_new();
	unsigned char raw[EVP_MAX_MD_SIZE];
	enum result result = RESULT_NO_MEMORY;
	unsigned len = 0;

	if (context != NULL &&
	    EVP_DigestInit_ex(context, EVP_sha256(), NULL) == 1)
		result = registry_file_pump(fd, copy, max, context, size_r);
	if (result == RESULT_OK && EVP_DigestFinal_ex(context, raw, &len) != 1)
		result = RESULT_NO_MEMORY;
	EVP_MD_CTX_free(context);
	if (result != RESULT_OK)
		return result;
	memcpy(hash_r, "sha256:", 8);
	for (unsigned i = 0; i < len; i++)
		(void)snprintf(hash_r + 7 + 2 * i, 3, "%02x", raw[i]);
	return RESULT_OK;
}

enum registry_code
registry_file_hash(
    int fd, char *hash_r, int64_t *size_r, struct json_fault *fault)
{
	enum result result =
	    registry_file_digest(fd, -1, REGISTRY_ARTIFACT_MAX, hash_r, size_r);

	if (result == RESULT_OK && *size_r > 0)
		return REGISTRY_OK;
	return registry_file_fault(fault, REGISTRY_FILE, "the artifact",
	    result == RESULT_TOO_LONG ? "is larger than 512 MiB"
				      : "is empty or cannot be read");
}

static enum registry_code
registry_file_compare(enum result result, int64_t got, int64_t size,
    const char *found, const char *hash, const char *name,
    struct json_fault *fault)
{
	if (result == RESULT_TOO_LONG || (result == RESULT_OK && got != size))
		return registry_file_fault(fault, REGISTRY_FILE, name,
		    "has another size than the index says");
	if (result != RESULT_OK)
		return registry_file_fault(
		    fault, REGISTRY_FILE, name, "cannot be copied");
	if (strcmp(found, hash) != 0)
		return registry_file_fault(fault, REGISTRY_HASH, name,
		    "its bytes are not those that the index names by hash");
	return REGISTRY_OK;
}

/* Copy, compare, seal; copy is a new memfd. */
static enum registry_code
registry_file_copy(int fd, int copy, const char *name, int64_t size,
    const char *hash, struct json_fault *fault)
{
	enum registry_code code;
	char found[72] = "";
	enum result result;
	int64_t got = 0;

	result = copy < 0 ? RESULT_SYSTEM
			  : registry_file_digest(fd, copy, size, found, &got);
	code =
	    registry_file_compare(result, got, size, found, hash, name, fault);
	if (code != REGISTRY_OK)
		return code;
	if (fcntl(copy, F_ADD_SEALS, REGISTRY_FILE_SEALS) != 0 ||
	    lseek(copy, 0, SEEK_SET) != 0)
		return registry_file_fault(
		    fault, REGISTRY_FILE, name, "cannot be sealed");
	return REGISTRY_OK;
}

enum registry_code
registry_file_take(int folder, const char *name, int64_t size, const char *hash,
    int *fd_r, struct json_fault *fault)
{
	FD_CLEANUP int fd = registry_file_open(folder, name);
	enum registry_code code;

	*fd_r = -1;
	if (fd < 0)
		return registry_file_fault(fault, REGISTRY_FILE, name,
		    errno == ENOENT ? "is not there"
				    : "is no plain file, or not readable");
	*fd_r =
	    memfd_create("agentnode-artifact", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	code = registry_file_copy(fd, *fd_r, name, size, hash, fault);
	if (code != REGISTRY_OK)
		fd_close(fd_r);
	return code;
}
