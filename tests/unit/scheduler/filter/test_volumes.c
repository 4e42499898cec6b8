#include "scheduler/filter/volumes.h"

#include "tests/unit/scheduler/verdicts.h"

/* a and b in zone 1, c in zone 2, d without a zone. */
#define ZONE "topology.kubernetes.io/zone"
#define NODES                                                                  \
	"'nodes':[" VERDICTS_NODE("a",                                         \
		"'h':'a','" ZONE "':'1'") "," VERDICTS_NODE("b",               \
		"'h':'b','" ZONE "':'1'") "," VERDICTS_NODE("c",               \
		"'h':'c','" ZONE                                               \
		"':'2'") "," VERDICTS_NODE("d", "'h':'d'") "]"
#define ALL "a; b; c; d"
#define EACH(why) "a: " why "; b: " why "; c: " why "; d: " why

/* A pod with these claims, "v" being each volume's name. */
#define CLAIM(name)                                                            \
	"{'name':'v','persistentVolumeClaim':{'claimName':'" name "'}}"
#define POD(name, node, volumes)                                               \
	"{'metadata':{'name':'" name "','namespace':'x','uid':'" name          \
	"'},'spec':{'nodeName':'" node "','volumes':[" volumes "]}}"
#define PVC(name, notes, spec)                                                 \
	"{'kind':'PersistentVolumeClaim','metadata':{'namespace':'x',"         \
	"'name':'" name "','uid':'u-" name "','annotations':{" notes           \
	"}},'spec':{" spec "}}"
#define BOUND "'pv.kubernetes.io/bind-completed':'yes'"
#define TO(pv) "'volumeName':'" pv "'"
#define WANTS(class, size)                                                     \
	"'storageClassName':'" class                                           \
		"','accessModes':['ReadWriteOnce'],"                           \
		"'resources':{'requests':{'storage':'" size "'}}"
#define PV(name, labels, spec)                                                 \
	"{'kind':'PersistentVolume','metadata':{'name':'" name                 \
	"','uid':'u-" name "','labels':{" labels "}},'spec':{" spec            \
	"},'status':{'phase':'Available'}}"
#define OFFERS(class, size)                                                    \
	"'storageClassName':'" class                                           \
		"','accessModes':['ReadWriteOnce'],"                           \
		"'capacity':{'storage':'" size "'}"
#define ONLY_ON(host)                                                          \
	"'nodeAffinity':{'required':{'nodeSelectorTerms':[{"                   \
	"'matchExpressions':[{'key':'h','operator':'In','values':['" host      \
	"']}]}]}}"
#define CLASS(name, provisioner, more)                                         \
	"{'kind':'StorageClass','metadata':{'name':'" name                     \
	"'},'provisioner':'" provisioner                                       \
	"','volumeBindingMode':'WaitForFirstConsumer'" more "}"
#define LOCAL CLASS("local", "kubernetes.io/no-provisioner", "")

#define NO_PV "node(s) didn't find available persistent volumes to bind"
#define AFFINITY "node(s) didn't match PersistentVolume's node affinity"
#define IMMEDIATE "pod has unbound immediate PersistentVolumeClaims"
#define IN_USE                                                                 \
	"node(s) unavailable due to PersistentVolumeClaim with "               \
	"ReadWriteOncePod access mode already in-use by another pod"
#define FULL "node(s) exceed max volume count"
#define SPACE "node(s) did not have enough free storage"
#define BAD_ZONE "node(s) had no available volume zone"

#define CSI(handle) "'csi':{'driver':'d','volumeHandle':'" handle "'}"
#define CSI_NODE(name, count)                                                  \
	"{'kind':'CSINode','metadata':{'name':'" name                          \
	"'},'spec':{'drivers':[{'name':'d','allocatable':{'count':" count      \
	"}}]}}"
#define ATTACHED(name, node, pv)                                               \
	"{'kind':'VolumeAttachment','metadata':{'name':'" name                 \
	"'},'spec':{'attacher':'d','nodeName':'" node                          \
	"','source':{'persistentVolumeName':'" pv "'}}}"
#define DRIVER                                                                 \
	"{'kind':'CSIDriver','metadata':{'name':'d'},'spec':{"                 \
	"'storageCapacity':true}}"
