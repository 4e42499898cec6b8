// Command virt-controller is KubeVirt's own. `virt-controller manifests` prints
// the objects that virt-operator would create for it and for virt-api.
package main

import (
	"fmt"
	"os"

	"kubevirt.io/kubevirt/pkg/virt-controller/watch"
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == "manifests" {
		if err := printManifests(os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "virt-controller:", err)
			os.Exit(1)
		}
		return
	}
	watch.Execute()
}
