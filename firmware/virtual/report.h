// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later
// What the model could not follow, as a text file of `key value` lines that the console reads at any time.
#pragma once

#include "block.h"
#include "core.h"
#include "options.h"

/// Returns NULL, or what went wrong. Without a path, nothing is reported.
const char *report_open(const struct options *options, int api_version);

/// An event was selected that the model does not have.
void report_unknown_event(unsigned event);

/// A new block was translated. Called with the translation lock held.
void report_block(const struct block *block);

/// Brings the counts of what `core` executed up to date. Costs next to nothing while none of them changes.
void report_executed(const struct core *core);