#define ROOM(name, more)                                                       \
	"{'kind':'CSIStorageCapacity','metadata':{'namespace':'k','name':"     \
	"'" name "'},'storageClassName':'csi'" more "}"
#define HERE(zone) ",'nodeTopology':{'matchLabels':{'" ZONE "':'" zone "'}}"

static const struct {
	const char *volumes, *pods, *objects, *expected;
} cases[] = {
	/* An invalid claim rejects all nodes. */
	{ CLAIM("c"), "", "", EACH("persistentvolumeclaim \"c\" not found") },
	{ CLAIM("c"), "",
		"{'kind':'PersistentVolumeClaim','metadata':{'namespace':'x',"
		"'name':'c'},'spec':{'volumeName':'gone'},'status':{'phase':"
		"'Lost'}}",
		EACH("persistentvolumeclaim \"c\" bound to non-existent "
		     "persistentvolume \"gone\"") },
	{ CLAIM("c"), "",
		"{'kind':'PersistentVolumeClaim','metadata':{'namespace':'x',"
		"'name':'c','deletionTimestamp':'2026-01-01T00:00:00Z'}}",
		EACH("persistentvolumeclaim \"c\" is being deleted") },
	{ CLAIM("c"), "", PVC("c", "", WANTS("none", "1Gi")), EACH(IMMEDIATE) },
	{ CLAIM("c"), "",
		PVC("c", "", WANTS("local", "1Gi")) "," PVC("d", "",
			"") ",{'kind':'StorageClass','metadata':{"
			    "'name':'local'},'provisioner':'p',"
			    "'volumeBindingMode':'Immediate'}",
		EACH(IMMEDIATE) },
	{ CLAIM("c"), "",
		PVC("c", "", TO("v") "," WANTS("local", "1Gi")) "," LOCAL,
		EACH(IMMEDIATE) },
	{ CLAIM("c"), "", PVC("c", BOUND, TO("v")),
		EACH("persistentvolume \"v\" not found") },
	{ "{'name':'v','ephemeral':{}}", "", "",
		EACH("waiting for ephemeral volume controller to create the "
		     "persistentvolumeclaim \"p-v\"") },
	{ "{'name':'v','ephemeral':{}}", "", PVC("p-v", BOUND, TO("v")),
		EACH("PVC x/p-v was not created for pod x/p (pod is not "
		     "owner)") },
	{ "{'name':'v','ephemeral':{}}", "",
		"{'kind':'PersistentVolumeClaim','metadata':{'namespace':'x',"
		"'name':'p-v','annotations':{" BOUND "},'ownerReferences':[{"
		"'uid':'other'},{'controller':true,'uid':'p'}]},'spec':{" TO(
			"v") "}}",
		EACH("node(s) unavailable due to one or more pvc(s) bound to "
		     "non-existent pv(s)") },
	/* Bound volumes. */
	{ CLAIM("c"), "", PVC("c", BOUND, TO("v")) "," PV("v", "", ""), ALL },
	{ CLAIM("c"), "",
		PVC("c", BOUND, TO("v")) "," PV("v", "", ONLY_ON("b")),
		"a: " AFFINITY "; b; c: " AFFINITY "; d: " AFFINITY },
	{ CLAIM("c"), "",
		PVC("c", BOUND, TO("v")) "," PV("v", "",
			"'nodeAffinity':{'required':{'nodeSelectorTerms':[{"
			"'matchFields':[{'key':'metadata.name','operator':"
			"'In','values':['b']}]}]}}"),
		ALL },
	{ CLAIM("c"), "",
		PVC("c", BOUND, TO("v")) "," PV("v", "'" ZONE "':'1'", ""),
		"a; b; c: " BAD_ZONE "; d" },
	{ CLAIM("c"), "",
		PVC("c", BOUND, TO("v")) "," PV("v",
			"'failure-domain.beta.kubernetes.io/zone':'0__2'", ""),
		"a: " BAD_ZONE "; b: " BAD_ZONE "; c; d" },
	{ CLAIM("c"), "",
		PVC("c", BOUND, TO("v")) "," PV("v", "'" ZONE "':'9__'", ""),
		ALL },
	{ CLAIM("c"), "",
		PVC("c", BOUND, TO("v")) "," PV("v", "",
			"'awsElasticBlockStore':{'volumeID':'1'}"),
		EACH("pod has a claim on a volume of type "
		     "awsElasticBlockStore, which plimsoll-scheduler does not "
		     "support") },
	/* ReadWriteOncePod. */
	{ CLAIM("c"), POD("q", "a", CLAIM("c")),
		PVC("c", BOUND,
			TO("v") ",'accessModes':['ReadWriteOncePod']") "," PV("v",
			"", ""),
		EACH(IN_USE) },
	{ CLAIM("c"), POD("q", "elsewhere", CLAIM("c")),
		PVC("c", BOUND,
			TO("v") ",'accessModes':['ReadWriteOncePod']") "," PV("v",
			"", ""),
		ALL },
	{ CLAIM("c"), POD("q", "a", CLAIM("c")),
		PVC("c", BOUND,
			TO("v") ",'accessModes':['ReadWriteOnce']") "," PV("v",
			"", ""),
		ALL },
	{ "{'name':'v','iscsi':{'iqn':'i'}}",
		POD("q", "a", "{'name':'v','iscsi':{'iqn':'i'}}"), "",
		"a: node(s) had no available disk; b; c; d" },
	{ "{'name':'v','iscsi':{'iqn':'i','readOnly':true}}",
		POD("q", "a",
			"{'name':'v','iscsi':{'iqn':'i','readOnly':"
			"true}}"),
		"", ALL },
	{ "{'name':'v','rbd':{'monitors':['m','n'],'pool':'p','image':'i'}}",
		POD("q", "a",
			"{'name':'v','rbd':{'monitors':['n'],'pool':'p',"
			"'image':'i'}}") "," POD("r", "b",
			"{'name':'v','rbd':{'monitors':['o'],'pool':'p',"
			"'image':'i'}}"),
		"", "a: node(s) had no available disk; b; c; d" },
	/* The driver's limit counts volumes of pods, and attachments without a
	 * pod. */
	{ CLAIM("c"), POD("q", "a", CLAIM("e")),
		PVC("c", BOUND, TO("v")) "," PV("v", "", CSI("1")) "," PVC("e",
			BOUND,
			TO("w")) "," PV("w", "", CSI("2")) "," CSI_NODE("a",
			"1") "," CSI_NODE("b", "1") "," CSI_NODE("c", "0"),
		"a: " FULL "; b; c: " FULL "; d" },
	{ CLAIM("c"), POD("q", "a", CLAIM("c")),
		PVC("c", BOUND, TO("v")) "," PV("v", "", CSI("1")) "," CSI_NODE(
			"a", "1"),
		ALL },
	{ CLAIM("c"), "",
		PVC("c", BOUND, TO("v")) "," PV("v", "", CSI("1")) "," PV("w",
			"", CSI("2")) "," ATTACHED("1", "a",
			"w") "," CSI_NODE("a", "1") "," CSI_NODE("b", "1"),
		"a: " FULL "; b; c; d" },
	/* Its own volume counts again if it is attached already. */
	{ CLAIM("c"), "",
		PVC("c", BOUND, TO("v")) "," PV("v", "", CSI("1")) "," ATTACHED(
			"1", "a", "v") "," CSI_NODE("a", "1"),
		"a: " FULL "; b; c; d" },
	/* A volume to provision counts for the driver of its class. */
	{ CLAIM("c"), "",
		PVC("c", "", WANTS("csi", "1Gi")) "," CLASS("csi", "d",
			"") "," CSI_NODE("a", "0"),
		"a: " FULL "; b; c; d" },
	/* WaitForFirstConsumer with existing volumes. */
	{ CLAIM("c"), "", PVC("c", "", WANTS("local", "1Gi")) "," LOCAL,
		EACH(NO_PV) },
	{ CLAIM("c"), "",
		PVC("c", "", WANTS("local", "1Gi")) "," LOCAL "," PV("v", "",
			OFFERS("local", "2Gi") "," ONLY_ON("b")),
		"a: " NO_PV "; b; c: " NO_PV "; d: " NO_PV },
	{ CLAIM("c"), "",
		PVC("c", "", WANTS("local", "3Gi")) "," LOCAL "," PV("v", "",
			OFFERS("local", "2Gi")),
		EACH(NO_PV) },
	{ CLAIM("c"), "",
		PVC("c", "", WANTS("local", "1Gi")) "," LOCAL "," PV("v", "",
			OFFERS("other", "2Gi")),
		EACH(NO_PV) },
	{ CLAIM("c"), "",
		PVC("c", "",
			"'volumeMode':'Block'," WANTS("local",
				"1Gi")) "," LOCAL
					"," PV("v", "", OFFERS("local", "2Gi")),
		EACH(NO_PV) },
	{ CLAIM("c"), "",
		PVC("c", "",
			"'storageClassName':'local','accessModes':["
			"'ReadWriteMany']") "," LOCAL "," PV("v", "",
			OFFERS("local", "2Gi")),
		EACH(NO_PV) },
	{ CLAIM("c"), "",
		PVC("c", "",
			"'selector':{'matchLabels':{'t':'1'}}," WANTS("local",
				"1Gi")) "," LOCAL "," PV("v", "'t':'2'",
			OFFERS("local", "2Gi")) "," PV("w", "'t':'1'",
			OFFERS("local", "2Gi") "," ONLY_ON("a")),
		"a; b: " NO_PV "; c: " NO_PV "; d: " NO_PV },
	{ CLAIM("c"), "",
		PVC("c", "",
			"'volumeAttributesClassName':'gold'," WANTS("local",
				"1Gi")) "," LOCAL
					"," PV("v", "", OFFERS("local", "2Gi")),
		EACH(NO_PV) },
	{ CLAIM("c"), "",
		PVC("c", "", WANTS("local", "1Gi")) "," LOCAL "," PV("v", "",
			"'claimRef':{'namespace':'x','name':'e'}," OFFERS(
				"local", "2Gi")),
		EACH(NO_PV) },
	/* Only the prebound volume. */
	{ CLAIM("c"), "",
		PVC("c", "", WANTS("local", "1Gi")) "," LOCAL "," PV("v", "",
			"'claimRef':{'namespace':'x','name':'c'}," ONLY_ON(
				"a") ",'storageClassName':'local','capacity':{"
				     "'storage':'9Gi'}") "," PV("w", "",
			OFFERS("local", "2Gi")),
		"a; b: " NO_PV "; c: " NO_PV "; d: " NO_PV },
	/* Two claims need two volumes. */
	{ CLAIM("c") "," CLAIM("e"), "",
		PVC("c", "", WANTS("local", "1Gi")) "," PVC("e", "",
			WANTS("local", "1Gi")) "," LOCAL "," PV("v", "",
			OFFERS("local", "2Gi")) "," PV("w", "",
			OFFERS("local", "2Gi") "," ONLY_ON("c")),
		"a: " NO_PV "; b: " NO_PV "; c; d: " NO_PV },
	/* The small claim leaves the large volume for the large one. */
	{ CLAIM("c") "," CLAIM("e"), "",
		PVC("c", "", WANTS("local", "4Gi")) "," PVC("e", "",
			WANTS("local", "1Gi")) "," LOCAL "," PV("v", "",
			OFFERS("local", "5Gi")) "," PV("w", "",
			OFFERS("local", "2Gi")),
		ALL },
	/* The beta annotation wins over the field. */
	{ CLAIM("c"), "",
		PVC("c", "'volume.beta.kubernetes.io/storage-class':'local'",
			WANTS("other", "1Gi")) "," LOCAL "," PV("v", "",
			OFFERS("local", "2Gi")),
		ALL },
	/* Provisioning. */
	{ CLAIM("c"), "",
		PVC("c", "", WANTS("csi", "1Gi")) "," CLASS("csi", "d", ""),
		ALL },
	{ CLAIM("c"), "",
		PVC("c", "", WANTS("csi", "1Gi")) "," CLASS("csi", "d",
			",'allowedTopologies':[{'matchLabelExpressions':[{"
			"'key':'h','values':['b','c']},{'key':'" ZONE
			"','values':['1']}]},{'matchLabelExpressions':[]}]"),
		"a: " NO_PV "; b; c: " NO_PV "; d: " NO_PV },
	{ CLAIM("c"), "",
		PVC("c", "'volume.kubernetes.io/selected-node':'b'",
			WANTS("csi", "1Gi")) "," CLASS("csi", "d", ""),
		"a: " NO_PV "; b; c: " NO_PV "; d: " NO_PV },
	{ CLAIM("c"), "",
		PVC("c", "", WANTS("csi", "2Gi")) "," CLASS("csi", "d",
			"") "," DRIVER,
		EACH(SPACE) },
	{ CLAIM("c"), "",
		PVC("c", "", WANTS("csi", "2Gi")) "," CLASS("csi", "d",
			"") "," DRIVER "," ROOM("1",
			",'capacity':'9Gi'" HERE("1")) "," ROOM("2",
			",'capacity':'9Gi','maximumVolumeSize':'1Gi'" HERE(
				"2")) "," ROOM("3", ",'capacity':'9Gi'"),
		"a; b; c: " SPACE "; d: " SPACE },
	{ CLAIM("c"), "",
		PVC("c", "", WANTS("old", "1Gi")) "," CLASS("old",
			"kubernetes.io/aws-ebs", ""),
		EACH("pod has a claim on a class of kubernetes.io/aws-ebs, "
		     "which plimsoll-scheduler does not support") },
	/* Two reasons of one plugin; the next plugin does not run. */
	{ CLAIM("c") "," CLAIM("e"), "",
		PVC("c", BOUND, TO("v")) "," PV("v", "'" ZONE "':'9'",
			ONLY_ON("a")) "," PVC("e", "",
			WANTS("local", "1Gi")) "," LOCAL,
		"a: " NO_PV "; b: " AFFINITY ", " NO_PV "; c: " AFFINITY
		", " NO_PV "; d: " AFFINITY ", " NO_PV },
	/* Irrelevant to scheduling. */
	{ "{'name':'v','nfs':{}},{'name':'w','csi':{'driver':'d'}}", "", "",
		ALL },
};

