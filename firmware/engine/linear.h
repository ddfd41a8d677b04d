// SPDX-License-Identifier: Apache-2.0
// The matrix products of a layer: this core's columns of them, with what follows a product column by column.
// Rows are [from, to) of the quantized input; the first row of an output is that of `from`.
//
// Output widths are multiples of 16 (model.c), except the vocabulary, which only single rows meet: panels
// never reach into the next row.
#pragma once

#include "engine/pass.h"

/// Quantizes rows `rows` of x (m->k wide) as input of `m`, for the route of the pass.
void quantize(const struct pass *p, struct float_rows x, struct interval rows, const struct matrix *m);

/// The same of those units of `unit` rows, of `rows` in all, that this core is dealt back and forth.
void quantize_dealt(const struct pass *p, struct float_rows x, unsigned rows, unsigned unit,
                    const struct matrix *m);

/// The same of x[][m->k] normalized, with `weight`.
void norm_and_quantize(const struct pass *p, const float *x, const float *weight, struct interval rows,
                       const struct matrix *m);

/// y = input times m, rows `stride` floats apart.
void linear(const struct pass *p, const struct matrix *m, struct interval rows, float *y, size_t stride,
            enum kernel kernel);

/// Adds a bias to y; families without one have NULL.
void add_bias(const struct pass *p, const struct matrix *m, const float *bias, struct interval rows,
              float *y);

/// sum[][m->rows] += input times m.
void linear_add(const struct pass *p, const struct matrix *m, struct interval rows, float *sum,
                enum kernel kernel);

/// swiglu(input times gate, input times up) as what quantize_activated() goes on with. On the int8 route that
/// is int8 already: a core quantizes the columns that it has made, a block at a time.
void linear_swiglu(const struct pass *p, struct interval rows);

/// Rows `rows` of it as the input of down, once all cores are through with it.
void quantize_activated(const struct pass *p, struct interval rows);
