// parity applies kube-scheduler's own filters to cases.
//
// It reads one case a line (the input of `plimsoll-scheduler score --in`, and
// "edges") and passes every object through the defaulting and validation of the
// API server. For each case it prints one line: the case after that, and for
// each node the plugin that rejects it with its reasons, or the scores by
// resources. If the case is invalid, as when the API server would refuse an
// object, the line says why.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
)

// gates are those that a case needs. The scheduler of 1.37.2 crashes over a
// CSIStorageCapacity without capacity, and by default the API server refuses
// user namespaces of pods on the host's network.
const gates = "StorageCapacityScoring=false,UserNamespacesHostNetworkSupport=true"

// The longest case, generously.
const lineMax = 64 << 20

// answer is one line of output.
type answer struct {
	Invalid  string             `json:"invalid,omitempty"`
	Case     *given             `json:"case,omitempty"`
	Verdicts map[string]verdict `json:"verdicts"`
}

// verdict is the result for one node; without a plugin the pod fits. Scores are
// those of the plugins in scored, under the names of the scores.
type verdict struct {
	Plugin  string           `json:"plugin"`
	Reasons []string         `json:"reasons"`
	Scores  map[string]int64 `json:"scores,omitempty"`
}

// scored are the plugins whose scores are compared.
var scored = map[string]string{
	"NodeResourcesFit":                "LeastAllocated",
	"NodeResourcesBalancedAllocation": "BalancedAllocation",
}

func judge(line []byte, f *frameworks) (*answer, error) {
	g, err := readCase(line)
	if err == nil {
		err = g.admit()
	}
	if err == nil {
		err = g.applyEdges()
	}
	if err != nil {
		return &answer{Invalid: err.Error()}, nil
	}
	verdicts, err := f.run(g)
	if err != nil {
		return nil, err
	}
	return &answer{Case: g, Verdicts: verdicts}, nil
}

func serve(in io.Reader, out io.Writer) error {
	f, err := newFrameworks()
	if err != nil {
		return err
	}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, lineMax)
	for lines.Scan() {
		a, err := judge(lines.Bytes(), f)
		if err != nil {
			return fmt.Errorf("%w in %s", err, lines.Bytes())
		}
		text, err := json.Marshal(a)
		if err != nil {
			return err
		}
		if _, err := out.Write(append(text, '\n')); err != nil {
			return err
		}
	}
	return lines.Err()
}

func main() {
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	metrics.Register()
	err := utilfeature.DefaultMutableFeatureGate.Set(gates)
	if err == nil {
		err = serve(os.Stdin, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "parity:", err)
		os.Exit(1)
	}
}
