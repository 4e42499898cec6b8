package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// cluster holds the files, ports and options of one control plane.
type cluster struct {
	dir               string
	auditLog          string // empty: no audit log
	etcdData          string
	nodeAuthorizer    bool
	localServices     bool
	controllerManager bool
	scheduler         bool

	pki        *pki
	ports      map[string]int // by component name
	kubeconfig string         // the admin's
}

// component is one program of the cluster and the URL of its health.
type component struct {
	name   string
	args   []string
	health string
}

// newCluster fills o.dir with all files the components need.
func newCluster(o *options) (*cluster, error) {
	c := &cluster{
		dir:               o.dir,
		auditLog:          o.auditLog,
		etcdData:          cmp.Or(o.etcdData, filepath.Join(o.dir, "etcd")),
		nodeAuthorizer:    o.nodeAuthorizer,
		localServices:     o.localServices,
		controllerManager: o.has(controllerManagerName),
		scheduler:         o.has(schedulerName),
		ports:             map[string]int{},
	}
	if err := claimDir(c.dir); err != nil {
		return nil, err
	}
	var err error
	if c.pki, err = newPKI(filepath.Join(c.dir, "pki")); err != nil {
		return nil, err
	}
	for _, name := range []string{etcdName, apiserverName, controllerManagerName, schedulerName} {
		if c.ports[name], err = freePort(); err != nil {
			return nil, err
		}
	}
	if err = c.writeKubeconfigs(); err != nil {
		return nil, err
	}
	return c, c.writeConfigs(o.schedulerConfig)
}

// claimDir refuses a folder that another cluster used: its data would not
// match the new certificates, or that cluster may still run.
func claimDir(dir string) error {
	err := os.MkdirAll(dir, 0o755)
	if err != nil {
		return err
	}
	err = os.Mkdir(filepath.Join(dir, "logs"), 0o755)
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("%q already holds a cluster: remove it or name another --dir", dir)
	}
	return err
}

func (c *cluster) writeKubeconfigs() error {
	const allPowerful = "system:masters"

	var err error
	if c.kubeconfig, err = c.writeKubeconfig("admin", "kubernetes-admin", allPowerful); err != nil {
		return err
	}
	for name, user := range map[string]string{
		controllerManagerName: "system:kube-controller-manager",
		schedulerName:         "system:kube-scheduler",
	} {
		if _, err = c.writeKubeconfig(name, user); err != nil {
			return err
		}
	}
	// The keeper has its own name, which sets it apart in an audit log.
	_, err = c.writeKubeconfig(keeperName, "kubecluster:"+keeperName, allPowerful)
	return err
}

func (c *cluster) writeConfigs(schedulerConfig string) error {
	if c.auditLog != "" {
		if err := os.WriteFile(c.auditPolicyFile(), []byte(auditPolicy), 0o644); err != nil {
			return err
		}
	}
	if !c.scheduler {
		return nil
	}
	return writeSchedulerConfig(c.schedulerConfigFile(), schedulerConfig, c.kubeconfigFile(schedulerName))
}

func (c *cluster) auditPolicyFile() string     { return filepath.Join(c.dir, "audit-policy.yaml") }
func (c *cluster) schedulerConfigFile() string { return filepath.Join(c.dir, "scheduler-config.yaml") }
func (c *cluster) logFile(name string) string  { return filepath.Join(c.dir, "logs", name+".log") }

// url is where the component called name serves path.
func (c *cluster) url(name, path string) string {
	scheme := "https"
	if name == etcdName {
		scheme = "http"
	}
	return fmt.Sprintf("%s://127.0.0.1:%d%s", scheme, c.ports[name], path)
}
