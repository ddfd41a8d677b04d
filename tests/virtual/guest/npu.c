// SPDX-License-Identifier: Apache-2.0
// The NPU by its driver: results, refusals, the queue, a reset, times. tests/virtual/test_virtual_npu.py
// reads what it tells.
#include "arch/cache.h"
#include "npu_jobs.h"

enum { SHAPES = 24, FUZZED = 100 };

static struct npu_job job;

static void shapes(void) {
    uint32_t early = 0, bad = 0, outside = 0;
    for (unsigned i = 0; i < SHAPES; i++) {
        job = i % 3 ? random_job(0, 0, 0) : random_pages_job(0, 0, 0);
        poison();
        const uint32_t sequence = npu_submit(&job);
        early += touched(NULL);
        npu_invalidate_rows(&job, 0, job.rows);
        bad += npu_wait(sequence) != NPU_CODE_DONE;
        npu_invalidate_rows(&job, 0, job.rows);
        bad += wrong(&job);
        outside += touched(&job);
    }
    tell("early", early);
    tell("wrong", bad);
    tell("outside", outside);
}

/// Submits `job` as it is now, and tells the answer.
static void refused(const char *name, struct npu_job changed) {
    static struct npu_job copy;
    copy = changed;
    const uint32_t sequence = npu_submit(&copy);
    tell(name, npu_error());
    if (sequence)
        npu_wait(sequence);
}

#define CHANGED(field, value)                                                                                \
    ({                                                                                                       \
        struct npu_job changed_ = job;                                                                       \
        changed_.field = (value);                                                                            \
        changed_;                                                                                            \
    })

static void refusals(void) {
    job = random_job(4, 128, 2);
    poison();
    refused("format_f32", CHANGED(format, TENSOR_FORMAT_F32));
    refused("format_q4_k", CHANGED(format, TENSOR_FORMAT_Q4_K));
    refused("format_unknown", CHANGED(format, 77));
    refused("output_unknown", CHANGED(output, 2));
    refused("rows_none", CHANGED(rows, 0));
    refused("rows_many", CHANGED(rows, NPU_ROWS_MAX + 1));
    refused("k_none", CHANGED(k, 0));
    refused("k_odd", CHANGED(k, 96));
    refused("k_large", CHANGED(k, NPU_K_MAX + 64));
    refused("panels_none", CHANGED(panels, 0));
    refused("panels_many", CHANGED(panels, NPU_PANELS_MAX + 1));
    refused("stride_short", CHANGED(out_stride, 0));
    refused("stride_odd", CHANGED(out_stride, job.out_stride + 4));
    refused("weights_odd", CHANGED(weights, job.weights + 32));
    refused("values_odd", CHANGED(values, job.values + 16));
    refused("groups_odd", CHANGED(groups, job.groups + 4));
    refused("scales_odd", CHANGED(row_scales, job.row_scales + 2));
    refused("out_odd", CHANGED(out, job.out + 32));
    refused("weights_outside", CHANGED(weights, 0x30000000));
    refused("values_beyond", CHANGED(values, UINT64_MAX - 63));
    refused("groups_end", CHANGED(groups, 0xa0000000 - 8));
    refused("scales_page", CHANGED(row_scales, DEVICE_PAGE));
    refused("out_in_ram", CHANGED(out, 0x88000000));
    refused("out_in_code", CHANGED(out, (uintptr_t)refusals & ~63ull));
    refused("out_end", CHANGED(out, 0x94000000 - 64));
    refused("out_wraps", CHANGED(out, UINT64_MAX - 63));
    refused("out_over_values", CHANGED(values, job.out));
    refused("out_over_weights", CHANGED(weights, job.out));
    job = random_pages_job(2, NPU_BLOCK_KEYS, 1);
    refused("pages_f16", CHANGED(output, NPU_OUTPUT_F16));
    refused("pages_half_a_block", CHANGED(k, NPU_BLOCK_KEYS / 2));
    refused("pages_table_odd", CHANGED(weights, job.weights + 8));
    refused("pages_table_outside", CHANGED(weights, 0x30000000));
    static _Alignas(64) uint64_t pages[NPU_BLOCK_KEYS / NPU_PAGE_KEYS];
    job.weights = (uintptr_t)pages;
    const struct {
        const char *name;
        uint64_t page;
    } bad[] = {{"page_odd", (uintptr_t)0x88000020},
               {"page_outside", 0x30000000},
               {"page_wraps", UINT64_MAX - 63},
               {"page_is_result", job.out}};
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
        pages[5] = bad[i].page;
        cache_clean(pages, sizeof pages);
        refused(bad[i].name, job);
    }
    pages[5] = 0;
    cache_clean(pages, sizeof pages);
    refused("pages_right", job);
    npu_invalidate_rows(&job, 0, job.rows);
    poison();
    tell("refused_sequence", npu_submit((const struct npu_job *)((uintptr_t)&job + 4)));
    tell("descriptor_odd", npu_error());
    tell("refused_touched", touched(NULL));
}

