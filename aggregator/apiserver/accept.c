#include "aggregator/apiserver/accept.h"

#include "lib/http/accept_header.h"

#include <stdbool.h>
#include <stddef.h>

struct range {
	struct header_span type, as, group, version;
	int q;
};

static void read_parameter(struct range *range, struct header_span text)
{
	struct header_span value = text;
	struct header_span name;

	if (!header_span_next(&name, &value, '=') || value.at == NULL) {
		return;
	}
	value = header_span_trim(value);
	if (header_span_is(name, "as")) {
		range->as = value;
	} else if (header_span_is(name, "g")) {
		range->group = value;
	} else if (header_span_is(name, "v")) {
		range->version = value;
	} else if (header_span_is(name, "q")) {
		range->q = header_span_q(value);
	}
}

static bool is_converted(const struct range *range, const char *as,
	const char *group, const char *version)
{
	return header_span_is(range->as, as) &&
		header_span_is(range->group, group) &&
		header_span_is(range->version, version);
}

static enum accept_form form_of(const struct range *range)
{
	static const char meta[] = "meta.k8s.io";
	bool is_any = header_span_is(range->type, "*/*");

	if (header_span_is(range->type, "text/csv")) {
		return ACCEPT_CSV;
	}
	if (!is_any && !header_span_is(range->type, "application/*") &&
		!header_span_is(range->type, "application/json")) {
		return ACCEPT_NONE;
	}
	if (range->as.len == 0) {
		return ACCEPT_JSON;
	}
	if (is_converted(range, "Table", meta, "v1")) {
		return ACCEPT_TABLE;
	}
	if (is_converted(range, "PartialObjectMetadata", meta, "v1")) {
		return ACCEPT_METADATA;
	}
	if (is_converted(range, "PartialObjectMetadataList", meta, "v1")) {
		return ACCEPT_METADATA_LIST;
	}
	return is_converted(range, "APIGroupDiscoveryList",
		       "apidiscovery.k8s.io", "v2")
		? ACCEPT_DISCOVERY
		: ACCEPT_NONE;
}

static struct range read_range(struct header_span text)
{
	struct range range = { .q = ACCEPT_Q_ONE };
	struct header_span parameter;

	(void)header_span_next(&range.type, &text, ';');
	while (header_span_next(&parameter, &text, ';')) {
		read_parameter(&range, parameter);
	}
	return range;
}

enum accept_form accept_choose(const char *header, unsigned int allowed)
{
	struct header_span rest = header_span_of(header);
	enum accept_form best = ACCEPT_NONE;
	struct header_span text;
	int best_q = 0;

	if (header == NULL || *header == '\0') {
		return ACCEPT_JSON;
	}
	while (header_span_next(&text, &rest, ',')) {
		struct range range = read_range(text);
		enum accept_form form = form_of(&range);

		if (form != ACCEPT_NONE && range.q > best_q &&
			(allowed & 1u << form) != 0) {
			best = form;
			best_q = range.q;
		}
	}
	return best;
}

const char *accept_type(enum accept_form form)
{
	switch (form) {
	case ACCEPT_DISCOVERY:
		return "application/json;g=apidiscovery.k8s.io;v=v2;"
		       "as=APIGroupDiscoveryList";
	case ACCEPT_CSV:
		return "text/csv";
	default:
		return "application/json";
	}
}
