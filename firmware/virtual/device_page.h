// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later
// The register page that the guest sees: a page of guest RAM, written through this process's own mapping of
// the RAM file.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core.h"
#include "options.h"

/// The guest's stores to these first bytes of the page have effects.
enum { DOORBELL_BYTES = 88 };

/// Maps the page and introduces the plug-in to the guest. Returns NULL, or what went wrong.
const char *device_page_open(const struct options *options);

/// The guest stored to offset `offset` of the page; its core has executed `segments` segments of its current
/// block.
void device_page_stored(struct core *core, unsigned offset, unsigned segments);

/// A barrier of `core` is complete: the guest may read when it arrived, and what of that was the others'
/// doing.
void device_page_arrived(const struct core *core);
