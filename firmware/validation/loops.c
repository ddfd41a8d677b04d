// SPDX-License-Identifier: Apache-2.0
// Runs each loop of a generated table (console/maxconsole/validation/bench.py) twice, for a few and for
// `iterations` more; their difference is free of what goes before and after.
#include "guest.h"

enum { FEW = 500 };

typedef void loop(uint64_t n, const void *from, void *to);

extern loop *const loops[]; // NULL ends it
extern const uint64_t iterations;

struct result results[RESULTS];

static uint64_t from[512] __attribute__((aligned(4096))), to[512] __attribute__((aligned(4096)));

int main(void) {
    from[0] = (uint64_t)(uintptr_t)from; // a chain of one
    for (int i = 0; loops[i] && i < RESULTS / 2; i++) {
        loops[i](FEW, from, to); // fills caches and tables
        MEASURE(2 * i, loops[i](FEW, from, to));
        MEASURE(2 * i + 1, loops[i](FEW + iterations, from, to));
    }
    return 0;
}
