// SPDX-License-Identifier: Apache-2.0
#include "arch/mmu.h"

bool memory_readable(uint64_t base, uint64_t bytes) {
    for (unsigned i = 0; i < region_count; i++) {
        const struct region *region = &regions[i];
        if (region->kind != REGION_DEVICE && base >= region->base && base <= region->end)
            if (bytes <= region->end - base)
                return true;
    }
    return false;
}
