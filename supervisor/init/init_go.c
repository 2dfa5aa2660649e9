/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks and maps what `go` brings (see the header). Used by init for the
 * go memfd and by the workload child for the secrets, which init itself
 * never maps.
 */
#include "supervisor/init/init_go.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define INIT_GO_SEALS (F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL)

static uint32_t
init_go_word(const char *bytes, uint32_t offset, uint32_t index)
{
	uint32_t word;

	memcpy(&word, bytes + offset + index * sizeof(word), sizeof(word));
	return word;
}

/* The string at offset, or NULL when it does not end inside. */
static const char *
init_go_string(const char *bytes, size_t size, uint32_t offset)
{
	if (offset < sizeof(struct init_go) || offset >= size)
		return NULL;
	if (memchr(bytes + offset, '\0', size - offset) == NULL)
		return NULL;
	return bytes + offset;
}

static bool
init_go_table(const char *bytes, size_t size, uint32_t offset, uint32_t count,
    bool environment)
{
	if (count > INIT_GO_WORDS_MAX)
		return false;
	if (count > 0 && (offset < sizeof(struct init_go) || offset > size ||
			     (size - offset) / sizeof(uint32_t) < count))
		return false;
	for (uint32_t i = 0; i < count; i++) {
		const char *text =
		    init_go_string(bytes, size, init_go_word(bytes, offset, i));

		if (text == NULL)
			return false;
		if (environment &&
		    (text[0] == '=' || strchr(text, '=') == NULL))
			return false;
	}
	return true;
}

bool
init_go_valid(const void *bytes, size_t size, enum init_go_kind kind)
{
	struct init_go go;
	const char *cwd;

	if (size < sizeof(go) || size > INIT_GO_MAX)
		return false;
	memcpy(&go, bytes, sizeof(go));
	if (go.magic != INIT_MAGIC || go.version != INIT_PROTOCOL_VERSION ||
	    go.size != size || (go.flags & ~(uint32_t)INIT_GO_FLAGS) != 0)
		return false;
	if (!init_go_table(bytes, size, go.argv_offset, go.argc, false) ||
	    !init_go_table(bytes, size, go.env_offset, go.envc, true))
		return false;
	if (kind == INIT_GO_SECRET)
		return go.argc == 0;
	cwd = init_go_string(bytes, size, go.cwd_offset);
	return go.argc > 0 && cwd != NULL && cwd[0] == '/' &&
	       init_go_string(bytes, size,
		   init_go_word(bytes, go.argv_offset, 0))[0] != '\0';
}

const struct init_go *
init_go_map(int fd, enum init_go_kind kind)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct stat st;
	void *bytes;

	if (seals < 0 || fstat(fd, &st) != 0)
		return NULL;
	if ((seals & INIT_GO_SEALS) != INIT_GO_SEALS) {
		errno = EPERM;
		return NULL;
	}
	if (st.st_size < (off_t)sizeof(struct init_go) ||
	    st.st_size > (off_t)INIT_GO_MAX) {
		errno = EFBIG;
		return NULL;
	}
	bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (bytes == MAP_FAILED)
		return NULL;
	if (!init_go_valid(bytes, (size_t)st.st_size, kind)) {
		munmap(bytes, (size_t)st.st_size);
		errno = EINVAL;
		return NULL;
	}
	return bytes;
}

void
init_go_unmap(const struct init_go *go)
{
	if (go != NULL)
		munmap((void *)(uintptr_t)go, go->size);
}

void
init_go_words(
    const struct init_go *go, uint32_t offset, uint32_t count, char **list_r)
{
	const char *bytes = (const char *)go;

	/* execve takes char *, and changes nothing. */
	for (uint32_t i = 0; i < count; i++)
		list_r[i] =
		    (char *)(uintptr_t)(bytes + init_go_word(bytes, offset, i));
}

const char *
init_go_cwd_borrow(const struct init_go *go)
{
	return (const char *)go + go->cwd_offset;
}

int
init_go_lists(const struct init_go *go, const struct init_go *secret,
    char ***argv_r, char ***env_r)
{
	uint32_t more = secret != NULL ? secret->envc : 0;

	*argv_r = calloc((size_t)go->argc + 1, sizeof(char *));
	*env_r = calloc((size_t)go->envc + more + 1, sizeof(char *));
	if (*argv_r == NULL || *env_r == NULL)
		return ENOMEM;
	init_go_words(go, go->argv_offset, go->argc, *argv_r);
	init_go_words(go, go->env_offset, go->envc, *env_r);
	if (secret != NULL)
		init_go_words(
		    secret, secret->env_offset, more, *env_r + go->envc);
	return 0;
}

int
init_go_result(const struct init_go *go)
{
	if ((go->flags & INIT_GO_RESULT) == 0)
		return 0;
	if (dup2(STDOUT_FILENO, INIT_RESULT_FD) < 0 ||
	    dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
		return errno;
	return 0;
}
