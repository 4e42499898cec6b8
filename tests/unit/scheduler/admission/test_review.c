#include "scheduler/admission/review.h"

#include <errno.h>

#include "scheduler/cluster/storage.h"
#include "tests/support/cm.h"
#include "tests/unit/scheduler/given.h"

#define POD_OF(labels_, spec_)                                                 \
	"{'metadata':{'name':'p','labels':{" labels_ "}},'spec':{" spec_ "}}"
#define LAUNCHER "'kubevirt.io':'virt-launcher'"
#define RESOURCE "{'group':'','version':'v1','resource':'pods'}"
#define REVIEW_OF(request_)                                                    \
	"{'apiVersion':'admission.k8s.io/v1','kind':'AdmissionReview',"        \
	"'request':" request_ "}"
#define CREATION(pod_)                                                         \
	REVIEW_OF("{'uid':'u-1','operation':'CREATE','resource':" RESOURCE     \
		  ",'object':" pod_ "}")

/* The digits of [{"op":"add","path":"/spec/schedulerName","value":"ours"}]. */
#define NAMED                                                                  \
	"{'apiVersion':'admission.k8s.io/v1','kind':'AdmissionReview',"        \
	"'response':{'uid':'u-1','allowed':true,'patchType':'JSONPatch',"      \
	"'patch':'W3sib3AiOiJhZGQiLCJwYXRoIjoiL3NwZWMvc2NoZWR1bGVyTmFtZSIs"    \
	"InZhbHVlIjoib3VycyJ9XQ=='}}"
#define LEFT                                                                   \
	"{'apiVersion':'admission.k8s.io/v1','kind':'AdmissionReview',"        \
	"'response':{'uid':'u-1','allowed':true}}"

static struct storage storage; /* of which the reviewer knows the claims */

static int answer(struct buffer *out, enum review_outcome *outcome,
	const char *text, struct error *err)
{
	scoped_free char *json = given_quotes(text);

	return review_answer(out, outcome,
		&(struct review_by){ "ours", &storage }, json, strlen(json),
		err);
}

static void assert_answer(const char *review, enum review_outcome expected)
{
	scoped_buffer struct buffer out = BUFFER_MAX(REVIEW_ANSWER_MAX);
	scoped_free char *text =
		given_quotes(expected == REVIEW_NAMED ? NAMED : LEFT);
	enum review_outcome outcome;
	struct error err = { 0 };

	given_check(answer(&out, &outcome, review, &err) == 0, err.text);
	given_check(outcome == expected, review);
	assert_string_equal(out.data, text);
}

static void names_the_scheduler_of_a_vm_for_which_nobody_chose_one(void **state)
{
	static const char *const reviews[] = {
		CREATION(POD_OF(LAUNCHER,
			"'schedulerName':'default-scheduler'")),
		CREATION(POD_OF(LAUNCHER, "'containers':[]")),
		CREATION(POD_OF(LAUNCHER, "'schedulerName':null")),
		CREATION(POD_OF(LAUNCHER, "'schedulerName':'','nodeName':''")),
		CREATION(POD_OF(LAUNCHER ",'plimsoll.io/schedule':'enabled'",
			"'containers':[]")),
		/* Nothing that plimsoll cannot place. */
		CREATION(POD_OF(LAUNCHER,
			"'resourceClaims':[],'schedulingGroup':null,"
			"'volumes':[{'name':'d','persistentVolumeClaim':"
			"{'claimName':'unknown'}},{'name':'e','emptyDir':{}}"
			"]")),
	};

	(void)state;
	for (size_t i = 0; i < count_of(reviews); i++) {
		assert_answer(reviews[i], REVIEW_NAMED);
	}
}

