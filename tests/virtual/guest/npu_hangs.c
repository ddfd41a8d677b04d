// SPDX-License-Identifier: Apache-2.0
// An NPU whose first job never ends (npu_hangs=1): bounded waits, and a reset that helps.
#include "guest.h"
#include "npu_jobs.h"

static struct npu_job job;

static uint64_t cycles(void) {
    struct result now;
    sample(&now);
    return now.cycles;
}

int main(void) {
    job = random_job(3, 128, 2);
    poison();
    const uint32_t first = npu_submit(&job);
    const uint64_t before = cycles();
    tell("wait", npu_wait(first));
    tell("waited", cycles() - before);
    tell("touched", touched(NULL));
    npu_reset();
    tell("after_reset", npu_wait(first));
    tell("next", npu_wait(npu_submit(&job)));
    npu_invalidate_rows(&job, 0, job.rows);
    tell("wrong", wrong(&job));
    tell("outside", touched(&job));
    return 0;
}
