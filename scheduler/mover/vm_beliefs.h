/* Tells the cache which VMIs KubeVirt has, so that it knows which pods are VMs:
 * see cache/vm_claims.h. */
#pragma once

struct cache;
struct kubevirt;

/* Nothing is known of VMIs: to be called before the first pod. */
void vm_beliefs_init(struct cache *cache);

/* To be called every second: the VMIs may be known by now, or not any more. The
 * cache learns of a single VMI by cache_judge_vmi(). */
void vm_beliefs_tick(struct cache *cache, struct kubevirt *kubevirt);
