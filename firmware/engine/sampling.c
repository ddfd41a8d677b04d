// SPDX-License-Identifier: Apache-2.0
#include "engine/sampling.h"

#include "kernels/exp2.h"
#include "kernels/logits.h"

struct candidate {
    int32_t key; // ordered_float of the penalized logit
    uint32_t token;
};

// A min-heap while tokens are scanned: the root is the worst candidate so far. Too large for the stack.
static struct candidate heap[SAMPLING_CANDIDATES];
static float cumulative[SAMPLING_CANDIDATES];

static bool is_number(float x) {
    return (float_bits(x) & INFINITY_BITS) != INFINITY_BITS;
}

bool sampler_init(struct sampler *s, const struct generate *command) {
    *s = (struct sampler){.temperature = command->temperature,
                          .top_p = command->top_p,
                          .repeat_penalty = command->repeat_penalty,
                          .candidates = command->top_k,
                          .state = command->seed};
    if (s->candidates == 0 || s->candidates > SAMPLING_CANDIDATES)
        s->candidates = SAMPLING_CANDIDATES;
    return is_number(s->temperature) && s->temperature >= 0.0f && s->top_p > 0.0f && s->top_p <= 1.0f &&
           is_number(s->repeat_penalty) && s->repeat_penalty > 0.0f;
}

uint64_t sampler_next(struct sampler *s) {
    s->state += 0x9e3779b97f4a7c15u;
    uint64_t z = s->state;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static int32_t key_of(float logit) {
    return (float_bits(logit) & 0x7fffffffu) > INFINITY_BITS ? INT32_MIN : ordered_float(logit);
}

static float penalized(float logit, float penalty) {
    return logit > 0.0f ? logit / penalty : logit * penalty;
}

// Key of token `i` after step 1.
static int32_t penalized_key(const struct sampler *s, const float *logits, uint32_t i,
                             const uint32_t *repeated) {
    bool repeats = repeated[i / 32] >> (i % 32) & 1;
    return key_of(repeats ? penalized(logits[i], s->repeat_penalty) : logits[i]);
}

static bool worse(struct candidate a, struct candidate b) {
    return a.key != b.key ? a.key < b.key : a.token > b.token;
}

// Restores the heap of `count` below `at`, whose value may be too good for its place.
static void sift_down(uint32_t at, uint32_t count) {
    struct candidate moved = heap[at];
    for (;;) {
        uint32_t child = 2 * at + 1;
        if (child >= count)
            break;
        if (child + 1 < count && worse(heap[child + 1], heap[child]))
            child++;
        if (!worse(heap[child], moved))
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = moved;
}

// The best `limit` tokens, best first. Returns how many there are. Ids ascend while scanning, so a token that
// equals the root's key is worse than it: one comparison decides about almost every token.
static uint32_t best_tokens(const struct sampler *s, const float *logits, uint32_t count,
                            const uint32_t *repeated, uint32_t limit) {
    uint32_t held = limit < count ? limit : count;
    for (uint32_t i = 0; i < held; i++)
        heap[i] = (struct candidate){penalized_key(s, logits, i, repeated), i};
    for (uint32_t i = held / 2; i-- > 0;)
        sift_down(i, held);
    for (uint32_t i = held; i < count; i++) {
        // Almost every run of tokens has none that is repeated or good enough; a NaN may get past this.
        if (i % LOGITS_RUN == 0 && i + LOGITS_RUN <= count && repeated[i / 32] == 0 &&
            !logits_above(logits + i, heap[0].key)) {
            i += LOGITS_RUN - 1;
            continue;
        }
        int32_t key = penalized_key(s, logits, i, repeated);
        if (key > heap[0].key) {
            heap[0] = (struct candidate){key, i};
            sift_down(0, held);
        }
    }
    for (uint32_t last = held; last-- > 1;) { // heap sort: the worst goes to the end
        struct candidate worst = heap[0];
        heap[0] = heap[last];
        heap[last] = worst;
        sift_down(0, last);
    }
    return held;
}

// Steps 4 to 6 over the sorted candidates.
static uint32_t draw(struct sampler *s, uint32_t count) {
    float best = float_from_ordered(heap[0].key), factor = LOG2_E / s->temperature, sum = 0.0f;
    for (uint32_t i = 0; i < count; i++) {
        sum += exp2_negative((best - float_from_ordered(heap[i].key)) * factor);
        cumulative[i] = sum;
    }
    uint32_t last = 0;
    while (last < count - 1 && cumulative[last] < s->top_p * sum)
        last++;
    float target = (float)(uint32_t)(sampler_next(s) >> 40) * 0x1p-24f * cumulative[last];
    uint32_t chosen = 0;
    while (chosen < last && cumulative[chosen] <= target)
        chosen++;
    return heap[chosen].token;
}

struct choice sample(struct sampler *s, const float *logits, uint32_t count, const uint32_t *repeated,
                     bool logprob) {
    bool greedy = s->temperature == 0.0f;
    uint32_t held = best_tokens(s, logits, count, repeated, greedy ? 1 : s->candidates);
    uint32_t token = greedy ? heap[0].token : draw(s, held);
    return (struct choice){token, logprob ? logits[token] - log_sum_exp(logits, count) : __builtin_nanf("")};
}
