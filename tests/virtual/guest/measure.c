// SPDX-License-Identifier: Apache-2.0
// Runs loops under the device page's eyes. Which result is which: tests/virtual/test_model.py.
#include "guest.h"

struct result results[RESULTS];

void count_adds(uint64_t n);
uint64_t latch_twice(uint64_t unused, volatile void *page);
void device_reads(uint64_t n, const volatile void *device);
void sdot_independent(uint64_t n);
void stream_loads(uint64_t n, const void *at);
void stream_ld1(uint64_t n, const void *at);
void stream_stores(uint64_t n, void *at);
void strided_loads(uint64_t n, const void *at);
void chase(uint64_t n, const void *at);
void prefetched(uint64_t n, const void *at);
void prefetched_across_pages(uint64_t n, const void *at);
void zero_lines(uint64_t n, void *at);
void clear_lines(uint64_t n, void *at);
void clean_lines(uint64_t n, void *at);
void invalidate_lines(uint64_t n, void *at);

#define GIC_DISTRIBUTOR ((volatile uint32_t *)0x08000000)
#define GIC_INTERFACE   ((volatile uint32_t *)0x08010000)
#define FAR             ((uint8_t *)0x88000000) // never touched before
#define CHAIN           ((uint64_t *)0x8c000000)
#define MAINTAINED      (FAR + 60 * MEGABYTE)
enum { MEGABYTE = 1 << 20, CHAIN_LINES = 1 << 16, MAINTAINED_LINES = 2048 };

/// A closed tour of lines in an order that no prefetcher guesses: a full-period linear congruence.
static void make_chain(void) {
    uint32_t at = 0;
    for (int i = 0; i < CHAIN_LINES; i++) {
        const uint32_t next = (at * 1664525u + 1013904223u) & (CHAIN_LINES - 1);
        CHAIN[at * 8] = (uint64_t)(uintptr_t)&CHAIN[next * 8];
        at = next;
    }
}

static void enable_timer_interrupt(void) { // stays masked in the core: it only has to end WFI
    GIC_DISTRIBUTOR[0x100 / 4] = 1u << 27;
    GIC_DISTRIBUTOR[0] = 1;
    GIC_INTERFACE[1] = 0xff;
    GIC_INTERFACE[0] = 1;
}

static void wait_idle(uint32_t ticks) { // as firmware does: until a timer's interrupt is pending
    asm volatile("msr cntv_tval_el0, %0\n msr cntv_ctl_el0, %1\n isb\n wfi" ::"r"((uint64_t)ticks),
                 "r"(UINT64_C(1)));
    uint64_t control;
    do
        asm volatile("mrs %0, cntv_ctl_el0" : "=r"(control));
    while (!(control & 4));
    asm volatile("msr cntv_ctl_el0, xzr");
}

int main(void) {
    MEASURE(0, );
    MEASURE(1, count_adds(1000));
    MEASURE(2, count_adds(2000));
    results[3].instructions = latch_twice(0, PAGE);
    MEASURE(4, sdot_independent(10000));
    MEASURE(5, stream_loads(8 * MEGABYTE / 64, FAR));
    MEASURE(6, stream_ld1(8 * MEGABYTE / 64, FAR + 8 * MEGABYTE));
    MEASURE(7, stream_stores(8 * MEGABYTE / 64, FAR + 16 * MEGABYTE));
    MEASURE(8, strided_loads(10000, FAR + 24 * MEGABYTE));
    stream_loads(32768 / 64, FAR); // into L1D
    MEASURE(9, stream_loads(32768 / 64, FAR));
    stream_loads(262144 / 64, FAR); // into L2, too large for L1D
    MEASURE(10, stream_loads(262144 / 64, FAR));
    make_chain();
    MEASURE(11, chase(10000, CHAIN));
    MEASURE(12, prefetched(10000, FAR + 32 * MEGABYTE));
    MEASURE(35, prefetched_across_pages(10000, FAR + 40 * MEGABYTE));
    MEASURE(13, zero_lines(10000, FAR + 36 * MEGABYTE));

    PAGE->watch_base = (uint64_t)(uintptr_t)(FAR + 48 * MEGABYTE + 4096);
    PAGE->watch_bytes = 8192;
    MEASURE(14, stream_loads(65536 / 64, FAR + 48 * MEGABYTE)); // 8 of 64 KiB are watched
    MEASURE(15, stream_loads(65536 / 64, FAR + 56 * MEGABYTE)); // none is
    PAGE->watch_bytes = 0;
    MEASURE(16, stream_loads(65536 / 64, FAR + 48 * MEGABYTE));

    stream_loads(MEGABYTE / 64, FAR); // so that no line in L2 is dirty
    MEASURE(17, clear_lines(MAINTAINED_LINES, MAINTAINED));
    MEASURE(18, clean_lines(MAINTAINED_LINES, MAINTAINED));
    MEASURE(19, clean_lines(MAINTAINED_LINES, MAINTAINED));
    MEASURE(32, stream_loads(MAINTAINED_LINES, MAINTAINED));
    MEASURE(33, invalidate_lines(MAINTAINED_LINES, MAINTAINED));
    MEASURE(34, stream_loads(MAINTAINED_LINES, MAINTAINED));

    enable_timer_interrupt();
    for (int i = 0; i < 8; i++) { // each time, the host decides how long the wait is
        wait_idle(100000u + 50000u * (unsigned)i);
        MEASURE(20 + i, count_adds(500));
    }
    for (int i = 0; i < 100; i++)
        MEASURE(28, stream_loads(64, FAR));
    MEASURE(29, device_reads(100, GIC_DISTRIBUTOR));
    MEASURE(30, device_reads(200, GIC_DISTRIBUTOR));
    MEASURE(31, (PAGE->pause = 0, stream_loads(64, FAR)));
    return 0;
}