static void filters_like_upstream(void **state)
{
	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		scoped_free char *input = xasprintf(
			"{'pod':{'metadata':{'name':'p','namespace':'x',"
			"'uid':'p'},'spec':{'volumes':[%s]}},'pods':[%s],"
			"'objects':[%s]," NODES "}",
			cases[i].volumes, cases[i].pods, cases[i].objects);

		verdicts_check(input, cases[i].expected);
	}
}

/* ---- plans ---- */

struct world {
	struct interner *interner;
	struct cluster cluster;
	struct node *node;
	struct volumes volumes;
	struct volume_plan plan;
};

static void put(struct world *w, const char *json)
{
	struct json_value *object = given_json(json);
	enum cluster_kind kind;

	assert_true(cluster_kind_find(&kind,
		json_value_text_at(object, "kind", "")));
	assert_int_equal(cluster_put_object(&w->cluster, kind, object, NULL),
		0);
	json_value_free(object);
}

static int setup(void **state)
{
	static struct world w;

	w = (struct world){ .interner = interner_new() };
	cluster_init(&w.cluster, w.interner);
	w.node = given_plain_node(w.interner, "n");
	cluster_add_node(&w.cluster, w.node);
	*state = &w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	volume_plan_fini(&w->plan);
	volumes_fini(&w->volumes);
	cluster_fini(&w->cluster);
	interner_free(w->interner);
	return 0;
}

