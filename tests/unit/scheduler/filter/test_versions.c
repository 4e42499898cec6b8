/* Verdicts that differ between the versions of kube-scheduler: the rows of
 * objects/behaviours.h. */
#include "scheduler/objects/behaviours.h"

#include "tests/unit/scheduler/verdicts.h"

#define POD(spec)                                                              \
	"'pod':{'metadata':{'name':'p','namespace':'x'},'spec':{" spec "}}"
#define NODES "'nodes':[" VERDICTS_NODE("a", "") "," VERDICTS_NODE("b", "") "]"
#define DECLARES(name, features)                                               \
	"{'metadata':{'name':'" name                                           \
	"'},'status':{'declaredFeatures':[" features                           \
	"],'allocatable':{'cpu':'16','memory':'64Gi','pods':'110'}}}"
#define RESTART                                                                \
	"'containers':[{'restartPolicyRules':[{'action':'Restart'},{"          \
	"'action':'RestartAllContainers'}]}]"
#define LACKS "node(s) didn't match Pod's required features"
#define NAMED "node(s) didn't match the requested node name"
#define PINNED(plugins) "node(s) didn't satisfy plugin(s) " plugins
#define FIELD(name)                                                            \
	"'affinity':{'nodeAffinity':{"                                         \
	"'requiredDuringSchedulingIgnoredDuringExecution':{"                   \
	"'nodeSelectorTerms':[{'matchFields':[{'key':'metadata.name',"         \
	"'operator':'In','values':['" name "']}]}]}}}"
#define CORDONED(name)                                                         \
	"{'metadata':{'name':'" name                                           \
	"'},'spec':{'unschedulable':true},"                                    \
	"'status':{'allocatable':{'cpu':'16','memory':'64Gi','pods':'110'}}}"
#define CLAIMS "'volumes':[{'persistentVolumeClaim':{'claimName':'c'}}]"
#define STORAGE(required)                                                      \
	"'objects':[{'kind':'PersistentVolumeClaim','metadata':{"              \
	"'namespace':'x','name':'c','annotations':{"                           \
	"'pv.kubernetes.io/bind-completed':'yes'}},'spec':{"                   \
	"'volumeName':'v'}},{'kind':'PersistentVolume','metadata':{"           \
	"'name':'v'},'spec':{'csi':{'driver':'d','volumeHandle':'1'}}},{"      \
	"'kind':'CSIDriver','metadata':{'name':'d'},'spec':{"                  \
	"'preventPodSchedulingIfMissing':" required                            \
	"}},{'kind':'CSINode',"                                                \
	"'metadata':{'name':'b'},'spec':{'drivers':[{'name':'e'},{"            \
	"'name':'d'}]}}]"
#define NOMINATED(gates)                                                       \
	"'pods':[{'metadata':{'name':'n','namespace':'x','uid':'n'},'spec':"   \
	"{" gates                                                              \
	"'containers':[{'resources':{'requests':{'cpu':'16'}}}]},"             \
	"'status':{'nominatedNodeName':'a'}}]"