static void leaves_every_other_pod_as_it_is(void **state)
{
	static const char *const reviews[] = {
		/* Someone chose. */
		CREATION(POD_OF(LAUNCHER, "'schedulerName':'another'")),
		CREATION(POD_OF(LAUNCHER, "'nodeName':'n1'")),
		CREATION(POD_OF(LAUNCHER ",'plimsoll.io/schedule':'disabled'",
			"'containers':[]")),
		/* No VM. */
		CREATION(POD_OF("", "'containers':[]")),
		CREATION(POD_OF("'kubevirt.io':'hotplug-disk'", "")),
		CREATION("{'spec':{}}"),
		CREATION("{'metadata':{'labels':[]},'spec':[]}"),
		/* The API server refuses these pods itself. */
		CREATION("{'metadata':{'labels':{" LAUNCHER "}}}"),
		CREATION("{'metadata':{'labels':{" LAUNCHER "}},'spec':[]}"),
		CREATION(POD_OF(LAUNCHER, "'schedulerName':7")),
		CREATION("null"),
		/* Not the creation of a pod. */
		REVIEW_OF("{'uid':'u-1'}"),
		REVIEW_OF(
			"{'uid':'u-1','operation':'UPDATE','resource':" RESOURCE
			",'object':" POD_OF(LAUNCHER, "") "}"),
		REVIEW_OF(
			"{'uid':'u-1','operation':'CREATE','resource':" RESOURCE
			",'subResource':'binding','object':" POD_OF(LAUNCHER,
				"") "}"),
		REVIEW_OF("{'uid':'u-1','operation':'CREATE','resource':{"
			  "'group':'kubevirt.io','version':'v1','resource':"
			  "'pods'},'object':" POD_OF(LAUNCHER, "") "}"),
	};

	(void)state;
	for (size_t i = 0; i < count_of(reviews); i++) {
		assert_answer(reviews[i], REVIEW_LEFT);
	}
}

#define VOLUME(type_, value_) "'volumes':[{'name':'v','" type_ "':" value_ "}]"
#define CLAIM(name_)                                                           \
	VOLUME("persistentVolumeClaim", "{'claimName':'" name_ "'}")

static void put(struct interner *interner, enum storage_kind kind,
	const char *text)
{
	struct json_value *object = given_json(text);
	struct error err = { 0 };

	given_check(storage_put(&storage, kind, interner, object, &err) == 0,
		err.text);
	json_value_free(object);
}

/* A pod whose namespace only the request has. */
#define CREATION_IN(namespace_, spec_)                                         \
	REVIEW_OF("{'uid':'u-1','operation':'CREATE','resource':" RESOURCE     \
		  ",'namespace':'" namespace_                                  \
		  "','object':" POD_OF(LAUNCHER, spec_) "}")

static void leaves_alone_what_plimsoll_cannot_place(void **state)
{
	static const char *const specs[] = {
		CREATION(POD_OF(LAUNCHER, "'resourceClaims':[{'name':'gpu'}]")),
		CREATION(POD_OF(LAUNCHER,
			"'schedulingGroup':{'podGroupName':'g'}")),
		CREATION(POD_OF(LAUNCHER, VOLUME("cinder", "{}"))),
		CREATION(POD_OF(LAUNCHER, VOLUME("unknown", "{}"))),
		CREATION_IN("ns", CLAIM("bound")),
		CREATION_IN("ns", CLAIM("waits")),
	};
	struct interner *interner = interner_new();

	(void)state;
	put(interner, STORAGE_VOLUMES,
		"{'metadata':{'name':'v'},'spec':{'awsElasticBlockStore':{}}}");
	put(interner, STORAGE_CLASSES,
		"{'metadata':{'name':'c'},'provisioner':"
		"'kubernetes.io/cinder'}");
	put(interner, STORAGE_CLAIMS,
		"{'metadata':{'namespace':'ns','name':'bound'},"
		"'spec':{'volumeName':'v'}}");
	put(interner, STORAGE_CLAIMS,
		"{'metadata':{'namespace':'ns','name':'waits'},"
		"'spec':{'storageClassName':'c'}}");
	for (size_t i = 0; i < count_of(specs); i++) {
		assert_answer(specs[i], REVIEW_UNSUPPORTED);
	}
	assert_answer(CREATION_IN("other", CLAIM("bound")), REVIEW_NAMED);
	storage_fini(&storage, interner);
	storage = (struct storage){ 0 };
	interner_free(interner);
}

