// Applies patches with upstream's own libraries, for main.ts to compare with: one question a line on standard input, one
// answer a line on standard output.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"

	jsonpatch "github.com/evanphx/json-patch"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/kubernetes/scheme"
	kjson "sigs.k8s.io/json"
)

type question struct {
	Type     string          `json:"type"`
	Group    string          `json:"group"`
	Version  string          `json:"version"`
	Kind     string          `json:"kind"`
	Original json.RawMessage `json:"original"`
	Patch    json.RawMessage `json:"patch"`
	RawSteps json.RawMessage `json:"steps"`
	Steps    []step          `json:"-"`
}

type answer struct {
	Object json.RawMessage `json:"object,omitempty"`
	Error  string          `json:"error,omitempty"`
	// Outcomes are the refusals of a sequence's steps, "" for none.
	Outcomes []string `json:"outcomes,omitempty"`
}

func typed(q question) (runtime.Object, error) {
	return scheme.Scheme.New(schema.GroupVersionKind{Group: q.Group, Version: q.Version, Kind: q.Kind})
}

// strategic does what the API server's strategicPatchObject does.
func strategic(q question) (runtime.Object, error) {
	original, err := typed(q)
	if err != nil {
		return nil, err
	}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(q.Original, original); err != nil {
		return nil, fmt.Errorf("original: %w", err)
	}
	originalMap, err := runtime.DefaultUnstructuredConverter.ToUnstructured(original)
	if err != nil {
		return nil, fmt.Errorf("original: %w", err)
	}
	patchMap := map[string]interface{}{}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(q.Patch, &patchMap); err != nil {
		return nil, err
	}
	empty, err := typed(q)
	if err != nil {
		return nil, err
	}
	lookup, err := strategicpatch.NewPatchMetaFromStruct(empty)
	if err != nil {
		return nil, err
	}
	patched, err := strategicpatch.StrategicMergeMapPatchUsingLookupPatchMeta(originalMap, patchMap, lookup)
	if err != nil {
		return nil, err
	}
	return empty, runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(patched, empty, false)
}

func byBytes(q question) (runtime.Object, error) {
	original, err := typed(q)
	if err != nil {
		return nil, err
	}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(q.Original, original); err != nil {
		return nil, fmt.Errorf("original: %w", err)
	}
	encoded, err := json.Marshal(original)
	if err != nil {
		return nil, fmt.Errorf("original: %w", err)
	}
	var patched []byte
	if q.Type == "merge" {
		patched, err = jsonpatch.MergePatch(encoded, q.Patch)
	} else {
		var patch jsonpatch.Patch
		if patch, err = jsonpatch.DecodePatch(q.Patch); err == nil {
			patched, err = patch.Apply(encoded)
		}
	}
	if err != nil {
		return nil, err
	}
	empty, err := typed(q)
	if err != nil {
		return nil, err
	}
	return empty, kjson.UnmarshalCaseSensitivePreserveInts(patched, empty)
}

func answerTo(q question) (out answer) {
	defer func() {
		if problem := recover(); problem != nil {
			out = answer{Error: fmt.Sprintf("panic: %v", problem)}
		}
	}()
	if q.Type == "fields" {
		return answerToSteps(q)
	}
	patch := byBytes
	if q.Type == "strategic" {
		patch = strategic
	}
	object, err := patch(q)
	if err != nil {
		return answer{Error: err.Error()}
	}
	encoded, err := json.Marshal(object)
	if err != nil {
		return answer{Error: "encode: " + err.Error()}
	}
	return answer{Object: encoded}
}

func answerToSteps(q question) answer {
	if err := decodeSteps(&q); err != nil {
		return answer{Error: err.Error()}
	}
	object, outcomes, err := tracked(q)
	if err != nil {
		return answer{Error: err.Error()}
	}
	encoded, err := json.Marshal(object)
	if err != nil {
		return answer{Error: "encode: " + err.Error()}
	}
	return answer{Object: encoded, Outcomes: outcomes}
}

func main() {
	lines := bufio.NewReaderSize(os.Stdin, 1<<20)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	decoder := json.NewDecoder(lines)
	for decoder.More() {
		var q question
		if err := decoder.Decode(&q); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		if err := encoder.Encode(answerTo(q)); err != nil {
			os.Exit(1)
		}
		out.Flush()
	}
}