static const struct {
	const char *input, *before, *since; /* 1.36 and 1.37 */
} cases[] = {
	/* NodeDeclaredFeatures. */
	{ POD(RESTART) ",'nodes':[" DECLARES("a", "") "," DECLARES("b",
		  "'Other','RestartAllContainersOnContainerExits'") "]",
		"a: " LACKS "; b", "a: " LACKS "; b" },
	{ POD("'initContainers':[{'restartPolicyRules':[{'action':"
	      "'RestartAllContainers'}]}]") "," NODES,
		"a: " LACKS "; b: " LACKS, "a: " LACKS "; b: " LACKS },
	{ POD("'hostNetwork':true,'hostUsers':false") ",'nodes':[" DECLARES("a",
		  "'UserNamespacesHostNetworkSupport'") "," DECLARES("b",
		  "'RestartAllContainersOnContainerExits'") "]",
		"a; b: " LACKS, "a; b: " LACKS },
	{ POD("'hostNetwork':true,'hostUsers':true") "," NODES, "a; b",
		"a; b" },
	{ POD("'hostNetwork':true") "," NODES, "a; b", "a; b" },
	{ POD("'hostUsers':false") "," NODES, "a; b", "a; b" },
	{ POD("'containers':[{'volumeMounts':[{'bindMountOptions':['noexec']"
	      "}]}]") ",'nodes':[" DECLARES("a", "") "," DECLARES("b",
		  "'VolumeBindMountOptions'") "]",
		"a; b", "a: " LACKS "; b" },
	/* It is the last filter. */
	{ POD("'nodeSelector':{'k':'1'}," RESTART) "," NODES,
		"a: node(s) didn't match Pod's node affinity/selector; "
		"b: node(s) didn't match Pod's node affinity/selector",
		"a: node(s) didn't match Pod's node affinity/selector; "
		"b: node(s) didn't match Pod's node affinity/selector" },
	/* VolumeLimitScaling; a node without a CSINode lacks all drivers. */
	{ POD(CLAIMS) "," NODES "," STORAGE("true"), "a; b",
		"a: d CSI driver is not installed on the node; b" },
	{ POD(CLAIMS) "," NODES "," STORAGE("false"), "a; b", "a; b" },
	/* NodeName comes first, and excludes the other nodes in PreFilter. */
	{ POD("'nodeName':'b'") ",'nodes':[" CORDONED("a") "," CORDONED(
		  "b") "]",
		"a: node(s) were unschedulable; b: node(s) were unschedulable",
		"a: " PINNED("[NodeName]") "; b: node(s) were unschedulable" },
	{ POD("'nodeName':'b'") "," NODES, "a: " NAMED "; b",
		"a: " PINNED("[NodeName]") "; b" },
	{ POD("'nodeName':'b'," FIELD("b")) "," NODES,
		"a: " PINNED("[NodeAffinity]") "; b",
		"a: " PINNED("[NodeAffinity NodeName]") "; b" },
	{ POD("'nodeName':'b'," FIELD("a")) "," NODES,
		"a: " NAMED "; b: " PINNED("[NodeAffinity]"),
		"a: " PINNED(
			"[NodeAffinity NodeName] simultaneously") "; "
								  "b: " PINNED(
									  "[Nod"
									  "eAff"
									  "init"
									  "y "
									  "Node"
									  "Name"
									  "] "
									  "simu"
									  "ltan"
									  "eous"
									  "l"
									  "y") },
	/* A nominated pod with scheduling gates. */
	{ POD("'containers':[{'resources':{'requests':{'cpu':'1'}}}]") "," NODES "," NOMINATED(
		  "'schedulingGates':[{'name':'g'}],"),
		"a; b", "a: Insufficient cpu; b" },
	{ POD("'containers':[{'resources':{'requests':{'cpu':'1'}}}]") "," NODES
								       "," NOMINATED(
									       ""),
		"a: Insufficient cpu; b", "a: Insufficient cpu; b" },
	/* A pod that was resized: 2 + 9 CPUs now, 9 + 2 wanted. */
	{ POD("'containers':[{'resources':{'requests':{'cpu':'5'}}}]") "," NODES
								       ",'pods'"
								       ":[{'"
								       "metadat"
								       "a':{'"
								       "name':'"
								       "q','"
								       "uid':'"
								       "q'},"
								       "'spec':"
								       "{'"
								       "nodeNam"
								       "e':'a',"
								       "'contai"
								       "ners':["
								       "{'name'"
								       ":'k','"
								       "resourc"
								       "es':"
								       "{'"
								       "request"
								       "s':{'"
								       "cpu':'"
								       "9'}}},{"
								       "'name':"
								       "'l','"
								       "resourc"
								       "es':{"
								       "'reques"
								       "ts':{'"
								       "cpu':'"
								       "2'}}}]}"
								       ",'"
								       "status'"
								       ":{'"
								       "phase':"
								       "'Runnin"
								       "g',"
								       "'contai"
								       "nerStat"
								       "uses':["
								       "{'name'"
								       ":'k','"
								       "resourc"
								       "es':{'"
								       "request"
								       "s':{"
								       "'cpu':'"
								       "2'}}},{"
								       "'name':"
								       "'l','"
								       "resourc"
								       "es':{'"
								       "request"
								       "s':{"
								       "'cpu':'"
								       "9'}}}]}"
								       "}]",
		"a: Insufficient cpu; b", "a; b" },
};

