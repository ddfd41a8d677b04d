// SPDX-License-Identifier: Apache-2.0
// The pipeline model without an emulator: reads the instructions of a loop (little-endian words, the last one
// the branch back) from standard input, and executes it as often as the first argument says. All its memory
// is in L1D. Further arguments: outcomes of the branch, 0 and 1, that repeat; without them it is always
// taken. ITERATIONS+CYCLES: before what is measured, time leaps. Prints cycles and mispredicted branches per
// hundred iterations, and retired instructions.
#include <stdio.h>
#include <stdlib.h>

#include "model_board.h"

enum { WARM_UP = 400 }; // iterations

static struct options options;

/// Each address that the block needs has a place of its own, the same in all iterations.
static void fill_slots(struct core *core, const struct block *block) {
    for (unsigned slot = 1; slot < block->slots; slot++)
        core->slot[slot] = DATA + slot * 4096;
}

int main(int argc, char **argv) {
    static uint32_t words[BLOCK_INSNS];
    static char message[256];
    const char *error =
        options_parse(&options, sizeof board / sizeof board[0], board, message, sizeof message);
    const unsigned insns = (unsigned)fread(words, sizeof words[0], BLOCK_INSNS, stdin);
    char *leap = "";
    const long iterations = argc > 1 ? strtol(argv[1], &leap, 10) : 0;
    if (error || !insns || iterations < 1) {
        fprintf(stderr, "%s\n",
                error ? error : "usage: pipeline_program ITERATIONS[+CYCLES] [0|1 ...] < code");
        return 1;
    }
    const uint32_t leave = 0xd503201f; // what is executed where the branch is not taken
    a64_init();
    core_init(&options);
    bool created;
    const struct block *loop = block_find(CODE, words, insns, &options, &created);
    const struct block *after = block_find(CODE + insns * 4, &leave, 1, &options, &created);
    struct core *core = &cores[0];
    struct counts begin = {0};
    uint64_t ticks = 0;
    for (long n = 0; n < iterations + WARM_UP; n++) {
        if (n == WARM_UP) {
            core->ticks += strtoull(leap, NULL, 10) * TICKS_PER_CYCLE; // ("+1" is 1)
            begin = core->counts;
            ticks = core->ticks;
        }
        core_begin_block(core, loop);
        fill_slots(core, loop);
        if (argc > 2 && argv[2 + n % (argc - 2)][0] == '0')
            core_begin_block(core, after);
    }
    printf("%.2f %.2f %llu\n", (double)(core->ticks - ticks) / TICKS_PER_CYCLE * 100 / (double)iterations,
           (double)(core->counts.mispredicts - begin.mispredicts) * 100 / (double)iterations,
           (unsigned long long)(core->counts.instructions - begin.instructions));
    return 0;
}
