package main

import (
	"context"
	"errors"
	"unsafe"

	k8sv1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	extv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	v1 "kubevirt.io/api/core/v1"
	migrationsv1 "kubevirt.io/api/migrations/v1alpha1"
	"kubevirt.io/client-go/kubecli"
	cdiv1 "kubevirt.io/containerized-data-importer-api/pkg/apis/core/v1beta1"
	"kubevirt.io/kubevirt/pkg/hooks"
	"kubevirt.io/kubevirt/pkg/network/netbinding"
	netannotations "kubevirt.io/kubevirt/pkg/network/pod/annotations"
	storageannotations "kubevirt.io/kubevirt/pkg/storage/pod/annotations"
	virtconfig "kubevirt.io/kubevirt/pkg/virt-config"
	"kubevirt.io/kubevirt/pkg/virt-controller/services"
	"kubevirt.io/kubevirt/pkg/virt-controller/watch/migration"
)

// The parts of the migration controller that create pods. They are private, and
// what calls them waits for informers and for other pods.
//
//go:linkname createTargetPod kubevirt.io/kubevirt/pkg/virt-controller/watch/migration.(*Controller).createTargetPod
func createTargetPod(*migration.Controller, *v1.VirtualMachineInstanceMigration,
	*v1.VirtualMachineInstance, *k8sv1.Pod) error

//go:linkname createAttachmentPod kubevirt.io/kubevirt/pkg/virt-controller/watch/migration.(*Controller).createAttachmentPod
func createAttachmentPod(*migration.Controller,
	*v1.VirtualMachineInstanceMigration, *v1.VirtualMachineInstance,
	*k8sv1.Pod) error

var _ unsafe.Pointer // go:linkname wants the package

// cluster is virt-controller without an API server: the stores of its informers
// are filled by hand.
type cluster struct {
	templates  *services.TemplateService
	migrations *migration.Controller
	config     *virtconfig.ClusterConfig

	kubevirts, claims, nodes, pods, quotas, namespaces cache.Store

	created *k8sv1.Pod // by the client
}

func informer(object runtime.Object) cache.SharedIndexInformer {
	return cache.NewSharedIndexInformer(&cache.ListWatch{}, object, 0,
		cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
}

func newCluster() (*cluster, error) {
	kubevirts := informer(&v1.KubeVirt{})
	claims := informer(&k8sv1.PersistentVolumeClaim{})
	nodes := informer(&k8sv1.Node{})
	pods := informer(&k8sv1.Pod{})
	quotas := informer(&k8sv1.ResourceQuota{})
	c := &cluster{
		kubevirts:  kubevirts.GetStore(),
		claims:     claims.GetStore(),
		nodes:      nodes.GetStore(),
		pods:       pods.GetStore(),
		quotas:     quotas.GetStore(),
		namespaces: cache.NewStore(cache.MetaNamespaceKeyFunc),
	}
	var err error
	c.config, err = virtconfig.NewClusterConfigWithCPUArch(
		informer(&extv1.CustomResourceDefinition{}), kubevirts,
		kubevirtNamespace, "amd64")
	if err != nil {
		return nil, err
	}
	annotations := netannotations.NewGenerator(c.config)
	c.templates = newTemplates(c, annotations)
	c.migrations, err = migration.NewController(c.templates,
		informer(&v1.VirtualMachineInstance{}), pods,
		informer(&v1.VirtualMachineInstanceMigration{}), nodes, claims,
		informer(&storagev1.StorageClass{}),
		informer(&cdiv1.StorageProfile{}),
		informer(&migrationsv1.MigrationPolicy{}), quotas, kubevirts,
		&record.FakeRecorder{}, &client{cluster: c}, c.config, annotations)
	return c, err
}

// newTemplates makes the template service as virt-controller does.
func newTemplates(c *cluster, annotations netannotations.Generator) *services.TemplateService {
	return services.NewTemplateService("quay.io/kubevirt/virt-launcher", 240,
		"/var/run/kubevirt", "/var/run/kubevirt-ephemeral-disks",
		"/var/run/kubevirt/container-disks",
		"/var/run/kubevirt/hotplug-disks", "", c.claims,
		&client{cluster: c}, c.config, 107,
		"quay.io/kubevirt/virt-exportserver", c.quotas, c.namespaces,
		services.WithSidecarCreator(func(vmi *v1.VirtualMachineInstance,
			_ *v1.KubeVirtConfiguration) (hooks.HookSidecarList, error) {
			return hooks.UnmarshalHookSidecarList(vmi)
		}),
		services.WithSidecarCreator(netbinding.NetBindingPluginSidecarList),
		withNetMemory,
		services.WithAnnotationsGenerators(annotations,
			storageannotations.Generator{}),
		services.WithNetTargetAnnotationsGenerator(annotations))
}

// clear begins a case.
func (c *cluster) clear() error {
	return errors.Join(c.claims.Replace(nil, ""), c.nodes.Replace(nil, ""),
		c.pods.Replace(nil, ""), c.quotas.Replace(nil, ""),
		c.namespaces.Replace(nil, ""))
}

// setKubeVirt makes it the CR of the cluster. Its resourceVersion is new.
func (c *cluster) setKubeVirt(kv *v1.KubeVirt) error {
	before := c.config.GetConfig()
	if err := c.kubevirts.Replace([]any{kv}, ""); err != nil {
		return err
	}
	// An invalid CR leaves the one before in force.
	if c.config.GetConfig() == before {
		return errors.New("KubeVirt refuses the CR that was drawn")
	}
	return nil
}

// target is the pod that the migration controller creates.
func (c *cluster) target(m *v1.VirtualMachineInstanceMigration,
	vmi *v1.VirtualMachineInstance, source *k8sv1.Pod) (*k8sv1.Pod, error) {
	c.created = nil
	err := createTargetPod(c.migrations, m, vmi, source)
	if err == nil && c.created == nil {
		err = errors.New("no pod was created")
	}
	return c.created, err
}

// attachment is the pod that holds the hotplugged volumes for the target.
func (c *cluster) attachment(m *v1.VirtualMachineInstanceMigration,
	vmi *v1.VirtualMachineInstance, source, target *k8sv1.Pod) (*k8sv1.Pod, error) {
	c.created = nil
	if err := c.pods.Add(source); err != nil {
		return nil, err
	}
	err := createAttachmentPod(c.migrations, m, vmi, target)
	return c.created, err
}

// client keeps the pod that is created. Whatever else is asked of it ends the
// program.
type client struct {
	kubecli.KubevirtClient
	cluster *cluster
}

type core struct {
	corev1.CoreV1Interface
	cluster *cluster
}

type pods struct {
	corev1.PodInterface
	cluster *cluster
}

func (c *client) CoreV1() corev1.CoreV1Interface {
	return core{cluster: c.cluster}
}

func (c core) Pods(string) corev1.PodInterface {
	return pods{cluster: c.cluster}
}

func (p pods) Create(_ context.Context, pod *k8sv1.Pod,
	_ metav1.CreateOptions) (*k8sv1.Pod, error) {
	p.cluster.created = pod.DeepCopy()
	return p.cluster.created, nil
}
