package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// state is the content of state.json, which tests and `kubecluster kill` read.
type state struct {
	Kubeconfig string                `json:"kubeconfig"`
	Supervisor int                   `json:"supervisor"` // pid of `kubecluster up`
	Children   map[string]childState `json:"children"`
}

type childState struct {
	PID    int    `json:"pid"`
	Health string `json:"health"` // URL that answers 200 when the child serves
}

func stateFile(dir string) string {
	return filepath.Join(dir, "state.json")
}

func readState(dir string) (*state, error) {
	text, err := os.ReadFile(stateFile(dir))
	if os.IsNotExist(err) {
		return nil, fmt.Errorf("no cluster runs in %q: it has no state.json", dir)
	}
	if err != nil {
		return nil, err
	}
	s := &state{}
	if err := json.Unmarshal(text, s); err != nil {
		return nil, fmt.Errorf("%s: %w", stateFile(dir), err)
	}
	return s, nil
}

// write replaces state.json in one step: readers never see a part of it.
func (s *state) write(dir string) error {
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	fresh := stateFile(dir) + ".new"
	if err := os.WriteFile(fresh, append(text, '\n'), 0o644); err != nil {
		return err
	}
	return os.Rename(fresh, stateFile(dir))
}
