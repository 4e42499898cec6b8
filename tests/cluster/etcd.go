package main

import (
	"fmt"
	"net/url"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/embed"
)

// quotaBytes is what etcd's documentation names as the most; the default of
// 2 GiB is too little for tests of large clusters.
const quotaBytes = 8 << 30

// newEtcdCommand runs an etcd of one member, with plain HTTP on the loopback.
func newEtcdCommand() *cobra.Command {
	var dataDir string
	var port int

	command := &cobra.Command{
		Use:   "etcd",
		Short: "Run a one-member etcd",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return serveEtcd(etcdConfig(dataDir, port))
		},
	}
	command.Flags().StringVar(&dataDir, "data-dir", "", "folder that keeps the data")
	command.Flags().IntVar(&port, "port", 2379, "port for clients on 127.0.0.1")
	_ = command.MarkFlagRequired("data-dir")
	return command
}

func etcdConfig(dataDir string, port int) *embed.Config {
	config := embed.NewConfig()
	config.Dir = dataDir
	config.LogOutputs = []string{"stderr"}
	config.LogLevel = "warn"
	// The page cache outlives a killed etcd; only a machine crash loses data.
	config.UnsafeNoFsync = true
	config.QuotaBackendBytes = quotaBytes

	client := loopback(port)
	config.ListenClientUrls = []url.URL{client}
	config.AdvertiseClientUrls = []url.URL{client}
	// A single member has no peers, so any port will do.
	peer := loopback(0)
	config.ListenPeerUrls = []url.URL{peer}
	config.AdvertisePeerUrls = []url.URL{peer}
	config.InitialCluster = config.InitialClusterFromName(config.Name)
	return config
}

func loopback(port int) url.URL {
	return url.URL{Scheme: "http", Host: fmt.Sprintf("127.0.0.1:%d", port)}
}

// serveEtcd returns when etcd fails or the process gets SIGTERM or SIGINT.
func serveEtcd(config *embed.Config) error {
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM, syscall.SIGINT)

	server, err := embed.StartEtcd(config)
	if err != nil {
		return err
	}
	select {
	case err = <-server.Err():
	case <-ended:
	}
	server.Close()
	return err
}