static void refuses_what_is_no_review_with_one_sentence(void **state)
{
	static const struct {
		const char *text, *sentence;
	} cases[] = {
		{ "[]",
			"the body is not an AdmissionReview of "
			"admission.k8s.io/v1" },
		{ "{'apiVersion':'admission.k8s.io/v1beta1','kind':"
		  "'AdmissionReview','request':{'uid':'u'}}",
			"the body is not an AdmissionReview of "
			"admission.k8s.io/v1" },
		{ REVIEW_OF("[]"), "'request' is not an object" },
		{ REVIEW_OF("{}"),
			"'request.uid' is not a text of 1 to 256 bytes" },
		{ REVIEW_OF("{'uid':1}"),
			"'request.uid' is not a text of 1 to 256 bytes" },
		{ CREATION("'text'"), "'request.object' is not an object" },
	};
	struct error err;
	enum review_outcome outcome;

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		scoped_buffer struct buffer out = BUFFER_MAX(100);

		assert_int_equal(answer(&out, &outcome, cases[i].text, &err),
			-EBADMSG);
		assert_string_equal(err.text, cases[i].sentence);
		assert_int_equal(outcome, REVIEW_INVALID);
		assert_int_equal(out.len, 0);
	}
}

static void refuses_what_is_no_json(void **state)
{
	static const char *const texts[] = { "", "{", "nothing", "{}{}" };
	scoped_buffer struct buffer out = BUFFER_MAX(100);
	struct error err;
	enum review_outcome outcome;

	(void)state;
	for (size_t i = 0; i < count_of(texts); i++) {
		assert_int_equal(answer(&out, &outcome, texts[i], &err),
			-EBADMSG);
		assert_int_equal(out.len, 0);
	}
	assert_int_equal(
		review_answer(&out, &outcome,
			&(struct review_by){ "ours", &storage }, NULL, 0, &err),
		-EBADMSG);
}

static void refuses_more_values_than_a_review_can_have(void **state)
{
	scoped_buffer struct buffer out = BUFFER_MAX(100);
	scoped_free char *text = xcalloc(JSON_VALUES_MAX + 1, 1);
	struct error err;
	enum review_outcome outcome;

	(void)state;
	memset(text, '[', JSON_VALUES_MAX);
	assert_int_equal(answer(&out, &outcome, text, &err), -E2BIG);
	assert_int_equal(outcome, REVIEW_INVALID);
	assert_string_equal(err.text, "more than 100000 JSON values");
	assert_int_equal(out.len, 0);
}

static void the_longest_names_fit_into_an_answer(void **state)
{
	scoped_buffer struct buffer out = BUFFER_MAX(REVIEW_ANSWER_MAX);
	scoped_buffer struct buffer uid = BUFFER_MAX(REVIEW_ANSWER_MAX);
	char name[254] = "";
	scoped_free char *text = NULL;
	scoped_free char *review = NULL;
	enum review_outcome outcome;
	struct error err;

	(void)state;
	for (size_t i = 0; i < REVIEW_UID_MAX; i++) {
		buffer_text(&uid, "\\u0001");
	}
	memset(name, '\x01', sizeof(name) - 1);
	text = xasprintf(REVIEW_OF("{'uid':'%s','operation':'CREATE',"
				   "'resource':" RESOURCE
				   ",'object':" POD_OF(LAUNCHER, "") "}"),
		uid.data);
	review = given_quotes(text);
	assert_int_equal(review_answer(&out, &outcome,
				 &(struct review_by){ name, &storage }, review,
				 strlen(review), &err),
		0);
	assert_int_equal(outcome, REVIEW_NAMED);
	assert_false(out.overflowed);
	assert_non_null(strstr(out.data, uid.data));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			names_the_scheduler_of_a_vm_for_which_nobody_chose_one),
		cmocka_unit_test(leaves_every_other_pod_as_it_is),
		cmocka_unit_test(leaves_alone_what_plimsoll_cannot_place),
		cmocka_unit_test(refuses_what_is_no_review_with_one_sentence),
		cmocka_unit_test(refuses_what_is_no_json),
		cmocka_unit_test(refuses_more_values_than_a_review_can_have),
		cmocka_unit_test(the_longest_names_fit_into_an_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
