// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later
#include "predictor.h"

enum { COUNTER_MAX = 3, COUNTER_MIN = -4, USEFUL_MAX = 3, DECAY_EVERY = 1 << 18 };

#define LAST(outcomes) ((UINT64_C(1) << (outcomes)) - 1)

/// The history that each table sees: 6, 18, 50 and 128 outcomes, a geometric series.
static const uint64_t seen[TAGGED_TABLES][2] = {
    {LAST(6), 0}, {LAST(18), 0}, {LAST(50), 0}, {UINT64_MAX, UINT64_MAX}};

static uint64_t mix(uint64_t value) {
    value *= UINT64_C(0x9e3779b97f4a7c15);
    return value ^ value >> 29;
}

static uint64_t hash(const struct predictor *p, unsigned table, uint64_t pc) {
    const uint64_t recent = p->history[0] & seen[table][0], old = p->history[1] & seen[table][1];
    return mix(recent * UINT64_C(0xff51afd7ed558ccd) ^ old * UINT64_C(0xc2b2ae3d27d4eb4f) ^
               (pc >> 2) * (2 * table + 1));
}

static void train(int8_t *counter, bool taken) {
    if (taken && *counter < COUNTER_MAX)
        ++*counter;
    else if (!taken && *counter > COUNTER_MIN)
        --*counter;
}

/// After a wrong prediction by `provider` (-1: the base table), a longer history gets an entry.
static void allocate(struct predictor *p, struct tagged *const *entry, const uint16_t *tag, int provider,
                     bool taken) {
    for (int t = provider + 1; t < TAGGED_TABLES; t++) {
        if (!entry[t]->useful) {
            *entry[t] = (struct tagged){tag[t], taken ? 0 : -1, 0};
            return;
        }
    }
    for (int t = provider + 1; t < TAGGED_TABLES; t++)
        entry[t]->useful--;
    if (++p->decay % DECAY_EVERY)
        return;
    for (int t = 0; t < TAGGED_TABLES; t++)
        for (int e = 0; e < TAGGED_ENTRIES; e++)
            p->table[t][e].useful >>= 1;
}

bool predict_direction(struct predictor *p, uint64_t pc, bool taken) {
    struct tagged *entry[TAGGED_TABLES];
    uint16_t tag[TAGGED_TABLES];
    int provider = -1, alternative = -1;
    for (int t = 0; t < TAGGED_TABLES; t++) {
        const uint64_t key = hash(p, (unsigned)t, pc);
        entry[t] = &p->table[t][key % TAGGED_ENTRIES];
        tag[t] = (uint16_t)(key >> 32) | 1; // an empty entry has tag 0
        if (entry[t]->tag == tag[t]) {
            alternative = provider;
            provider = t;
        }
    }
    int8_t *base = &p->base[(pc >> 2) % BASE_ENTRIES];
    const bool other = alternative < 0 ? *base >= 0 : entry[alternative]->counter >= 0;
    const bool predicted = provider < 0 ? *base >= 0 : entry[provider]->counter >= 0;
    if (provider < 0) {
        train(base, taken);
    } else {
        train(&entry[provider]->counter, taken);
        if (predicted != other && predicted == taken && entry[provider]->useful < USEFUL_MAX)
            entry[provider]->useful++;
        else if (predicted != other && predicted != taken && entry[provider]->useful)
            entry[provider]->useful--;
    }
    if (predicted != taken)
        allocate(p, entry, tag, provider, taken);
    p->history[1] = p->history[1] << 1 | p->history[0] >> 63;
    p->history[0] = p->history[0] << 1 | taken;
    return predicted == taken;
}

bool predict_target(struct predictor *p, uint64_t pc, uint64_t target) {
    uint64_t *entry = &p->target[mix(p->path ^ pc >> 2) >> 20 & (TARGETS - 1)];
    const bool known = *entry == target;
    *entry = target;
    p->path = (p->path << 8 ^ target >> 2) & 0xffffffff;
    return known;
}
