#include "scheduler/loads/kin_learner.h"

#include "lib/clock.h"
#include "lib/loop.h"
#include "lib/memory.h"
#include "scheduler/cluster/kin_pass.h"

#include <stdlib.h>

/* Between two looks whether a pass is due. */
enum { LOOK_MS = 5000 };

struct kin_learner {
	struct cluster *cluster;
	struct timer *timer;
	struct kin_pass pass;
};

static void on_timer(void *owner)
{
	struct kin_learner *learner = owner;
	bool goes_on = kin_pass_next(&learner->pass, learner->cluster,
		(int64_t)clock_monotonic_us());

	timer_start(learner->timer, goes_on ? 0 : LOOK_MS, 0);
}

struct kin_learner *kin_learner_new(uv_loop_t *loop, struct cluster *cluster)
{
	struct kin_learner *learner = xcalloc(1, sizeof(*learner));

	learner->cluster = cluster;
	learner->timer = timer_new(loop, on_timer, learner);
	timer_start(learner->timer, LOOK_MS, 0);
	return learner;
}

void kin_learner_close(struct kin_learner *learner)
{
	if (learner != NULL) {
		timer_close(learner->timer);
		kin_pass_fini(&learner->pass);
		free(learner);
	}
}