/* The plan for a pod with these volumes: "claim=volume" or "claim+"; "-": no
 * node fits. */
static void assert_plan(struct world *w, const char *has, const char *expected)
{
	scoped_free char *json = xasprintf(POD("p", "", "%s"), has);
	struct pod *pod = given_pod(w->interner, json);
	scoped_buffer struct buffer text = BUFFER_MAX(1000);

	volumes_prepare(&w->volumes, pod, &w->cluster);
	assert_null(w->volumes.refusal);
	buffer_text(&text, "");
	if (volumes_filter(&w->volumes, w->node) != 0) {
		buffer_text(&text, "-");
	} else {
		volumes_plan(&w->volumes, &w->plan, w->node);
	}
	for (size_t i = 0; text.data[0] != '-' && i < w->plan.count; i++) {
		const struct volume_choice *c = &w->plan.list[i];

		buffer_printf(&text, "%s%s%s", c->claim,
			c->volume != NULL ? "=" : "+",
			c->volume != NULL ? c->volume : "");
	}
	assert_string_equal(text.data, expected);
	pod_free(pod);
}

static void what_was_decided_is_not_given_away_again(void **state)
{
	struct world *w = *state;

	put(w, LOCAL);
	put(w, PVC("c", "", WANTS("local", "1Gi")));
	put(w, PVC("e", "", WANTS("local", "1Gi")));
	put(w, PV("large", "", OFFERS("local", "3Gi")));
	put(w, PV("small", "", OFFERS("local", "2Gi")));
	assert_plan(w, CLAIM("c"), "c=small");
	volume_plan_assume(&w->plan, &w->cluster.storage, "n");
	/* A newer version of the object does not change that. */
	put(w, PV("small", "'new':'label'", OFFERS("local", "2Gi")));
	assert_plan(w, CLAIM("e"), "e=large");
	assert_plan(w, CLAIM("c"), "c=small");
	volume_plan_forget(&w->plan, &w->cluster.storage);
	assert_plan(w, CLAIM("e"), "e=small");
}

