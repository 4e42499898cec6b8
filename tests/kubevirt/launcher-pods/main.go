// Command launcher-pods prints launcher pods as KubeVirt's own code renders
// them, for random VMs.
//
// For each case it draws a KubeVirt CR, a VMI, nodes and what happens to the VM
// while it runs, and prints one line of JSON (the type story). The pods come
// from virt-controller's template service and migration controller, which run
// in this process. A case depends on the seed and its number alone.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"

	"kubevirt.io/client-go/log"
)

// write prints the stories of the cases first to first+count-1.
func write(out io.Writer, seed, first, count uint64) error {
	c, err := newCluster()
	if err != nil {
		return err
	}
	lines := json.NewEncoder(out)
	for number := first; number < first+count; number++ {
		s, err := c.tell(newDraw(seed, number), number)
		if err != nil {
			return fmt.Errorf("case %d: %w", number, err)
		}
		if err := lines.Encode(s); err != nil {
			return err
		}
	}
	return nil
}

func main() {
	seed := flag.Uint64("seed", 1, "gives the cases")
	first := flag.Uint64("first", 0, "the number of the first case")
	count := flag.Uint64("cases", 1, "how many")
	flag.Parse()
	log.Log.SetIOWriter(io.Discard)
	log.DefaultLogger().SetIOWriter(io.Discard)
	out := bufio.NewWriter(os.Stdout)
	err := write(out, *seed, *first, *count)
	if err == nil {
		err = out.Flush()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "launcher-pods:", err)
		os.Exit(1)
	}
}
