// SPDX-License-Identifier: Apache-2.0
// Packed panels as input of checks.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "kernels/pack.h"

enum filling { RANDOM, HIGHEST, LOWEST, FILLINGS };

bool has_blocks_of_256(enum tensor_format format);

/// One panel of k inputs within the packer's limits. The extremes put every field of a weight at its limit,
/// so that the kernels' int32 terms are as large as they get.
void fill_panel(uint8_t *panel, enum tensor_format format, unsigned k, enum filling filling);

/// The same in a guarded buffer.
uint8_t *make_panel(enum tensor_format format, unsigned k, enum filling filling);

/// Table entries of a check that has the format as its variant.
#define EACH_FORMAT(name, run)                                                                               \
    {name "_q4_0", run, TENSOR_FORMAT_Q4_0}, {name "_q4_1", run, TENSOR_FORMAT_Q4_1},                        \
        {name "_q5_0", run, TENSOR_FORMAT_Q5_0}, {name "_q5_1", run, TENSOR_FORMAT_Q5_1},                    \
        {name "_q8_0", run, TENSOR_FORMAT_Q8_0}, {name "_q4_k", run, TENSOR_FORMAT_Q4_K},                    \
        {name "_q5_k", run, TENSOR_FORMAT_Q5_K}, {                                                           \
        name "_q6_k", run, TENSOR_FORMAT_Q6_K                                                                \
    }
