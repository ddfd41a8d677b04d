// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// log(sum over i of e^x[i]): top + ln(sum of 2^-((top - x[i]) log2 e)), the sum in four lanes, i mod 4,
/// combined as (0 + 1) + (2 + 3). NaN when x[] holds one. count > 0.
float log_sum_exp(const float *x, size_t count);

#define LOGITS_RUN 32 // tokens whose bits lie in one word

/// Whether one of LOGITS_RUN logits has an ordered_float() above `key`.
bool logits_above(const float *x, int32_t key);
