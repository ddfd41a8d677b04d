// SPDX-License-Identifier: Apache-2.0
// Waiting without spinning: the virtual timer ends a WFI.
#pragma once

#include <stdint.h>

/// Prepares the calling core's timer.
void idle_init(void);

/// Sleeps for about `microseconds`, or less when something else wakes the core.
void idle(uint32_t microseconds);
