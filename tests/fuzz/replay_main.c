/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a fuzz target over every file of the folders named on the command
 * line, once whole and once cut at each of its first bytes, with any
 * compiler. An empty or missing folder is a failure: a corpus that is not
 * there tests nothing.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define REPLAY_CUTS 512U

static void
replay_main_bytes(const uint8_t *data, size_t size)
{
	/* A copy of exactly that size, so that a sanitizer sees overreads. */
	uint8_t *copy = malloc(size == 0 ? 1 : size);

	if (copy == NULL)
		abort();
	memcpy(copy, data, size);
	LLVMFuzzerTestOneInput(copy, size);
	free(copy);
}

static int
replay_main_file(const char *path)
{
	static uint8_t bytes[1 << 20];
	FILE *file = fopen(path, "rb");
	size_t size, cut;

	if (file == NULL)
		return -1;
	size = fread(bytes, 1, sizeof(bytes), file);
	fclose(file);
	replay_main_bytes(bytes, size);
	for (cut = 0; cut < size && cut < REPLAY_CUTS; cut++)
		replay_main_bytes(bytes, cut);
	return 0;
}

static int
replay_main_folder(const char *folder)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;
	char path[4096];
	int count = 0;

	if (dir == NULL)
		return -1;
	while ((entry = readdir(dir)) != NULL) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		if (replay_main_file(path) != 0)
			break;
		count++;
	}
	closedir(dir);
	return count;
}

int
main(int argc, char **argv)
{
	int i, count;

	for (i = 1; i < argc; i++) {
		count = replay_main_folder(argv[i]);
		if (count <= 0) {
			fprintf(stderr, "no corpus in %s\n", argv[i]);
			return 1;
		}
		printf("%s: %d inputs\n", argv[i], count);
	}
	return argc > 1 ? 0 : 1;
}
