/* Profiles of VMs on the wire: every figure there and back, and refusals. */
#include "proto/wire.h"

#include "lib/memory.h"
#include "tests/support/cm.h"

#include <errno.h>
#include <math.h>
#include <plimsoll.pb-c.h>
#include <stdio.h>
#include <string.h>

enum { BYTES_MAX = 1 << 16 };

static int unpack_reply(struct wire_reply *reply, const struct buffer *b,
	struct error *err)
{
	return wire_unpack_reply(reply, (const uint8_t *)b->data, b->len, err);
}

static void unpacks_the_request_that_was_packed(void **state)
{
	struct profile_request asked = { "shop", "web-1" };
	scoped_buffer struct buffer out = BUFFER_MAX(BYTES_MAX);
	struct wire_request got;

	(void)state;
	wire_pack_profile_request(&out, &asked);
	assert_int_equal(wire_unpack_request(&got, (const uint8_t *)out.data,
				 out.len, NULL),
		0);
	assert_int_equal(got.kind, WIRE_PROFILE_REQUEST);
	assert_string_equal(got.profile.namespace, "shop");
	assert_string_equal(got.profile.name, "web-1");
	wire_request_fini(&got);
}

static void unpacks_every_figure(void **state)
{
	scoped_buffer struct buffer out = BUFFER_MAX(BYTES_MAX);
	struct vm_profile profile;
	struct wire_reply got;
	double figure = 1;

	(void)state;
	vm_profile_init(&profile);
#define X(field) profile.field = figure++ / 7;
	PROFILE_FIELDS(X)
#undef X
	for (int i = 0; i < PROFILE_HOURS; i++) {
		profile.mean_cores_by_hour[i] = i / 3.0;
	}
	wire_pack_profile(&out, &profile);
	assert_int_equal(unpack_reply(&got, &out, NULL), 0);
	assert_int_equal(got.kind, WIRE_PROFILE);
	assert_memory_equal(&got.profile, &profile, sizeof(profile));
	wire_reply_fini(&got);
}

static void keeps_unknown_figures_unknown(void **state)
{
	scoped_buffer struct buffer out = BUFFER_MAX(BYTES_MAX);
	struct vm_profile profile;
	struct wire_reply got;

	(void)state;
	vm_profile_init(&profile);
	profile.seconds = 60;
	profile.mean_cores_by_hour[7] = 0;
	wire_pack_profile(&out, &profile);
	assert_int_equal(unpack_reply(&got, &out, NULL), 0);
	assert_true(got.profile.seconds > 59);
	assert_true(isnan(got.profile.mean_cores));
	assert_true(isnan(got.profile.max_memory_bytes));
	assert_true(isnan(got.profile.mean_cores_by_hour[6]));
	assert_true(got.profile.mean_cores_by_hour[7] >= 0);
	wire_reply_fini(&got);
}

static void refuses_invalid_names(void **state)
{
	static const char *const names[] = { "", "a b", "\xc3\xa4" };

	(void)state;
	for (size_t i = 0; i < count_of(names); i++) {
		scoped_buffer struct buffer out = BUFFER_MAX(BYTES_MAX);
		struct profile_request asked = { "ns", "" };
		struct wire_request got;

		(void)snprintf(asked.name, sizeof(asked.name), "%s", names[i]);
		wire_pack_profile_request(&out, &asked);
		assert_int_equal(
			wire_unpack_request(&got, (const uint8_t *)out.data,
				out.len, NULL),
			-EBADMSG);
	}
}

static int send_hour(uint32_t number, double cores)
{
	Plimsoll__Reply reply = PLIMSOLL__REPLY__INIT;
	Plimsoll__ProfileReply profile = PLIMSOLL__PROFILE_REPLY__INIT;
	Plimsoll__ProfileHour hour = PLIMSOLL__PROFILE_HOUR__INIT;
	Plimsoll__ProfileHour *hours[1] = { &hour };
	uint8_t bytes[256];
	struct wire_reply got;

	hour.has_hour = true;
	hour.hour = number;
	hour.has_mean_cores = true;
	hour.mean_cores = cores;
	profile.n_hours = 1;
	profile.hours = hours;
	reply.kind_case = PLIMSOLL__REPLY__KIND_PROFILE;
	reply.profile = &profile;
	return wire_unpack_reply(&got, bytes,
		plimsoll__reply__pack(&reply, bytes), NULL);
}

static void refuses_invalid_hours(void **state)
{
	(void)state;
	assert_int_equal(send_hour(23, 1), 0);
	assert_int_equal(send_hour(24, 1), -EBADMSG);
	assert_int_equal(send_hour(3, -1), -EBADMSG);
	assert_int_equal(send_hour(3, (double)INFINITY), -EBADMSG);
	assert_int_equal(send_hour(3, (double)NAN), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unpacks_the_request_that_was_packed),
		cmocka_unit_test(unpacks_every_figure),
		cmocka_unit_test(keeps_unknown_figures_unknown),
		cmocka_unit_test(refuses_invalid_names),
		cmocka_unit_test(refuses_invalid_hours),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
