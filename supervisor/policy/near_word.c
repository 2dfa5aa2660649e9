/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The distance of two words; see near_word.h. Bounded by NEAR_WORD_MAX, for
 * what was typed or stands in a file may be of any length.
 */
#include "supervisor/policy/near_word.h"

#include <string.h>

unsigned
near_word_distance(const char *a, const char *b, unsigned limit)
{
	unsigned rows[3][NEAR_WORD_MAX + 1], *old2 = rows[0], *old = rows[1],
					     *now = rows[2], *spare;
	size_t i, j, la = strlen(a), lb = strlen(b);

	if (la > NEAR_WORD_MAX || lb > NEAR_WORD_MAX)
		return limit + 1;
	for (j = 0; j <= lb; j++)
		old[j] = (unsigned)j;
	for (i = 1; i <= la; i++) {
		now[0] = (unsigned)i;
		for (j = 1; j <= lb; j++) {
			now[j] = old[j - 1] + (a[i - 1] != b[j - 1]);
			if (old[j] + 1 < now[j])
				now[j] = old[j] + 1;
			if (now[j - 1] + 1 < now[j])
				now[j] = now[j - 1] + 1;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] &&
			    a[i - 2] == b[j - 1] && old2[j - 2] + 1 < now[j])
				now[j] = old2[j - 2] + 1;
		}
		spare = old2;
		old2 = old;
		old = now;
		now = spare;
	}
	return old[lb] > limit ? limit + 1 : old[lb];
}
