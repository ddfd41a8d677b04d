// SPDX-License-Identifier: Apache-2.0
// How the next token is chosen. Everything is written down to the bit, so that a seed gives the same text on
// any board and in a float32 twin elsewhere; floats are float32 without fused operations.
//
// Order of tokens: higher logit first, then lower id. Logits compare by ordered_float(), except that a NaN
// comes last.
//   1. repetition: l = l > 0 ? l / penalty : l * penalty for every token that occurs among the last
//   `repeat_window`
//      tokens of the context. Penalty 1 changes nothing.
//   2. temperature 0: the first token in that order.
//   3. candidates: the first k = top_k of them, at most SAMPLING_CANDIDATES, which top_k 0 stands for.
//   4. weight w[i] = exp2_negative((l[0] - l[i]) * (log2 e / temperature)); c[i] = w[0] + ... + w[i], added
//   in order.
//   5. kept: up to the first i with c[i] >= top_p * c[last].
//   6. r = the generator's next output >> 40, as a float times 2^-24; the first kept i with c[i] > r * c[last
//   kept].
// Generator: splitmix64 with the request's seed as its state; one output per sampled token, none for greedy
// ones. Log-probability of the choice, where asked for: its raw logit minus log_sum_exp of the raw logits.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "schema/wire.h"

#define SAMPLING_CANDIDATES 1024

struct choice {
    uint32_t token;
    float logprob;
};

struct sampler {
    float temperature, top_p, repeat_penalty;
    uint32_t candidates;
    uint64_t state;
};

/// False when a parameter is out of its domain: temperature finite and >= 0, top_p in (0, 1], penalty finite
/// and > 0.
bool sampler_init(struct sampler *sampler, const struct generate *command);

/// splitmix64.
uint64_t sampler_next(struct sampler *sampler);

/// Chooses among logits[count]. `repeated` has a bit per token id, set for those that step 1 applies to.
struct choice sample(struct sampler *sampler, const float *logits, uint32_t count, const uint32_t *repeated,
                     bool logprob);
