// SPDX-License-Identifier: Apache-2.0
#include "npu_jobs.h"

#include "arch/cache.h"
#include "guest.h"
#include "kernels/reference/reference.h"

#define WEIGHTS  ((uint8_t *)0x88000000)
#define VALUES   ((int8_t *)0x88400000)
#define GROUPS   ((struct group_scale *)0x88800000)
#define POISONED (UINT64_C(0x0101010101010101) * POISON)
#define SCALES   ((float *)0x88c00000)

struct result results[RESULTS];
char report[8192];

static uint32_t length;
static uint64_t state = 20260701;

static void put(char c) {
    if (length < sizeof report - 1)
        report[length++] = c;
}

void tell(const char *name, uint64_t value) {
    char digits[20];
    unsigned n = 0;
    while (*name)
        put(*name++);
    put(' ');
    do
        digits[n++] = (char)('0' + value % 10);
    while (value /= 10);
    while (n)
        put(digits[--n]);
    put('\n');
}

uint32_t randoms(uint32_t below) {
    state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (uint32_t)((state >> 32) * below >> 32);
}

static float random_scale(void) {
    return (float)(1 + randoms(1 << 20)) * 0x1p-40f;
}

static void random_weights(enum tensor_format format, unsigned k, unsigned panels) {
    const struct pack_geometry pack = pack_geometry(format);
    const unsigned arrays = format == TENSOR_FORMAT_Q4_1 ? 4 : 2;
    const unsigned bound = format == TENSOR_FORMAT_Q8_0 ? 2047 : 4095; // docs/weight-image.md
    for (unsigned panel = 0; panel < panels; panel++) {
        uint8_t *at = WEIGHTS + panel * panel_bytes(format, k);
        for (unsigned n = 0; n < k / pack.k; n++, at += pack.bytes) {
            int16_t *scales = (int16_t *)(at + pack.bytes - arrays * COLUMN_INT16);
            for (uint8_t *code = at; code < (uint8_t *)scales; code++)
                *code = (uint8_t)randoms(256);
            for (unsigned i = 0; i < arrays * PANEL_COLUMNS; i++)
                scales[i] = (int16_t)((int)randoms(2 * bound + 1) - (int)bound);
        }
        for (unsigned i = 0; i < PANEL_COLUMNS; i++)
            ((float *)at)[i] = random_scale();
    }
}

static void random_activations(unsigned rows, unsigned k) {
    for (unsigned row = 0; row < rows; row++) {
        SCALES[row] = random_scale();
        for (unsigned g = 0; g < k / GROUP; g++) {
            int32_t sum = 0;
            for (unsigned i = 0; i < GROUP; i++) {
                int8_t value = (int8_t)((int)randoms(255) - 127);
                VALUES[row * k + g * GROUP + i] = value;
                sum += value;
            }
            GROUPS[row * (k / GROUP) + g] = (struct group_scale){1 + (int32_t)randoms(65535), sum};
        }
    }
}

struct npu_job random_job(uint32_t rows, uint32_t k, uint32_t panels) {
    static const enum tensor_format formats[] = {TENSOR_FORMAT_Q4_0, TENSOR_FORMAT_Q4_1, TENSOR_FORMAT_Q8_0};
    struct npu_job job = {.format = formats[randoms(3)],
                          .output = randoms(2),
                          .rows = rows ? rows : 1 + randoms(11),
                          .k = k ? k : 64 * (1 + randoms(4)),
                          .panels = panels ? panels : 1 + randoms(3),
                          .weights = (uintptr_t)WEIGHTS,
                          .values = (uintptr_t)VALUES,
                          .groups = (uintptr_t)GROUPS,
                          .row_scales = (uintptr_t)SCALES,
                          .out = (uintptr_t)OUT + NPU_OUT_ALIGN * (1 + randoms(100))};
    const uint32_t row = job.panels * PANEL_COLUMNS * (job.output == NPU_OUTPUT_F16 ? 2 : 4);
    job.out_stride = (row + NPU_OUT_ALIGN - 1) / NPU_OUT_ALIGN * NPU_OUT_ALIGN + NPU_OUT_ALIGN * randoms(3);
    random_weights(job.format, job.k, job.panels);
    random_activations(job.rows, job.k);
    cache_clean(WEIGHTS, job.panels * panel_bytes(job.format, job.k));
    npu_clean_rows(&job, 0, job.rows);
    return job;
}

static bool is_pages(const struct npu_job *job) {
    return job->format >= NPU_WEIGHTS_KV_INT8;
}

static void random_bytes(uint8_t *at, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        at[i] = (uint8_t)randoms(256);
}

