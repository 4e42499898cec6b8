package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/component-base/version"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	_ "k8s.io/kubernetes/pkg/apis/storage/install"
	"k8s.io/kubernetes/pkg/registry/core/namespace"
	"k8s.io/kubernetes/pkg/registry/core/node"
	"k8s.io/kubernetes/pkg/registry/core/persistentvolume"
	"k8s.io/kubernetes/pkg/registry/core/persistentvolumeclaim"
	"k8s.io/kubernetes/pkg/registry/core/pod"
	"k8s.io/kubernetes/pkg/registry/storage/csidriver"
	"k8s.io/kubernetes/pkg/registry/storage/csinode"
	"k8s.io/kubernetes/pkg/registry/storage/csistoragecapacity"
	"k8s.io/kubernetes/pkg/registry/storage/storageclass"
	"k8s.io/kubernetes/pkg/registry/storage/volumeattachment"
)

// edge sets one allocatable amount of a node to the amount that the pod needs
// there plus Delta, in milli of cpu, bytes, pods or devices.
type edge struct {
	Node     string `json:"node"`
	Resource string `json:"resource"`
	Delta    int64  `json:"delta"`
}

// given is a case. Objects hold the rest of the cluster, by kind; Version is that
// of the filters.
type given struct {
	Version string           `json:"kubernetes_version"`
	Pod     *v1.Pod          `json:"pod"`
	Nodes   []*v1.Node       `json:"nodes"`
	Pods    []*v1.Pod        `json:"pods"`
	Objects []runtime.Object `json:"objects"`
	edges   []edge
}

type kind struct {
	empty    func() runtime.Object
	strategy rest.RESTCreateStrategy
}

// The API server's strategies for objects that are created.
var kinds = map[string]kind{
	"Pod":                   {func() runtime.Object { return &v1.Pod{} }, pod.Strategy},
	"Node":                  {func() runtime.Object { return &v1.Node{} }, node.Strategy},
	"Namespace":             {func() runtime.Object { return &v1.Namespace{} }, namespace.Strategy},
	"PersistentVolume":      {func() runtime.Object { return &v1.PersistentVolume{} }, persistentvolume.Strategy},
	"PersistentVolumeClaim": {func() runtime.Object { return &v1.PersistentVolumeClaim{} }, persistentvolumeclaim.Strategy},
	"StorageClass":          {func() runtime.Object { return &storagev1.StorageClass{} }, storageclass.Strategy},
	"CSINode":               {func() runtime.Object { return &storagev1.CSINode{} }, csinode.Strategy},
	"CSIDriver":             {func() runtime.Object { return &storagev1.CSIDriver{} }, csidriver.Strategy},
	"CSIStorageCapacity":    {func() runtime.Object { return &storagev1.CSIStorageCapacity{} }, csistoragecapacity.Strategy},
	"VolumeAttachment":      {func() runtime.Object { return &storagev1.VolumeAttachment{} }, volumeattachment.Strategy},
}

// strictly refuses fields that the type does not have: a typo of the generator
// would otherwise go unnoticed.
func strictly(data []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	return decoder.Decode(into)
}

func readCase(line []byte) (*given, error) {
	var raw struct {
		Version string            `json:"kubernetes_version"` // of an answer
		Pod     *v1.Pod           `json:"pod"`
		Nodes   []*v1.Node        `json:"nodes"`
		Pods    []*v1.Pod         `json:"pods"`
		Objects []json.RawMessage `json:"objects"`
		Edges   []edge            `json:"edges"`
	}
	if err := strictly(line, &raw); err != nil {
		return nil, err
	}
	// Printed as empty lists where they are missing.
	g := &given{version.Get().GitVersion, raw.Pod, append([]*v1.Node{}, raw.Nodes...),
		append([]*v1.Pod{}, raw.Pods...), []runtime.Object{}, raw.Edges}
	for _, text := range raw.Objects {
		var named metav1.TypeMeta
		if err := json.Unmarshal(text, &named); err != nil {
			return nil, err
		}
		k, known := kinds[named.Kind]
		if !known {
			return nil, fmt.Errorf("no kind %q", named.Kind)
		}
		object := k.empty()
		if err := strictly(text, object); err != nil {
			return nil, err
		}
		g.Objects = append(g.Objects, object)
	}
	return g, nil
}

// admit replaces every object by the one that the API server would store.
func (g *given) admit() error {
	if err := admit(g.Pod, "Pod"); err != nil {
		return err
	}
	for _, n := range g.Nodes {
		if err := admit(n, "Node"); err != nil {
			return err
		}
	}
	for _, p := range g.Pods {
		if err := admit(p, "Pod"); err != nil {
			return err
		}
	}
	for _, o := range g.Objects {
		if err := admit(o, o.GetObjectKind().GroupVersionKind().Kind); err != nil {
			return err
		}
	}
	return nil
}

// admit works in place.
func admit(object runtime.Object, name string) error {
	strategy := kinds[name].strategy
	legacyscheme.Scheme.Default(object)
	gvks, _, err := legacyscheme.Scheme.ObjectKinds(object)
	if err != nil {
		return err
	}
	gvk := gvks[0]
	internal, err := legacyscheme.Scheme.ConvertToVersion(object,
		schema.GroupVersion{Group: gvk.Group, Version: runtime.APIVersionInternal})
	if err != nil {
		return err
	}
	inside, err := meta.Accessor(internal)
	if err != nil {
		return err
	}
	uid, created := inside.GetUID(), inside.GetCreationTimestamp()
	rest.FillObjectMetaSystemFields(inside)
	ctx := genericapirequest.WithNamespace(context.Background(), inside.GetNamespace())
	ctx = genericapirequest.WithRequestInfo(ctx,
		&genericapirequest.RequestInfo{APIGroup: gvk.Group, APIVersion: gvk.Version})
	if err := rest.BeforeCreate(strategy, ctx, internal); err != nil {
		return err
	}
	inside.SetUID(uid)
	inside.SetCreationTimestamp(created)
	made, err := legacyscheme.Scheme.ConvertToVersion(internal, gvk.GroupVersion())
	if err != nil {
		return err
	}
	take(object, made)
	if err := pack(object); err != nil {
		return err
	}
	object.GetObjectKind().SetGroupVersionKind(gvk)
	return nil
}

// pack writes the object as protobuf and reads it again: etcd has it so, and
// kube-scheduler gets it so. An empty list or map is none afterwards.
func pack(object runtime.Object) error {
	message := object.(interface {
		Marshal() ([]byte, error)
		Unmarshal([]byte) error
	})
	data, err := message.Marshal()
	if err != nil {
		return err
	}
	value := reflect.ValueOf(object).Elem()
	value.Set(reflect.Zero(value.Type()))
	return message.Unmarshal(data)
}

// take copies made over object, but for the status, which other clients write
// later.
func take(object, made runtime.Object) {
	switch to := object.(type) {
	case *v1.Pod:
		status := to.Status
		*to = *made.(*v1.Pod)
		to.Status = status
	case *v1.PersistentVolumeClaim:
		status := to.Status
		*to = *made.(*v1.PersistentVolumeClaim)
		to.Status = status
	case *v1.PersistentVolume:
		status := to.Status
		*to = *made.(*v1.PersistentVolume)
		to.Status = status
	default:
		reflect.ValueOf(object).Elem().Set(reflect.ValueOf(made).Elem())
	}
}
