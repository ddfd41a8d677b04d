// SPDX-License-Identifier: Apache-2.0
// How work is divided among cores: statically, so that results and modeled times repeat.
#pragma once

#include <stdbool.h>

/// Part `part` of `parts`.
struct share {
    unsigned part, parts;
};

struct interval {
    unsigned from, to; // [from, to)
};

/// All of it, for callers that do not divide.
static inline struct share whole(void) {
    return (struct share){0, 1};
}

/// This share of 0..count, contiguous and in units of `grain`; the last unit may be shorter. Where there are
/// fewer units than parts, the first parts have them.
static inline struct interval share_of(struct share share, unsigned count, unsigned grain) {
    unsigned units = (count + grain - 1) / grain, parts = share.parts;
    unsigned from = (units * share.part + parts - 1) / parts * grain;
    unsigned to = (units * (share.part + 1) + parts - 1) / parts * grain;
    return (struct interval){from < count ? from : count, to < count ? to : count};
}

/// Whether unit `unit` of many is this share's, when they are dealt out in turn: for units of unequal cost.
static inline bool is_dealt(struct share share, unsigned unit) {
    return unit % share.parts == share.part;
}

/// The same back and forth, for units of growing cost: who has the dearest of a round has the cheapest of the
/// next one.
static inline bool is_dealt_back_and_forth(struct share share, unsigned unit) {
    const unsigned place = unit % (2 * share.parts);
    return place == share.part || place == 2 * share.parts - 1 - share.part;
}
