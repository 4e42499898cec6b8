#include "aggregator/epoch.h"

#include "lib/clock.h"

#include <stddef.h>
#include <uv.h>

uint64_t epoch_random(void)
{
	uint64_t epoch = 0;

	if (uv_random(NULL, NULL, &epoch, sizeof(epoch), 0, NULL) != 0) {
		epoch = clock_wall_us();
	}
	epoch &= (UINT64_C(1) << 53) - 1;
	return epoch == 0 ? 1 : epoch;
}
