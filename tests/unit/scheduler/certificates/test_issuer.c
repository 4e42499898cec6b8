#include "scheduler/certificates/issuer.h"

#include "kube/client.h"
#include "lib/clock.h"
#include "lib/loop.h"
#include "lib/memory.h"
#include "tests/support/cm.h"
#include "tests/support/fake_clock.h"

#include <string.h>

/* At most one request is open. */
struct kube_request {
	struct kube_call call;
};

static struct {
	struct kube_request request;
	bool is_open;
	timer_fire fire;
	void *owner;
	uint64_t wait_ms; /* of the timer's last start */
	unsigned ends, successes;
} scene;

struct kube_request *kube_request_send(struct kube_client *client,
	const struct kube_call *call)
{
	(void)client;
	assert_false(scene.is_open);
	scene.is_open = true;
	scene.request.call = *call;
	return &scene.request;
}

void kube_request_cancel(struct kube_request *request)
{
	(void)request;
}

uv_loop_t *kube_client_loop(const struct kube_client *client)
{
	(void)client;
	return NULL;
}

struct timer *__wrap_timer_new(uv_loop_t *loop, timer_fire fire, void *owner);
void __wrap_timer_start(struct timer *timer, uint64_t first_ms,
	uint64_t repeat_ms);
void __wrap_timer_close(struct timer *timer);

struct timer *__wrap_timer_new(uv_loop_t *loop, timer_fire fire, void *owner)
{
	(void)loop;
	scene.fire = fire;
	scene.owner = owner;
	return NULL;
}

void __wrap_timer_start(struct timer *timer, uint64_t first_ms,
	uint64_t repeat_ms)
{
	(void)timer;
	(void)repeat_ms;
	scene.wait_ms = first_ms;
}

void __wrap_timer_close(struct timer *timer)
{
	(void)timer;
}

static void on_done(void *owner, bool succeeded)
{
	(void)owner;
	scene.ends++;
	scene.successes += succeeded;
}

/* The timer fires after its time, and the request gets this answer. */
static void answer(int status, const char *body)
{
	const struct http_response response = { .status = status,
		.body = body,
		.len = strlen(body),
		.error = status == 200 ? "" : body };

	fake_clock_move(scene.wait_ms * 1000);
	scene.wait_ms = 0;
	scene.fire(scene.owner);
	assert_true(scene.is_open);
	scene.is_open = false;
	scene.request.call.on_done(scene.request.call.owner, &response);
}

static void a_conflict_is_repeated_after_a_wait_and_not_for_ever(void **state)
{
	static const char empty[] =
		"{\"metadata\":{\"resourceVersion\":\"7\"}}";
	struct certificates_config config = { .namespace_name = "plimsoll",
		.agents_namespace = "plimsoll-agents",
		.days = 365 };
	uint64_t begun_us = clock_monotonic_us();
	struct issuer *issuer = issuer_new(NULL, &config, on_done, NULL);
	unsigned rounds = 0;

	(void)state;
	while (scene.ends == 0 && rounds < 1000) {
		answer(200, empty);
		assert_int_equal(scene.wait_ms, 0);
		answer(409, "conflict");
		assert_true(scene.ends > 0 || scene.wait_ms > 0);
		rounds++;
	}
	assert_int_equal(scene.ends, 1);
	assert_int_equal(scene.successes, 0);
	assert_true(clock_monotonic_us() - begun_us >=
		ISSUER_GIVE_UP_MS * UINT64_C(1000));
	issuer_close(issuer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_conflict_is_repeated_after_a_wait_and_not_for_ever),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
