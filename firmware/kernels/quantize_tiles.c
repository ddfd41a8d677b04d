// SPDX-License-Identifier: Apache-2.0
// Four rows at a time: then narrowing the rows' values of 4 k to bytes leaves them in the tile's order, and
// what a block costs (its scales) is done for four rows in one vector.
//
// V slots per 4 values: smoothing, sign and maximum 3; smoothing, scaling with rounding 2, narrowing 3/4, its
// store 2/4. Two pipes: the bound is 0.78 cycles per value.
#include <arm_neon.h>

#include "arch/string.h"
#include "kernels/int8_linear.h"
#include "kernels/neon.h"

#define ROWS         4
#define STORED_AHEAD 256 // bytes of values: two steps of 16 columns

// Half a tile, from the block of its column 0 on.
struct half_tile {
    const float *x[ROWS];
    size_t panel; // floats from 16 columns of a row to the next ones
    const float *smoothing;
    int8_t *values;   // every 32 bytes 16 of them
    int32_t *maxima;  // every 8 of them 4, as bits
    uint32x4_t given; // bits of the rows that there are
    unsigned k, block;
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
                const float32x4_t size = vabsq_f32(vmulq_f32(vld1q_f32(x[row] + j), by));
                top[row] = vmaxq_u32(top[row], vreinterpretq_u32_f32(size));
            }
        }
    }
    return vpmaxq_u32(vpmaxq_u32(top[0], top[1]), vpmaxq_u32(top[2], top[3]));
}

ALWAYS_INLINE uint8x16_t even_halves(uint8x16_t a, uint8x16_t b) {
    return vreinterpretq_u8_u16(vuzp1q_u16(vreinterpretq_u16_u8(a), vreinterpretq_u16_u8(b)));
}

// FMLA overwrites its addend: loaded, a fresh one takes no vector slot. Volatile, or the compiler would load
// it once and copy it.
ALWAYS_INLINE float32x4_t addend(void) {
    static const float magic[4]
        __attribute__((aligned(16))) = {ROUND_MAGIC, ROUND_MAGIC, ROUND_MAGIC, ROUND_MAGIC};
    float32x4_t loaded;
    __asm__ volatile("ldr %q0, %1" : "=w"(loaded) : "m"(magic));
    return loaded;
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
        for (unsigned line = 0; line < 2; line++)
            __builtin_prefetch(values + STORED_AHEAD + line * 64, 1);
        UNROLL
        for (unsigned j = 0; j < PANEL_COLUMNS; j += 4) {
            const float32x4_t by = vld1q_f32(smoothing + j);
            uint8x16_t q[ROWS];
            UNROLL
            for (unsigned row = 0; row < ROWS; row++) {
                float32x4_t sum = addend();
                sum = vfmaq_f32(sum, vmulq_f32(vld1q_f32(x[row] + j), by), factor[row]);
                q[row] = vreinterpretq_u8_f32(sum);
            }
            vst1q_u8(values + j * TILE_ROWS, vuzp1q_u8(even_halves(q[0], q[1]), even_halves(q[2], q[3])));
        }
    }
}

static unsigned least(unsigned a, unsigned b) {
    return a < b ? a : b;
}

// What is not finite, times 0, leaves other bytes than 0.
static void clear_values(const struct half_tile *h, unsigned from, unsigned to, uint32x4_t rows) {
    for (unsigned i = from; i < to; i += 4)
        for (unsigned row = 0; row < ROWS; row++)
            if (rows[row])
                memset(h->values + i * TILE_ROWS + row * 4, 0, 4);
}

