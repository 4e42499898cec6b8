#include "scheduler/admission/serving.h"

#include "kube/json_value.h"
#include "lib/base64.h"
#include "lib/memory.h"
#include "lib/tls/certificate.h"

#include <errno.h>
#include <string.h>

#define OBJECT SERVING_OBJECT

const char *serving_name(enum serving serving)
{
	static const char *const names[] = {
		[SERVING_UNKNOWN] = "unknown",
		[SERVING_WEBHOOK] = "webhook",
		[SERVING_POLICY] = "policy",
		[SERVING_UNTRUSTED] = "webhook_untrusted",
		[SERVING_NOTHING] = "nothing",
	};

	return names[serving];
}

static const struct json_value *find_webhook(const struct json_value *object)
{
	const struct json_value *w =
		json_value_first(json_value_get(object, "webhooks"));

	while (w != NULL &&
		strcmp(json_value_text_at(w, "name", ""),
			SERVING_WEBHOOK_NAME) != 0) {
		w = json_value_next(w);
	}
	return w;
}

static const char *trust_fault(const char *certificate, const char *bundle)
{
	scoped_free char *authorities = base64_decode_text(bundle);
	struct error err;
	int r = authorities == NULL
		? -EKEYREJECTED
		: certificate_check_trust(certificate, authorities, &err);

	if (r == -EKEYREJECTED) {
		return "has a caBundle that has not signed this scheduler's "
		       "certificate";
	}
	if (r == -EKEYEXPIRED) {
		return "would get a certificate from this scheduler that is "
		       "not valid today";
	}
	return NULL;
}

const char *serving_webhook_fault(const struct json_value *object,
	const char *certificate)
{
	const struct json_value *webhook = find_webhook(object);
	const char *bundle =
		json_value_text_at(webhook, "clientConfig/caBundle", "");

	if (webhook == NULL) {
		return "has no webhook " SERVING_WEBHOOK_NAME;
	}
	if (*bundle == '\0') {
		return "has no caBundle";
	}
	return certificate == NULL ? NULL : trust_fault(certificate, bundle);
}

/* "VMs", or "VMs of the labelled namespaces a, b". */
static void write_vms(struct buffer *out, const struct serving_verdict *verdict)
{
	buffer_text(out, "VMs");
	if (verdict->labelled > 0) {
		buffer_printf(out, " of the labelled namespace%s %s",
			verdict->labelled == 1 ? "" : "s", verdict->namespaces);
	}
}

static void write_unserved(struct buffer *out,
	const struct serving_verdict *verdict)
{
	buffer_text(out, "nothing sets schedulerName on ");
	write_vms(out, verdict);
	if (verdict->serving == SERVING_UNTRUSTED) {
		buffer_printf(out,
			": the webhook " OBJECT
			" %s, so the API "
			"server cannot call it, and there is no policy " OBJECT
			"; ",
			verdict->why);
	} else {
		buffer_text(out,
			": neither the webhook nor the policy " OBJECT
			" exists; ");
	}
	buffer_printf(out, "only VMs that name %s are placed",
		verdict->scheduler_name);
}

static void write_missed(struct buffer *out,
	const struct serving_verdict *verdict)
{
	size_t count = verdict->pods.missed;

	buffer_printf(out,
		"%zu pod%s of VMs in labelled namespaces %s created with "
		"schedulerName default-scheduler (the newest is %s): the "
		"webhook did not answer, or the VM names that scheduler",
		count, count == 1 ? "" : "s", count == 1 ? "was" : "were",
		verdict->newest == NULL ? "unknown" : verdict->newest);
}

static void write_earlier(struct buffer *out,
	const struct serving_verdict *verdict)
{
	size_t count = verdict->pods.earlier;

	buffer_printf(out,
		"%zu pod%s of VMs in labelled namespaces %s schedulerName "
		"default-scheduler from before this scheduler watched: older "
		"than the label, created while the webhook did not answer, or "
		"so named by the VM",
		count, count == 1 ? "" : "s", count == 1 ? "has" : "have");
}

static void write_unsupported(struct buffer *out,
	const struct serving_verdict *verdict)
{
	size_t count = verdict->pods.unsupported;

	buffer_printf(out,
		"%zu pod%s of VMs in labelled namespaces %s with "
		"default-scheduler, because plimsoll cannot place %s (the "
		"newest is %s: %s)",
		count, count == 1 ? "" : "s", count == 1 ? "stays" : "stay",
		count == 1 ? "it" : "them", verdict->pods.example,
		verdict->pods.why);
}

void serving_write(struct buffer *out, const struct serving_verdict *verdict)
{
	size_t before = out->len;
	bool is_unserved = verdict->serving == SERVING_UNTRUSTED ||
		verdict->serving == SERVING_NOTHING;

	if (is_unserved) {
		write_unserved(out, verdict);
	} else if (verdict->pods.missed > 0) {
		write_missed(out, verdict);
	} else if (verdict->serving == SERVING_UNKNOWN &&
		*verdict->why != '\0') {
		buffer_text(out,
			"it is unknown whether anything sets "
			"schedulerName on ");
		write_vms(out, verdict);
		buffer_printf(out, ": %s", verdict->why);
	} else if (verdict->pods.earlier > 0) {
		write_earlier(out, verdict);
	}
	if (!is_unserved && verdict->pods.unsupported > 0) {
		buffer_text(out, out->len == before ? "" : "; ");
		write_unsupported(out, verdict);
	}
}
