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
    return (size_t)job->panels * PANEL_COLUMNS * result_bytes(job);
}

void npu_job_inputs(const struct npu_job *job, struct extent input[NPU_INPUTS]) {
    const uint64_t rows = job->rows;
    input[0] = (struct extent){job->weights, job->panels * (uint64_t)panel_bytes(job->format, job->k)};
    input[1] = (struct extent){job->values, rows * job->k};
    input[2] = (struct extent){job->groups, rows * (job->k / GROUP) * sizeof(struct group_scale)};
    input[3] = (struct extent){job->row_scales, rows * sizeof(float)};
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

uint64_t npu_job_macs(const struct npu_job *job) {
    return (uint64_t)job->rows * job->k * job->panels * PANEL_COLUMNS;
}

static uint64_t whole_lines(uint64_t bytes) {
    return (bytes + LINE - 1) / LINE * LINE;
}

uint64_t npu_job_bytes(const struct npu_job *job) {
    struct extent input[NPU_INPUTS];
    npu_job_inputs(job, input);
    uint64_t bytes = job->rows * whole_lines(npu_job_row_bytes(job));
    for (unsigned i = 0; i < NPU_INPUTS; i++)
        bytes += whole_lines(input[i].bytes);
    return bytes;
}

/// Whether `part` lies in base..base + bytes.
static bool lies_in(struct extent part, uint64_t base, uint64_t bytes) {
    return part.base >= base && part.bytes <= bytes && part.base - base <= bytes - part.bytes;
}

static bool multiplies(uint32_t format) {
    return format == TENSOR_FORMAT_Q4_0 || format == TENSOR_FORMAT_Q4_1 || format == TENSOR_FORMAT_Q8_0;
}

enum npu_code npu_job_check(const struct npu_job *job, const struct options *options) {
    if (!multiplies(job->format) || job->output >= NPU_OUTPUT_COUNT)
        return NPU_CODE_FORMAT;
    if (!job->k || job->k % PACK_K || job->k > NPU_K_MAX || !job->rows || job->rows > NPU_ROWS_MAX ||
        !job->panels || job->panels > NPU_PANELS_MAX || job->out_stride < npu_job_row_bytes(job))
        return NPU_CODE_SHAPE;
    if (job->weights % IMAGE_ALIGN || job->values % PACK_K || job->groups % sizeof(struct group_scale) ||
        job->row_scales % sizeof(float) || job->out % NPU_OUT_ALIGN || job->out_stride % NPU_OUT_ALIGN)
        return NPU_CODE_ALIGNMENT;
    struct extent input[NPU_INPUTS];
    npu_job_inputs(job, input);
    const struct extent out = npu_job_results(job), page = {options->device_page, PAGE_BYTES};
    if (!lies_in(out, options->npu.base, options->npu.bytes) || extents_meet(out, page))
        return NPU_CODE_ADDRESS;
    for (unsigned i = 0; i < NPU_INPUTS; i++) {
        if (!lies_in(input[i], options->ram_base, options->ram_bytes) || extents_meet(input[i], page))
            return NPU_CODE_ADDRESS;
        if (extents_meet(input[i], out))
            return NPU_CODE_OVERLAP;
    }
    return NPU_CODE_DONE;
}

void npu_job_store(const struct npu_job *job, const uint8_t *results, uint8_t *ram,
                   const struct options *options) {
    const size_t bytes = npu_job_row_bytes(job);
    uint8_t *out = ram + (job->out - options->ram_base);
    for (uint32_t row = 0; row < job->rows; row++)
        memcpy(out + (size_t)row * job->out_stride, results + row * bytes, bytes);
}