// While a block is scaled, the next one's maxima are found: a division takes long.
ALWAYS_INLINE void quantize_half(const struct half_tile *h) {
    const uint32x4_t tiny = vreinterpretq_u32_f32(vdupq_n_f32(ACTIVATION_TINY)),
                     infinity = vdupq_n_u32(INFINITY_BITS);
    uint32x4_t next = vandq_u32(magnitudes(h, 0, least(h->block, h->k)), h->given);
    int32_t *maxima = h->maxima;
    for (unsigned from = 0, to; from < h->k; from = to, maxima += TILE_ROWS) {
        const uint32x4_t top = next, finite = vcltq_u32(top, infinity);
        const float32x4_t exact = vdivq_f32(vdupq_n_f32((float)ACTIVATION_MAX), vreinterpretq_f32_u32(top));
        const float32x4_t factors = keep(exact, vandq_u32(finite, vcgeq_u32(top, tiny)));
        to = least(from + h->block, h->k);
        vst1q_s32(maxima, vreinterpretq_s32_u32(top));
        if (to < h->k)
            next = vandq_u32(magnitudes(h, to, least(to + h->block, h->k)), h->given);
        store_values(h, from, to, factors);
        if (vminvq_u32(finite) == 0)
            clear_values(h, from, to, vmvnq_u32(finite));
    }
}

void quantize_blocks(const struct float_rows *from, unsigned rows, unsigned first, unsigned k,
                     const float *smoothing, const struct int8_activations *out) {
    for (unsigned row = 0; row < (rows + TILE_ROWS - 1) / TILE_ROWS * TILE_ROWS; row += ROWS) {
        struct half_tile half = {.panel = from->panel,
                                 .smoothing = smoothing + first,
                                 .values = out->values + tile_value(out, row, first),
                                 .maxima = out->steps + tile_step(out, row, first / out->block),
                                 .k = k,
                                 .block = out->block};
        for (unsigned i = 0; i < ROWS; i++) { // rows beyond the last one look at it again
            half.x[i] = from->x + least(row + i, rows - 1) * from->row;
            half.given[i] = row + i < rows ? UINT32_MAX : 0;
        }
        quantize_half(&half);
    }
}

// Maxima of four rows to steps. Returns the row scales.
static float32x4_t finish_rows(int32_t *steps, unsigned blocks) {
    uint32x4_t top = vdupq_n_u32(0);
    for (unsigned b = 0; b < blocks; b++)
        top = vmaxq_u32(top, vld1q_u32((const uint32_t *)steps + b * TILE_ROWS));
    const uint32x4_t finite = vcltq_u32(top, vdupq_n_u32(INFINITY_BITS));
    const uint32x4_t large = vcgeq_u32(top, vreinterpretq_u32_f32(vdupq_n_f32(ACTIVATION_TINY)));
    const uint32x4_t usable = vandq_u32(finite, large);
    const float32x4_t largest = vreinterpretq_f32_u32(top);
    int32x4_t behind = vdupq_n_s32(0);
    for (unsigned b = blocks; b-- > 0;) {
        const float32x4_t here = vreinterpretq_f32_s32(vld1q_s32(steps + b * TILE_ROWS));
        const float32x4_t share = keep(vdivq_f32(here, largest), usable);
        const int32x4_t scale = vcvtq_n_s32_f32(share, 31); // saturates
        vst1q_s32(steps + b * TILE_ROWS, vsubq_s32(scale, behind));
        behind = scale;
    }
    const float32x4_t scales = keep(vdivq_f32(largest, vdupq_n_f32((float)ACTIVATION_MAX)), usable);
    return vbslq_f32(finite, scales, vdupq_n_f32(__builtin_nanf("")));
}

void finish_tiles(unsigned rows, unsigned k, const struct int8_activations *out) {
    const unsigned blocks = int8_blocks(out->k, out->block);
    for (unsigned row = 0; row < rows; row += TILE_ROWS) {
        int32_t *steps = out->steps + tile_step(out, row, 0);
        memset(out->values + tile_value(out, row, k), 0, (size_t)(out->k - k) * TILE_ROWS);
        for (unsigned b = int8_blocks(k, out->block); b < blocks; b++)
            memset(steps + b * TILE_ROWS, 0, TILE_ROWS * sizeof *steps);
        for (unsigned half = 0; half < TILE_ROWS; half += ROWS)
            vst1q_f32(out->row_scales + row + half, finish_rows(steps + half, blocks));
    }
}

void quantize_tiles(const struct float_rows *from, unsigned rows, unsigned k, const float *smoothing,
                    const struct int8_activations *out) {
    quantize_blocks(from, rows, 0, k, smoothing, out);
    finish_tiles(rows, k, out);
}
