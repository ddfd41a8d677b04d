// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later
// General registers of the guest, as QEMU's GDB stub would give them. Interface version 1 of plug-ins has no
// registers.
#pragma once

#include <stdbool.h>
#include <stdint.h>

/// Looks for what it takes in the emulator. False where that is not there: nothing can be read then.
bool guest_register_open(void);

/// Register x[number] of a core: exact at the start of a block, in the thread of that core.
bool guest_register(unsigned core, unsigned number, uint64_t *value);