static void a_claim_promised_to_a_node_stays_there(void **state)
{
	struct world *w = *state;

	put(w, CLASS("csi", "d", ""));
	put(w, PVC("c", "", WANTS("csi", "1Gi")));
	assert_plan(w, CLAIM("c"), "c+");
	volume_plan_assume(&w->plan, &w->cluster.storage, "other");
	assert_plan(w, CLAIM("c"), "-");
	put(w, PVC("c", "", WANTS("csi", "1Gi")));
	assert_plan(w, CLAIM("c"), "-");
	/* The API server has a decision of its own. */
	put(w,
		PVC("c", "'volume.kubernetes.io/selected-node':'n'",
			WANTS("csi", "1Gi")));
	assert_plan(w, CLAIM("c"), "c+");
}

static void the_smallest_claim_chooses_first(void **state)
{
	struct world *w = *state;

	put(w, LOCAL);
	put(w, PVC("c", "", WANTS("local", "4Gi")));
	put(w, PVC("e", "", WANTS("local", "1Gi")));
	put(w, PV("five", "", OFFERS("local", "5Gi")));
	put(w, PV("six", "", OFFERS("local", "6Gi")));
	assert_plan(w, CLAIM("c") "," CLAIM("e"), "e=fivec=six");
}

static void the_smallest_volume_that_is_there_is_taken(void **state)
{
	struct world *w = *state;

	w->node = given_node(w->interner,
		"{'metadata':{'name':'b','labels':{'h':'b'}},'status':{"
		"'allocatable':{'pods':'9'}}}");
	cluster_add_node(&w->cluster, w->node);
	put(w, LOCAL);
	put(w, PVC("c", "", WANTS("local", "1Gi")));
	put(w, PVC("e", "", WANTS("local", "1Gi")));
	put(w, PV("two", "", OFFERS("local", "2Gi") "," ONLY_ON("a")));
	put(w, PV("five", "", OFFERS("local", "5Gi")));
	put(w, PV("four", "", OFFERS("local", "4Gi") "," ONLY_ON("b")));
	put(w, PV("three", "", OFFERS("local", "3Gi") "," ONLY_ON("b")));
	assert_plan(w, CLAIM("c") "," CLAIM("e"), "c=threee=four");
	put(w, PV("some", "", OFFERS("local", "2500Mi")));
	assert_plan(w, CLAIM("c") "," CLAIM("e"), "c=somee=three");
}

static void bound_claims_need_no_plan(void **state)
{
	struct world *w = *state;

	put(w, PVC("c", BOUND, TO("v")));
	put(w, PV("v", "", ""));
	assert_plan(w, CLAIM("c"), "");
	assert_int_equal(w->plan.count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			the_smallest_volume_that_is_there_is_taken, setup,
			teardown),
		cmocka_unit_test(filters_like_upstream),
		cmocka_unit_test_setup_teardown(
			what_was_decided_is_not_given_away_again, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			a_claim_promised_to_a_node_stays_there, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			the_smallest_claim_chooses_first, setup, teardown),
		cmocka_unit_test_setup_teardown(bound_claims_need_no_plan,
			setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
