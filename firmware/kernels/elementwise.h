// SPDX-License-Identifier: Apache-2.0
// Float kernels over rows of activations. Every rounding is in a fixed place, so that the references give the
// same bits. Counts are multiples of 16.
#pragma once

#include <stddef.h>

/// out[r][i] = x[r][i] * (1 / sqrt(mean(x[r]^2) + epsilon)) * weight[i] for `rows` rows of `k`, `stride`
/// floats apart. The squares are summed by fused multiply-adds in 16 lanes, i mod 16, those 4 apart combined
/// as (0 + 1) + (2 + 3), then the four sums likewise; the mean
/// is their sum times 1 / k.
void rms_norm_rows(const float *x, size_t stride, unsigned rows, unsigned k, const float *weight,
                   float epsilon, float *out);

/// gate[r][i] = (gate[r][i] * up[r][i]) * (1 / (1 + e^-gate[r][i])) for `rows` rows of `columns`. Strides in
/// floats. The reciprocal is the estimate of FRECPE, which the architecture specifies exactly, corrected
/// twice: r * (2 - d * r). Gates below -86 count as that: their results are below 1e-35 * up.
void swiglu_rows(float *gate, size_t gate_stride, const float *up, size_t up_stride, unsigned rows,
                 unsigned columns);

/// The same of gates and ups of half precision, whose strides count halves, to rows of `out`.
void swiglu_halves(const void *gate, size_t gate_stride, const void *up, size_t up_stride, unsigned rows,
                   unsigned columns, float *out, size_t out_stride);

/// to[i] = from[i], of half precision, for `count` values.
void widen(const void *from, size_t count, float *to);

/// out[r][i] = a[r][i] + b[r][i]; `out` has the stride of `a`, columns are a multiple of 16.
void add_rows(const float *a, size_t stride, const float *b, size_t b_stride, unsigned rows, unsigned columns,
              float *out);

/// x[r][i] += halves[r][i], of half precision, whose stride counts halves.
void add_halves(float *x, size_t stride, const void *halves, size_t halves_stride, unsigned rows,
                unsigned columns);
