/* Kin: VMs that belong together, and how far they move together.
 *
 * VMs of a farm idle together and then work together. The mean and the variance
 * of one VM do not show that, so kin would be stacked on one node. How far kin
 * move together is learnt from what their namespace's VMs do: every few minutes
 * the deviation of each VM from its own mean is added to sums that fade.
 *
 * The correlation of a namespace is the one within its kin, less the one of its
 * VMs with VMs that are not kin. A swing of all VMs hits all nodes, and
 * spreading cannot help against it. With r the deviations, S and |S| the sums
 * of r and |r| over one kin, and R and |R| over all VMs of the namespace:
 *
 *     kin       = sum over kin (S^2 - sum r^2)
 *               / sum over kin (|S|^2 - sum r^2)
 *     strangers = (R^2 - sum S^2 + R O) / (|R|^2 - sum |S|^2 + |R| |O|)
 *     rho       = (kin - max(strangers, 0)) min(Q / P, 1), from 0 to 1
 *
 * P is the number of pairs of kin, Q of a VM and a stranger: if all VMs are one
 * kin, nothing tells its swing from one of all VMs. O and |O| are the sums over
 * other namespaces, each scaled so that none carries more than a fifth of them,
 * if there are five. A tenant's kin are in no other tenant's first sum, and
 * change the second little. Until something is known, rho is 0.
 *
 * The VMs of a farm have the same size, or the same labels, and neither always:
 * labels may be wrong, and strangers may have the same size. Both ties are
 * learnt, and each namespace uses the tie that explains more: within its kin, a
 * correlation of rho explains rho x the sum over kin (S^2 - sum r^2).
 *
 * A pass over all VMs is begin, add for each VM, end: see cluster/kin_pass.h.
 * Its cost is that of two look-ups for each VM, whether each is its own kin or
 * all are one. Pure. */
#pragma once

#include "scheduler/forecast/model.h"

#include <stddef.h>
#include <stdint.h>

/* A kin; its upper half is the namespace. 0: none. */
typedef uint64_t kin_key;

/* VMs are tied by one of these. */
enum kin_tie { KIN_BY_SIZE, KIN_BY_LABELS, KIN_TIES };

/* The kin of a VM by each tie. Zeroed: none. */
struct kin_keys {
	kin_key by[KIN_TIES];
};

/* The namespace's id is not 0; hash is any hash of what ties the VMs. */
static inline kin_key kin_key_of(uint32_t namespace_id, enum kin_tie tie,
	uint64_t hash)
{
	return (kin_key)namespace_id << 32 | ((uint32_t)hash & ~UINT32_C(3)) |
		(uint32_t)tie << 1 | 1;
}

/* Time between two passes, in microseconds: that of the five-minute means. */
#define KIN_PASS_US (INT64_C(300) * 1000000)

/* The deviation of a VM that was watched for less says nothing. */
#define KIN_KNOWN_S 3600.0

/* A new VM is expected to use the share of its kin and of this many average
 * VMs. */
#define KIN_PEERS 3.0

/* The kin of a VM as they are known. Zeroed: nothing is. */
struct kin_figures {
	kin_key kin; /* by the tie that counts; 0: none */
	double rho;  /* how far kin move together, 0 to 1 */
	/* The share of its vCPUs that a new VM is expected to use, above that
	 * of an average VM. */
	double more;
};

struct kin;
struct kin_namespace;

/* Zeroed: nothing is known. */
struct kin_table {
	struct kin *kins; /* owned; in the order of the first VM */
	size_t kin_count, kin_capacity;
	struct kin_namespace *namespaces; /* owned; likewise */
	size_t namespace_count, namespace_capacity;
	uint32_t *slots;   /* owned; index of both, 1 more than the place */
	size_t slot_count; /* a power of two, or 0 */
	struct model_prior prior; /* at the last pass */
	int64_t learnt_us;	  /* end of the last pass; 0: none */
};

void kin_table_fini(struct kin_table *table); /* zeroed is fine */

/* Starts a pass with what the last one learnt. table is zeroed, or one from an
 * earlier pass, whose memory is used again. */
void kin_table_begin(struct kin_table *table, const struct kin_table *last);

/* The VM's last deviation must be from this pass. */
void kin_table_add(struct kin_table *table, const struct kin_keys *keys,
	const struct model_vm *vm);

/* Passes at irregular times are fine. */
void kin_table_end(struct kin_table *table, struct model_prior prior,
	int64_t now_us);

struct kin_figures kin_table_figures(const struct kin_table *table,
	const struct kin_keys *keys);
