// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later
#include "npu_job.h"

#include <string.h>

#include "kernels/activations.h"
#include "kernels/pack.h"
#include "schema/device_page.h"

enum { LINE = 64 };

static size_t result_bytes(const struct npu_job *job) {
    return job->output == NPU_OUTPUT_F16 ? 2 : 4;
}

size_t npu_job_row_bytes(const struct npu_job *job) {
    const size_t one = (size_t)job->panels * PANEL_COLUMNS * result_bytes(job);
    return npu_job_pages(job) ? job->k / NPU_BLOCK_KEYS * one : one;
}

/// Bytes of a row of `values`.
static uint64_t value_bytes(const struct npu_job *job) {
    return job->format == NPU_WEIGHTS_KV_INT16 ? 2 * (uint64_t)job->k : job->k;
}

static uint64_t page_bytes(const struct npu_job *job) {
    return (uint64_t)job->panels * PANEL_COLUMNS * NPU_PAGE_KEYS;
}

/// Those of its pages.
static struct extent addresses(const struct npu_job *job) {
    return (struct extent){job->weights, npu_job_page_count(job) * sizeof(uint64_t)};
}

unsigned npu_input_count(const struct npu_work *work) {
    return work->pages ? 2 + npu_job_page_count(&work->job) : 4;
}

struct extent npu_input(const struct npu_work *work, unsigned n) {
    const struct npu_job *job = &work->job;
    const uint64_t rows = job->rows;
    if (work->pages && n >= 2) {
        const uint64_t page = work->pages[n - 2];
        return (struct extent){page, page ? page_bytes(job) : 0};
    }
    switch (n) {
    case 0:
        return (struct extent){job->values, rows * value_bytes(job)};
    case 1:
        return work->pages
                   ? addresses(job)
                   : (struct extent){job->weights, job->panels * (uint64_t)panel_bytes(job->format, job->k)};
    case 2:
        return (struct extent){job->groups, rows * (job->k / GROUP) * sizeof(struct group_scale)};
    default:
        return (struct extent){job->row_scales, rows * sizeof(float)};
    }
}

bool npu_reads(const struct npu_work *work, struct extent part) {
    for (unsigned n = 0; n < npu_input_count(work); n++)
        if (extents_meet(npu_input(work, n), part))
            return true;
    return false;
}

struct extent npu_job_results(const struct npu_job *job) {
    return (struct extent){job->out, (job->rows - 1) * (uint64_t)job->out_stride + npu_job_row_bytes(job)};
}

bool npu_job_writes(const struct npu_job *job, struct extent part) {
    const uint64_t row = part.base > job->out ? (part.base - job->out) / job->out_stride : 0;
    for (uint64_t n = row; n < job->rows && n <= row + 1; n++)
        if (extents_meet((struct extent){job->out + n * job->out_stride, npu_job_row_bytes(job)}, part))
            return true;
    return false;
}

bool npu_results_meet(const struct npu_job *a, const struct npu_job *b) {
    if (!extents_meet(npu_job_results(a), npu_job_results(b)))
        return false;
    for (uint64_t row = 0; row < a->rows && a->out_stride == b->out_stride; row++)
        if (npu_job_writes(b, (struct extent){a->out + row * a->out_stride, npu_job_row_bytes(a)}))
            return true;
    return a->out_stride != b->out_stride;
}

/// Pages that are there.
static uint64_t held_pages(const struct npu_work *work) {
    uint64_t held = 0;
    for (unsigned n = 0; n < npu_job_page_count(&work->job); n++)
        held += work->pages[n] != 0;
    return held;
}

uint64_t npu_job_macs(const struct npu_work *work) {
    const struct npu_job *job = &work->job;
    const uint64_t products = job->format == NPU_WEIGHTS_KV_INT16 ? 2 : 1;
    const uint64_t k = work->pages ? held_pages(work) * NPU_PAGE_KEYS * products : job->k;
    return (uint64_t)job->rows * k * job->panels * PANEL_COLUMNS;
}

