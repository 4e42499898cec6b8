package main

import (
	"maps"
	"slices"
	"strings"

	k8sv1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	v1 "kubevirt.io/api/core/v1"
)

// drawNode draws a node as virt-handler's labeller leaves it, on which a pod
// with these selectors can run.
func drawNode(r *draw, name string, selectors map[string]string) *k8sv1.Node {
	labels := map[string]string{
		k8sv1.LabelHostname: name, zoneLabel: pick(r, "a", "b"),
		k8sv1.LabelArchStable: "amd64", v1.NodeSchedulable: "true",
	}
	if !hasVendor(selectors) && !r.chance(6) {
		labels[v1.CPUModelVendorLabel+pick(r, "Intel", "AMD")] = "true"
	}
	models := []string{"Skylake-Server", "Icelake-Server", "EPYC-Milan"}
	for _, model := range some(r, 3, models...) {
		labels[v1.CPUModelLabel+model] = "true"
		labels[v1.SupportedHostModelMigrationCPU+model] = "true"
	}
	if !r.chance(15) {
		labels[v1.HostModelCPULabel+pick(r, models...)] = "true"
	}
	for _, feature := range some(r, 4, "gfni", "amx-tile", "avx512-vnni",
		"vaes", "svm") {
		labels[v1.CPUFeatureLabel+feature] = "true"
		if !r.chance(20) {
			labels[v1.HostModelRequiredFeaturesLabel+feature] = "true"
		}
	}
	maps.Copy(labels, selectors)
	return &k8sv1.Node{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Node"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
	}
}

func hasVendor(labels map[string]string) bool {
	return slices.ContainsFunc(slices.Collect(maps.Keys(labels)),
		func(key string) bool {
			return strings.HasPrefix(key, v1.CPUModelVendorLabel)
		})
}
