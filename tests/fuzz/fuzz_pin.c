/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pins: what is accepted holds nothing that a package manager could take
 * for an option, a range, a place or a second word.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/package/pin.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	static const char unwanted[] = " \t\r\n^~<>=|*:;\"'`$&\\";
	char text[6000], sentence[512];
	enum pin_verdict verdict;
	struct pin pin;

	if (len >= sizeof(text))
		return 0;
	memcpy(text, bytes, len);
	text[len] = '\0';
	verdict = pin_parse(text, &pin);
	pin_explain(verdict, text, sentence, sizeof(sentence));
	if (verdict != PIN_OK || pin.kind == PIN_DIR)
		return 0;
	if (pin.name[0] == '\0' || pin.name[0] == '-' || pin.version[0] < '0' ||
	    pin.version[0] > '9' || strpbrk(pin.version, unwanted) != NULL ||
	    strpbrk(pin.name, " \t\r\n^<>=|*:;\"'`$&\\") != NULL ||
	    strstr(pin.name, "..") == pin.name)
		abort();
	return 0;
}
