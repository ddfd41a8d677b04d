// SPDX-License-Identifier: Apache-2.0
// Cache maintenance by line, for memory that something other than the cores reads or writes. All of it is
// complete, and ordered before what follows, on return.
#pragma once

#include <stddef.h>

/// Writes dirty lines back, to the point of coherency: before a device or a probe reads.
void cache_clean(const void *base, size_t bytes);
/// Writes dirty lines back and forgets them: before a device writes, and again before the core reads what it
/// wrote.
void cache_clean_invalidate(const void *base, size_t bytes);
/// Forgets lines without writing them back. The range must be whole lines, or neighbours are lost.
void cache_invalidate(void *base, size_t bytes);
