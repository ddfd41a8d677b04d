// SPDX-License-Identifier: Apache-2.0
// Replaying against executing, without an emulator: two cores execute the same loop (little-endian words on
// standard input) with the same addresses. The first one replays blocks; the second one is given them in a
// way that never does. Addresses advance by STRIDE bytes each time around, and one in NOISE goes elsewhere,
// so that what memory answers varies. Every thousandth time around, the clock leaps. Usage: replay_program
// TIMES STRIDE NOISE < code. Prints blocks after which the cores differed, and blocks that were replayed, of
// TIMES.
#include <stdio.h>
#include <stdlib.h>

#include "model_board.h"

static uint32_t chance(uint32_t below) {
    static uint64_t state = 76;
    state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (uint32_t)(state >> 33) % below;
}

static bool differ(const struct core *a, const struct core *b) {
    return a->ticks != b->ticks || a->counts.stall_ticks != b->counts.stall_ticks ||
           a->counts.fetch_ticks != b->counts.fetch_ticks || a->counts.mispredicts != b->counts.mispredicts ||
           a->counts.l1d_refill != b->counts.l1d_refill || a->counts.l2_access != b->counts.l2_access ||
           a->counts.dram_reads != b->counts.dram_reads || a->counts.dram_writes != b->counts.dram_writes;
}

int main(int argc, char **argv) {
    static uint32_t words[BLOCK_INSNS];
    static char message[256];
    static struct options options;
    const char *error =
        options_parse(&options, sizeof board / sizeof board[0], board, message, sizeof message);
    const unsigned insns = (unsigned)fread(words, sizeof words[0], BLOCK_INSNS, stdin);
    if (error || !insns || argc != 4) {
        fprintf(stderr, "%s\n", error ? error : "usage: replay_program TIMES STRIDE NOISE < code");
        return 1;
    }
    const long times = atol(argv[1]), stride = atol(argv[2]), noise = atol(argv[3]);
    a64_init();
    core_init(&options);
    bool created;
    const struct block *loop = block_find(CODE, words, insns, &options, &created);
    struct core *replaying = &cores[0], *executing = &cores[1];
    long different = 0, replayed = 0;
    for (long n = 0; n < times; n++) {
        for (unsigned slot = 1; slot < loop->slots; slot++) {
            const uint64_t address = DATA + slot * 0x100000 + (uint64_t)(n * stride);
            const uint64_t other = DATA + (uint64_t)chance(1 << 25) * 8;
            replaying->slot[slot] = executing->slot[slot] = chance((uint32_t)noise) ? address : other;
        }
        const uint64_t next = chance(50) ? CODE : CODE + insns * 4;
        pipeline_run_block(replaying, loop, next);
        pipeline_run(executing, loop, 0, insns);
        pipeline_branch(executing, loop, next);
        replayed += replaying->pipeline->state && replaying->pipeline->replayed;
        different += differ(replaying, executing);
        if (n % 1000 == 999) {
            const uint64_t leap = chance(1u << chance(31));
            replaying->ticks += leap;
            executing->ticks += leap;
        }
    }
    printf("%ld %ld\n", different, replayed);
    return 0;
}
