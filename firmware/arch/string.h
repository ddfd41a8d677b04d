// SPDX-License-Identifier: Apache-2.0
// The four functions that the compiler expects of a freestanding environment. Unaligned pointers are fine, on
// normal memory and with the MMU on; never use them on device registers.
#pragma once

#include <stddef.h>

void *memcpy(void *restrict to, const void *restrict from, size_t bytes);
void *memmove(void *to, const void *from, size_t bytes);
void *memset(void *to, int value, size_t bytes);
int memcmp(const void *a, const void *b, size_t bytes);
