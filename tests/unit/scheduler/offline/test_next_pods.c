/* Where a running VM can move, by a file: KubeVirt's next pod decides. */
#include "scheduler/offline/plan_cmd.h"

#include "tests/unit/scheduler/given.h"

#define NODE(name, labels)                                                     \
	"{'metadata':{'name':'" name                                           \
	"','labels':{"                                                         \
	"'kubernetes.io/hostname':'" name                                      \
	"','kubernetes.io/arch':'amd64',"                                      \
	"'kubevirt.io/schedulable':'true'" labels                              \
	"}},'status':{'allocatable':{'cpu':'16','memory':'64Gi','pods':"       \
	"'110'}}}"
#define HOST(model, feature)                                                   \
	",'host-model-cpu.node.kubevirt.io/" model                             \
	"':'true','cpu-model-migration.node.kubevirt.io/" model                \
	"':'true','host-model-required-features.node.kubevirt.io/" feature     \
	"':'true','cpu-feature.node.kubevirt.io/" feature "':'true'"
#define VENDOR(name) ",'cpu-vendor.node.kubevirt.io/" name "':'true'"
#define POOL(name) ",'pool':'" name "'"
#define ZONE(name) ",'topology.kubernetes.io/zone':'" name "'"

#define POD(node, selector, labels)                                            \
	"{'metadata':{'name':'virt-launcher-db','namespace':'vms','uid':"      \
	"'pod-db','labels':{'kubevirt.io':'virt-launcher',"                    \
	"'kubevirt.io/created-by':'vmi-db'" labels                             \
	"},'annotations':{'kubevirt.io/domain':'db'}},'spec':{"                \
	"'schedulerName':'plimsoll-scheduler','nodeName':'" node               \
	"','nodeSelector':{'kubevirt.io/schedulable':'true'" selector          \
	"},'containers':[{'name':'compute','resources':{'requests':{"          \
	"'cpu':'400m','memory':'4Gi'}}}]},'status':{'phase':'Running'}}"
#define VMI(node, spec, status)                                                \
	"{'metadata':{'name':'db','namespace':'vms','uid':'vmi-db'},"          \
	"'spec':{'domain':{'cpu':{'cores':4" spec                              \
	"},'status':{'phase':'Running','nodeName':'" node                      \
	"','conditions':[{'type':'LiveMigratable','status':'True'}]" status    \
	"}}"
#define HOST_MODEL ",'model':'host-model'},'memory':{'guest':'4Gi'}}"
#define NO_MODEL "},'memory':{'guest':'4Gi'}}"
#define STATE(nodes, pods, vmis, more)                                         \
	"{'nodes':[" nodes "],'pods':[" pods "],'vmis':[" vmis "]" more "}"

/* The node to which the VM moves; "": there is no plan. */
static char *target_of(const char *input)
{
	struct plan_question question = {
		.goal_text = "move:vms/db",
		.max_moves = 3,
		.max_load = PLAN_LOAD_MAX,
		.scheduler_name = "plimsoll-scheduler",
	};
	scoped_free char *json = given_quotes(input);
	scoped_buffer struct buffer out = BUFFER_MAX(1 << 20);
	struct json_value *answer = NULL;
	const struct json_value *step;
	struct error err;
	char *target;

	assert_int_equal(
		goal_words_parse(&question.goal, question.goal_text, NULL), 0);
	if (plan_text(&out, &question, json, strlen(json), &err) < 0) {
		fail_msg("%s", err.text);
	}
	assert_int_equal(json_value_parse(&answer, out.data, out.len, NULL), 0);
	step = json_value_first(json_value_get(answer, "steps"));
	target = xstrdup(json_value_text_at(step, "target", ""));
	json_value_free(answer);
	return target;
}

static void expect_target(const char *input, const char *node)
{
	scoped_free char *target = target_of(input);

	assert_string_equal(target, node);
}

#define TWO_HOSTS(model, vendor)                                               \
	NODE("new", HOST("Icelake-Server", "gfni") VENDOR("Intel"))            \
	"," NODE("other",                                                      \
		HOST(model, "aes") VENDOR(                                     \
			vendor) ",'cpu-feature.node.kubevirt.io/gfni':'true'")

static void a_vm_stays_where_its_cpu_model_is(void **state)
{
	(void)state;
	expect_target(
		STATE(TWO_HOSTS("Icelake-Server", "Intel"), POD("new", "", ""),
			VMI("new", HOST_MODEL, ""), ""),
		"other");
	expect_target(
		STATE(TWO_HOSTS("Skylake-Server", "Intel"), POD("new", "", ""),
			VMI("new", HOST_MODEL, ""), ""),
		"");
}

static void a_vm_keeps_the_selectors_of_its_first_host(void **state)
{
	(void)state;
	expect_target(STATE(TWO_HOSTS("Skylake-Server", "Intel"),
			      POD("new",
				      ",'cpu-model-migration.node.kubevirt.io/"
				      "Skylake-Server':'true'",
				      ""),
			      VMI("new", HOST_MODEL, ""), ""),
		"other");
}

static void a_vm_stays_with_the_vendor_of_its_cpu(void **state)
{
	static const char kubevirt_1_7[] = STATE(
		TWO_HOSTS("Icelake-Server", "AMD"), POD("new", "", ""),
		VMI("new", NO_MODEL, ""),
		",'kubevirts':[{'status':{'observedKubeVirtVersion':'v1.7.0'}}"
		"]");

	(void)state;
	expect_target(STATE(TWO_HOSTS("Icelake-Server", "AMD"),
			      POD("new", "", ""), VMI("new", NO_MODEL, ""), ""),
		"");
	expect_target(kubevirt_1_7, "other");
}

