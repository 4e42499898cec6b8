#include "tests/kubevirt/pod_form.h"

#include "lib/buffer.h"

#include <inttypes.h>

enum { TEXT_MAX = 1 << 20 };

static const char *const operators[] = { "In", "NotIn", "Exists",
	"DoesNotExist", "Gt", "Lt" };
static const char *const effects[] = { "any", "NoSchedule", "PreferNoSchedule",
	"NoExecute", "other" };
static const char *const tolerations[] = { "Equal", "Exists", "other" };

static const char *text_of(const struct pod *pod, uint32_t id)
{
	return id == 0 ? "" : interner_text(pod->interner, id);
}

static void write_labels(struct json *j, const char *key, const struct pod *pod,
	const struct labels *labels)
{
	json_object(j, key);
	for (size_t i = 0; i < labels_slot_count(labels); i++) {
		const struct label *label = &labels->slots[i];

		if (label->key != 0) {
			json_string(j, text_of(pod, label->key),
				text_of(pod, label->value));
		}
	}
	json_object_end(j);
}

static void write_requirement(struct json *j, const struct pod *pod,
	const struct requirement *requirement)
{
	scoped_buffer struct buffer text = BUFFER_MAX(TEXT_MAX);

	buffer_printf(&text, "%s %s",
		requirement->is_field ? "metadata.name"
				      : text_of(pod, requirement->key),
		operators[requirement->op]);
	for (size_t i = 0; i < requirement->value_count; i++) {
		buffer_printf(&text, " %s",
			text_of(pod, requirement->values[i]));
	}
	if (requirement->op == REQUIREMENT_GT ||
		requirement->op == REQUIREMENT_LT) {
		buffer_printf(&text, " %" PRId64, requirement->number);
	}
	json_string(j, NULL, text.data);
}

static void write_selector(struct json *j, const char *key,
	const struct pod *pod, const struct label_selector *selector)
{
	json_array(j, key);
	if (selector->is_invalid) {
		json_string(j, NULL, "nothing");
	}
	for (size_t i = 0; i < selector->count; i++) {
		write_requirement(j, pod, &selector->list[i]);
	}
	json_array_end(j);
}

static void write_node_terms(struct json *j, const char *key,
	const struct pod *pod, const struct node_selector *terms)
{
	json_array(j, key);
	for (size_t i = 0; i < terms->count; i++) {
		json_object(j, NULL);
		json_integer(j, "weight", terms->list[i].weight);
		write_selector(j, "all", pod, &terms->list[i].all);
		json_object_end(j);
	}
	json_array_end(j);
}

static void write_pod_terms(struct json *j, const char *key,
	const struct pod *pod, const struct pod_affinity_terms *terms)
{
	json_array(j, key);
	for (size_t i = 0; i < terms->count; i++) {
		const struct pod_affinity_term *term = &terms->list[i];

		json_object(j, NULL);
		json_string(j, "topology", text_of(pod, term->topology_key));
		json_integer(j, "weight", term->weight);
		json_array(j, "namespaces");
		for (size_t n = 0; n < term->namespace_count; n++) {
			json_string(j, NULL, text_of(pod, term->namespaces[n]));
		}
		json_array_end(j);
		write_selector(j, "namespaceSelector", pod,
			&term->namespace_selector);
		write_selector(j, "pods", pod, &term->label_selector);
		json_object_end(j);
	}
	json_array_end(j);
}

static void write_affinity(struct json *j, const struct pod *pod)
{
	json_bool(j, "hasRequired", pod->has_required);
	write_node_terms(j, "required", pod, &pod->required);
	write_node_terms(j, "preferred", pod, &pod->preferred);
	write_pod_terms(j, "affinity", pod, &pod->affinity.required);
	write_pod_terms(j, "antiAffinity", pod, &pod->affinity.required_anti);
	write_pod_terms(j, "preferredAffinity", pod, &pod->affinity.preferred);
	write_pod_terms(j, "preferredAntiAffinity", pod,
		&pod->affinity.preferred_anti);
}

static void write_tolerations(struct json *j, const struct pod *pod)
{
	json_array(j, "tolerations");
	for (size_t i = 0; i < pod->tolerations.count; i++) {
		const struct toleration *one = &pod->tolerations.list[i];
		scoped_buffer struct buffer text = BUFFER_MAX(TEXT_MAX);

		buffer_printf(&text, "%s %s %s %s", text_of(pod, one->taint.key),
			tolerations[one->operator],
			text_of(pod, one->taint.value),
			effects[one->taint.effect]);
		json_string(j, NULL, text.data);
	}
	json_array_end(j);
}

static void write_spread(struct json *j, const struct pod *pod)
{
	json_array(j, "spread");
	for (size_t i = 0; i < pod->spread.count; i++) {
		const struct spread_constraint *one = &pod->spread.list[i];

		json_object(j, NULL);
		json_string(j, "topology", text_of(pod, one->topology_key));
		json_bool(j, "isHard", one->is_hard);
		json_bool(j, "honorsAffinity", one->honors_affinity);
		json_bool(j, "honorsTaints", one->honors_taints);
		json_integer(j, "maxSkew", one->max_skew);
		json_integer(j, "minDomains", one->min_domains);
		write_selector(j, "pods", pod, &one->selector);
		json_object_end(j);
	}
	json_array_end(j);
}

static void write_requests(struct json *j, const struct pod *pod)
{
	const struct resources *r = &pod->requests;

	json_object(j, "requests");
	json_integer(j, "cpu", r->cpu_milli);
	json_integer(j, "memory", r->memory_bytes);
	json_integer(j, "ephemeral-storage", r->ephemeral_bytes);
	for (size_t i = 0; i < r->scalar_count; i++) {
		json_integer(j, text_of(pod, r->scalars[i].resource),
			r->scalars[i].value);
	}
	json_object_end(j);
}

static void write_claims(struct json *j, const struct pod *pod)
{
	json_array(j, "claims");
	for (size_t i = 0; i < pod->volumes.claim_count; i++) {
		json_string(j, NULL, pod->volumes.claims[i].name);
	}
	json_array_end(j);
}

void pod_form_write(struct json *j, const char *key, const struct pod *pod)
{
	json_object(j, key);
	json_string(j, "unsupported",
		pod->unsupported == NULL ? "" : pod->unsupported);
	json_integer(j, "priority", pod->priority);
	write_labels(j, "selector", pod, &pod->node_selector);
	write_affinity(j, pod);
	write_tolerations(j, pod);
	write_spread(j, pod);
	write_requests(j, pod);
	write_claims(j, pod);
	json_object_end(j);
}
