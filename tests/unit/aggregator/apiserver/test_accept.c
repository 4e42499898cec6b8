#include "aggregator/apiserver/accept.h"

#include "lib/memory.h"
#include "tests/support/cm.h"

#include <stddef.h>

static const unsigned int all = (1u << ACCEPT_FORMS) - 1;

static void headers_of_clients_choose_their_form(void **state)
{
	static const struct {
		const char *header;
		enum accept_form form;
	} cases[] = {
		{ NULL, ACCEPT_JSON },
		{ "", ACCEPT_JSON },
		{ "*/*", ACCEPT_JSON },
		{ "application/json", ACCEPT_JSON },
		{ "application/json, */*", ACCEPT_JSON },
		{ "application/json;as=Table;v=v1;g=meta.k8s.io,"
		  "application/json;as=Table;v=v1beta1;g=meta.k8s.io,"
		  "application/json",
			ACCEPT_TABLE },
		{ "application/json;as=PartialObjectMetadataList;"
		  "g=meta.k8s.io;v=v1,application/json",
			ACCEPT_METADATA_LIST },
		{ "application/json;as=PartialObjectMetadata;g=meta.k8s.io;"
		  "v=v1",
			ACCEPT_METADATA },
		{ "application/*;as=Table;v=v1;g=meta.k8s.io", ACCEPT_TABLE },
		{ "application/json;as=Table;v=v1;g=plimsoll.io", ACCEPT_NONE },
		{ "application/json;as=Tables;v=v1;g=meta.k8s.io",
			ACCEPT_NONE },
		{ "application/json;g=apidiscovery.k8s.io;v=v2;"
		  "as=APIGroupDiscoveryList,application/json;"
		  "g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,"
		  "application/json",
			ACCEPT_DISCOVERY },
		{ "application/vnd.kubernetes.protobuf,application/json",
			ACCEPT_JSON },
		{ "application/vnd.kubernetes.protobuf", ACCEPT_NONE },
		{ "application/json;as=Table;v=v2;g=meta.k8s.io", ACCEPT_NONE },
		{ "text/csv", ACCEPT_CSV },
		{ "text/csv;q=0.1, application/json;q=0.9", ACCEPT_JSON },
		{ "application/json;q=0, text/csv;q=0.001", ACCEPT_CSV },
		{ "application/json;q=0", ACCEPT_NONE },
		{ ",;,=;q=,", ACCEPT_NONE },
		{ "APPLICATION/JSON ; Q=0.5", ACCEPT_JSON },
	};

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		assert_int_equal(accept_choose(cases[i].header, all),
			cases[i].form);
	}
}

static void a_form_that_is_not_allowed_is_skipped(void **state)
{
	(void)state;
	assert_int_equal(accept_choose("application/json;as=Table;v=v1;"
				       "g=meta.k8s.io,application/json",
				 1u << ACCEPT_JSON),
		ACCEPT_JSON);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(headers_of_clients_choose_their_form),
		cmocka_unit_test(a_form_that_is_not_allowed_is_skipped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
