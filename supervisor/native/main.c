/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agentnode-native: starts init behind the operating system's own walls.
 * Started by agentnode alone, without arguments; must never be of use to
 * anybody else.
 */
#include "supervisor/native/native_start.h"

int
main(void)
{
	return native_start();
}
