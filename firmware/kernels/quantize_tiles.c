// SPDX-License-Identifier: Apache-2.0
// Four rows at a time: then narrowing the rows' values of 4 k to bytes leaves them in the tile's order, and
// what a block costs (its scales) is done for four rows in one vector.
//
// V slots per 4 values: smoothing, sign and maximum 3; smoothing, scaling and rounding 3, narrowing 3/4, its
// store 2/4. Two pipes: the bound is 0.91 cycles per value.
#include <arm_neon.h>

#include "kernels/int8_linear.h"
#include "kernels/neon.h"

#define ROWS 4

// Half a tile.
struct half_tile {
    const float *x[ROWS];
    size_t panel; // floats from 16 columns of a row to the next ones
    const float *smoothing;
    int8_t *values;     // every 32 bytes 16 of them
    int32_t *steps;     // every 8 of them 4
    unsigned k, filled; // of the tile, of x
    unsigned block;
};

// Where 16 columns of the rows are.
ALWAYS_INLINE void at_column(const struct half_tile *h, unsigned i, const float *x[ROWS]) {
    UNROLL
    for (unsigned row = 0; row < ROWS; row++)
        x[row] = h->x[row] + i / PANEL_COLUMNS * h->panel;
}

// Bits of the largest magnitude of each row from `from` to before `to`. In panels the rows that follow are
// 256 bytes on, and the next 16 columns farther than the hardware prefetcher follows.
ALWAYS_INLINE uint32x4_t magnitudes(const struct half_tile *h, unsigned from, unsigned to) {
    const uint32x4_t sign = vdupq_n_u32(0x80000000u);
    uint32x4_t top[ROWS] = {0};
    for (unsigned i = from; i < to; i += PANEL_COLUMNS) {
        const float *x[ROWS], *smoothing = h->smoothing + i;
        at_column(h, i, x);
        UNROLL
        for (unsigned row = 0; row < ROWS; row++)
            __builtin_prefetch(x[row] + ROWS * PANEL_COLUMNS);
        UNROLL
        for (unsigned j = 0; j < PANEL_COLUMNS; j += 4) {
            const float32x4_t by = vld1q_f32(smoothing + j);
            UNROLL
            for (unsigned row = 0; row < ROWS; row++) {
                uint32x4_t bits = vreinterpretq_u32_f32(vmulq_f32(vld1q_f32(x[row] + j), by));
                top[row] = vmaxq_u32(top[row], vbicq_u32(bits, sign));
            }
        }
    }
    return vpmaxq_u32(vpmaxq_u32(top[0], top[1]), vpmaxq_u32(top[2], top[3]));
}

ALWAYS_INLINE uint8x16_t even_halves(uint8x16_t a, uint8x16_t b) {
    return vreinterpretq_u8_u16(vuzp1q_u16(vreinterpretq_u16_u8(a), vreinterpretq_u16_u8(b)));
}

// The low byte of a float near ROUND_MAGIC is the integer; block scales are rounded up, so it needs no
// clamping.
ALWAYS_INLINE void store_values(const struct half_tile *h, unsigned from, unsigned to, float32x4_t factors) {
    const float32x4_t factor[ROWS] = {vdupq_laneq_f32(factors, 0), vdupq_laneq_f32(factors, 1),
                                      vdupq_laneq_f32(factors, 2), vdupq_laneq_f32(factors, 3)};
    for (unsigned i = from; i < to; i += PANEL_COLUMNS) {
        const float *x[ROWS], *smoothing = h->smoothing + i;
        uint8_t *values = (uint8_t *)h->values + i * TILE_ROWS;
        at_column(h, i, x);
        UNROLL
        for (unsigned j = 0; j < PANEL_COLUMNS; j += 4) {
            const float32x4_t by = vld1q_f32(smoothing + j);
            uint8x16_t q[ROWS];
            UNROLL
            for (unsigned row = 0; row < ROWS; row++) {
                float32x4_t scaled = vmulq_f32(vmulq_f32(vld1q_f32(x[row] + j), by), factor[row]);
                q[row] = vreinterpretq_u8_f32(vaddq_f32(scaled, vdupq_n_f32(ROUND_MAGIC)));
            }
            vst1q_u8(values + j * TILE_ROWS, vuzp1q_u8(even_halves(q[0], q[1]), even_halves(q[2], q[3])));
        }
    }
}

