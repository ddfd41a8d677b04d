// SPDX-License-Identifier: Apache-2.0
// The timed memory hierarchy without an emulator: access patterns, made by cores with a window of loads in
// flight. Arguments: those of the plug-in, then a pattern and its numbers. Prints "name value" lines.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schema/image.h"
#include "virtual/hierarchy.h"
#include "virtual/memory.h"
#include "virtual/npu_time.h"
#include "virtual/report.h"

#define BASE        UINT64_C(0x50000000)
#define COPY_SOURCE (UINT64_C(1) << 28) // beyond what is written
#define CORE_BYTES  (UINT64_C(1) << 26) // from one core's memory to the next one's

enum { WINDOW = 48, HIT = 4 * TICKS_PER_CYCLE }; // accesses in flight; load-to-use latency of a hit

static uint64_t number[4]; // the pattern's
static const struct options *options;

void report_executed(const struct core *core) {
    (void)core;
}

static void tell(const char *name, double value) {
    printf("%s %.4f\n", name, value);
}

/// Each load needs the one before. Visits every `step` bytes of `bytes`, a power of two, in an order that no
/// prefetcher follows; twice, and tells about the second time.
static void chase(struct core *core, uint64_t bytes, uint64_t step) {
    static const struct hierarchy_access access = {.site = 1, .bytes = 8, .units = 1};
    const uint64_t places = bytes / step;
    uint64_t begin = 0, walks = 0;
    for (uint64_t n = 0, place = 0; n < 2 * places; n++, place = (place * 1664525 + 1013904223) % places) {
        if (n == places) {
            begin = core->ticks;
            walks = core->counts.tlb_walk;
        }
        core->ticks = hierarchy_load(core, core->ticks, BASE + place * step, &access) + HIT;
    }
    tell("cycles_per_load", (double)(core->ticks - begin) / TICKS_PER_CYCLE / (double)places);
    tell("walks_per_load", (double)(core->counts.tlb_walk - walks) / (double)places);
}

/// Loads, stores, or both, one after the other every `pace` cycles, as long as a window of them is not full.
/// Each touches `used` bytes of every 32.
static void stream(struct core *core, char kind, uint64_t base, uint64_t bytes, unsigned pace,
                   uint16_t used) {
    const struct hierarchy_access access = {.site = 2, .bytes = used, .units = 2};
    uint64_t done[WINDOW] = {0}, now = core->ticks;
    for (uint64_t n = 0; n < bytes / 32; n++) {
        uint64_t *place = &done[n % WINDOW];
        now = now > *place ? now : *place;
        *place = now;
        if (kind != 'w')
            *place =
                hierarchy_load(core, now, base + n * 32 + (kind == 'c' ? COPY_SOURCE : 0), &access) + HIT;
        if (kind != 'r')
            *place = hierarchy_store(core, *place, base + n * 32, &access);
        now += pace * TICKS_PER_CYCLE;
    }
    core->ticks = hierarchy_drained(core, now);
}

/// Loads that do not depend on each other and that no prefetcher follows.
static void scattered(struct core *core, unsigned loads) {
    static const struct hierarchy_access access = {.site = 3, .bytes = 8, .units = 1};
    uint64_t done[WINDOW] = {0}, now = core->ticks;
    for (unsigned n = 0; n < loads; n++) {
        uint64_t *place = &done[n % WINDOW];
        now = now > *place ? now : *place;
        *place = hierarchy_load(core, now, BASE + (n * UINT64_C(2654435761) % CORE_BYTES & ~UINT64_C(7)),
                                &access) +
                 HIT;
        now += TICKS_PER_CYCLE;
    }
    tell("cycles_per_load", (double)(hierarchy_drained(core, now) - core->ticks) / TICKS_PER_CYCLE / loads);
}

static void meet(unsigned sharing) {
    hierarchy_weave((1u << sharing) - 1);
    uint64_t last = 0;
    for (unsigned n = 0; n < sharing; n++)
        last = cores[n].ticks > last ? cores[n].ticks : last;
    for (unsigned n = 0; n < sharing; n++)
        cores[n].ticks = last;
}

/// All cores stream at once, each in its own memory: kind, bytes, cores, and the order in which the host runs
/// them.
static void together(char kind, uint64_t bytes, unsigned sharing, bool backwards) {
    hierarchy_share(sharing);
    for (unsigned n = 0; n < sharing; n++) {
        const unsigned c = backwards ? sharing - 1 - n : n;
        stream(&cores[c], kind, BASE + c * CORE_BYTES, bytes, 1, 32);
    }
    hierarchy_weave((1u << sharing) - 1);
    for (unsigned n = 0; n < sharing; n++) {
        char name[] = "ticks0";
        name[5] = (char)('0' + n);
        tell(name, (double)cores[n].ticks);
    }
}

static uint64_t refills(struct core *core, char kind, uint64_t bytes) {
    const uint64_t before = core->counts.l2_read;
    stream(core, kind, BASE, bytes, 1, 32);
    return core->counts.l2_read - before;
}

/// Two cores and memory that both hold: what each reads from its L2 and below, between meetings.
static void coherence(uint64_t bytes) {
    hierarchy_share(2);
    refills(&cores[0], 'r', bytes);
    refills(&cores[1], 'r', bytes);
    meet(2);
    tell("both_hold", (double)refills(&cores[1], 'r', bytes));
    meet(2);
    tell("write_held", (double)refills(&cores[0], 'w', bytes));
    meet(2);
    const uint64_t begin = cores[1].ticks, dram = cores[1].counts.dram_reads;
    tell("read_after_write", (double)refills(&cores[1], 'r', bytes));
    tell("cycles_after_write", (double)(cores[1].ticks - begin) / TICKS_PER_CYCLE);
    tell("dram_after_write", (double)(cores[1].counts.dram_reads - dram));
    meet(2);
    tell("writer_reads_again", (double)refills(&cores[0], 'r', bytes));
    meet(2);
    refills(&cores[0], 'w', bytes);
    meet(2);
    tell("read_after_second_write", (double)refills(&cores[1], 'r', bytes));
}

