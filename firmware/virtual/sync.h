// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later
// Barriers of the guest, as it announces them on the device page: how cores wait for each other depends on
// the host's scheduling, so from arriving to departing a core's clock stands and nothing is modeled.
//
// A barrier lets its cores go at the latest arrival, plus what the barrier itself costs. Only here do cores
// meet in modeled time, and so only here do they learn what the memory that they share has cost them.
#pragma once

#include "core.h"

/// Core 0 lets the idle cores below `cores` go, and barriers are of that many from now on. Where there are
/// others, its own clock stands until it departs.
void sync_team(unsigned cores);

/// The core has finished its part: all of it is accounted for.
void sync_arrive(struct core *core);

/// It goes on. Before its barrier is complete it may not: that is reported, and its clock goes on where it
/// stood.
void sync_depart(struct core *core);

/// Cores that departed too early.
unsigned sync_violations(void);
