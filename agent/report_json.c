#include "agent/report_json.h"

#include "lib/json.h"

#include <string.h>

struct json_field {
	const char *key; /* NULL ends a list */
	enum report_kind kind;
	size_t offset;
};

/* A row of proto/report_fields.h, whose list is given the struct. */
#define ROW(type, kind, name, ...)                                             \
	{ #name, REPORT_##kind, offsetof(type, name) },
#define FIELDS(list, type)                                                     \
	(const struct json_field[])                                            \
	{                                                                      \
		list(ROW, type)                                                \
		{                                                              \
			0                                                      \
		}                                                              \
	}

static void put_detail(struct json *j, const struct kvm *kvm)
{
	char detail[80];

	if (kvm_detail(detail, kvm)[0] != '\0') {
		json_string(j, "detail", detail);
	}
}

static void put_unsigned(struct json *j, const char *key, uint64_t value,
	uint64_t absent)
{
	if (value != absent) {
		json_unsigned(j, key, value);
	}
}

static const char *word(enum report_kind kind, const void *value)
{
	switch (kind) {
	case REPORT_STATE:
		return source_state_name(*(const enum source_state *)value);
	case REPORT_CGROUP_MODE:
		return cgroup_mode_name(*(const enum cgroup_mode *)value);
	case REPORT_KVM_STATE:
		return kvm_state_name(*(const enum kvm_state *)value);
	default:
		return kvm_level_name(*(const enum kvm_level *)value);
	}
}

static void put_bool(struct json *j, const char *key, bool value)
{
	size_t skip = strncmp(key, "has_", 4) == 0 ? 4 : 0;

	json_bool(j, key + skip, value);
}

static void put_field(struct json *j, const void *base,
	const struct json_field *field)
{
	const char *key = field->key;
	const void *at = (const char *)base + field->offset;

	switch (field->kind) {
	case REPORT_U64:
	case REPORT_CLOCK:
		put_unsigned(j, key, *(const uint64_t *)at, REPORT_UNKNOWN);
		break;
	case REPORT_PLAIN_U64:
		put_unsigned(j, key, *(const uint64_t *)at, 0);
		break;
	case REPORT_PLAIN_U32:
		json_unsigned(j, key, *(const uint32_t *)at);
		break;
	case REPORT_COUNT:
		put_unsigned(j, key, *(const uint32_t *)at, 0);
		break;
	case REPORT_ERRNO:
		put_detail(j, base);
		break;
	case REPORT_EXIT_REASON:
		break;
	case REPORT_KNOWN_BOOL:
		if (*(const enum known_bool *)at != KNOWN_NOT) {
			put_bool(j, key,
				*(const enum known_bool *)at == KNOWN_TRUE);
		}
		break;
	case REPORT_BOOL:
		put_bool(j, key, *(const bool *)at);
		break;
	case REPORT_DOUBLE:
		json_number(j, key, *(const double *)at);
		break;
	default:
		json_string(j, key, word(field->kind, at));
	}
}

static void put_fields(struct json *j, const void *base,
	const struct json_field *fields)
{
	for (; fields->key != NULL; fields++) {
		put_field(j, base, fields);
	}
}

static void put_object(struct json *j, const char *key, const void *base,
	const struct json_field *fields)
{
	json_object(j, key);
	put_fields(j, base, fields);
	json_object_end(j);
}

static void put_psi(struct json *j, const char *key, const struct psi *psi)
{
	put_object(j, key, psi, FIELDS(PSI_FIELDS, struct psi));
}

/* Left out if nothing was read. */
static void put_pressure(struct json *j, const char *key,
	const struct pressure *pressure)
{
	if (pressure->cpu.state == SOURCE_UNKNOWN) {
		return;
	}
	json_object(j, key);
	put_psi(j, "cpu", &pressure->cpu);
	put_psi(j, "memory", &pressure->memory);
	put_psi(j, "io", &pressure->io);
	json_object_end(j);
}

static void put_hugepages(struct json *j, const struct report *report)
{
	json_array(j, "hugepages");
	for (size_t i = 0; i < report->hugepages_count; i++) {
		put_object(j, NULL, &report->hugepages[i],
			FIELDS(HUGEPAGES_FIELDS, struct hugepages));
	}
	json_array_end(j);
	json_array(j, "numa_hugepages");
	for (size_t i = 0; i < report->numa_hugepages_count; i++) {
		put_object(j, NULL, &report->numa_hugepages[i],
			FIELDS(NUMA_HUGEPAGES_FIELDS, struct numa_hugepages));
	}
	json_array_end(j);
}

static void put_kvm(struct json *j, const struct kvm *kvm)
{
	json_object(j, "kvm");
	put_fields(j, kvm, FIELDS(KVM_FIELDS, struct kvm));
	put_object(j, "devices", kvm, FIELDS(KVM_DEVICES, struct kvm));
	json_object_end(j);
}

static void put_vm(struct json *j, const struct vm_pod *vm)
{
	json_object(j, NULL);
	json_string(j, "pod_uid", vm->pod_uid);
	put_unsigned(j, "cgroup_inode", vm->cgroup_inode, REPORT_UNKNOWN);
	put_fields(j, vm, FIELDS(VM_POD_CPU_FIELDS, struct vm_pod));
	put_pressure(j, "pressure", &vm->pressure);
	put_fields(j, vm, FIELDS(VM_POD_MEMORY_FIELDS, struct vm_pod));
	json_array(j, "hugetlb");
	for (size_t i = 0; i < vm->hugetlb_count; i++) {
		put_object(j, NULL, &vm->hugetlb[i],
			FIELDS(HUGETLB_USE_FIELDS, struct hugetlb_use));
	}
	json_array_end(j);
	json_object_end(j);
}

void report_json_write(struct buffer *out, const char *node,
	const struct report *report)
{
	struct json j = json_into(out);

	json_object(&j, NULL);
	json_string(&j, "node", node);
	put_fields(&j, report, FIELDS(REPORT_KEY_FIELDS, struct report));
	if (report->boot_id[0] != '\0') {
		json_string(&j, "boot_id", report->boot_id);
	}
	put_fields(&j, report, FIELDS(REPORT_TIME_FIELDS, struct report));
	put_object(&j, "cpu", &report->cpu,
		FIELDS(CPU_FIELDS, struct cpu_totals));
	put_pressure(&j, "pressure", &report->pressure);
	put_pressure(&j, "kubepods", &report->kubepods);
	if (report->irq.state != SOURCE_UNKNOWN) {
		put_psi(&j, "irq", &report->irq);
	}
	put_object(&j, "memory", &report->memory,
		FIELDS(MEMORY_FIELDS, struct memory));
	put_hugepages(&j, report);
	put_fields(&j, report, FIELDS(REPORT_LOAD_FIELDS, struct report));
	put_kvm(&j, &report->kvm);
	json_array(&j, "vms");
	for (size_t i = 0; i < report->vm_count; i++) {
		put_vm(&j, &report->vms[i]);
	}
	json_array_end(&j);
	put_fields(&j, report, FIELDS(REPORT_VMS_FIELDS, struct report));
	put_fields(&j, report, FIELDS(REPORT_RUN_FIELDS, struct report));
	put_object(&j, "own", &report->own,
		FIELDS(OWN_COST_FIELDS, struct own_cost));
	json_object_end(&j);
}