static unsigned least(unsigned a, unsigned b) {
    return a < b ? a : b;
}

// Rows whose bit is not set in `given` are zero. Returns the row scales.
ALWAYS_INLINE float32x4_t quantize_half(const struct half_tile *h, uint32x4_t given) {
    uint32x4_t top = vdupq_n_u32(0);
    int32_t *steps = h->steps;
    for (unsigned from = 0; from < h->k; from += h->block, steps += TILE_ROWS) {
        uint32x4_t here = magnitudes(h, from, least(from + h->block, h->filled));
        vst1q_s32(steps, vreinterpretq_s32_u32(here)); // kept here until the rows' scales are known
        top = vmaxq_u32(top, here);
    }
    const uint32x4_t finite = vcltq_u32(top, vdupq_n_u32(INFINITY_BITS));
    const uint32x4_t large = vcgeq_u32(top, vreinterpretq_u32_f32(vdupq_n_f32(ACTIVATION_TINY)));
    const uint32x4_t usable = vandq_u32(vandq_u32(finite, large), given);
    const float32x4_t row_scale =
        vdivq_f32(vreinterpretq_f32_u32(top), vdupq_n_f32((float)(ACTIVATION_MAX * GROUP_SCALE_MAX)));
    const float32x4_t unit = vmulq_f32(vdupq_n_f32((float)ACTIVATION_MAX), row_scale);
    int32x4_t before = vdupq_n_s32(0);
    steps = h->steps;
    for (unsigned from = 0; from < h->k; from += h->block, steps += TILE_ROWS) {
        float32x4_t exact = vdivq_f32(vreinterpretq_f32_s32(vld1q_s32(steps)), unit);
        int32x4_t scale = vminq_s32(vcvtpq_s32_f32(exact), vdupq_n_s32(GROUP_SCALE_MAX));
        scale = vmaxq_s32(vandq_s32(scale, vreinterpretq_s32_u32(usable)), vdupq_n_s32(1));
        float32x4_t factors = vdivq_f32(vdupq_n_f32(1.0f), vmulq_f32(row_scale, vcvtq_f32_s32(scale)));
        factors = vreinterpretq_f32_u32(vandq_u32(vreinterpretq_u32_f32(factors), usable));
        store_values(h, from, least(from + h->block, h->filled), factors);
        if (from != 0)
            vst1q_s32(steps - TILE_ROWS, vsubq_s32(before, scale));
        before = scale;
    }
    vst1q_s32(steps - TILE_ROWS, before);
    for (unsigned i = h->filled; i < h->k; i += 4)
        vst1q_s8(h->values + i * TILE_ROWS, vdupq_n_s8(0));
    const float32x4_t scales = vreinterpretq_f32_u32(vandq_u32(vreinterpretq_u32_f32(row_scale), usable));
    return vbslq_f32(vorrq_u32(finite, vmvnq_u32(given)), scales, vdupq_n_f32(__builtin_nanf("")));
}

// What is not finite, times 0, leaves other bytes than 0.
static void clear_row(const struct half_tile *h, unsigned row) {
    for (unsigned i = 0; i < h->k; i += 4)
        for (unsigned j = 0; j < 4; j++)
            h->values[i * TILE_ROWS + row * 4 + j] = 0;
}

void quantize_tiles(const struct float_rows *from, unsigned rows, unsigned k, const float *smoothing,
                    const struct int8_activations *out) {
    for (unsigned row = 0; row < (rows + TILE_ROWS - 1) / TILE_ROWS * TILE_ROWS; row += ROWS) {
        struct half_tile half = {.panel = from->panel,
                                 .smoothing = smoothing,
                                 .values = out->values + tile_value(out, row, 0),
                                 .steps = out->steps + tile_step(out, row, 0),
                                 .k = out->k,
                                 .filled = k,
                                 .block = out->block};
        uint32x4_t given;
        for (unsigned i = 0; i < ROWS; i++) { // rows beyond the last one look at it again
            half.x[i] = from->x + least(row + i, rows - 1) * from->row;
            given[i] = row + i < rows ? UINT32_MAX : 0;
        }
        const float32x4_t scales = quantize_half(&half, given);
        vst1q_f32(out->row_scales + row, scales);
        for (unsigned i = 0; i < ROWS; i++)
            if (!(scales[i] > 0.0f))
                clear_row(&half, i);
    }
}
