package main

import (
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/yaml"
)

func (c *cluster) kubeconfigFile(name string) string {
	return filepath.Join(c.dir, name+".kubeconfig")
}

// writeKubeconfig makes user a certificate and writes it into the kubeconfig
// called name, whose path it returns.
func (c *cluster) writeKubeconfig(name, user string, groups ...string) (string, error) {
	cert, key, err := c.pki.ca.newClient(user, groups...)
	if err != nil {
		return "", err
	}
	const entry = "kubecluster"

	config := clientcmdapi.NewConfig()
	config.Clusters[entry] = &clientcmdapi.Cluster{
		Server:                   c.url(apiserverName, ""),
		CertificateAuthorityData: c.pki.ca.pem,
	}
	config.AuthInfos[user] = &clientcmdapi.AuthInfo{ClientCertificateData: cert, ClientKeyData: key}
	config.Contexts[entry] = &clientcmdapi.Context{Cluster: entry, AuthInfo: user}
	config.CurrentContext = entry

	text, err := clientcmd.Write(*config)
	if err != nil {
		return "", err
	}
	// JSON is YAML too, and the tests' own library has no YAML.
	if text, err = yaml.YAMLToJSON(text); err != nil {
		return "", err
	}
	path := c.kubeconfigFile(name)
	return path, os.WriteFile(path, text, 0o600)
}

// writeSchedulerConfig writes target: the configuration in source (none if
// empty) with the connection to this cluster. kube-scheduler ignores
// --kubeconfig and --leader-elect beside a --config.
func writeSchedulerConfig(target, source, kubeconfig string) error {
	config := map[string]any{
		"apiVersion": "kubescheduler.config.k8s.io/v1",
		"kind":       "KubeSchedulerConfiguration",
	}
	if source != "" {
		text, err := os.ReadFile(source)
		if err != nil {
			return err
		}
		if err = yaml.Unmarshal(text, &config); err != nil {
			return fmt.Errorf("%s: %w", source, err)
		}
	}
	section(config, "clientConnection")["kubeconfig"] = kubeconfig
	section(config, "leaderElection")["leaderElect"] = false

	text, err := yaml.Marshal(config)
	if err != nil {
		return err
	}
	return os.WriteFile(target, text, 0o644)
}

// section returns the map below key, which it makes if there is none.
func section(config map[string]any, key string) map[string]any {
	inner, ok := config[key].(map[string]any)
	if !ok {
		inner = map[string]any{}
		config[key] = inner
	}
	return inner
}

// newClient connects with the kubeconfig called name.
func (c *cluster) newClient(name string) (kubernetes.Interface, error) {
	config, err := clientcmd.BuildConfigFromFlags("", c.kubeconfigFile(name))
	if err != nil {
		return nil, err
	}
	config.UserAgent = "kubecluster/" + name
	config.QPS = -1 // unlimited: a late heartbeat taints nodes
	return kubernetes.NewForConfig(config)
}
