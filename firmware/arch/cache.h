// SPDX-License-Identifier: Apache-2.0
// Cache maintenance by line, for memory that something other than the cores reads or writes. All of it, but
// for what is only begun, is complete, and ordered before what follows, on return.
#pragma once

#include <stddef.h>

/// Writes dirty lines back, to the point of coherency: before a device or a probe reads.
void cache_clean(const void *base, size_t bytes);
/// The same, of several ranges: complete at the next cache_complete().
void cache_begin_clean(const void *base, size_t bytes);
void cache_complete(void);
/// Clears whole lines without reading them first: what is about to be written, in pieces. Of 64 bytes, as on
/// Cortex-A76 (DCZID_EL0).
void cache_zero(void *base, size_t bytes);
/// Writes dirty lines back and forgets them: before a device writes, and again before the core reads what it
/// wrote.
void cache_clean_invalidate(const void *base, size_t bytes);
/// Forgets lines without writing them back. The range must be whole lines, or neighbours are lost.
void cache_invalidate(void *base, size_t bytes);
/// The same, of several ranges: complete at the next cache_complete().
void cache_begin_invalidate(void *base, size_t bytes);
/// Asks for lines that will be read soon.
void cache_ask(const void *base, size_t bytes);
