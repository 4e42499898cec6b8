package main

import (
	k8sv1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	v1 "kubevirt.io/api/core/v1"
)

const zoneLabel = "topology.kubernetes.io/zone"

// drawConstraints draws where a user wants the VM.
func drawConstraints(r *draw, vmi *v1.VirtualMachineInstance) {
	vmi.Spec.SchedulerName = pick(r, "", "plimsoll-scheduler")
	vmi.Spec.PriorityClassName = pick(r, "", "", "", "important")
	vmi.Spec.NodeSelector = drawSelector(r)
	vmi.Spec.Affinity = drawAffinity(r)
	vmi.Spec.Tolerations = drawTolerations(r)
	vmi.Spec.TopologySpreadConstraints = drawSpread(r)
}

func drawSelector(r *draw) map[string]string {
	if r.chance(50) {
		return nil
	}
	made := map[string]string{}
	for _, key := range some(r, 2, "pool", "disk", zoneLabel) {
		made[key] = pick(r, "a", "b", "gold")
	}
	if r.chance(10) {
		made["kubernetes.io/arch"] = "amd64"
	}
	return made
}

func selector(r *draw) *metav1.LabelSelector {
	s := &metav1.LabelSelector{}
	if r.chance(60) {
		s.MatchLabels = map[string]string{"app": pick(r, "db", "web")}
	}
	if r.chance(50) {
		s.MatchExpressions = []metav1.LabelSelectorRequirement{{
			Key:      "app",
			Operator: pick(r, metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn),
			Values:   []string{"db", "cache"},
		}}
	}
	return s
}

func nodeTerm(r *draw) k8sv1.NodeSelectorTerm {
	t := k8sv1.NodeSelectorTerm{}
	for _, key := range some(r, 2, "pool", zoneLabel, "generation") {
		e := k8sv1.NodeSelectorRequirement{
			Key: key,
			Operator: pick(r, k8sv1.NodeSelectorOpIn,
				k8sv1.NodeSelectorOpNotIn, k8sv1.NodeSelectorOpExists),
		}
		if e.Operator != k8sv1.NodeSelectorOpExists {
			e.Values = []string{"a", pick(r, "b", "c")}
		}
		t.MatchExpressions = append(t.MatchExpressions, e)
	}
	if len(t.MatchExpressions) == 0 || r.chance(10) {
		t.MatchFields = []k8sv1.NodeSelectorRequirement{{
			Key: "metadata.name", Operator: k8sv1.NodeSelectorOpNotIn,
			Values: []string{"n7"},
		}}
	}
	return t
}

func podTerm(r *draw) k8sv1.PodAffinityTerm {
	t := k8sv1.PodAffinityTerm{
		LabelSelector: selector(r),
		TopologyKey:   pick(r, zoneLabel, k8sv1.LabelHostname),
	}
	if r.chance(20) {
		t.Namespaces = []string{"vms", "team-a"}
	}
	return t
}

func podTerms(r *draw) ([]k8sv1.PodAffinityTerm,
	[]k8sv1.WeightedPodAffinityTerm) {
	var required []k8sv1.PodAffinityTerm
	var preferred []k8sv1.WeightedPodAffinityTerm
	for range r.IntN(3) {
		required = append(required, podTerm(r))
	}
	if r.chance(40) {
		preferred = append(preferred, k8sv1.WeightedPodAffinityTerm{
			Weight: int32(1 + r.IntN(100)), PodAffinityTerm: podTerm(r),
		})
	}
	return required, preferred
}

func drawAffinity(r *draw) *k8sv1.Affinity {
	if r.chance(50) {
		return nil
	}
	made := &k8sv1.Affinity{}
	if r.chance(60) {
		made.NodeAffinity = drawNodeAffinity(r)
	}
	if r.chance(35) {
		required, preferred := podTerms(r)
		made.PodAffinity = &k8sv1.PodAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution:  required,
			PreferredDuringSchedulingIgnoredDuringExecution: preferred,
		}
	}
	if r.chance(45) {
		required, preferred := podTerms(r)
		made.PodAntiAffinity = &k8sv1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution:  required,
			PreferredDuringSchedulingIgnoredDuringExecution: preferred,
		}
	}
	return made
}

func drawNodeAffinity(r *draw) *k8sv1.NodeAffinity {
	made := &k8sv1.NodeAffinity{}
	if r.chance(75) {
		required := &k8sv1.NodeSelector{}
		for range 1 + r.IntN(3) {
			required.NodeSelectorTerms = append(
				required.NodeSelectorTerms, nodeTerm(r))
		}
		made.RequiredDuringSchedulingIgnoredDuringExecution = required
	}
	if r.chance(50) {
		made.PreferredDuringSchedulingIgnoredDuringExecution =
			[]k8sv1.PreferredSchedulingTerm{{
				Weight: int32(1 + r.IntN(100)), Preference: nodeTerm(r),
			}}
	}
	return made
}

func drawTolerations(r *draw) []k8sv1.Toleration {
	if r.chance(60) {
		return nil
	}
	return some(r, 3,
		k8sv1.Toleration{Operator: k8sv1.TolerationOpExists},
		k8sv1.Toleration{Key: "dedicated", Value: "vms",
			Effect: k8sv1.TaintEffectNoSchedule},
		k8sv1.Toleration{Key: "gpu", Operator: k8sv1.TolerationOpExists,
			Effect: k8sv1.TaintEffectNoExecute},
		k8sv1.Toleration{Key: "slow", Operator: k8sv1.TolerationOpExists})
}

func drawSpread(r *draw) []k8sv1.TopologySpreadConstraint {
	var made []k8sv1.TopologySpreadConstraint
	for _, key := range some(r, 2, zoneLabel, k8sv1.LabelHostname) {
		if r.chance(60) {
			continue
		}
		c := k8sv1.TopologySpreadConstraint{
			MaxSkew: int32(1 + r.IntN(3)), TopologyKey: key,
			WhenUnsatisfiable: pick(r, k8sv1.DoNotSchedule,
				k8sv1.ScheduleAnyway),
			LabelSelector: selector(r),
		}
		if c.WhenUnsatisfiable == k8sv1.DoNotSchedule && r.chance(30) {
			c.MinDomains = ptr(int32(2))
		}
		if r.chance(20) {
			c.NodeTaintsPolicy = ptr(k8sv1.NodeInclusionPolicyHonor)
		}
		made = append(made, c)
	}
	return made
}
