// SPDX-License-Identifier: Apache-2.0
// Every kernel once more in plain scalar C: what the fast ones must equal, to the bit. Written from the
// definitions in the kernels' headers and docs/weight-image.md, with loops in the order of the formulas and
// no intrinsics, so that they also build for the machine that runs the tests. Compile with -ffp-contract=off.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "kernels/activations.h"
#include "kernels/attention.h"
#include "kernels/dequant.h"
#include "kernels/int8_linear.h"
#include "kernels/kv_cache.h"
#include "kernels/requantize.h"
#include "kernels/requantize_table.h"

/// One weight of a panel as stored: value = D[column] * (scale * q + minimum).
struct stored_weight {
    int32_t q, scale, minimum;
};
struct stored_weight reference_weight(enum tensor_format format, const uint8_t *panel, unsigned column,
                                      unsigned k);

/// D of one column.
float reference_column_scale(enum tensor_format format, const uint8_t *panel, unsigned column, unsigned k);

void reference_quantize_rows(const float *x, size_t stride, unsigned rows, unsigned k,
                             const struct activations *out);
void reference_quantize_tiles(const struct float_rows *from, unsigned rows, unsigned k,
                              const float *smoothing, const struct int8_activations *out);
void reference_dequantize_panel(enum tensor_format format, const uint8_t *packs, unsigned k,
                                struct panel *panel);

void reference_requantize_panel(enum tensor_format format, const uint8_t *packs, unsigned index, unsigned k,
                                const struct requantization *by, struct int8_panel *panel);
void reference_requantize_table_q4_1(const uint8_t *packs, int8_t *weights, uint64_t k,
                                     const int16_t *multipliers);

/// The integer sum runs over k, one weight at a time.
void reference_gemv_panels(enum tensor_format format, const uint8_t *packs, unsigned panels,
                           const struct activations *a, float *y);
void reference_gemm_panel(const struct panel *panel, const struct activations *a, unsigned rows, float *y,
                          size_t stride);

/// Adds whole blocks times their scales, which the kernel never sees.
void reference_gemm_int8_panel(const struct int8_panel *panel, const struct int8_activations *a,
                               unsigned from, unsigned to, float *y, size_t stride);

void reference_embed_row(enum tensor_format format, const uint8_t *matrix, unsigned k, uint32_t token,
                         float *x);
float reference_square_root(float x);
void reference_rms_norm(const float *x, size_t stride, unsigned rows, unsigned k, const float *weight,
                        float epsilon, float *out);
void reference_swiglu(float *gate, size_t gate_stride, const float *up, size_t up_stride, unsigned rows,
                      unsigned columns);
void reference_add(const float *a, size_t stride, const float *b, size_t b_stride, unsigned rows,
                   unsigned columns, float *out);
float reference_log_sum_exp(const float *x, size_t count);
bool reference_logits_above(const float *x, int32_t key);
void reference_rope_row(const uint32_t *step, unsigned pairs, uint32_t position, float *row);
float reference_rotate_and_quantize(const float *x, const float *row, unsigned head_dim, int8_t *q);
/// The same in steps of max|x| / PROBABILITY_MAX.
float reference_rotate_and_quantize_16(const float *x, const float *row, unsigned head_dim, int16_t *q);
void reference_kv_cache_update(const struct kv_ring *ring, unsigned layer, const struct kv_update *update);
void reference_attention(const struct kv_ring *ring, unsigned layer, const struct attention *job);
