// SPDX-License-Identifier: Apache-2.0
#include "arch/cache.h"

#include <stdint.h>

#include "arch/cpu.h"

#define FOR_EACH_LINE(operation, base, bytes)                                                                \
    for (uintptr_t at_ = (uintptr_t)(base) & ~(uintptr_t)(CACHE_LINE - 1),                                   \
                   end_ = (uintptr_t)(base) + (bytes);                                                       \
         at_ < end_; at_ += CACHE_LINE)                                                                      \
    __asm__ volatile("dc " #operation ", %0" ::"r"(at_) : "memory")

void cache_begin_clean(const void *base, size_t bytes) {
    FOR_EACH_LINE(cvac, base, bytes);
}

void cache_zero(void *base, size_t bytes) {
    FOR_EACH_LINE(zva, base, bytes);
}

void cache_complete(void) {
    barrier_complete();
}

void cache_clean(const void *base, size_t bytes) {
    cache_begin_clean(base, bytes);
    cache_complete();
}

void cache_clean_invalidate(const void *base, size_t bytes) {
    FOR_EACH_LINE(civac, base, bytes);
    barrier_complete();
}

void cache_begin_invalidate(void *base, size_t bytes) {
    FOR_EACH_LINE(ivac, base, bytes);
}

void cache_invalidate(void *base, size_t bytes) {
    cache_begin_invalidate(base, bytes);
    cache_complete();
}

void cache_ask(const void *base, size_t bytes) {
    const uint8_t *line = base, *end = line + bytes;
    for (; line < end; line += CACHE_LINE)
        __builtin_prefetch(line, 0, 2); // into L2: what is being worked on fills the L1
}
