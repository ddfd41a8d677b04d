// SPDX-License-Identifier: Apache-2.0
#include "hal/npu.h"

#include "arch/cache.h"
#include "arch/cpu.h"
#include "board_config.h"

// Bound of a wait, in cycles: about a second, far beyond the longest job of a pass.
#define WAIT_CYCLES UINT64_C(2400000000)

#if BOARD_HAS_DEVICE_PAGE

static volatile struct device_page *const page = (volatile struct device_page *)BOARD_DEVICE_PAGE;

bool npu_present(void) {
    return page->magic == DEVICE_PAGE_MAGIC && page->version == DEVICE_PAGE_VERSION && page->npu_present;
}

uint32_t npu_submit(const struct npu_job *job) {
    if (!npu_present())
        return 0;
    cache_clean(job, sizeof *job);
    page->npu_descriptor = (uintptr_t)job;
    page->npu_start = core_number(); // the answer is there before the next instruction
    return page->npu_code == NPU_CODE_DONE ? page->npu_sequence : 0;
}

enum npu_code npu_error(void) {
    return npu_present() ? (enum npu_code)page->npu_code : NPU_CODE_ABSENT;
}

static enum npu_code ask(volatile uint32_t *doorbell, uint32_t sequence) {
    unsigned core = core_number();
    if (!npu_present())
        return NPU_CODE_ABSENT;
    page->npu_core[core].sequence = sequence;
    *doorbell = core;
    return (enum npu_code)page->npu_core[core].code;
}

enum npu_code npu_wait(uint32_t sequence) {
    page->npu_timeout = WAIT_CYCLES;
    return ask(&page->npu_wait, sequence);
}

enum npu_code npu_look(uint32_t sequence) {
    return ask(&page->npu_look, sequence);
}

void npu_reset(void) {
    if (npu_present())
        page->npu_reset = core_number();
}

bool npu_times(uint32_t sequence, struct npu_record *times) {
    *times = page->npu_record[sequence % NPU_RECORDS];
    return npu_present() && sequence != 0 && times->sequence == sequence;
}

#else

bool npu_present(void) {
    return false;
}

uint32_t npu_submit(const struct npu_job *job) {
    (void)job;
    return 0;
}

enum npu_code npu_error(void) {
    return NPU_CODE_ABSENT;
}

enum npu_code npu_wait(uint32_t sequence) {
    (void)sequence;
    return NPU_CODE_ABSENT;
}

enum npu_code npu_look(uint32_t sequence) {
    (void)sequence;
    return NPU_CODE_ABSENT;
}

void npu_reset(void) {}

bool npu_times(uint32_t sequence, struct npu_record *times) {
    (void)sequence;
    (void)times;
    return false;
}

#endif

static bool is_pages(const struct npu_job *job) {
    return job->format == NPU_WEIGHTS_KV_INT8 || job->format == NPU_WEIGHTS_KV_INT16;
}

static void clean(uint64_t base, size_t bytes) {
    cache_clean((const void *)(uintptr_t)base, bytes);
}

void npu_clean_rows(const struct npu_job *job, unsigned first, unsigned end) {
    const size_t rows = end - first, groups = job->k / NPU_GROUP * NPU_GROUP_BYTES,
                 values = job->format == NPU_WEIGHTS_KV_INT16 ? 2 * (size_t)job->k : job->k;
    if (first >= end)
        return;
    clean(job->values + first * values, rows * values);
    if (is_pages(job))
        return;
    clean(job->groups + first * groups, rows * groups);
    clean(job->row_scales + first * sizeof(float), rows * sizeof(float));
}

void npu_invalidate_rows(const struct npu_job *job, unsigned first, unsigned end) {
    const size_t size = job->output == NPU_OUTPUT_F16 ? 2 : sizeof(float),
                 sums = is_pages(job) ? job->k / NPU_BLOCK_KEYS : 1;
    for (unsigned row = first; row < end; row++)
        cache_invalidate((void *)(uintptr_t)(job->out + (uint64_t)row * job->out_stride),
                         sums * job->panels * NPU_PANEL_COLUMNS * size);
}

const char *npu_code_text(enum npu_code code) {
    static const char *const texts[NPU_CODE_COUNT] = {
        [NPU_CODE_DONE] = "done",
        [NPU_CODE_BUSY] = "busy",
        [NPU_CODE_FORMAT] = "format: the NPU does not multiply it",
        [NPU_CODE_SHAPE] = "shape of the job",
        [NPU_CODE_ALIGNMENT] = "alignment",
        [NPU_CODE_ADDRESS] = "an address outside memory, or results outside the NPU's",
        [NPU_CODE_OVERLAP] = "results overlap other data of the NPU",
        [NPU_CODE_TIMEOUT] = "timeout",
        [NPU_CODE_RESET] = "reset",
        [NPU_CODE_UNKNOWN] = "no such job",
        [NPU_CODE_ORDER] = "another core has used the NPU since the last barrier",
        [NPU_CODE_ABSENT] = "this board has no NPU",
    };
    return (unsigned)code < NPU_CODE_COUNT ? texts[code] : "?";
}
