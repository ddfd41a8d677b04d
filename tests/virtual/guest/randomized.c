// SPDX-License-Identifier: Apache-2.0
// Runs generated code (tests/virtual/random_program.py) a few times.
#include "guest.h"

struct result results[RESULTS];

void randomized(void);

int main(void) {
    for (int i = 0; i < 3; i++)
        MEASURE(i, randomized());
    return 0;
}
