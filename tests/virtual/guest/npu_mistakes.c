// SPDX-License-Identifier: Apache-2.0
// A job as it should be, then one mistake after the other, each in a function of that name.
#include "arch/cache.h"
#include "guest.h"
#include "npu_jobs.h"

enum {
    WAIT = 1,
    CLEAN = 2,
    INVALIDATE = 4,
    ALL = 7,
};

static struct npu_job job;
volatile uint32_t sink;

static void read_results(void) {
    sink = *(const volatile uint32_t *)job.out;
}

/// Writes an input, computes, reads a result.
static inline __attribute__((always_inline)) void use(unsigned steps) {
    ((volatile int8_t *)job.values)[0] = 1;
    if (steps & CLEAN)
        npu_clean_rows(&job, 0, job.rows);
    const uint32_t sequence = npu_submit(&job);
    if (steps & WAIT)
        npu_wait(sequence);
    if (steps & INVALIDATE)
        npu_invalidate_rows(&job, 0, job.rows);
    sink = *(const volatile uint32_t *)job.out;
    if (!(steps & WAIT)) // or the queue would be full
        npu_wait(sequence);
    npu_clean_rows(&job, 0, job.rows);
    npu_invalidate_rows(&job, 0, job.rows);
}

__attribute__((noinline)) static void right(void) {
    use(ALL);
}

__attribute__((noinline)) static void without_clean(void) {
    use(ALL & ~CLEAN);
}

__attribute__((noinline)) static void without_wait(void) {
    use(ALL & ~WAIT);
}

__attribute__((noinline)) static void without_invalidate(void) {
    read_results(); // of the job before
    use(ALL & ~INVALIDATE);
}

__attribute__((noinline)) static void input_written(void) {
    const uint32_t sequence = npu_submit(&job);
    ((volatile int8_t *)job.values)[job.k] = 2;
    npu_wait(sequence);
    npu_clean_rows(&job, 0, job.rows);
}

__attribute__((noinline)) static void result_written(void) {
    const uint32_t sequence = npu_submit(&job);
    *(volatile uint32_t *)job.out = 3;
    npu_wait(sequence);
    cache_clean_invalidate((void *)job.out, 64);
}

__attribute__((noinline)) static void dirty_result(void) {
    *(volatile uint32_t *)job.out = 4;
    npu_wait(npu_submit(&job));
    cache_clean_invalidate((void *)job.out, 64);
}

int main(void) {
    struct result last;
    job = random_job(4, 64, 1);
    right();
    right();
    without_clean();
    right();
    without_wait();
    right();
    without_invalidate();
    right();
    input_written();
    result_written();
    dirty_result();
    right();
    sample(&last); // the report is written
    return 0;
}