static uint64_t whole_lines(uint64_t bytes) {
    return (bytes + LINE - 1) / LINE * LINE;
}

uint64_t npu_job_bytes(const struct npu_work *work) {
    const struct npu_job *job = &work->job;
    uint64_t bytes = job->rows * whole_lines(npu_job_row_bytes(job));
    for (unsigned n = 0; n < npu_input_count(work); n++)
        bytes += whole_lines(npu_input(work, n).bytes);
    if (work->pages) // of a row's values what belongs to pages that are there
        bytes -= (npu_job_page_count(job) - held_pages(work)) * (value_bytes(job) * NPU_PAGE_KEYS / job->k) *
                 job->rows;
    return bytes;
}

/// Whether `part` lies in base..base + bytes.
static bool lies_in(struct extent part, uint64_t base, uint64_t bytes) {
    return part.base >= base && part.bytes <= bytes && part.base - base <= bytes - part.bytes;
}

static bool multiplies(const struct npu_job *job) {
    if (npu_job_pages(job))
        return job->output == NPU_OUTPUT_F32;
    return job->output < NPU_OUTPUT_COUNT &&
           (job->format == TENSOR_FORMAT_Q4_0 || job->format == TENSOR_FORMAT_Q4_1 ||
            job->format == TENSOR_FORMAT_Q8_0);
}

static bool in_ram(struct extent part, const struct options *options) {
    const struct extent page = {options->device_page, PAGE_BYTES};
    return lies_in(part, options->ram_base, options->ram_bytes) && !extents_meet(part, page);
}

enum npu_code npu_job_check(const struct npu_job *job, const struct options *options) {
    const uint32_t step = npu_job_pages(job) ? NPU_BLOCK_KEYS : PACK_K;
    if (!multiplies(job))
        return NPU_CODE_FORMAT;
    if (!job->k || job->k % step || job->k > NPU_K_MAX || !job->rows || job->rows > NPU_ROWS_MAX ||
        !job->panels || job->panels > NPU_PANELS_MAX || job->out_stride < npu_job_row_bytes(job))
        return NPU_CODE_SHAPE;
    if (job->weights % IMAGE_ALIGN || job->values % PACK_K || job->groups % sizeof(struct group_scale) ||
        job->row_scales % sizeof(float) || job->out % NPU_OUT_ALIGN || job->out_stride % NPU_OUT_ALIGN)
        return NPU_CODE_ALIGNMENT;
    const struct extent out = npu_job_results(job);
    if (!lies_in(out, options->npu.base, options->npu.bytes) || !in_ram(out, options))
        return NPU_CODE_ADDRESS;
    return npu_job_pages(job) && !in_ram(addresses(job), options) ? NPU_CODE_ADDRESS : NPU_CODE_DONE;
}

enum npu_code npu_work_check(const struct npu_work *work, const struct options *options) {
    const struct extent out = npu_job_results(&work->job);
    for (unsigned n = 0; n < npu_job_page_count(&work->job); n++)
        if (work->pages[n] % IMAGE_ALIGN)
            return NPU_CODE_ALIGNMENT;
    for (unsigned n = 0; n < npu_input_count(work); n++)
        if (npu_input(work, n).bytes && !in_ram(npu_input(work, n), options))
            return NPU_CODE_ADDRESS;
    return npu_reads(work, out) ? NPU_CODE_OVERLAP : NPU_CODE_DONE;
}

void npu_job_store(const struct npu_job *job, const uint8_t *results, uint8_t *ram,
                   const struct options *options) {
    const size_t bytes = npu_job_row_bytes(job);
    uint8_t *out = ram + (job->out - options->ram_base);
    for (uint32_t row = 0; row < job->rows; row++)
        memcpy(out + (size_t)row * job->out_stride, results + row * bytes, bytes);
}
