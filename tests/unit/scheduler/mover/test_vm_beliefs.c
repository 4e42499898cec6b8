#include "scheduler/mover/vm_beliefs.h"

#include "scheduler/cache/cache.h"
#include "tests/unit/scheduler/given.h"
#include "tests/unit/scheduler/mover/fake_kubevirt.h"

static struct cache cache;

static int setup(void **state)
{
	(void)state;
	fake_reset();
	cache_init(&cache);
	vm_beliefs_init(&cache);
	cache_put_pod(&cache,
		given_pod(cache.interner,
			"{'metadata':{'name':'p','namespace':'tenant','uid':"
			"'p','labels':{'kubevirt.io':'virt-launcher',"
			"'kubevirt.io/created-by':'u'}},'spec':{'nodeName':"
			"'n','containers':[{'name':'compute','resources':{"
			"'limits':{'cpu':'4096'}}}]}}"),
		1);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	cache_fini(&cache);
	return 0;
}

static void put_vmi(bool is_of_tenant)
{
	static char uid[] = "u", none[] = "";
	static char tenant[] = "tenant", other[] = "other";

	fake_kubevirt.vmis[fake_kubevirt.vmi_count++] = (struct vmi){
		.namespace = is_of_tenant ? tenant : other,
		.uid = uid,
		.cpus = 4,
		.active_pods = none,
	};
}

static const struct pod *tick(void)
{
	vm_beliefs_tick(&cache, &fake_kubevirt);
	return cache_pod(&cache, "p");
}

static void a_vmi_of_the_pods_namespace_makes_a_vm(void **state)
{
	(void)state;
	put_vmi(true);
	assert_true(tick()->is_vm);
	assert_true(tick()->vcpus == 4);
}

static void a_vmi_of_another_namespace_makes_none(void **state)
{
	(void)state;
	put_vmi(false);
	assert_false(tick()->is_vm);
}

static void without_the_right_to_read_vmis_nothing_is_proven(void **state)
{
	(void)state;
	assert_true(cache_pod(&cache, "p")->belief.is_unproven);
	fake_kubevirt.not_ready = "forbidden";
	assert_true(tick()->is_vm);
	assert_true(tick()->belief.is_unproven);
	fake_kubevirt.not_ready = NULL;
	assert_false(tick()->is_vm);
	fake_kubevirt.not_ready = "forbidden";
	assert_true(tick()->is_vm);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_vmi_of_the_pods_namespace_makes_a_vm),
		TEST(a_vmi_of_another_namespace_makes_none),
		TEST(without_the_right_to_read_vmis_nothing_is_proven),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
