// Command certmanager runs cert-manager's own controllers that make and renew
// certificates of the issuers selfSigned and ca, and its own cainjector for
// webhook configurations and APIServices, all in one process. KUBECONFIG names the cluster.
// ACME, cert-manager's own webhook and the choice of a leader are left out.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/cert-manager/cert-manager/pkg/api"
	"github.com/cert-manager/cert-manager/pkg/controller"
	"github.com/cert-manager/cert-manager/pkg/controller/cainjector"
	logf "github.com/cert-manager/cert-manager/pkg/logs"
	"github.com/cert-manager/cert-manager/pkg/util"

	// Each of these registers its controller.
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/approver"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/ca"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/selfsigned"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/issuing"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/keymanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/readiness"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/requestmanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/revisionmanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/trigger"
	_ "github.com/cert-manager/cert-manager/pkg/controller/clusterissuers"
	_ "github.com/cert-manager/cert-manager/pkg/controller/issuers"
	_ "github.com/cert-manager/cert-manager/pkg/issuer/ca"
	_ "github.com/cert-manager/cert-manager/pkg/issuer/selfsigned"
)

// As many as cert-manager's own program starts of each controller.
const workers = 5

// options are the defaults of cert-manager's own program.
func options(kubeconfig string) controller.ContextOptions {
	return controller.ContextOptions{
		Kubeconfig: kubeconfig,
		IssuerOptions: controller.IssuerOptions{
			ClusterResourceNamespace: "cert-manager",
		},
		CertificateOptions: controller.CertificateOptions{
			CopiedAnnotationPrefixes: []string{
				"*", "-kubectl.kubernetes.io/", "-fluxcd.io/", "-argocd.argoproj.io/",
			},
			CertificateRequestMinimumBackoffDuration: time.Hour,
			CertificateRequestMaximumBackoffDuration: 32 * time.Hour,
		},
	}
}

// startControllers starts all controllers that are registered.
func startControllers(ctx context.Context, kubeconfig string, failed chan<- error) error {
	factory, err := controller.NewContextFactory(ctx, options(kubeconfig))
	if err != nil {
		return err
	}
	all := map[string]controller.Interface{}
	for name, make := range controller.Known() {
		if all[name], err = make(factory); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	shared, err := factory.Build()
	if err != nil {
		return err
	}
	shared.SharedInformerFactory.Start(ctx.Done())
	shared.KubeSharedInformerFactory.Start(ctx.Done())
	for name, one := range all {
		klog.InfoS("starting", "controller", name)
		go func() {
			if err := one.Run(workers, ctx); err != nil {
				failed <- fmt.Errorf("%s: %w", name, err)
			}
		}()
	}
	return nil
}

func startInjector(ctx context.Context, kubeconfig string, failed chan<- error) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, apiregistration.AddToScheme, api.AddToScheme} {
		if err := add(scheme); err != nil {
			return err
		}
	}
	// The name is that of the writer of the fields, too.
	config = util.RestConfigWithUserAgent(config, "cainjector")
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:  scheme,
		Metrics: metricsserver.Options{BindAddress: "0"},
		Client: client.Options{Cache: &client.CacheOptions{
			DisableFor: []client.Object{&corev1.Secret{}},
		}},
	})
	if err != nil {
		return err
	}
	err = cainjector.RegisterAllInjectors(ctx, manager, cainjector.SetupOptions{
		EnableCertificatesDataSource: true,
		EnabledReconcilersFor: map[string]bool{
			cainjector.APIServiceName:                   true,
			cainjector.MutatingWebhookConfigurationName: true,
		},
	})
	if err != nil {
		return err
	}
	go func() {
		if err := manager.Start(ctx); err != nil {
			failed <- fmt.Errorf("cainjector: %w", err)
		}
	}()
	return nil
}

func run(ctx context.Context, kubeconfig string) error {
	failed := make(chan error, 1)
	if err := startControllers(ctx, kubeconfig, failed); err != nil {
		return err
	}
	if err := startInjector(ctx, kubeconfig, failed); err != nil {
		return err
	}
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
		return nil
	}
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx = logf.NewContext(ctx, logf.Log)
	ctrl.SetLogger(logf.Log)
	if err := run(ctx, os.Getenv("KUBECONFIG")); err != nil {
		klog.ErrorS(err, "cert-manager's controllers stopped")
		os.Exit(1)
	}
}