static void queue(void) {
    uint32_t sequence[NPU_DEPTH + 1];
    job = random_job(1, 64, 1);
    for (unsigned i = 0; i <= NPU_DEPTH; i++) {
        sequence[i] = npu_submit(&job);
        job.out += 4096;
    }
    tell("ninth", sequence[NPU_DEPTH]);
    tell("ninth_code", npu_error());
    tell("look", npu_look(sequence[NPU_DEPTH - 1]));
    tell("look_ahead", npu_look(sequence[NPU_DEPTH - 1] + 1));
    tell("first_wait", npu_wait(sequence[0]));
    job.out -= 4096 * (NPU_DEPTH + 1);
    sequence[NPU_DEPTH] = npu_submit(&job); // where the first one's results are
    tell("tenth_code", npu_error());
    job.out += 4096;
    tell("collides", npu_submit(&job)); // the second one's are not observed (and the queue is full)
    tell("last_wait", npu_wait(sequence[NPU_DEPTH]));
    tell("look_back", npu_look(sequence[0]));
    sequence[0] = npu_submit(&job);
    tell("collision", npu_submit(&job));
    tell("collision_code", npu_error());
    npu_wait(sequence[0]);
}

static void reset(void) {
    job = random_job(3, 128, 2);
    poison();
    const uint32_t first = npu_submit(&job);
    npu_reset();
    tell("reset_wait", npu_wait(first));
    tell("reset_look", npu_look(first));
    tell("reset_touched", touched(NULL));
    const uint32_t second = npu_submit(&job);
    tell("after_reset", npu_wait(second));
    npu_invalidate_rows(&job, 0, job.rows);
    tell("after_reset_wrong", wrong(&job));
}

static void times(void) {
    struct npu_record first, second;
    job = random_job(64, 256, 3);
    const uint32_t a = npu_submit(&job);
    struct npu_job other = job;
    other.out += 0x100000;
    const uint32_t b = npu_submit(&other);
    npu_wait(b);
    tell("times", npu_times(a, &first) && npu_times(b, &second));
    tell("startup", first.begin - first.submitted);
    tell("behind", second.begin - first.end);
    tell("length", first.end - first.begin);
    tell("bytes", first.bytes);
    tell("mac_cycles", first.mac_cycles);
    tell("macs", (uint64_t)job.rows * job.k * job.panels * PANEL_COLUMNS);
    tell("job_format", job.format);
    tell("too_old", npu_times(1, &first));
}

/// Descriptors that are right but for what chance has made of some of their fields.
static void fuzz(void) {
    uint32_t accepted = 0, outside = 0, codes = 0;
    for (unsigned i = 0; i < FUZZED; i++) {
        job = i % 4 ? random_job(2, 64, 1) : random_pages_job(2, NPU_BLOCK_KEYS, 1);
        poison();
        for (unsigned n = randoms(3); n > 0; n--) {
            const uint32_t at = randoms(sizeof job / 4);
            ((uint32_t *)&job)[at] = randoms(2) ? randoms(UINT32_MAX) : randoms(4) * 64;
        }
        const uint32_t sequence = npu_submit(&job);
        codes |= 1u << npu_error();
        if (sequence)
            npu_wait(sequence);
        accepted += sequence != 0;
        outside += touched(sequence ? &job : NULL);
    }
    tell("fuzz_accepted", accepted);
    tell("fuzz_outside", outside);
    tell("fuzz_codes", codes);
}

int main(void) {
    tell("present", npu_present());
    shapes();
    refusals();
    queue();
    reset();
    times();
    fuzz();
    return 0;
}
