// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later
// The arithmetic of a job, on the host: exact integers, so that neither the order of sums nor the host's kind
// of processor shows in a result. What it computes is defined by the firmware's
// kernels/reference/linear_ref.c.
#include <stdlib.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "kernels/activations.h"
#include "kernels/pack.h"
#include "npu_job.h"

enum { COLUMNS = PANEL_COLUMNS, PAIRS = GROUP / 2 };

/// One group of a panel, unpacked: pairs of weights along k, as a multiply-accumulate of pairs takes them.
struct group {
    _Alignas(16) int16_t weight[PAIRS][COLUMNS][2];
    int16_t scale[COLUMNS], minimum[COLUMNS];
};

static int8_t nibble_of(const uint8_t *codes, unsigned column, unsigned k) { // docs/weight-image.md
    const uint8_t byte = codes[column / 4 * 64 + k % 16 / 4 * 16 + column % 4 * 4 + k % 4];
    return (int8_t)(k < 16 ? byte & 15 : byte >> 4);
}

static int8_t byte_of(const uint8_t *codes, unsigned column, unsigned k) {
    return (int8_t)codes[column / 4 * 128 + k / 4 * 16 + column % 4 * 4 + k % 4];
}

/// Group `g` of the panel at `packs`.
static void unpack(enum tensor_format format, const uint8_t *packs, unsigned g, struct group *group) {
    const bool bytes = format == TENSOR_FORMAT_Q8_0, minimum = format == TENSOR_FORMAT_Q4_1;
    const int offset = format == TENSOR_FORMAT_Q4_0 ? 8 : 0;
    const unsigned code_bytes = bytes ? BYTE_GROUP : NIBBLE_BYTES;
    const unsigned scale_bytes = (minimum ? 2 : 1) * COLUMN_INT16;
    const uint8_t *pack = packs + (size_t)(g / 2) * pack_geometry(format).bytes;
    const uint8_t *codes = pack + g % 2 * code_bytes;
    const uint8_t *scales = pack + 2 * code_bytes + g % 2 * scale_bytes;
    for (unsigned column = 0; column < COLUMNS; column++)
        for (unsigned k = 0; k < GROUP; k++)
            group->weight[k / 2][column][k % 2] =
                (int16_t)(bytes ? byte_of(codes, column, k) : nibble_of(codes, column, k) - offset);
    memcpy(group->scale, scales, COLUMN_INT16);
    memset(group->minimum, 0, COLUMN_INT16);
    if (minimum)
        memcpy(group->minimum, scales + COLUMN_INT16, COLUMN_INT16);
}

/// dot[column] = sum over k of weight * value.
static void dot_group(const struct group *group, const int16_t value[GROUP], int32_t dot[COLUMNS]) {
#ifdef __SSE2__
    __m128i sum[4] = {{0}};
    for (unsigned pair = 0; pair < PAIRS; pair++) {
        int32_t both;
        memcpy(&both, value + 2 * pair, sizeof both);
        const __m128i values = _mm_set1_epi32(both);
        const __m128i *weights = (const __m128i *)group->weight[pair];
        for (unsigned quad = 0; quad < 4; quad++)
            sum[quad] = _mm_add_epi32(sum[quad], _mm_madd_epi16(weights[quad], values));
    }
    for (unsigned quad = 0; quad < 4; quad++)
        _mm_storeu_si128((__m128i *)dot + quad, sum[quad]);
#else
    memset(dot, 0, COLUMNS * sizeof *dot);
    for (unsigned pair = 0; pair < PAIRS; pair++)
        for (unsigned column = 0; column < COLUMNS; column++)
            dot[column] += group->weight[pair][column][0] * value[2 * pair] +
                           group->weight[pair][column][1] * value[2 * pair + 1];
#endif
}

/// The sum of a group is a 32-bit one, whatever is in memory: it wraps, as the cores' does.
static void add_group(const struct group *group, const int32_t dot[COLUMNS], struct group_scale of,
                      int64_t sum[COLUMNS]) {
    for (unsigned column = 0; column < COLUMNS; column++) {
        const uint32_t term = (uint32_t)group->scale[column] * (uint32_t)dot[column] +
                              (uint32_t)group->minimum[column] * (uint32_t)of.sum;
        sum[column] = (int64_t)((uint64_t)sum[column] + (uint64_t)((int64_t)of.scale * (int32_t)term));
    }
}