struct npu_job random_pages_job(uint32_t rows, uint32_t k, uint32_t panels) {
    struct npu_job job = {.format = NPU_WEIGHTS_KV_INT8 + randoms(2),
                          .output = NPU_OUTPUT_F32,
                          .rows = rows ? rows : 1 + randoms(11),
                          .k = k ? k : NPU_BLOCK_KEYS * (1 + randoms(3)),
                          .panels = panels ? panels : 1 + randoms(4),
                          .weights = (uintptr_t)GROUPS,
                          .values = (uintptr_t)VALUES,
                          .out = (uintptr_t)OUT + NPU_OUT_ALIGN * (1 + randoms(20))};
    const uint32_t page = NPU_PAGE_KEYS * job.panels * PANEL_COLUMNS, count = job.k / NPU_PAGE_KEYS,
                   row = job.format == NPU_WEIGHTS_KV_INT16 ? 2 * job.k : job.k;
    uint64_t *pages = (uint64_t *)GROUPS;
    job.out_stride = job.k / NPU_BLOCK_KEYS * job.panels * PANEL_COLUMNS * 4 + NPU_OUT_ALIGN * randoms(3);
    random_bytes(WEIGHTS, count * page);
    random_bytes((uint8_t *)VALUES, job.rows * row);
    for (uint32_t n = 0; n < count; n++) // in any order
        pages[n] = randoms(4) ? (uintptr_t)WEIGHTS + randoms(count) * page : 0;
    cache_clean(WEIGHTS, count * page);
    cache_clean(VALUES, job.rows * row);
    cache_clean(pages, count * sizeof *pages);
    return job;
}

void poison(void) {
    for (uint32_t i = 0; i < OUT_BYTES / 8; i++)
        ((uint64_t *)OUT)[i] = POISONED;
    cache_clean_invalidate(OUT, OUT_BYTES);
}

static uint32_t row_bytes(const struct npu_job *job) {
    const uint32_t one = job->panels * PANEL_COLUMNS * (job->output == NPU_OUTPUT_F16 ? 2 : 4);
    return is_pages(job) ? job->k / NPU_BLOCK_KEYS * one : one;
}

uint32_t touched(const struct npu_job *job) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < OUT_BYTES; i++) {
        if (i % 8 == 0 && *(uint64_t *)(OUT + i) == POISONED) {
            i += 7;
            continue;
        }
        const uint64_t offset = (uintptr_t)OUT + i - (job ? job->out : 0);
        const bool result =
            job && offset / job->out_stride < job->rows && offset % job->out_stride < row_bytes(job);
        count += OUT[i] != POISON && !result;
    }
    return count;
}

static int32_t probability(const struct npu_job *job, uint32_t row, uint32_t key) {
    const int8_t *of_row = (const int8_t *)job->values;
    if (job->format == NPU_WEIGHTS_KV_INT8)
        return of_row[row * job->k + key];
    of_row += (size_t)2 * row * job->k + key / 16 * 32 + key % 16;
    return 256 * of_row[0] + of_row[16];
}

static uint32_t wrong_of_pages(const struct npu_job *job) {
    const uint32_t dims = job->panels * PANEL_COLUMNS;
    const uint64_t *pages = (const uint64_t *)job->weights;
    uint32_t count = 0;
    for (uint32_t row = 0; row < job->rows; row++)
        for (uint32_t n = 0; n < job->k / NPU_BLOCK_KEYS * dims; n++) {
            const uint32_t first = n / dims * NPU_BLOCK_KEYS, dim = n % dims;
            const float *out = (const float *)(job->out + (uint64_t)row * job->out_stride);
            int64_t sum = 0;
            for (uint32_t key = first; key < first + NPU_BLOCK_KEYS; key++) {
                const int8_t *page = (const int8_t *)pages[key / NPU_PAGE_KEYS];
                const uint32_t at = key % NPU_PAGE_KEYS;
                if (page)
                    sum += (int64_t)probability(job, row, key) * page[(at / 4 * dims + dim) * 4 + at % 4];
            }
            count += out[n] != (float)sum;
        }
    return count;
}

uint32_t wrong(const struct npu_job *job) {
    if (is_pages(job))
        return wrong_of_pages(job);
    static float y[8 * PANEL_COLUMNS];
    static int32_t low_sums[1024];
    const struct activations all = {(int8_t *)job->values, (struct group_scale *)job->groups, low_sums,
                                    (float *)job->row_scales, job->k};
    uint32_t count = 0;
    for (uint32_t row = 0; row < job->rows; row++) {
        const struct activations a = activations_from(&all, row);
        const void *out = (const void *)(job->out + (uint64_t)row * job->out_stride);
        reference_gemv_panels((enum tensor_format)job->format, (const uint8_t *)job->weights, job->panels, &a,
                              y);
        for (uint32_t n = 0; n < job->panels * PANEL_COLUMNS; n++) {
            union {
                float f;
                uint32_t bits;
            } expected = {y[n]}, got = {0};
            union {
                __fp16 f;
                uint16_t bits;
            } half = {(__fp16)y[n]};
            got.bits =
                job->output == NPU_OUTPUT_F16 ? ((const uint16_t *)out)[n] : ((const uint32_t *)out)[n];
            count += got.bits != (job->output == NPU_OUTPUT_F16 ? half.bits : expected.bits);
        }
    }
    return count;
}
