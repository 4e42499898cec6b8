/* Whether a running VM may be moved: `plimsoll.io/move: never | allowed` as an
 * annotation of the VMI (set it in the VM's template), of its namespace or of
 * its node.
 *
 * The VMI's word is the most specific and wins over the others. Between
 * namespace and node, never wins. The descheduler's annotation
 * descheduler.alpha.kubernetes.io/prefer-no-eviction on the VMI counts as
 * never. Without a word from any of them a VM may be moved.
 *
 * The descheduler's opt-in, descheduler.alpha.kubernetes.io/evict, is not read:
 * it lifts protections of the descheduler that plimsoll does not have, and must
 * not lift a never of the namespace or the node. request-evict-only and
 * eviction-in-progress are KubeVirt's words on launcher pods, not a person's:
 * struct vmi has an eviction under way as `evacuating`. Pure. */
#pragma once

#include "kube/json_value.h"

#define CONSENT_ANNOTATION "plimsoll.io/move"
/* Its presence counts, whatever its value, as for the descheduler. */
#define CONSENT_NO_EVICTION "descheduler.alpha.kubernetes.io/prefer-no-eviction"

enum consent { CONSENT_UNSET, CONSENT_ALLOWED, CONSENT_NEVER };

/* annotations: metadata.annotations of an object; NULL is fine. An unknown
 * word counts as never: someone meant to say something. */
enum consent consent_read(const struct json_value *annotations);

/* CONSENT_ALLOWED or CONSENT_NEVER. */
enum consent consent_of(enum consent vmi, enum consent namespace_consent,
	enum consent node);