static void the_version_of_kubernetes_chooses_the_verdict(void **state)
{
	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		scoped_free char *before = xasprintf(
			"{'kubernetes_version':'v1.36.3',%s}", cases[i].input);
		scoped_free char *since = xasprintf(
			"{'kubernetes_version':'1.37',%s}", cases[i].input);
		scoped_free char *newest = xasprintf("{%s}", cases[i].input);

		verdicts_check(before, cases[i].before);
		verdicts_check(since, cases[i].since);
		verdicts_check(newest, cases[i].since);
	}
}

static void an_older_kubernetes_declares_no_features(void **state)
{
	(void)state;
	verdicts_check("{'kubernetes_version':'v1.35.6'," POD(RESTART) "," NODES
								       "}",
		"a; b");
}

static void a_row_can_be_overridden(void **state)
{
	(void)state;
	verdicts_check(
		"{'kubernetes_behaviours':['declared-features=off']," POD(
			RESTART) "," NODES "}",
		"a; b");
	verdicts_check(
		"{'kubernetes_version':'v1.36.3',"
		"'kubernetes_behaviours':['csi-driver-missing=on']," POD(
			CLAIMS) "," NODES "," STORAGE("true") "}",
		"a: d CSI driver is not installed on the node; b");
}

static void several_missing_drivers_are_named_together(void **state)
{
	(void)state;
	verdicts_check(
		"{" POD("'volumes':[{'persistentVolumeClaim':{'claimName':'c'}}"
			",{'persistentVolumeClaim':{'claimName':'e'}}]") ","
		"'nodes':[" VERDICTS_NODE("a", "") "],'objects':[{"
		"'kind':'StorageClass','metadata':{'name':'c'},"
		"'volumeBindingMode':'WaitForFirstConsumer',"
		"'provisioner':'d'},{'kind':'StorageClass','metadata':{"
		"'name':'e'},'volumeBindingMode':'WaitForFirstConsumer',"
		"'provisioner':'f'},{'kind':'PersistentVolumeClaim',"
		"'metadata':{'namespace':'x','name':'c'},'spec':{"
		"'storageClassName':'c','accessModes':['ReadWriteOnce'],"
		"'resources':{'requests':{'storage':'1Gi'}}}},{"
		"'kind':'PersistentVolumeClaim','metadata':{'namespace':'x',"
		"'name':'e'},'spec':{'storageClassName':'e','accessModes':["
		"'ReadWriteOnce'],'resources':{'requests':{'storage':'1Gi'}}}}"
		",{'kind':'CSIDriver','metadata':{'name':'d'},'spec':{"
		"'preventPodSchedulingIfMissing':true}},{'kind':'CSIDriver',"
		"'metadata':{'name':'f'},'spec':{"
		"'preventPodSchedulingIfMissing':true}}]}",
		"a: one of the CSI drivers d, f is not installed on the node");
}

static void a_version_that_is_none_is_refused(void **state)
{
	static const struct {
		const char *input, *expected;
	} wrong[] = {
		{ "{'kubernetes_version':'two'}",
			"'kubernetes_version': 'two' is not a version of "
			"Kubernetes, such as v1.37.2" },
		{ "{'kubernetes_version':1.36}",
			"'kubernetes_version': it is not a string" },
		{ "{'kubernetes_behaviours':['x=on']}",
			"'kubernetes_behaviours': 'x=on' is not NAME=on or "
			"NAME=off with one of these names: declared-features "
			"bind-mount-options resize-by-sums csi-driver-missing "
			"node-name-first gated-nominations" },
	};

	(void)state;
	for (size_t i = 0; i < count_of(wrong); i++) {
		scoped_free char *json = given_quotes(wrong[i].input);
		scoped_buffer struct buffer out = BUFFER_MAX(4096);
		struct error err;

		assert_true(score_text(&out, json, strlen(json), &err) < 0);
		assert_string_equal(err.text, wrong[i].expected);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_version_of_kubernetes_chooses_the_verdict),
		cmocka_unit_test(an_older_kubernetes_declares_no_features),
		cmocka_unit_test(a_row_can_be_overridden),
		cmocka_unit_test(several_missing_drivers_are_named_together),
		cmocka_unit_test(a_version_that_is_none_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
