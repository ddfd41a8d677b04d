// SPDX-License-Identifier: Apache-2.0
#include "engine/team.h"

#include "link/telemetry.h"

struct team_job {
    core_job *run;
    void *context;
    unsigned layer;
};

static void run(void *context, struct share share) {
    const struct team_job *job = context;
    if (share.part != 0)
        telemetry_waited(job->layer, true);
    job->run(job->context, share);
}

void team_run(unsigned cores, core_job *job, void *context, unsigned layer) {
    struct team_job team = {job, context, layer};
    cores_run(cores, run, &team);
    if (cores > 1)
        telemetry_waited(layer, false);
    telemetry_collect();
}

void team_meet(struct share share, unsigned layer) {
    if (share.parts == 1)
        return;
    cores_meet(share.parts);
    telemetry_waited(layer, false);
}
