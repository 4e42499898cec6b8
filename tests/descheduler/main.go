// Command descheduler is the descheduler's own. It reads the API server's CA
// certificate, which it needs to ask Prometheus, from the file that
// DESCHEDULER_CA names: outside a cluster there is no file of a service account.
package main

import (
	"os"

	"k8s.io/component-base/cli"
	"sigs.k8s.io/descheduler/cmd/descheduler/app"
	"sigs.k8s.io/descheduler/pkg/descheduler/client"
)

func main() {
	if file := os.Getenv("DESCHEDULER_CA"); file != "" {
		client.K8sPodCAFilePath = file
	}
	os.Exit(cli.Run(app.NewDeschedulerCommand(os.Stdout)))
}
