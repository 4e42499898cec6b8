package main

import (
	"fmt"

	"k8s.io/component-base/version"
)

// The node keeper renews a node every heartbeatPeriod. The node-lifecycle
// controller taints a node that was not renewed for nodeGracePeriod. The
// difference lets nodes stay Ready while a killed kube-apiserver restarts.
const nodeGracePeriod = "15s"

// auditPolicy records the user, verb and object of each request once.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
`

func (c *cluster) etcd() component {
	return component{
		name: etcdName,
		args: []string{
			"--data-dir=" + c.etcdData,
			fmt.Sprintf("--port=%d", c.ports[etcdName]),
		},
		health: c.url(etcdName, "/health"),
	}
}

func (c *cluster) apiserver() component {
	args := append(c.servingArgs(apiserverName),
		// The endpoints of the service "kubernetes" cannot be a loopback
		// address, so no reconciler maintains them.
		"--advertise-address=127.0.0.1",
		"--endpoint-reconciler-type=none",
		"--etcd-servers="+c.url(etcdName, ""),
		"--client-ca-file="+c.pki.caFile,
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-key-file="+c.pki.accountKeyFile,
		"--service-account-signing-key-file="+c.pki.accountKeyFile,
		"--allow-privileged=true",
		// How extension servers know the user of a request: see pki.
		"--requestheader-client-ca-file="+c.pki.proxyCAFile,
		"--requestheader-allowed-names="+proxyName,
		"--requestheader-username-headers=X-Remote-User",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--proxy-client-cert-file="+c.pki.proxyFile,
		"--proxy-client-key-file="+c.pki.proxyKeyFile,
		// The version that older releases serve instead of v1.
		"--runtime-config=admissionregistration.k8s.io/v1beta1=true",
	)
	args = append(args, c.serviceArgs()...)
	if c.nodeAuthorizer {
		args = append(args, "--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction")
	} else {
		args = append(args, "--authorization-mode=RBAC")
	}
	if c.auditLog != "" {
		args = append(args,
			"--audit-log-path="+c.auditLog,
			"--audit-policy-file="+c.auditPolicyFile(),
		)
	}
	return component{name: apiserverName, args: args, health: c.url(apiserverName, "/readyz")}
}

// serviceArgs say where kube-apiserver finds extensions: at the addresses of
// their pods, as nothing here serves the addresses of Services, or with
// --local-services at the address of the Service, which a program of a test can
// listen on.
func (c *cluster) serviceArgs() []string {
	if c.localServices {
		return []string{"--service-cluster-ip-range=127.96.0.0/16"}
	}
	return []string{"--service-cluster-ip-range=10.96.0.0/16", "--enable-aggregator-routing=true"}
}

func (c *cluster) controllerManagerComponent() component {
	args := append(c.servingArgs(controllerManagerName), c.clientArgs(controllerManagerName)...)
	args = append(args,
		"--kubeconfig="+c.kubeconfigFile(controllerManagerName),
		"--leader-elect=false",
		"--use-service-account-credentials=true",
		"--service-account-private-key-file="+c.pki.accountKeyFile,
		"--root-ca-file="+c.pki.caFile,
		"--cluster-signing-cert-file="+c.pki.caFile,
		"--cluster-signing-key-file="+c.pki.caKeyFile,
		"--node-monitor-period=1s",
		"--node-monitor-grace-period="+nodeGracePeriod,
		"--node-startup-grace-period="+nodeGracePeriod,
		// Tests make many objects at once; the defaults throttle at 20 a second.
		"--kube-api-qps=200",
		"--kube-api-burst=400",
	)
	return component{
		name:   controllerManagerName,
		args:   args,
		health: c.url(controllerManagerName, "/healthz"),
	}
}

func (c *cluster) schedulerComponent() component {
	args := append(c.servingArgs(schedulerName), c.clientArgs(schedulerName)...)
	args = append(args, "--config="+c.schedulerConfigFile())
	health := "/readyz"
	switch version.Get().Minor {
	case "30":
		health = "/healthz" // the other came with 1.31
	case "37":
		// 1.37.2 crashes over a CSIStorageCapacity without capacity.
		args = append(args, "--feature-gates=StorageCapacityScoring=false")
	}
	return component{name: schedulerName, args: args, health: c.url(schedulerName, health)}
}

// servingArgs are what every HTTPS server of Kubernetes takes.
func (c *cluster) servingArgs(name string) []string {
	return []string{
		"--bind-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", c.ports[name]),
		"--tls-cert-file=" + c.pki.serverFile,
		"--tls-private-key-file=" + c.pki.serverKeyFile,
	}
}

// clientArgs let a server ask kube-apiserver to authenticate and authorize
// its clients.
func (c *cluster) clientArgs(name string) []string {
	return []string{
		"--authentication-kubeconfig=" + c.kubeconfigFile(name),
		"--authorization-kubeconfig=" + c.kubeconfigFile(name),
	}
}