/// Rounded once to float32, as the cores do; an invalid product gives the cores' NaN, not the host's.
static float rounded(int64_t sum, float column, float row) {
    const float scale = column * row, y = (float)(double)sum * scale;
    if (y == y || scale != scale)
        return y;
    const uint32_t nan = 0x7fc00000;
    float value;
    memcpy(&value, &nan, sizeof value);
    return value;
}

/// float16 by bits: nearest, ties to even; beyond its range infinity.
static uint16_t half_of(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    const uint32_t sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
    if (magnitude > 0x7f800000) // a NaN keeps the top of its payload, and becomes quiet
        return (uint16_t)(sign | 0x7e00 | (magnitude >> 13 & 0x1ff));
    if (magnitude >= 0x477ff000) // 65520, halfway to what would be the next one
        return (uint16_t)(sign | 0x7c00);
    uint32_t kept, rest, half;
    if (magnitude < 0x38800000) { // below 2^-14: subnormal, in units of 2^-24
        const uint32_t shift = 126 - (magnitude >> 23);
        if (shift > 24)
            return (uint16_t)sign;
        const uint32_t fraction = (magnitude & 0x7fffff) | 0x800000;
        kept = fraction >> shift;
        rest = fraction & ((1u << shift) - 1);
        half = 1u << (shift - 1);
    } else {
        kept = (magnitude - 0x38000000) >> 13;
        rest = magnitude & 0x1fff;
        half = 0x1000;
    }
    kept += rest > half || (rest == half && kept & 1);
    return (uint16_t)(sign | kept);
}

void *npu_allocate(size_t bytes) {
    void *memory = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (!memory)
        abort();
    return memory;
}

/// One panel for all rows.
static void compute_panel(const struct npu_job *job, const uint8_t *packs, const int16_t *values,
                          const struct group_scale *scales, const float *row_scales, struct group *groups,
                          uint8_t *out) {
    const unsigned count = job->k / GROUP;
    float columns[COLUMNS];
    memcpy(columns, packs + panel_scales_offset(job->format, job->k), sizeof columns);
    for (unsigned g = 0; g < count; g++)
        unpack(job->format, packs, g, &groups[g]);
    for (unsigned row = 0; row < job->rows; row++, out += npu_job_row_bytes(job)) {
        int64_t sum[COLUMNS] = {0};
        for (unsigned g = 0; g < count; g++) {
            int32_t dot[COLUMNS];
            dot_group(&groups[g], values + (size_t)row * job->k + g * GROUP, dot);
            add_group(&groups[g], dot, scales[row * count + g], sum);
        }
        for (unsigned column = 0; column < COLUMNS; column++) {
            const float y = rounded(sum[column], columns[column], row_scales[row]);
            if (job->output == NPU_OUTPUT_F16)
                ((uint16_t *)out)[column] = half_of(y);
            else
                ((float *)out)[column] = y;
        }
    }
}

uint8_t *npu_job_compute(const struct npu_work *work, const uint8_t *ram, const struct options *options) {
    const struct npu_job *job = &work->job;
    const uint64_t base = options->ram_base;
    uint8_t *results = npu_allocate(job->rows * npu_job_row_bytes(job));
    if (work->pages) {
        npu_pages_compute(work, ram, options, (float *)results);
        return results;
    }
    const int8_t *bytes = (const int8_t *)(ram + (job->values - base));
    const size_t count = (size_t)job->rows * job->k;
    int16_t *values = npu_allocate(count * sizeof *values);
    struct group *groups = npu_allocate(job->k / GROUP * sizeof *groups);
    for (size_t i = 0; i < count; i++)
        values[i] = bytes[i];
    for (unsigned panel = 0; panel < job->panels; panel++)
        compute_panel(job, ram + (job->weights - base) + panel * panel_bytes(job->format, job->k), values,
                      (const struct group_scale *)(ram + (job->groups - base)),
                      (const float *)(ram + (job->row_scales - base)), groups,
                      results + npu_job_row_bytes(job) / job->panels * panel);
    free(groups);
    free(values);
    return results;
}
