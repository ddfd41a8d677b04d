// SPDX-License-Identifier: Apache-2.0
// A sense-reversing barrier (Mellor-Crummey and Scott, ACM TOCS 9(1), 1991), its sense a counter so that
// nobody has to remember one. The count and the sense lie in lines of their own: who waits reads only the
// sense, and that line is written once, when all have come.
//
// How a core waits is hal/cores.c's business.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct barrier {
    _Alignas(64) uint32_t arrived;
    _Alignas(64) uint32_t sense;
};

/// The sense as it is before the caller arrives: what barrier_arrive's caller waits to see changed.
static inline uint32_t barrier_sense(const struct barrier *barrier) {
    return __atomic_load_n(&barrier->sense, __ATOMIC_RELAXED);
}

/// One of `cores` cores has come. All that it stored before is visible to those who pass. The last one
/// reverses the sense, and gets true.
static inline bool barrier_arrive(struct barrier *barrier, unsigned cores) {
    if (__atomic_add_fetch(&barrier->arrived, 1, __ATOMIC_ACQ_REL) != cores)
        return false;
    __atomic_store_n(&barrier->arrived, 0, __ATOMIC_RELAXED);
    __atomic_add_fetch(&barrier->sense, 1, __ATOMIC_RELEASE);
    return true;
}