/// One of `sharing` cores reads while the others stand still.
static void alone_among(uint64_t bytes, unsigned sharing) {
    hierarchy_share(sharing);
    stream(&cores[0], 'r', BASE, bytes, 1, 32);
    hierarchy_weave((1u << sharing) - 1);
}

static void wait_for_npu(struct core *core, uint32_t sequence) {
    const uint64_t end = npu_time_of(sequence)->end, now = core->ticks;
    const uint64_t cycles = end > now ? (end - now + TICKS_PER_CYCLE - 1) / TICKS_PER_CYCLE : 0;
    weave_log(core, now, sequence, WEAVE_NPU_WAIT, cycles, true);
    core->ticks += cycles * TICKS_PER_CYCLE;
}

/// Core 0 submits a job of the NPU of so many rows and panels, k 512; behind a barrier all stream, and wait
/// for it.
static void beside_npu(uint64_t rows, uint64_t panels, uint64_t bytes, bool backwards) {
    const struct npu_job job = {
        .format = TENSOR_FORMAT_Q4_0, .rows = (uint32_t)rows, .panels = (uint32_t)panels, .k = 512};
    npu_time_init(options);
    hierarchy_share(MODEL_CORES);
    if (rows) {
        npu_time_add(1, &(struct npu_work){job, NULL}, 0);
        weave_log(&cores[0], 0, 1, WEAVE_NPU_SUBMIT, 0, false);
    }
    meet(MODEL_CORES);
    npu_time_estimate();
    for (unsigned n = 0; n < MODEL_CORES; n++) {
        const unsigned c = backwards ? MODEL_CORES - 1 - n : n;
        stream(&cores[c], 'r', BASE + c * CORE_BYTES, bytes, 1, 32);
        if (rows)
            wait_for_npu(&cores[c], 1);
    }
    meet(MODEL_CORES);
    if (!rows)
        return;
    const struct npu_timing *timing = npu_time_of(1);
    tell("npu_ended", timing->ended);
    tell("npu_begin", (double)timing->begin / TICKS_PER_CYCLE);
    tell("npu_end", (double)timing->end / TICKS_PER_CYCLE);
    tell("npu_bytes", (double)timing->bytes);
    tell("npu_mac_cycles", (double)timing->mac_ticks / TICKS_PER_CYCLE);
}

/// Rounds of loads of `kept` bytes, after each of which `passing` bytes elsewhere are loaded or stored. Tells
/// about the last round.
static void pass_by(struct core *core, char kind, uint64_t kept, uint64_t passing) {
    const struct counts *counts = &core->counts;
    uint64_t into_l2 = 0, from_dram = 0;
    for (unsigned round = 0; round < 4; round++) {
        into_l2 = counts->below_reads;
        from_dram = counts->dram_reads;
        stream(core, 'r', BASE, kept, 16, 32);
        into_l2 = counts->below_reads - into_l2;
        stream(core, kind, BASE + COPY_SOURCE, passing, 16, 32);
    }
    tell("kept_into_l2", (double)into_l2);
    tell("round_from_dram", (double)(counts->dram_reads - from_dram));
}

static void run(const char *pattern) {
    struct core *core = &cores[0];
    if (!strcmp(pattern, "chase"))
        chase(core, number[0], number[1]);
    else if (!strcmp(pattern, "scattered"))
        scattered(core, (unsigned)number[0]);
    else if (!strcmp(pattern, "alone_among")) // bytes, cores
        alone_among(number[0], (unsigned)number[1]);
    else if (!strcmp(pattern, "coherence"))
        coherence(number[0]);
    else if (!strcmp(pattern, "beside_npu")) // rows, panels, bytes, backwards
        beside_npu(number[0], number[1], number[2], number[3]);
    else if (!strcmp(pattern, "pass_by")) // kind: 0 read, 1 write; kept, passing bytes
        pass_by(core, "rw"[number[0]], number[1], number[2]);
    else if (!strcmp(pattern, "stream")) // kind: 0 read, 1 write, 2 copy; bytes, pace, used
        stream(core, "rwc"[number[0]], BASE, number[1], (unsigned)number[2], (uint16_t)number[3]);
    else // together: kind, bytes, cores, backwards
        together("rwc"[number[0]], number[1], (unsigned)number[2], number[3]);
    tell("cycles", (double)core->ticks / TICKS_PER_CYCLE);
    tell("l1d_refill", (double)core->counts.l1d_refill);
    tell("l2_refill", (double)core->counts.l2_refill);
    tell("dram_reads", (double)core->counts.dram_reads);
    tell("dram_writes", (double)core->counts.dram_writes);
}

int main(int argc, char **argv) {
    static struct options parsed;
    char message[256];
    int end = 1;
    while (end < argc && strchr(argv[end], '='))
        end++;
    const char *wrong = options_parse(&parsed, end - 1, argv + 1, message, sizeof message);
    if (wrong || end == argc) {
        fprintf(stderr, "%s\n", wrong ? wrong : "no pattern");
        return 1;
    }
    for (int n = 0; n < 4 && end + 1 + n < argc; n++)
        number[n] = strtoull(argv[end + 1 + n], NULL, 0);
    options = &parsed;
    core_init(options);
    run(argv[end]);
}
