// SPDX-License-Identifier: Apache-2.0
// Messages that describe the engine and the board as they are now.
#pragma once

#include <stdbool.h>

#include "schema/wire.h"

/// What a board says of itself when it has started.
void report_start(void);

/// Sends the message behind `item`; false when there is no such item.
bool report(enum query_item item);
