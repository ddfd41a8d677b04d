// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later
// Attention's probabilities times pages of values, a sum for each block of keys: exact integers, as float32.
#include <stdlib.h>
#include <string.h>

#include "npu_job.h"

/// Values of a page as pairs of keys: [key / 2][dim][key % 2]. The page: [key / 4][dim][key % 4].
static void unpack_page(const int8_t *page, unsigned dims, int16_t *pairs) {
    for (unsigned key = 0; key < NPU_PAGE_KEYS; key++)
        for (unsigned dim = 0; dim < dims; dim++)
            pairs[(key / 2 * dims + dim) * 2 + key % 2] = page[(key / 4 * dims + dim) * 4 + key % 4];
}

/// sum[dim] += sum over the page's keys of probability * value. 256 keys fit: 2^15 times 2^7 each.
static void add_page(const int16_t *pairs, unsigned dims, const int32_t probability[NPU_PAGE_KEYS],
                     int32_t *sum) {
    for (unsigned pair = 0; pair < NPU_PAGE_KEYS / 2; pair++, pairs += 2 * dims) {
        const int32_t first = probability[2 * pair], second = probability[2 * pair + 1];
        if (!first && !second)
            continue; // what a query does not see
        for (unsigned dim = 0; dim < dims; dim++)
            sum[dim] += first * pairs[2 * dim] + second * pairs[2 * dim + 1];
    }
}

/// Probabilities of the keys of page `n` of a row.
static void probabilities_of(const struct npu_job *job, const int8_t *row, unsigned n,
                             int32_t to[NPU_PAGE_KEYS]) {
    if (job->format == NPU_WEIGHTS_KV_INT8) {
        for (unsigned key = 0; key < NPU_PAGE_KEYS; key++)
            to[key] = row[n * NPU_PAGE_KEYS + key];
        return;
    }
    row += (size_t)2 * n * NPU_PAGE_KEYS;
    for (unsigned key = 0; key < NPU_PAGE_KEYS; key++) {
        const int8_t *halves = row + key / 16 * 32 + key % 16;
        to[key] = 256 * halves[0] + halves[16];
    }
}

void npu_pages_compute(const struct npu_work *work, const uint8_t *ram, const struct options *options,
                       float *results) {
    const struct npu_job *job = &work->job;
    const unsigned dims = job->panels * NPU_PANEL_COLUMNS, count = npu_job_page_count(job);
    const size_t row_results = (size_t)job->k / NPU_BLOCK_KEYS * dims;
    const size_t row_bytes = job->format == NPU_WEIGHTS_KV_INT16 ? 2 * (size_t)job->k : job->k;
    const int8_t *values = (const int8_t *)(ram + (job->values - options->ram_base));
    int32_t *const sums = (int32_t *)results; // until all of them are complete
    int16_t *pairs = npu_allocate((size_t)dims * NPU_PAGE_KEYS * sizeof *pairs);
    memset(sums, 0, job->rows * row_results * sizeof *sums);
    for (unsigned n = 0; n < count; n++) {
        int32_t *sum = sums + n * NPU_PAGE_KEYS / NPU_BLOCK_KEYS * (size_t)dims;
        if (!work->pages[n])
            continue;
        unpack_page((const int8_t *)(ram + (work->pages[n] - options->ram_base)), dims, pairs);
        for (uint32_t row = 0; row < job->rows; row++, sum += row_results) {
            int32_t probability[NPU_PAGE_KEYS];
            probabilities_of(job, values + row * row_bytes, n, probability);
            add_page(pairs, dims, probability, sum);
        }
    }
    for (size_t i = 0; i < job->rows * row_results; i++) {
        const float rounded = (float)sums[i];
        memcpy(&results[i], &rounded, sizeof rounded);
    }
    free(pairs);
}