#define POOLS                                                                  \
	NODE("n1", POOL("silver"))                                             \
	"," NODE("n2", POOL("silver")) "," NODE("n3", POOL("gold"))

static void a_selector_that_changed_counts_at_once(void **state)
{
	(void)state;
	expect_target(STATE(POOLS, POD("n1", "", ""),
			      VMI("n1",
				      NO_MODEL ",'nodeSelector':{'pool':"
					       "'gold'}",
				      ""),
			      ""),
		"n3");
}

/* Without the pod's key, n3 is as good as n2; n2 is full. */
static void a_key_of_an_earlier_migration_does_not_count(void **state)
{
	static const char full[] =
		",{'metadata':{'name':'full','namespace':'vms','uid':'full'},"
		"'spec':{'nodeName':'n2','containers':[{'name':'c',"
		"'resources':{'requests':{'memory':'62Gi'}}}]},'status':{"
		"'phase':'Running'}}";
	scoped_free char *pods = xasprintf("%s%s",
		POD("n1", POOL("silver"),
			",'kubevirt.io/migrationJobUID':'m',"
			"'kubevirt.io/nodeName':'n1'"),
		full);
	scoped_free char *input = xasprintf(
		STATE(POOLS, "%s", VMI("n1", NO_MODEL, ""), ""), pods);

	(void)state;
	expect_target(input, "n3");
}

static void a_hotplugged_claim_keeps_the_vm_in_its_zone(void **state)
{
	static const char objects[] =
		",'objects':[{'kind':'PersistentVolume','metadata':{'name':"
		"'pv'},'spec':{'capacity':{'storage':'1Gi'},'accessModes':["
		"'ReadWriteMany'],'claimRef':{'namespace':'vms','name':'data',"
		"'uid':'c'},'nodeAffinity':{'required':{'nodeSelectorTerms':["
		"{'matchExpressions':[{'key':'topology.kubernetes.io/zone',"
		"'operator':'In','values':['a']}]}]}}},'status':{'phase':"
		"'Bound'}},{'kind':'PersistentVolumeClaim','metadata':{"
		"'name':'data','namespace':'vms','uid':'c','annotations':{"
		"'pv.kubernetes.io/bind-completed':'yes'}},'spec':{"
		"'volumeName':'pv','accessModes':['ReadWriteMany'],"
		"'resources':{'requests':{'storage':'1Gi'}}},'status':{"
		"'phase':'Bound'}}]";
	scoped_free char *input =
		xasprintf(STATE(NODE("n0", ZONE("b")) "," NODE("n1",
					ZONE("a")) "," NODE("n2", ZONE("a")),
				  POD("n1", "", ""),
				  VMI("n1",
					  NO_MODEL ",'volumes':[{'name':'data',"
						   "'persistentVolumeClaim':{"
						   "'claimName':'data'}}]",
					  ",'volumeStatus':[{'name':'data',"
					  "'hotplugVolume':{}}]"),
				  "%s"),
			objects);

	(void)state;
	expect_target(input, "n2");
}

#define TWO_NODES(more)                                                        \
	STATE(NODE("a", "") "," NODE("b", ""), POD("a", "", ""),               \
		VMI("a", HOST_MODEL, ""), more)

static void a_vm_whose_next_pod_is_not_known_stays(void **state)
{
	(void)state;
	expect_target(TWO_NODES(""), "b");
	expect_target(TWO_NODES(",'kubevirts':[{'status':{"
				"'observedKubeVirtVersion':'devel'}}]"),
		"");
}

#define WEB                                                                    \
	",{'metadata':{'name':'web','namespace':'tenant','uid':'vmi-web'},"    \
	"'spec':{'domain':{}},'status':{'phase':'Running','nodeName':'b',"     \
	"'conditions':[{'type':'LiveMigratable','status':'True'}]}}"
/* The present time is 14:13:20. */
#define PENDING_SINCE(time)                                                    \
	STATE(NODE("a", "") "," NODE("b", ""), POD("a", "", ""),               \
		VMI("a", NO_MODEL, "") WEB,                                    \
		",'now':1790000000,'migrations':[{'metadata':{'name':'m',"     \
		"'namespace':'tenant','uid':'m','creationTimestamp':'" time    \
		"'},'spec':{'vmiName':'web'},'status':{'phase':'Pending'}}]")

static void a_node_is_left_alone_for_ten_minutes_of_a_migration(void **state)
{
	(void)state;
	expect_target(PENDING_SINCE("2026-09-21T14:13:00Z"), "");
	expect_target(PENDING_SINCE("2026-09-21T14:03:00Z"), "b");
	expect_target(PENDING_SINCE("2026-09-20T00:00:00Z"), "b");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_vm_stays_where_its_cpu_model_is),
		cmocka_unit_test(a_vm_keeps_the_selectors_of_its_first_host),
		cmocka_unit_test(a_vm_stays_with_the_vendor_of_its_cpu),
		cmocka_unit_test(a_selector_that_changed_counts_at_once),
		cmocka_unit_test(a_key_of_an_earlier_migration_does_not_count),
		cmocka_unit_test(a_hotplugged_claim_keeps_the_vm_in_its_zone),
		cmocka_unit_test(a_vm_whose_next_pod_is_not_known_stays),
		cmocka_unit_test(
			a_node_is_left_alone_for_ten_minutes_of_a_migration),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
